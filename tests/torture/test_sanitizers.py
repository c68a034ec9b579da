"""The compiled code reads and writes only what is its own, and does nothing undefined.

It is built anew with GCC's sanitizers for addresses and undefined behaviour, and the
tests of the kernels are run on it.  Where there are none, valgrind watches the usual
code, which takes many times as long.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from built import ROOT, copied
from needs import absent
from torture.size import LONG

pytestmark = pytest.mark.build
SUITE = [f"tests/engine/test_{name}.py" for name in ("kernels", "index", "threads", "long_search")]
SUITE += ["tests/daemon/test_encoding.py"]
# The report of a sanitizer is written when the process ends, past what pytest keeps.
PYTEST = ["-m", "pytest", "-q", "-x", "--capture=sys", "-p", "no:cacheprovider", "-p", "no:xdist"]
INSTALL = ("-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps")
FLAGS = "-g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
# CPython itself computes with undefined values here and there, to no effect.
VALGRIND = (
    "--quiet",
    "--error-exitcode=9",
    "--leak-check=no",
    "--undef-value-errors=no",
    f"--suppressions={ROOT / 'tests' / 'torture' / 'valgrind.supp'}",
)
TOO_MANY = "import ctypes; ctypes.string_at(ctypes.create_string_buffer(999), 1099)"


@dataclass(frozen=True)
class Watch:
    """What sees a wrong access: how the extension is built for it, and how Python is run."""

    flags: str
    program: tuple[str, ...]
    environment: dict[str, str]
    says: str

    def run(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run this Python under the watch."""
        environment = os.environ | {"PYTHONMALLOC": "malloc"} | self.environment | more
        return subprocess.run(
            [*self.program, sys.executable, *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


def sanitizer() -> str | None:
    """The library that has to be loaded before all others; None if there is none."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    try:
        told = subprocess.check_output([compiler[0], "-print-file-name=libasan.so"], text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return told.strip() if Path(told.strip()).is_absolute() else None


@pytest.fixture(scope="module")
def watch() -> Watch:
    """The best that is installed."""
    if (library := sanitizer()) is not None:
        # Python itself keeps much until its end, which is no concern of this test.
        options = {"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0"}
        return Watch(FLAGS, (), options, "heap-buffer-overflow")
    if (valgrind := shutil.which("valgrind")) is not None:
        if not LONG:
            pytest.skip("valgrind takes minutes: make torture T=T23")
        return Watch("-g", (valgrind, *VALGRIND), {"MILKD_TORTURE": ""}, "Invalid read")
    absent("neither GCC's libasan nor valgrind is here: apt-get install gcc, or valgrind")


@pytest.fixture(scope="module")
def site(watch: Watch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with milkd, the extension built for the watch."""
    folder = tmp_path_factory.mktemp("watched")
    environment = os.environ | {"MILKD_BUILD_EXTENSION": "yes", "CFLAGS": watch.flags}
    command = [sys.executable, *INSTALL, "--target", str(folder / "site"), "."]
    subprocess.run(command, cwd=copied(folder / "tree"), env=environment, check=True)
    return folder / "site"


def test_a_hundred_bytes_too_many_are_seen(watch: Watch) -> None:
    done = watch.run("-c", TOO_MANY)
    assert done.returncode != 0
    assert watch.says in done.stdout


def test_the_kernels_touch_only_what_is_their_own(watch: Watch, site: Path) -> None:
    where = {"PYTHONPATH": str(site), "PYTHONSAFEPATH": "1", "MILKD_PURE": ""}
    found = watch.run("-c", "import milkd._fastcore as f; print(f.__file__)", **where)
    assert found.stdout.startswith(str(site)), found.stdout
    done = watch.run(*PYTEST, "-k", "not pure", *SUITE, **where)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
