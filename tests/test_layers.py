"""Imports go downwards only, and the engine touches nothing outside itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import milkd

ROOT = Path(milkd.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

# A layer is a folder or a module directly under milkd; several modules make up the client.
ANYBODY = {"errors", "longpath", "paths"}
CLIENT = {
    "autostart",
    "chunks",
    "client",
    "dial",
    "doubt",
    "events",
    "link",
    "managed",
    "methods",
    "shapes",
}
MAY_IMPORT = {
    "__init__": {"client"},
    "__main__": {"daemon"},
    "cli": {"cli", "client", "rpc", "upkeep"},
    "client": {"client", "rpc"},
    "daemon": {"daemon", "engine", "rpc", "store", "wordlists"},
    "engine": {"engine"},
    "errors": set(),
    "longpath": set(),
    "paths": set(),
    "rpc": {"rpc"},
    "store": {"engine", "store"},
    "upkeep": {"engine", "store", "upkeep", "wordlists"},
    "wordlists": {"engine"},
}
MAY_USE_TRIO = {"daemon"}

# What is allowed is listed, since the ways to a clock, to chance or to a file cannot be.
PURE = {
    "__future__",
    "abc",
    "array",
    "bisect",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "difflib",
    "enum",
    "functools",
    "hashlib",
    "heapq",
    "itertools",
    "json",
    "math",
    "milkd",
    "operator",
    "re",
    "snowballstemmer",  # from words to stems, and nothing else
    "string",
    "struct",
    "types",
    "typing",
    "unicodedata",
}
IMPURE_CALLS = {"__import__", "breakpoint", "eval", "exec", "input", "open", "print"}

# The places that choose an implementation, and for that read one variable.
CHOOSER = ROOT / "engine" / "kernels.py"
IMPLEMENTATIONS = {"milkd._fastcore", "milkd.engine._kernels_py"}
ENCODER = ROOT / "daemon" / "encoding.py"


def imports(source: str) -> set[str]:
    """Give the dotted names a module imports anywhere, `from a import b` as `a` and `a.b`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "absolute imports only"
            assert node.module is not None
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def layers(source: str) -> set[str]:
    """Give the layers a module imports from; what milkd itself exports is the client's."""
    used = {name.split(".")[1] for name in imports(source) if name.startswith("milkd.")}
    used -= {"__version__", "_fastcore", "_wire"}
    return {name if name in MAY_IMPORT else "client" for name in used}


def layer_of(path: Path) -> str:
    name = path.relative_to(ROOT).parts[0].removesuffix(".py")
    return "client" if name in CLIENT else name


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


every_module = pytest.mark.parametrize("path", MODULES, ids=name_of)
every_engine_module = pytest.mark.parametrize(
    "path", [path for path in MODULES if layer_of(path) == "engine"], ids=name_of
)


@every_module
def test_imports_go_downwards(path: Path) -> None:
    layer = layer_of(path)
    assert layer in MAY_IMPORT, f"say in MAY_IMPORT what {layer} stands on"
    assert layers(path.read_text()) <= MAY_IMPORT[layer] | ANYBODY


@every_module
def test_trio_belongs_to_the_daemon(path: Path) -> None:
    if layer_of(path) not in MAY_USE_TRIO:
        assert "trio" not in {name.split(".")[0] for name in imports(path.read_text())}


@pytest.mark.parametrize("path", [path for path in MODULES if layer_of(path) == "cli"], ids=name_of)
def test_a_command_imports_what_works_on_the_store_only_when_it_is_used(path: Path) -> None:
    tree = ast.parse(path.read_text())
    tree.body = [node for node in tree.body if not isinstance(node, ast.FunctionDef)]
    kept = [node for node in tree.body if not isinstance(node, ast.If)]  # TYPE_CHECKING
    names = {name for node in kept for name in imports(ast.unparse(node))}
    assert not {name for name in names if name.startswith("milkd.upkeep")}


@every_module
def test_only_one_module_chooses_the_kernels(path: Path) -> None:
    used = imports(path.read_text())
    assert path == CHOOSER or not used & IMPLEMENTATIONS
    assert path == ENCODER or "milkd._wire" not in used


@every_engine_module
def test_the_engine_has_no_clock_no_chance_and_no_io(path: Path) -> None:
    allowed = PURE | {"os"} if path == CHOOSER else PURE
    assert {name.split(".")[0] for name in imports(path.read_text())} <= allowed


@every_engine_module
def test_the_engine_calls_nothing_that_reaches_outside(path: Path) -> None:
    names = {
        node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)
    }
    assert not names & IMPURE_CALLS


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import milkd.store.files", {"store"}),
        ("import milkd.rpc.values as values, milkd.paths", {"rpc", "paths"}),
        ("from milkd import daemon", {"daemon"}),
        ("from milkd.engine import percept", {"engine"}),
        ("from milkd.engine.percept import Percept", {"engine"}),
        ("from milkd import Client, errors", {"client", "errors"}),
        ("from milkd import __version__", set()),
        ("def later():\n    from milkd import store", {"store"}),
        ("if TYPE_CHECKING:\n    from milkd.cli import main", {"cli"}),
        ("import milkd", set()),
        ("import os, trio", set()),
    ],
)
def test_every_way_to_import_is_seen(source: str, expected: set[str]) -> None:
    assert layers(source) == expected


@pytest.mark.parametrize("source", ["from . import store", "from ..engine import percept"])
def test_relative_imports_are_refused(source: str) -> None:
    with pytest.raises(AssertionError, match="absolute imports only"):
        imports(source)
