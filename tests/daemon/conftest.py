"""What the daemon's tests may ask for."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A directory whose path leaves room for the name of a socket, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="m-"))
    yield path
    shutil.rmtree(path)
