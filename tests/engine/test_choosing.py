"""Which kernels are chosen, and what is said where they are not the compiled ones."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from milkd.engine._kernels_py import ABI

if TYPE_CHECKING:
    from pathlib import Path

ASK = "from milkd.engine import kernels as k; print(k.DESCRIPTION, k.USING_EXTENSION, k.WHY_PURE)"
AGAIN = "in its sources run `MILKD_BUILD_EXTENSION=yes pipx install --force .`, then `milkctl stop`"


def chosen(preparation: str = "", **environment: str) -> str:
    """What a fresh interpreter chooses, and why."""
    run = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys, types\n{preparation}\n{ASK}"],
        env={**os.environ, "MILKD_PURE": "", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.strip()


def test_the_extension_that_fits_needs_no_reason(pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--no-extension"):
        pytest.skip("--no-extension")
    assert chosen() == f"compiled {ABI} True None"


def test_it_says_that_the_extension_was_declined() -> None:
    why = "MILKD_PURE=1 was set when the daemon started: unset it, then `milkctl stop`"
    assert chosen(MILKD_PURE="1") == f"pure {ABI} False {why}"


def test_it_says_that_there_is_no_extension_and_how_to_get_it() -> None:
    why = (
        "milkd was built without its extension: install a C compiler "
        f"(Debian: apt-get install gcc python3-dev), then {AGAIN}"
    )
    assert chosen("sys.modules['milkd._fastcore'] = None") == f"pure {ABI} False {why}"


@pytest.mark.parametrize("found", [ABI - 1, ABI + 1])
def test_it_says_which_abi_was_found_and_which_is_needed(found: int) -> None:
    other = f"sys.modules['milkd._fastcore'] = types.SimpleNamespace(ABI={found})"
    why = f"milkd._fastcore is of another build (ABI {found}, not {ABI}): {AGAIN}"
    assert chosen(other) == f"pure {ABI} False {why}"


def test_it_says_what_is_wrong_with_an_extension_that_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "_fastcore.abi3.so").write_bytes(b"not a library")
    broken = f"import milkd; milkd.__path__.insert(0, {str(tmp_path)!r})"
    told = chosen(broken)
    assert told.startswith(f"pure {ABI} False milkd._fastcore cannot be loaded ({tmp_path}")
    assert told.endswith(f"): {AGAIN}")
