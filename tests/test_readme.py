"""The README's transcript, run as a reader would run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from places import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

README = (Path(__file__).parents[1] / "README.md").read_text()
SCRIPTS = Path(sys.executable).parent
VARIABLE = (
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"#[0-9a-f]{8}\b"), "#ID"),
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def steps() -> Iterator[tuple[str, str]]:
    """Every command of the transcript with the output that the README shows."""
    for block in blocks("console"):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = step.partition("\n")
            yield command, output


def steady(text: str) -> str:
    for pattern, replacement in VARIABLE:
        text = pattern.sub(replacement, text)
    return text


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    """A fresh home, with the installed commands on the path."""
    with Place() as place:
        yield place.env | {"PATH": f"{SCRIPTS}:{os.environ['PATH']}"}


def test_the_transcript_holds(environment: dict[str, str]) -> None:
    for command, expected in steps():
        done = subprocess.run(
            command, shell=True, env=environment, capture_output=True, text=True, check=False
        )
        assert done.stderr == "", command
        shown, found = steady(expected), steady(done.stdout)
        if "…" in shown:
            shown, found = shown.split("…")[0], found[: shown.index("…")]
        assert found == shown, command


def test_the_python_example_holds(environment: dict[str, str]) -> None:
    (example,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", example], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("0.90 The API is versioned by date\n[Remembered facts]\n")
