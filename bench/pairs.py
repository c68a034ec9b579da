"""Which pairs of texts count as one fact: duplicate decisions over labelled pairs.

    python bench/pairs.py DIR

DIR holds one file a set, `*.jsonl`, each line a pair {a, b, label: same | different, kind}.
A pair is one fact when its similarity reaches the threshold and the distinctness guard, at
one of its levels, has no objection; what was stated second would then reinforce the first.

For `same` the share that is reinforced is shown, for `different` the share that is kept
apart; both are better when higher.  `off` is the bare threshold.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from milkd import wordlists
from milkd.engine.analysis import Analyzer
from milkd.engine.distinctness import LEVELS, apart, marks
from milkd.engine.params import Params
from milkd.engine.text import features, jaccard

SAME = "same"


class Pair(NamedTuple):
    """Two texts, what people say of them, and what milkd does with them."""

    label: str
    kind: str
    one: dict[str, bool]
    """By level, whether they count as one fact."""


class Costs:
    """How long the guard took, in seconds."""

    def __init__(self) -> None:
        self.texts = self.comparisons = 0
        self.marking = self.comparing = 0.0

    def __str__(self) -> str:
        a_text = self.marking / max(self.texts, 1) * 1e6
        a_pair = self.comparing / max(self.comparisons, 1) * 1e6
        return f"marks of a text {a_text:.1f} us, a comparison of marks {a_pair:.2f} us"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="holds sets of pairs, one *.jsonl each")
    folder = parser.parse_args().folder
    sets = sorted(folder.glob("*.jsonl"))
    if not sets:
        parser.error(f"no *.jsonl in {folder}")
    judge, costs = Judge(), Costs()
    print(f"{'set':<18}{'label':<11}{'kind':<24}{'pairs':>6}", *(f"{x:>7}" for x in LEVELS))
    for path in sets:
        report(path.stem, [judge(json.loads(line), costs) for line in path.open(encoding="utf-8")])
    print(f"threshold {judge.threshold}; {costs}")


class Judge:
    """Decides on pairs as a store with default knobs would."""

    def __init__(self) -> None:
        self.lexicon = wordlists.load()
        self.stem = Analyzer(Params(), self.lexicon).stem
        self.threshold = Params().duplicate_threshold

    def __call__(self, pair: dict[str, str], costs: Costs) -> Pair:
        one, other = features(pair["a"]), features(pair["b"])
        alike = jaccard(one, other) >= self.threshold
        start = time.perf_counter()
        known, new = marks(pair["a"], self.lexicon), marks(pair["b"], self.lexicon)
        marked = time.perf_counter()
        verdicts = {level: alike and not apart(new, known, level, self.stem) for level in LEVELS}
        costs.marking += marked - start
        costs.comparing += time.perf_counter() - marked
        costs.texts += 2
        costs.comparisons += len(LEVELS)
        return Pair(pair["label"], pair["kind"], verdicts)


def report(name: str, pairs: list[Pair]) -> None:
    groups: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.label, pair.kind].append(pair)
    for label in sorted({pair.label for pair in pairs}, reverse=True):
        kinds = sorted(kind for of, kind in groups if of == label)
        for kind in kinds:
            line(name, label, kind, groups[label, kind])
        if len(kinds) > 1:
            line(name, label, "all", [pair for pair in pairs if pair.label == label])


def line(name: str, label: str, kind: str, pairs: list[Pair]) -> None:
    shares = (
        sum(pair.one[level] == (label == SAME) for pair in pairs) / len(pairs) for level in LEVELS
    )
    print(f"{name:<18}{label:<11}{kind:<24}{len(pairs):>6}", *(f"{x:>7.3f}" for x in shares))


if __name__ == "__main__":
    main()
