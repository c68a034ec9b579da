"""What every test may ask for: both implementations of the kernels, one Hypothesis profile."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import HealthCheck, settings

from torture.size import LONG

if TYPE_CHECKING:
    from types import ModuleType

    from milkd.engine._index_py import TokenIndex
    from milkd.engine._words_py import Vocabulary, Words

# No deadline and no complaint about speed: the machine may be busy.
# The usual run is the same every time; `make torture` looks for something new.
SLOW_IS_FINE = (HealthCheck.too_slow,)
settings.register_profile(
    "usual", derandomize=True, deadline=None, suppress_health_check=SLOW_IS_FINE
)
settings.register_profile(
    "torture",
    max_examples=2_000,
    deadline=None,
    suppress_health_check=SLOW_IS_FINE,
    print_blob=True,
)
settings.load_profile("torture" if LONG else "usual")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-extension",
        action="store_true",
        help="test the pure kernels only; without it a missing extension is an error",
    )

    parser.addoption(
        "--units",
        action="store_true",
        help="leave out what runs whole programs; enough where only the kernels differ",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--units"):
        for item in items:
            if "place" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.skip(reason="runs whole programs; --units"))
    if config.getoption("--no-extension"):
        one_lane = {"build"} if LONG else {"build", "lasting"}
        for item in items:
            if one_lane & {mark.name for mark in item.iter_markers()}:
                item.add_marker(pytest.mark.skip(reason="runs with the extension only"))


@pytest.fixture(autouse=True)
def no_memory_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test meets the memory of whoever runs it."""
    for name in ("MILK_MEMORY_DIR", "MILKD_SOCKET", "MILK_SESSION"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session", params=["compiled", "pure"])
def kernels(request: pytest.FixtureRequest) -> ModuleType:
    """Each implementation of the kernels in turn."""
    if request.param == "pure":
        return importlib.import_module("milkd.engine._kernels_py")
    if request.config.getoption("--no-extension"):
        pytest.skip("--no-extension")
    return importlib.import_module("milkd._fastcore")


class Indexing(NamedTuple):
    """One implementation of the indexes."""

    Vocabulary: type[Vocabulary]
    Words: type[Words]
    TokenIndex: type[TokenIndex]


@pytest.fixture(scope="session", params=["compiled", "pure"])
def indexing(request: pytest.FixtureRequest) -> Indexing:
    """Each implementation of the indexes in turn."""
    modules = ["milkd.engine._words_py", "milkd.engine._words_py", "milkd.engine._index_py"]
    if request.param == "compiled":
        if request.config.getoption("--no-extension"):
            pytest.skip("--no-extension")
        modules = ["milkd._fastcore"] * 3
    loaded = map(importlib.import_module, modules)
    return Indexing(*map(getattr, loaded, Indexing._fields))
