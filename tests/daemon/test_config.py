"""The config file: taken as a whole or not at all, and watched."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING

import pytest
import trio

from daemon.doubles import eventually, open_house
from milkd.daemon.config import limits, load
from milkd.daemon.limits import LOWERED, Limits
from milkd.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.json"


def write(file: Path, **memory: object) -> None:
    file.write_text(json.dumps({"memory": memory, "percept_inject_max": 7, "ui": {"theme": "x"}}))


def put(file: Path, text: str) -> None:
    file.write_text(text)


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


async def test_a_profile_gives_what_the_file_does_not_name(file: Path) -> None:
    write(file, profile="strict", wordings=2)
    async with open_house(config=str(file)) as house:
        peer = await house.connect()
        values = (await peer.call("config"))["values"]
        assert values["profile"]["origin"] == "config"
        assert values["echo_guard"] == {
            "value": False,
            "origin": "profile strict",
            "default": False,
            "unit": "",
        }
        assert (values["wordings"]["value"], values["wordings"]["default"]) == (2, 0)
        assert values["wordings"]["origin"] == "config"
        write(file)
        assert "echo_guard" in (await peer.call("reload"))["changed"]
        assert (await peer.call("config"))["values"]["echo_guard"]["origin"] == "default"


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


async def test_a_bad_file_is_told_together_with_what_is_in_force(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(file, reconfirm_boost=5)
    async with open_house(config=str(file)) as house:
        peer = await house.connect()
        assert house.core.engine.params.reconfirm_boost == 0.05
        told = "the config file is not taken, the defaults are in force: reconfirm_boost: "
        assert (await peer.call("health"))["reasons"][0].startswith(told)
        assert told in caplog.text
        write(file, reconfirm_boost=0.25)
        await peer.call("reload")
        write(file, reconfirm_boost=5)
        await peer.refusal("reload")
        told = "the config file is not taken, the last good settings stay in force: "
        assert (await peer.call("health"))["reasons"][0].startswith(told)


async def test_a_file_that_was_emptied_changes_nothing(file: Path) -> None:
    write(file, reconfirm_boost=0.25)
    async with open_house(config=str(file)) as house:
        peer = await house.connect()
        put(file, "")
        assert "is empty, expected an object such as {}" in await peer.refusal("reload")
        assert house.core.engine.params.reconfirm_boost == 0.25
        assert "is empty" in (await peer.call("health"))["reasons"][0]
        put(file, "{}")
        assert await peer.call("reload") == {"changed": ["reconfirm_boost", "percept_inject_max"]}
        assert (await peer.call("health"))["status"] == "ok"


async def test_a_key_that_is_there_twice_is_a_warning(file: Path) -> None:
    memory = '{"reconfirm_boost": 0.5, "reconfirm_boost": 0.25, "x": 1}'
    put(file, f'{{"memory": {memory}, "ui": 1, "ui": 2}}')
    async with open_house(config=str(file)) as house:
        config = await (await house.connect()).call("config")
        assert config["values"]["reconfirm_boost"]["value"] == 0.25
        assert config["warnings"][:2] == [
            "'reconfirm_boost' is there more than once in one object; the last one counts",
            "'ui' is there more than once in one object; the last one counts",
        ]
        assert config["warnings"][2].startswith("x is not a knob")


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
        (b"", "is empty, expected an object"),
        (b"[1]", "expected an object at the top"),
        (b" " * (2 << 20), "no config file needs"),
        (b'{"memory": 3}', "memory"),
        (b'{"percept_inject_max": 1' + b"0" * 400 + b"}", "percept_inject_max: found a number of"),
        (b'{"memory": {"prune_threshold": 0.9}}', "prune_threshold: .* reconfirm_cap"),
        (b'{"memory": {"reconfirm_boost": 1e999}}', "reconfirm_boost"),
        (b'{"memory": {"reconfirm_boost": NaN}}', "reconfirm_boost"),
    ],
)
def test_what_is_no_config_is_told(file: Path, data: bytes, says: str) -> None:
    file.write_bytes(data)
    with pytest.raises(ConfigError, match=says):
        load(str(file))


def test_an_empty_object_and_a_byte_order_mark_are_taken(file: Path) -> None:
    file.write_bytes(b"{}")
    assert load(str(file)).params.reconfirm_boost == 0.05
    file.write_bytes(b'\xef\xbb\xbf{"memory": {"reconfirm_boost": 0.5}}')
    assert load(str(file)).params.reconfirm_boost == 0.5


def test_a_directory_is_no_config(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="directory"):
        load(str(tmp_path))


# Limits


def test_the_file_may_lower_limits(file: Path) -> None:
    put(file, '{"milkd": {"limits": {"connections": 16, "partial_s": 1, "send_s": 0.5}}}')
    assert limits(str(file), Limits()) == (Limits(connections=16, partial_s=1, send_s=0.5), None)


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ({"limits": {"connections": 65}}, "limits.connections: found 65, expected more than 0 and"),
        ({"limits": {"events": 0}}, "limits.events: found 0, expected more than 0 and at most 256"),
        ({"limits": {"in_flight": 1.5}}, "limits.in_flight: found 1.5, expected a number like 32"),
        ({"limits": {"send_s": "9"}}, "limits.send_s: found '9', expected a number like 10"),
        ({"limits": {"send_s": True}}, "limits.send_s: found True, expected a number like 10"),
        ({"limits": {"speed": 1}}, "limits.speed: no such limit, expected one of connections, "),
        ({"limits": [1]}, "milkd.limits: found list, expected an object"),
        ([], "milkd: found list, expected an object"),
    ],
)
def test_limits_that_cannot_be_taken_are_named(file: Path, block: object, told: str) -> None:
    put(file, json.dumps({"milkd": block}))
    found, wrong = limits(str(file), Limits())
    assert found == Limits()
    assert wrong is not None
    assert told in wrong


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_without_a_usable_file_the_usual_limits_hold(file: Path, text: str) -> None:
    put(file, text)
    assert limits(str(file), Limits()) == (Limits(), None)


def test_every_limit_that_may_be_lowered_exists() -> None:
    assert set(LOWERED) <= Limits().to_wire().keys()


async def test_the_settings_tell_that_the_file_is_not_taken(file: Path) -> None:
    put(file, "{bad")
    async with open_house(config=str(file)) as house:
        peer = await house.connect()
        (warning,) = (await peer.call("config"))["warnings"]
        assert warning.startswith("the config file is not taken, the defaults are in force: ")
        put(file, "{}")
        await peer.call("reload")
        assert (await peer.call("config"))["warnings"] == []
