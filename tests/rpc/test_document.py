"""docs/protocol.md says what the table says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from milkd.rpc.document import document
from milkd.rpc.schema import METHODS

PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"
COMMAND = ("-m", "milkd.rpc.document")


def test_the_page_is_up_to_date() -> None:
    up_to_date = PAGE.read_text(encoding="utf-8") == document()
    assert up_to_date, f"python {' '.join(COMMAND)} > docs/protocol.md"


def test_the_command_writes_the_page_whatever_the_locale() -> None:
    environment = os.environ | {
        "LC_ALL": "C",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONUTF8": "0",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    environment.pop("PYTHONIOENCODING", None)
    run = subprocess.run(
        [sys.executable, *COMMAND], env=environment, capture_output=True, check=True
    )
    assert run.stdout.decode() == document()


def test_every_method_and_argument_has_its_place() -> None:
    text = document()
    for name, method in METHODS.items():
        assert f"\n### `{name}`\n" in text
        section = text.split(f"\n### `{name}`\n")[1].split("\n### ")[0]
        for argument in method.arguments:
            assert f"| `{argument.name}`" in section
