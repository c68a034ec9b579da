"""A store to look after, with something in every place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from milkd.engine.changes import EdgePut, EngramPut, PerceptPut
from milkd.engine.percept import ScopeImage
from upkeep.stores import Kept, edge, engram, percept

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """Global in its file, a session in the journal, a backup of both kinds."""
    kept = Kept(tmp_path / "memory")
    facts = percept(1, engram_id="numbers"), percept(2)
    kept.append(PerceptPut("global", facts[0]), EngramPut("global", engram("numbers", 1)))
    kept.append(PerceptPut("global", facts[1]), EdgePut("global", edge(2, 1)))
    image = ScopeImage(
        name="global", percepts=facts, engrams=(engram("numbers", 1),), edges=(edge(2, 1),)
    )
    kept.checkpoint(image)
    kept.append(PerceptPut("global", facts[1]))
    kept.checkpoint(image)
    kept.append(PerceptPut("s1", percept(3)))
    kept.append(PerceptPut("s1", percept(4)), EdgePut("s1", edge(4, 1)))
    return kept
