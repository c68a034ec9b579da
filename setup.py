"""Build the optional extensions; everything static is in pyproject.toml.

`MILKD_BUILD_EXTENSION` decides: `yes` means that the build fails where an
extension fails (wheels, CI), `no` that it is not tried, `auto` or unset that they
are built if this machine can: all of them, or none.  Flags for the compiler are
taken from `CFLAGS`.
"""

from __future__ import annotations

import os
import sys
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CHOICE = os.environ.get("MILKD_BUILD_EXTENSION") or "auto"


class BuildAllOrNone(build_ext):
    """Where the compiler fails, leave the extensions out of the wheel and of its tag.

    setuptools alone would give what is pure the tag of a platform, so that one
    could take it for compiled, and pip would keep it for the next install.
    """

    def build_extensions(self) -> None:
        super().build_extensions()
        made = [Path(name) for name in self.get_outputs()]
        if not all(path.exists() for path in made):
            for path in made:
                path.unlink(missing_ok=True)
            self.distribution.ext_modules = []
            self.distribution.get_command_obj("bdist_wheel").root_is_pure = True


def extensions() -> list[Extension]:
    """Give the extension modules to build: all or none."""
    if CHOICE not in {"yes", "no", "auto"}:
        sys.exit(f"MILKD_BUILD_EXTENSION is {CHOICE!r}, expected yes, no or auto")
    # The sources reach into CPython's array objects; elsewhere a JIT does better.
    if CHOICE == "no" or (CHOICE == "auto" and sys.implementation.name != "cpython"):
        return []
    try:
        from Cython.Build import cythonize
    except ImportError:
        if CHOICE == "yes":
            raise
        return []
    described = [extension("_fastcore", "_fastcore.pyx"), extension("_wire", "wire.pyx")]
    modules = cythonize(described, build_dir="build/cython")  # type: ignore[no-untyped-call] # annotated in part
    return optional(modules)


def extension(name: str, source: str) -> Extension:
    """Describe an extension module of milkd."""
    return Extension(
        f"milkd.{name}",
        [f"_fastcore/{source}"],
        depends=sorted(glob("_fastcore/*.px[di]")),
        # Bit-for-bit agreement with CPython forbids fused multiply-add, which GCC
        # uses by default where the target has it.  Debug information is five
        # times the size of the code.  All this comes behind CFLAGS, and so wins.
        extra_compile_args=["-O3", "-g0", "-ffp-contract=off"],
    )


def optional(modules: list[Extension]) -> list[Extension]:
    """Let the build go on without them unless they were asked for."""
    for module in modules:
        module.optional = CHOICE != "yes"  # cythonize() drops the attribute
    return modules


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildAllOrNone})
