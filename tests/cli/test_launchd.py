"""The agent for macOS, as a text; launchd itself is not here."""

from __future__ import annotations

import plistlib

from milkd.cli import placing
from milkd.cli.launchd import agent, label
from milkd.managed import unit_name

STORE = "/Users/ada & co/.milk/memory"


def test_the_agent_starts_when_it_is_asked_and_again_when_it_fails() -> None:
    text = agent(STORE, ["/opt/milkd"], socket=None, log="/Users/ada/.milk/milkd.log")
    told = plistlib.loads(text.encode())
    assert told["Label"] == label(STORE) == f"org.milkd.{unit_name(STORE)}"
    assert told["ProgramArguments"] == ["/opt/milkd", "--store", STORE, "--idle-exit", "7200"]
    assert (told["RunAtLoad"], told["KeepAlive"]) == (False, {"SuccessfulExit": False})
    assert (told["ThrottleInterval"], told["ProcessType"]) == (10, "Background")
    assert told["StandardErrorPath"] == told["StandardOutPath"] == "/Users/ada/.milk/milkd.log"
    assert told["Umask"] == 0o077


def test_a_socket_that_was_named_is_told() -> None:
    told = plistlib.loads(agent(STORE, ["a", "-m", "b"], socket="/s", log="/l").encode())
    arguments = ["a", "-m", "b", "--store", STORE, "--socket", "/s", "--idle-exit", "7200"]
    assert told["ProgramArguments"] == arguments


def test_the_mark_leaves_it_what_it_is() -> None:
    text = agent(STORE, ["/opt/milkd"], socket=None, log="/l")
    assert plistlib.loads(placing.marked(text, "<!-- {} -->").encode()) == plistlib.loads(
        text.encode()
    )
