"""What is built holds what it should, with the extension, without it, and where it fails."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path, PurePosixPath

import pytest

import milkd
from built import ROOT, copied
from milkd.engine._kernels_py import ABI

BUILD = ("-m", "build", "--no-isolation", "--skip-dependency-check")
INSTALL = ("-m", "pip", "install", "--no-build-isolation", "--no-deps")
EXTENSIONS = {"_fastcore", "_wire"}
# It keeps a list of what it was called with, and makes empty files.
COMPILER = """#!/bin/sh
echo "$*" >>"{calls}"
case "$*" in *{refused}*) exit 1 ;; esac
while [ $# -gt 1 ]; do
  [ "$1" != -o ] || : >"$2"
  shift
done
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the sources that nothing was built in."""
    return copied(tmp_path / "tree")


def attempt(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def run(*command: str, cwd: Path, **environment: str) -> str:
    done = attempt(*command, cwd=cwd, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(kind: str, tree: Path, **environment: str) -> Path:
    """Build one distribution with this environment's own tools; gives its file."""
    run(*BUILD, f"--{kind}", cwd=tree, **environment)
    (made,) = (tree / "dist").iterdir()
    return made


def compiled(wheel: Path) -> set[str]:
    """Give the names of the extension modules in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = [PurePosixPath(name) for name in archive.namelist()]
    return {name.name.partition(".")[0] for name in names if name.suffix == ".so"}


def tags(wheel: Path) -> list[str]:
    """Give the tags that a wheel says it has."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/WHEEL")]
        lines = archive.read(name).decode().splitlines()
    return [line.removeprefix("Tag: ") for line in lines if line.startswith("Tag: ")]


class Compiler:
    """Something quick in the place of a compiler, which refuses what a word names."""

    def __init__(self, folder: Path, refused: str = "no-such-word") -> None:
        self._calls = folder / "calls"
        self._calls.touch()
        program = folder / "cc"
        program.write_text(COMPILER.format(calls=self._calls, refused=refused))
        program.chmod(0o755)
        self.environment = {"CC": str(program), "LDSHARED": f"{program} -shared"}

    def calls(self) -> list[str]:
        """Give what it was called with since it was asked last."""
        told = self._calls.read_text().splitlines()
        self._calls.write_text("")
        return told


def sources(folder: Path) -> list[Path]:
    """Give the files below a folder, and those behind links in it."""
    return [
        Path(where, name) for where, _, names in os.walk(folder, followlinks=True) for name in names
    ]


def modules(names: list[str]) -> set[str]:
    """Give the files of the package among `names`, other than compiled ones."""
    kinds = (".py", ".pyi", ".txt", ".typed", ".socket", ".service", ".conf")
    return {
        name for name in names if PurePosixPath(name).parts[0] == "milkd" and name.endswith(kinds)
    }


def test_the_version_is_the_same_everywhere() -> None:
    version = importlib.metadata.version("milkd")
    assert milkd.__version__ == version
    assert f"## {version} – " in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("choice", ["maybe", "YES", "1"])
def test_an_unknown_choice_is_refused(tree: Path, choice: str) -> None:
    done = attempt("setup.py", "--name", cwd=tree, MILKD_BUILD_EXTENSION=choice)
    assert done.returncode == 1
    assert f"MILKD_BUILD_EXTENSION is '{choice}', expected yes, no or auto" in done.stderr


@pytest.mark.build
def test_the_source_distribution_holds_the_extension_as_source_only(tree: Path) -> None:
    with tarfile.open(build("sdist", tree)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"_fastcore/{path.name}" for path in (tree / "_fastcore").iterdir()} <= names
    assert {"systemd/milkd.service", "systemd/milkd.socket", "LICENSE", "CHANGELOG.md"} <= names
    assert {"milkd/words/en.txt", "milkd/systemd/milkd.service"} <= names
    assert not [name for name in names if name.endswith((".c", ".so", ".pyc"))]


@pytest.mark.build
def test_a_wheel_without_the_extension_is_for_any_platform_and_complete(tree: Path) -> None:
    wheel = build("wheel", tree, MILKD_BUILD_EXTENSION="no")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert tags(wheel) == ["py3-none-any"]
    assert compiled(wheel) == set()
    in_tree = [str(path.relative_to(tree)) for path in sources(tree / "milkd")]
    names = zipfile.ZipFile(wheel).namelist()
    assert modules(names) == modules(in_tree)
    pages = {name.partition(".data/data/")[2] for name in names if ".data/" in name}
    assert pages == {"share/man/man1/milkctl.1", "share/man/man1/milkd.1"}


@pytest.mark.build
def test_a_wheel_with_the_extensions_is_for_this_platform(tree: Path) -> None:
    wheel = build("wheel", tree, MILKD_BUILD_EXTENSION="auto")
    assert compiled(wheel) == EXTENSIONS
    here = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert [tag.split("-")[0] for tag in tags(wheel)] == [here]
    assert not wheel.name.endswith("-any.whl")


@pytest.mark.build
def test_the_source_distribution_alone_is_enough_to_compile(tree: Path, tmp_path: Path) -> None:
    (tree / "_fastcore" / "extra.pxi").write_text("cdef enum:\n    NOTHING = 0\n")
    include(tree, "extra.pxi")
    site, archive = tmp_path / "site", build("sdist", tree)
    run(*INSTALL, "--target", str(site), str(archive), cwd=tmp_path, MILKD_BUILD_EXTENSION="yes")
    assert core(site) == f"{site}/milkd/engine/kernels.py compiled {ABI} None\n"


def include(tree: Path, name: str) -> None:
    """Let the kernels consist of one more file."""
    source = tree / "_fastcore" / "_fastcore.pyx"
    source.write_text(f'{source.read_text()}\ninclude "{name}"\n')


def core(site: Path) -> str:
    """Tell what the package in a folder says of its kernels."""
    ask = "import milkd.engine.kernels as k; print(k.__file__, k.DESCRIPTION, k.WHY_PURE)"
    return run("-c", ask, cwd=site, PYTHONPATH=str(site), MILKD_PURE="")


@pytest.mark.build
def test_a_compiler_that_fails_leaves_a_pure_package(tree: Path, tmp_path: Path) -> None:
    wheel = build("wheel", tree, CC="/bin/false", MILKD_BUILD_EXTENSION="auto")
    assert (tags(wheel), compiled(wheel)) == (["py3-none-any"], set())
    site = tmp_path / "site"
    run(*INSTALL, "--target", str(site), str(wheel), cwd=tmp_path)
    told = f"{site}/milkd/engine/kernels.py pure {ABI} milkd was built without its extension: "
    assert core(site).startswith(told)


@pytest.mark.build
@pytest.mark.parametrize("refused", ["/_fastcore.o", "/wire.o"])
def test_a_compiler_that_fails_at_one_extension_leaves_out_all(
    tree: Path, tmp_path: Path, refused: str
) -> None:
    compiler = Compiler(tmp_path, refused)
    wheel = build("wheel", tree, MILKD_BUILD_EXTENSION="auto", **compiler.environment)
    assert len(compiler.calls()) > 1
    assert (tags(wheel), compiled(wheel)) == (["py3-none-any"], set())


@pytest.mark.build
def test_a_compiler_that_fails_is_an_error_where_the_extension_was_asked_for(tree: Path) -> None:
    failing = {"CC": "/bin/false", "MILKD_BUILD_EXTENSION": "yes"}
    done = attempt(*BUILD, "--wheel", cwd=tree, **failing)
    assert done.returncode != 0
    assert "/bin/false" in done.stdout + done.stderr
    assert not list(tree.glob("dist/*.whl"))


@pytest.mark.build
def test_flags_reach_the_compiler_but_cannot_fuse_operations(tree: Path, tmp_path: Path) -> None:
    compiler = Compiler(tmp_path)
    flags = "-march=haswell -mfma -ffp-contract=fast -fsanitize=address,undefined"
    build("wheel", tree, MILKD_BUILD_EXTENSION="yes", CFLAGS=flags, **compiler.environment)
    calls = [call.split() for call in compiler.calls()]
    compilations = [call for call in calls if "-c" in call]
    assert len(compilations) == len(EXTENSIONS)
    for call in compilations:
        assert set(flags.split()) <= set(call)
        assert [flag for flag in call if "fp-contract" in flag][-1] == "-ffp-contract=off"
    for call in calls:
        assert "-fsanitize=address,undefined" in call  # the linker needs it as well


@pytest.mark.build
def test_what_a_source_includes_is_compiled_anew_when_it_changes(
    tree: Path, tmp_path: Path
) -> None:
    included = tree / "_fastcore" / "extra.pxi"
    included.write_text("cdef enum:\n    NOTHING = 0\n")
    include(tree, "extra.pxi")
    compiler = Compiler(tmp_path)
    again = {"MILKD_BUILD_EXTENSION": "yes", **compiler.environment}
    run("setup.py", "build_ext", cwd=tree, **again)
    assert compiler.calls()
    run("setup.py", "build_ext", cwd=tree, **again)
    assert not compiler.calls()
    later = time.time() + 10
    os.utime(included, (later, later))
    run("setup.py", "build_ext", cwd=tree, **again)
    assert any("_fastcore.o" in call for call in compiler.calls())
