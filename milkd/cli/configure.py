"""The command about settings."""

from __future__ import annotations

import json
import os

from milkd.cli.command import Command
from milkd.cli.files import replace
from milkd.cli.output import counted
from milkd.cli.table import Column, draw
from milkd.errors import ConfigError, WireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from milkd.cli.command import Options
    from milkd.cli.output import Output
    from milkd.client import Client
    from milkd.shapes import Config

__all__ = ["COMMANDS", "write_defaults"]

BLOCK = "memory"


def _config(client: Client, options: Options) -> Any:
    if options.action == "reload":
        return client.reload()
    config = client.config()
    if options.action == "init":
        return _init(client, config)
    return {"path": config["path"]} if options.action == "path" else config


def _init(client: Client, config: Config) -> dict[str, object]:
    """Write the file, and have the daemon read it: the next `show` is to tell what it says."""
    written = write_defaults(config)
    try:
        client.reload()
    except WireError as error:
        raise ConfigError(f"{written['path']} is written, but not in force: {error}") from error
    return written


def write_defaults(config: Config) -> dict[str, object]:
    """Add the knobs that the file doesn't set to its `memory` block; nothing else changes.

    Args:
        config: The settings, and the path of the file, as the daemon gave them.

    Raises:
        ConfigError: The file is not one to which a block could be added.
    """
    path = os.path.realpath(config["path"])
    document = _read(path)
    block = document.get(BLOCK)
    if block is None:
        block = document[BLOCK] = {}
    if not isinstance(block, dict):
        raise ConfigError(f"{path}: memory is not an object; it was left as it is")
    # milk's own keys at the root are knobs too, and a knob in the block would override them.
    missing = [name for name in config["values"] if name not in block and name not in document]
    block |= {name: config["values"][name]["default"] for name in missing}
    if missing:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        replace(path, [text.encode()])
    return {"path": path, "added": missing}


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ConfigError(f"{path} is not JSON, so it was left as it is: {error}") from error
    if not isinstance(document, dict):
        raise ConfigError(f"{path} does not hold an object; it was left as it is")
    return document


def _say_config(answer: Any, out: Output, options: Options) -> None:
    if options.action == "show":
        _say_knobs(answer, out)
    elif options.action == "path":
        out.line(answer["path"])
    elif options.action == "init":
        added = counted(len(answer["added"]), "setting")
        done = f"{added} written" if answer["added"] else "all set already"
        out.line(f"{answer['path']}: {done}")
    else:
        out.line(f"changed: {', '.join(answer['changed']) or 'nothing'}")


def _say_knobs(config: Config, out: Output) -> None:
    columns = [Column("SETTING"), Column("VALUE"), Column("UNIT", spare=1), Column("FROM", spare=2)]
    rows = [
        [name, json.dumps(knob["value"]), knob["unit"], knob["origin"]]
        for name, knob in config["values"].items()
    ]
    draw(out, columns, rows)
    for warning in config["warnings"]:
        out.line(f"note: {warning}")


def _changes(options: Options) -> bool:
    return options.action in ("init", "reload")


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", default="show", choices=("show", "init", "path", "reload")
    )


COMMANDS = {
    "config": Command(
        _config,
        _say_config,
        _arguments,
        changes=_changes,
        about="show    print every setting with its unit, and what sets it: file or profile\n"
        "init    write those that the config file doesn't set into it, as the profile gives\n"
        "        them; from then on they beat the profile\n"
        "path    print where the config file is\n"
        "reload  have it read again (the daemon also notices by itself)",
    )
}
