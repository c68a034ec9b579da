"""The config file: taken as a whole or not at all, and watched."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING

import pytest
import trio

from daemon.doubles import eventually, open_house
from milkd.daemon.config import load
from milkd.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.json"


def write(file: Path, **memory: object) -> None:
    file.write_text(json.dumps({"memory": memory, "percept_inject_max": 7, "ui": {"theme": "x"}}))


def change_unnoticed(file: Path) -> None:
    """Give the file another content with the same size and time."""
    seen = os.stat(file)
    file.write_text(file.read_text().replace("0.125", "0.250"))
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def remove(file: Path) -> None:
    file.unlink()


async def test_without_a_file_the_defaults_hold(file: Path) -> None:
    async with open_house(config=str(file)) as house:
        config = await (await house.connect()).call("config")
        assert config["path"] == str(file)
        assert config["warnings"] == []
        assert config["values"]["reconfirm_boost"] == {
            "value": 0.05,
            "origin": "default",
            "default": 0.05,
            "unit": "strength",
        }


async def test_the_file_sets_what_it_names(file: Path) -> None:
    write(file, reconfirm_boost=0.125, decay_per_session=0.9)
    async with open_house(config=str(file)) as house:
        config = await (await house.connect()).call("config")
        assert config["values"]["reconfirm_boost"]["value"] == 0.125
        assert config["values"]["reconfirm_boost"]["origin"] == "config"
        assert config["values"]["percept_inject_max"]["value"] == 7
        assert "decay_per_session" in config["warnings"][0]
        assert house.core.engine.params.reconfirm_boost == 0.125


async def test_a_reload_says_what_changed(file: Path) -> None:
    async with open_house(config=str(file)) as house:
        peer = await house.connect()
        assert await peer.call("reload") == {"changed": []}
        write(file, reconfirm_boost=0.125)
        changed = (await peer.call("reload"))["changed"]
        assert changed == ["reconfirm_boost", "percept_inject_max"]
        assert (await peer.call("record", content="said twice"))["w"] == 0.7
        assert (await peer.call("record", content="said twice"))["w"] == 0.825


async def test_a_bad_value_is_refused_by_name_and_nothing_is_taken(file: Path) -> None:
    write(file, reconfirm_boost=0.125)
    async with open_house(config=str(file)) as house:
        peer = await house.connect()
        write(file, reconfirm_boost=0.25, prune_threshold="high")
        assert (await peer.refusal("reload")).startswith("invalid_params: prune_threshold: ")
        assert house.core.engine.params.reconfirm_boost == 0.125
        health = await peer.call("health")
        assert health["status"] == "degraded"
        assert "prune_threshold" in health["reasons"][0]
        write(file, reconfirm_boost=0.25)
        await peer.call("reload")
        assert (await peer.call("health"))["status"] == "ok"


async def test_a_bad_file_at_the_start_leaves_the_defaults(file: Path) -> None:
    write(file, reconfirm_boost=5)
    async with open_house(config=str(file)) as house:
        peer = await house.connect()
        assert house.core.engine.params.reconfirm_boost == 0.05
        assert "reconfirm_boost" in (await peer.call("health"))["reasons"][0]


async def test_a_change_of_the_file_is_noticed(file: Path) -> None:
    async with open_house(config=str(file)) as house:

        def boost_is(value: float) -> bool:
            return house.core.engine.params.reconfirm_boost == value

        house.start_task(house.core.config.watch, 0.01)
        for boost in (0.125, 0.25):
            write(file, reconfirm_boost=boost)
            await eventually(partial(boost_is, boost))
        write(file, reconfirm_boost="much")
        await eventually(lambda: house.core.health.status == "degraded")
        assert house.core.engine.params.reconfirm_boost == 0.25
        remove(file)
        await eventually(partial(boost_is, 0.05))


async def test_an_unchanged_file_is_not_read_again(file: Path) -> None:
    write(file, reconfirm_boost=0.125)
    async with open_house(config=str(file)) as house:
        change_unnoticed(file)
        house.start_task(house.core.config.watch, 0.001)
        await trio.sleep(0.05)
        assert house.core.engine.params.reconfirm_boost == 0.125


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 5_000, "not JSON"),
        (b"[1]", "expected an object at the top"),
        (b" " * (2 << 20), "no config file needs"),
        (b'{"memory": 3}', "memory"),
        (b'{"percept_inject_max": 1' + b"0" * 400 + b"}", "."),
        (b'{"memory": {"reconfirm_boost": 1e999}}', "reconfirm_boost"),
        (b'{"memory": {"reconfirm_boost": NaN}}', "reconfirm_boost"),
    ],
)
def test_what_is_no_config_is_told(file: Path, data: bytes, says: str) -> None:
    file.write_bytes(data)
    with pytest.raises(ConfigError, match=says):
        load(str(file))


def test_an_empty_file_and_a_byte_order_mark_are_taken(file: Path) -> None:
    file.write_bytes(b"")
    assert load(str(file)).params.reconfirm_boost == 0.05
    file.write_bytes(b'\xef\xbb\xbf{"memory": {"reconfirm_boost": 0.5}}')
    assert load(str(file)).params.reconfirm_boost == 0.5


def test_a_directory_is_no_config(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="directory"):
        load(str(tmp_path))
