"""No secret that is stated reaches a file, a log or a screen."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING

import pytest

import milkd
from places import Place
from planted import INNOCENT, planted, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def everything(folder: Path) -> bytes:
    """All bytes of all files, and their names."""
    found = []
    for path in sorted(folder.rglob("*")):
        found.append(os.fsencode(path))
        if path.is_file():
            found.append(path.read_bytes())
    return b"\n".join(found)


@pytest.fixture(params=["refuse", "mask"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A home whose daemon logs all it can, into its home."""
    with Place() as place:
        config = place.home / ".milk" / "config.json"
        config.parent.mkdir()
        config.write_text(json.dumps({"memory": {"secret_guard": request.param}}))
        into_log = 'exec "$0" "$@" 2>>"$HOME/.milk/log"'
        place.program = ["sh", "-c", into_log, *place.program, "--log-level", "debug"]
        yield place


def test_planted_secrets_are_nowhere_and_look_alikes_are_stored(place: Place) -> None:
    secrets = planted(11)
    place.start()
    with place.client("s1") as memory:
        for secret in secrets.values():
            text = f"remember that {secret} is what the deploy uses"
            for name, arguments in (
                ("record", {"content": text}),
                ("learn", {"content": text}),
                ("record", {"content": f"about {len(text)}", "subject": text[:900]}),
            ):
                try:
                    answer = repr(memory.call(name, **arguments))
                except milkd.InvalidParams as error:
                    answer = str(error)
                assert value_of(secret) not in answer
        ids = [memory.record(text, session=f"s{n}")["id"] for n, text in enumerate(INNOCENT)]
        for number, (text, ident) in enumerate(zip(INNOCENT, ids, strict=True)):
            assert memory.show(ident, session=f"s{number}")["content"] == text
        memory.snapshot()
    assert (place.home / ".milk" / "log").stat().st_size
    said = place.milkctl("record", f"the registry wants {secrets['npm']}")
    assert value_of(secrets["npm"]).encode() not in said.stdout + said.stderr
    written = everything(place.home)
    place.stop(signal.SIGKILL)
    written += everything(place.home)
    for name, secret in secrets.items():
        assert value_of(secret).encode() not in written, name
