"""The manual pages say what the help says, and are what man and mandoc take."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from milkd.cli import verbs
from needs import absent

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / "man" / "milkctl.1", ROOT / "docs" / "man" / "milkd.1"]
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def text_of(page: Path) -> str:
    """What a reader sees, on one line."""
    if shutil.which("man") is None:
        absent("no man: apt-get install man-db")
    shown = subprocess.run(
        ["man", "--warnings", "-E", "ascii", "-l", page],
        env={
            "PATH": "/usr/bin:/bin",
            "MANWIDTH": "999",
            "MANOPT": "--nh --nj",
            "LC_ALL": "C.UTF-8",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stderr == ""
    return " ".join(shown.stdout.split())


def test_the_pages_are_up_to_date(tmp_path: Path) -> None:
    made = {page: page.read_bytes() for page in PAGES}
    copy = tmp_path / "docs"
    copy.mkdir()
    shutil.copy(ROOT / "docs" / "manual.py", copy)
    subprocess.run(
        [sys.executable, copy / "manual.py"],
        env={"PYTHONPATH": str(ROOT), "COLUMNS": "40", "LC_ALL": "C"},
        check=True,
    )
    for page, data in made.items():
        assert (copy / "man" / page.name).read_bytes() == data


@each_page
def test_mandoc_finds_nothing_wrong(page: Path) -> None:
    if shutil.which("mandoc") is None:
        absent("no mandoc: apt-get install mandoc")
    linted = subprocess.run(
        ["mandoc", "-Tlint", "-Wwarning", page], capture_output=True, text=True, check=False
    )
    assert (linted.returncode, linted.stdout) == (0, "")


@each_page
def test_man_shows_the_page(page: Path) -> None:
    text = text_of(page)
    for title in ("NAME", "SYNOPSIS", "DESCRIPTION", "FILES", "SEE ALSO"):
        assert f" {title} " in text


def test_every_verb_is_there_with_its_options() -> None:
    text = text_of(PAGES[0])
    for group in verbs.GROUPS.values():
        for verb in group:
            assert f" milkctl {verb} " in text
    for option in ("--min-confidence W", "--accept-backup SCOPE", "--related-to REF"):
        assert f" {option} " in text
