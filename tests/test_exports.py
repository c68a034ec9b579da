"""What `import milkd` offers, and that it costs nothing until it is used."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import milkd
from milkd import client, errors
from places import ROOT


def test_everything_that_is_offered_is_there() -> None:
    for name in milkd.__all__:
        assert getattr(milkd, name) is not None
        assert name in dir(milkd)


def test_every_error_is_offered() -> None:
    offered = {name for name in errors.__all__ if name[0].isupper()}
    assert offered == {name for name in milkd.__all__ if hasattr(errors, name)}
    assert all(getattr(milkd, name) is getattr(errors, name) for name in offered)


def test_the_client_is_offered() -> None:
    assert milkd.Client is client.Client
    assert milkd.connect is client.connect


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'milkd' has no attribute 'recall'"):
        getattr(milkd, "recall")  # noqa: B009 - mypy knows that it isn't there


def test_the_version_is_that_of_the_distribution() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    assert project["project"]["version"] == milkd.__version__


def test_importing_the_package_loads_nothing_of_it() -> None:
    code = "import milkd, sys; print([n for n in sys.modules if n.startswith('milkd.')])"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[]\n"
