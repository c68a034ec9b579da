"""The examples of docs/clients.md, run as a reader would run them."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from interop.programs import LANGUAGES, Language
from places import Place

pytestmark = pytest.mark.lasting

PAGE = (Path(__file__).parents[2] / "docs" / "clients.md").read_text()
EXAMPLES = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
LANGUAGE = LANGUAGES | {
    "python": Language((sys.executable, "FILE"), lambda: True, ""),
    "sh": Language(("sh", "FILE"), lambda: True, ""),
}


NAMES = ["pynvim" if "pynvim" in text else kind for kind, text in EXAMPLES]


def test_every_language_has_an_example() -> None:
    assert NAMES == ["lua", "python", "pynvim", "js", "ruby", "go", "sh"]


@pytest.mark.parametrize(("name", "example"), list(zip(NAMES, EXAMPLES, strict=True)), ids=NAMES)
def test_an_example_does_what_it_says(name: str, example: tuple[str, str], tmp_path: Path) -> None:
    kind, text = example
    program = tmp_path / f"example.{kind}"
    program.write_text(text)
    language = LANGUAGE[name]
    language.need()
    with Place() as place:
        scripts = Path(sys.executable).parent
        environment = place.env | {"PATH": f"{scripts}:{os.environ['PATH']}"}
        place.start()
        told = language.run(program, environment)
    assert "The user prefers tabs" in told
    assert "not_found" in told
    assert "no percept visible here fits the reference" in told
