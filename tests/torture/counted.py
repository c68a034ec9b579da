"""Fills an index and asks it, for callgrind to count instructions.

    python counted.py FOLDER

The folder has a file of facts and one for each kind of question, a text a line.  Before each
kind `getsid` is called, which nothing else does: callgrind is told to write down there what
was counted since.  The first kind asks nothing, and tells what the loop takes.
"""

from __future__ import annotations

import gc
import os
import sys
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

from milkd.engine.ranking import Ranking
from milkd.engine.text import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

KINDS = ("nothing", "reading", "match", "novel", "mixed", "frequent")
SIMILAR = 0.6
WANTED = 10


def some_ranking(rows: int) -> Ranking:
    """Columns with as many values as rows."""
    shares = array("d", [row * 0.6180339887 % 1.0 for row in range(rows)])
    return Ranking(
        w=array("d", [0.2 + 0.8 * share for share in shares]),
        evidence=array("I", [row % 5 for row in range(rows)]),
        u=shares,
        updated_at=array("d", [1.0]) * rows,
        importance=array("d", [0.5]) * rows,
        consumer=array("I", [0]) * rows,
        min_w=0.4,
        asked_by=-1,
        c=0.1,
        wall=2.0,
        u_now=1.0,
        importance_weight=0.2,
    )


def ask(question: Callable[[Any], object], of: Iterable[object]) -> None:
    """Ask one kind of question."""
    os.getsid(0)
    for each in of:
        question(each)


def main(folder: Path) -> None:
    """Ask all kinds in turn."""
    from milkd._fastcore import TokenIndex, Vocabulary

    vocabulary = Vocabulary(tokens, None)
    index = TokenIndex(vocabulary)
    facts = (folder / "facts").read_text().splitlines()
    for slot, fact in enumerate(facts):
        index.add(slot, vocabulary.features(fact))
    ranking = some_ranking(len(facts))
    texts = {kind: (folder / kind).read_text().splitlines() for kind in KINDS[1:]}
    words = {kind: list(map(vocabulary.features, texts[kind])) for kind in KINDS[1:]}
    gc.disable()
    ask(len, texts["match"])
    ask(vocabulary.features, texts["reading"])
    for kind in ("match", "novel"):
        ask(lambda wanted: index.most_alike(wanted, SIMILAR), words[kind])
    for kind in ("mixed", "frequent"):
        ask(lambda wanted: index.top(wanted, WANTED, ranking), words[kind])
    os.getsid(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
