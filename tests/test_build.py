"""What is built holds what it should, with the extension, without it, and where it fails."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

import milkd

ROOT = Path(__file__).parent.parent
SOURCES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md")
FOLDERS = ("_fastcore", "milkd", "systemd")
BUILD = ("-m", "build", "--no-isolation", "--skip-dependency-check")
INSTALL = ("-m", "pip", "install", "--no-build-isolation", "--no-deps")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the sources that nothing was built in."""
    copy = tmp_path / "tree"
    copy.mkdir()
    for name in SOURCES:
        shutil.copy(ROOT / name, copy)
    for name in FOLDERS:
        shutil.copytree(
            ROOT / name,
            copy / name,
            symlinks=True,
            ignore=shutil.ignore_patterns("*.so", "__pycache__"),
        )
    return copy


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
    assert "_fastcore/_fastcore.pyx" in names
    assert {"systemd/milkd.service", "systemd/milkd.socket", "LICENSE", "CHANGELOG.md"} <= names
    assert {"milkd/words/en.txt", "milkd/systemd/milkd.service"} <= names
    assert not [name for name in names if name.endswith((".c", ".so", ".pyc"))]


@pytest.mark.build
def test_a_wheel_without_the_extension_is_for_any_platform_and_complete(tree: Path) -> None:
    wheel = build("wheel", tree, MILKD_BUILD_EXTENSION="no")
    assert wheel.name.endswith("-py3-none-any.whl")
    in_tree = [str(path.relative_to(tree)) for path in sources(tree / "milkd")]
    assert modules(zipfile.ZipFile(wheel).namelist()) == modules(in_tree)


@pytest.mark.build
@pytest.mark.parametrize("choice", ["yes", "auto"])
def test_a_wheel_with_the_extension_holds_it_compiled(tree: Path, choice: str) -> None:
    with zipfile.ZipFile(build("wheel", tree, MILKD_BUILD_EXTENSION=choice)) as wheel:
        names = wheel.namelist()
    assert [name for name in names if name.startswith("milkd/_fastcore.") and name.endswith(".so")]


@pytest.mark.build
def test_a_compiler_that_fails_leaves_a_pure_package(tree: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    failing = {"CC": "/bin/false", "MILKD_BUILD_EXTENSION": "auto"}
    run(*INSTALL, "--target", str(site), ".", cwd=tree, **failing)
    ask = "import milkd.engine.kernels as k; print(k.__file__, k.DESCRIPTION)"
    told = run("-c", ask, cwd=site, PYTHONPATH=str(site))
    assert told == f"{site}/milkd/engine/kernels.py pure 1\n"


@pytest.mark.build
def test_a_compiler_that_fails_is_an_error_where_the_extension_was_asked_for(tree: Path) -> None:
    failing = {"CC": "/bin/false", "MILKD_BUILD_EXTENSION": "yes"}
    done = attempt(*BUILD, "--wheel", cwd=tree, **failing)
    assert done.returncode != 0
    assert "/bin/false" in done.stdout + done.stderr
