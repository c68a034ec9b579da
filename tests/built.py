"""A copy of milkd's sources to build in, so that nothing is left in the tree itself."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md")
FOLDERS = ("_fastcore", "docs/man", "milkd", "systemd")


def copied(copy: Path) -> Path:
    """Copy what a build needs into a folder that is made for it; gives the folder."""
    copy.mkdir()
    for name in SOURCES:
        shutil.copy(ROOT / name, copy)
    unwanted = shutil.ignore_patterns("*.so", "__pycache__")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=unwanted)
    return copy
