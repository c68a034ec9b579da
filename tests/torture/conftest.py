"""What the tests of lasting share."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torture.household import Household

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parents[1] / "shim.c"


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that makes calls of a process go wrong."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler (cc or gcc) to build the faulty disk with")
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"the C compiler does not build the faulty disk: {done.stderr[-300:]}")
    return library


@pytest.fixture
def household() -> Iterator[Household]:
    """A home with a store of its own, and daemons in it."""
    with Household() as made:
        yield made
