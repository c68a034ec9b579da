"""Stores of generated facts, and questions about them; the same ones at every run.

Words are as frequent as in a language (Zipf's law), in facts of ten.
"""

from __future__ import annotations

import random
from itertools import accumulate
from typing import TYPE_CHECKING

from milkd.engine.percept import GLOBAL, Percept, ScopeImage
from milkd.store.encoder import image_to_bytes

if TYPE_CHECKING:
    from pathlib import Path

SEED = 6
FACT = 10  # words
WORDS = 20_000
STATED = 1_790_000_000.0


def stored(store: Path, count: int) -> list[str]:
    """Make a store of so many facts, and give them."""
    chance = random.Random(SEED)
    odds = list(accumulate(1.0 / (rank + 3.7) for rank in range(WORDS)))
    facts = [
        " ".join(f"w{rank}" for rank in chance.choices(range(WORDS), cum_weights=odds, k=FACT))
        for _ in range(count)
    ]
    percepts = tuple(
        Percept(
            id=f"{number:08x}-0000-4000-8000-000000000000",
            content=fact,
            producer="user",
            w=chance.uniform(0.2, 1.0),
            created_at=STATED + number,
            updated_at=STATED + number,
        )
        for number, fact in enumerate(facts)
    )
    store.mkdir(parents=True)
    (store / "global.json").write_bytes(image_to_bytes(ScopeImage(name=GLOBAL, percepts=percepts)))
    return facts


def restated(facts: list[str], count: int) -> list[str]:
    """Facts with a word less."""
    chosen = random.Random(SEED).sample(facts, count)
    return [fact.rpartition(" ")[0] for fact in chosen]


def asked(facts: list[str], count: int) -> list[str]:
    """Five words of a fact each."""
    chosen = random.Random(SEED).sample(facts, count)
    return [" ".join(fact.split()[:5]) for fact in chosen]
