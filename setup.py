"""Build the optional extension; everything static is in pyproject.toml.

`MILKD_BUILD_EXTENSION` decides: `yes` means that the build fails where the
extension fails (wheels, CI), `no` that it is not tried, `auto` or unset that it
is built if this machine can.
"""

from __future__ import annotations

import os
import sys

from setuptools import Extension, setup

CHOICE = os.environ.get("MILKD_BUILD_EXTENSION") or "auto"


def extensions() -> list[Extension]:
    """Give the extension modules to build: one or none."""
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
    modules = cythonize([fastcore()], build_dir="build/cython")  # type: ignore[no-untyped-call] # annotated in part
    return optional(modules)


def fastcore() -> Extension:
    """Describe milkd._fastcore."""
    return Extension(
        "milkd._fastcore",
        ["_fastcore/_fastcore.pyx"],
        # Bit-for-bit agreement with CPython forbids fused multiply-add, which GCC
        # uses by default where the target has it.  Debug information is five
        # times the size of the code.
        extra_compile_args=["-O3", "-g0", "-ffp-contract=off"],
    )


def optional(modules: list[Extension]) -> list[Extension]:
    """Let the build go on without them unless they were asked for."""
    for module in modules:
        module.optional = CHOICE != "yes"  # cythonize() drops the attribute
    return modules


setup(ext_modules=extensions())
