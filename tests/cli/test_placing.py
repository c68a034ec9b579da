"""Files beside those of the user."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from milkd.cli.placing import is_marked, marked, put, says, state, take_away

if TYPE_CHECKING:
    from pathlib import Path

TEXT = marked("[Unit]\nDescription=a\n")
NEXT = marked("[Unit]\nDescription=b\n")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "units" / "a.service")


def read(path: str) -> str:
    with open(path) as file:
        return file.read()


def write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def test_a_file_is_written_once(path: str) -> None:
    assert state(path) == "absent"
    assert put(path, TEXT) == ("written", None)
    assert (read(path), state(path), says(path, TEXT)) == (TEXT, "ours", True)
    assert put(path, TEXT) == ("unchanged", None)
    assert os.listdir(os.path.dirname(path)) == ["a.service"]


def test_what_we_wrote_is_replaced_without_ado(path: str) -> None:
    put(path, TEXT)
    assert put(path, NEXT) == ("replaced", None)
    assert os.listdir(os.path.dirname(path)) == ["a.service"]


@pytest.mark.parametrize("edited", ["[Unit]\n# my own\n", TEXT + "# and more\n", TEXT[:-2], ""])
def test_what_somebody_wrote_is_kept_beside(path: str, edited: str) -> None:
    for number in (1, 2):
        write(path, edited)
        assert state(path) == "changed"
        assert put(path, TEXT) == ("replaced", f"{path}.kept-{number}")
        assert (read(path), read(f"{path}.kept-{number}")) == (TEXT, edited)


def test_a_link_is_somebodys(path: str) -> None:
    write(path + ".mine", TEXT)
    os.symlink(path + ".mine", path)
    assert (state(path), is_marked(path), says(path, TEXT)) == ("changed", False, False)
    assert take_away(path) == ("left", None)
    assert put(path, TEXT) == ("replaced", f"{path}.kept-1")
    assert os.path.islink(f"{path}.kept-1")
    assert not os.path.islink(path)


def test_a_link_that_leads_nowhere_is_too(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    os.symlink("/dev/null", path)
    assert state(path) == "changed"
    assert put(path, TEXT) == ("replaced", f"{path}.kept-1")
    assert os.readlink(f"{path}.kept-1") == "/dev/null"


def test_what_we_wrote_is_removed(path: str) -> None:
    assert take_away(path) == ("absent", None)
    put(path, TEXT)
    assert take_away(path) == ("removed", None)
    assert not os.path.lexists(path)


def test_what_was_changed_since_is_put_aside(path: str) -> None:
    write(path, TEXT + "# and more\n")
    assert take_away(path) == ("put aside", f"{path}.kept-1")
    assert read(f"{path}.kept-1") == TEXT + "# and more\n"


def test_what_somebody_else_wrote_is_left(path: str) -> None:
    write(path, "[Unit]\n")
    assert take_away(path) == ("left", None)
    assert read(path) == "[Unit]\n"


def test_bytes_that_are_no_text_are_somebodys(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    with open(path, "wb") as file:
        file.write(b"\xff\0")
    assert state(path) == "changed"
    assert put(path, TEXT)[0] == "replaced"


def test_the_mark_does_not_stand_before_a_declaration(path: str) -> None:
    text = marked('<?xml version="1.0"?>\n<plist/>\n', "<!-- {} -->")
    assert text.startswith('<?xml version="1.0"?>\n<!-- written by milkctl')
    put(path, text)
    assert state(path) == "ours"
