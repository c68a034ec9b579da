"""The settings: shown, written to the file that milk shares, read again."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from milkd.cli.configure import write_defaults
from milkd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from milkd.shapes import Config, Knob
    from places import Place, Ran

    Milkctl = Callable[..., Ran]


def knob(default: float) -> Knob:
    """A knob at its default."""
    return {"value": default, "origin": "default", "default": default, "unit": ""}


def config(path: Path) -> Config:
    """The settings of a daemon with two knobs."""
    values = {"reconfirm_cap": knob(0.5), "percept_inject_max": knob(25)}
    return {"values": values, "path": str(path), "warnings": []}


def test_a_missing_file_is_written_with_all_defaults(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.json"
    assert write_defaults(config(path)) == {
        "path": str(path),
        "added": ["reconfirm_cap", "percept_inject_max"],
    }
    assert json.loads(path.read_text()) == {
        "memory": {"reconfirm_cap": 0.5, "percept_inject_max": 25}
    }
    assert path.stat().st_mode & 0o777 == 0o600


def test_other_keys_and_knobs_that_are_set_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    before = {"theme": {"colour": "ü"}, "percept_inject_max": 9, "memory": {"other": [1]}}
    path.write_text(json.dumps(before))
    path.chmod(0o640)
    assert write_defaults(config(path))["added"] == ["reconfirm_cap"]
    after = json.loads(path.read_text())
    assert after == before | {"memory": {"other": [1], "reconfirm_cap": 0.5}}
    assert list(after) == list(before)
    assert path.stat().st_mode & 0o777 == 0o640
    assert write_defaults(config(path))["added"] == []
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "dotfiles.json", tmp_path / "config.json"
    path.write_text("{}")
    link.symlink_to(path)
    write_defaults(config(link))
    assert link.is_symlink()
    assert "memory" in json.loads(path.read_text())


@pytest.mark.parametrize("text", ["{", "[]", '{"memory": 3}', "\xff"])
def test_a_file_that_is_not_understood_is_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match="left as it"):
        write_defaults(config(path))
    assert path.read_bytes() == text.encode("latin-1")


def test_a_directory_in_the_place_of_the_file_is_a_refusal(place: Place, milkctl: Milkctl) -> None:
    place.start()
    path = place.home / ".milk" / "config.json"
    path.mkdir()
    ran = milkctl("config", "init")
    assert (ran.code, ran.out, ran.err) == (1, "", f"milkctl: {path}: Is a directory\n")


def test_a_directory_that_takes_no_file_is_a_refusal(place: Place, milkctl: Milkctl) -> None:
    place.start()
    (place.home / ".milk" / "config.json").symlink_to("/proc/none/config.json")
    ran = milkctl("config", "init")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("milkctl: /proc/none")


def test_settings_are_in_force_as_soon_as_they_are_written(place: Place, milkctl: Milkctl) -> None:
    place.start()
    milkctl("config", "init")
    rows = [line.split("\t") for line in milkctl("config", "show").out.splitlines()]
    assert {row[3] for row in rows} == {"config"}


def test_settings_that_are_written_but_refused_are_said_so(place: Place, milkctl: Milkctl) -> None:
    place.start()
    path = place.home / ".milk" / "config.json"
    path.write_text('{"memory": {"reconfirm_cap": "high"}}')
    ran = milkctl("config", "init")
    assert ran.code == 1
    assert ran.err.startswith(f"milkctl: {path} is written, but not in force: ")
    assert "reconfirm_cap" in ran.err


def test_every_setting_is_shown_with_unit_and_origin(place: Place, milkctl: Milkctl) -> None:
    place.start()
    rows = [line.split("\t") for line in milkctl("config").out.splitlines()]
    assert ["session_half_life_days", "3.0", "running days", "default"] in rows
    assert milkctl("config", "path").out == f"{place.home}/.milk/config.json\n"


def test_a_profile_stays_in_force_when_the_rest_is_written_out(
    place: Place, milkctl: Milkctl
) -> None:
    path = place.home / ".milk" / "config.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"memory": {"profile": "strict"}}))
    place.start()
    rows = [line.split("\t") for line in milkctl("config").out.splitlines()]
    assert ["profile", '"strict"', "", "config"] in rows
    assert ["echo_guard", "false", "", "profile strict"] in rows
    milkctl("config", "init")
    written = json.loads(path.read_text())["memory"]
    assert (written["profile"], written["echo_guard"], written["wordings"]) == ("strict", False, 0)


def test_settings_are_written_changed_and_read_again(place: Place, milkctl: Milkctl) -> None:
    place.start()
    path = place.home / ".milk" / "config.json"
    assert re.search(r": \d+ settings written\n", milkctl("config", "init").out)
    assert "all set already" in milkctl("config", "init").out
    assert milkctl("config", "init").out == f"{path}: all set already\n"
    document = json.loads(path.read_text())
    document["memory"]["reconfirm_cap"] = 0.5
    path.write_text(json.dumps(document))
    milkctl("config", "reload")
    with place.client() as client:
        values = client.config()["values"]
    assert (values["reconfirm_cap"]["value"], values["reconfirm_cap"]["origin"]) == (0.5, "config")
    document["memory"]["reconfirm_cap"] = "high"
    path.write_text(json.dumps(document))
    refused = milkctl("config", "reload")
    assert refused.code == 1
    assert "reconfirm_cap" in refused.err
