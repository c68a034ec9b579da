"""How much of what was recorded comes back, and how fast: recall over real conversations.

    python bench/recall.py DIR

DIR holds `facts.jsonl` ({id, text, store, …}) and `questions.jsonl` ({question, evidence:
[fact ids], category, store}).  A daemon is started on a throw-away store; each
`store` becomes a session, its facts are recorded and its questions asked through
the socket.  Questions of the category `adversarial` have no answer and are left out.

R@k is the share of a question's evidence among the first k percepts, MRR the mean
reciprocal rank of the first piece of evidence; both are means over questions.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import milkd

DEPTH = 10
"""Percepts asked for: as deep as the deepest measure looks."""


@dataclass(frozen=True)
class Answer:
    """What came of one question."""

    category: str
    at_5: float
    at_10: float
    reciprocal_rank: float
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="holds facts.jsonl and questions.jsonl")
    folder = parser.parse_args().folder
    facts, questions = lines(folder / "facts.jsonl"), lines(folder / "questions.jsonl")
    questions = [question for question in questions if question["category"] != "adversarial"]
    home = Path(tempfile.mkdtemp(prefix="m-"))
    # No config and no daemon of the user's takes part.
    os.environ |= {
        "HOME": str(home),
        "MILK_MEMORY_DIR": str(home / "memory"),
        "MILKD_SOCKET": str(home / "sock"),
    }
    try:
        with milkd.connect() as memory:
            print(f"milkd {milkd.__version__}, {memory.hello()['core']}")
            percept_of, loading = load(memory, facts)
            answers = [ask(memory, question, percept_of) for question in questions]
            memory.shutdown()
    finally:
        shutil.rmtree(home)
    merged = len(facts) - len(set(percept_of.values()))
    print(f"{len(facts)} facts recorded in {loading:.1f} s; {merged} restated another one")
    report(answers)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def load(memory: milkd.Client, facts: list[dict[str, Any]]) -> tuple[dict[str, str], float]:
    """Record every fact; gives the percept id of each fact, and the seconds it took."""
    start = time.perf_counter()
    percept_of = {
        fact["id"]: memory.record(fact["text"], session=fact["store"])["id"] for fact in facts
    }
    return percept_of, time.perf_counter() - start


def ask(memory: milkd.Client, question: dict[str, Any], percept_of: dict[str, str]) -> Answer:
    start = time.perf_counter()
    recalled = memory.query(question["question"], session=question["store"], max_results=DEPTH)
    seconds = time.perf_counter() - start
    wanted = {percept_of[fact] for fact in question["evidence"]}
    found = [percept["id"] in wanted for percept in recalled["percepts"]]
    return Answer(
        category=question["category"],
        at_5=sum(found[:5]) / len(wanted),
        at_10=sum(found[:10]) / len(wanted),
        reciprocal_rank=1 / (found.index(True) + 1) if True in found else 0.0,
        seconds=seconds,
    )


def report(answers: list[Answer]) -> None:
    groups: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        groups[answer.category].append(answer)
    print(f"{'category':<16}{'questions':>10}{'R@5':>8}{'R@10':>8}{'MRR':>8}")
    for category, group in [*sorted(groups.items()), ("all", answers)]:
        means = (
            statistics.fmean(getattr(answer, measure) for answer in group)
            for measure in ("at_5", "at_10", "reciprocal_rank")
        )
        print(f"{category:<16}{len(group):>10}" + "".join(f"{mean:>8.3f}" for mean in means))
    taken = sorted(answer.seconds for answer in answers)
    p50, p99 = taken[len(taken) // 2], taken[int(len(taken) * 0.99)]
    print(f"query, as the client sees it: p50 {p50 * 1e3:.2f} ms, p99 {p99 * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
