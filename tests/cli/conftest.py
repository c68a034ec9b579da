"""`milkctl` inside the test's process, which is faster, and the place where it works."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pytest

from milkd.cli.main import main
from places import Place, Ran

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def place() -> Iterator[Place]:
    """A home without a daemon."""
    with Place() as home:
        yield home


@pytest.fixture
def milkctl(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """Runs a command in the place; a daemon is started only where the test has started it."""
    for name in ("MILK_SESSION", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "MILKD_SOCKET", "PYTHONPATH"):
        monkeypatch.setenv(name, place.env[name])
    monkeypatch.setenv("MILKD_NO_AUTOSTART", "1")
    capsys.readouterr()

    def run(*arguments: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            code = main(list(arguments))
        except SystemExit as leaving:  # argparse's way to end
            code = int(leaving.code or 0)
        return Ran(code, *capsys.readouterr())

    return run
