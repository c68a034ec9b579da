"""How much of what was recorded comes back, and how fast: recall over real conversations.

    python bench/recall.py DIR [SETTING …]

DIR holds `facts.jsonl` ({id, text, store, …}) and `questions.jsonl` ({question, evidence:
[fact ids], category, store}).  For each setting a daemon is started on a throw-away store;
each `store` becomes a session, its facts are recorded and its questions asked through the
socket.  Questions of the category `adversarial` have no answer and are left out.

R@k is the share of a question's evidence among the first k percepts, MRR the mean
reciprocal rank of the first piece of evidence.  Injection: the share of the evidence inside
the block of 25 facts and 2,048 bytes, neighbours among them; and what the same questions get
from the sessions of another conversation, which knows no answer: the share that get silence,
and bytes.  Beside: the share of the evidence among five results and their neighbours, and among
as many of the best results as have so many bytes.  All are means over questions.
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
SETTINGS: dict[str, dict[str, object]] = {
    "strict": {"profile": "strict"},
    "default": {},
    "idf": {"hit_weight": "idf"},
    "diversity": {"diversity": "both"},
    "no-neighbours": {"neighbours": "off"},
    "neighbours": {"neighbours": "both", "neighbour_overlap": 0.4},
    "near-0.25": {"neighbours": "both", "neighbour_overlap": 0.25},
    "near-0.6": {"neighbours": "both", "neighbour_overlap": 0.6},
    "any-word": {"inject_chance_words": 0},
    "words-4": {"inject_chance_words": 4},
    "words-8": {"inject_chance_words": 8},
}


@dataclass(frozen=True)
class Answer:
    """What came of one question."""

    category: str
    at_5: float
    at_10: float
    reciprocal_rank: float
    injected: float
    """Share of the evidence inside the block."""
    block: int
    """Bytes of the block."""
    elsewhere: int
    """Bytes of the block in a session that has no answer."""
    beside: float
    """Share of the evidence among five results and their neighbours."""
    instead: float
    """The same among the best results of as many bytes."""
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="holds facts.jsonl and questions.jsonl")
    parser.add_argument(
        "settings", nargs="*", default=["strict", "default", "idf"], help=", ".join(SETTINGS)
    )
    arguments = parser.parse_args()
    facts = lines(arguments.folder / "facts.jsonl")
    questions = lines(arguments.folder / "questions.jsonl")
    questions = [question for question in questions if question["category"] != "adversarial"]
    for setting in arguments.settings:
        measure(setting, facts, questions)


def measure(setting: str, facts: list[dict[str, Any]], questions: list[dict[str, Any]]) -> None:
    """Start a daemon under a setting, load the facts, ask the questions, report."""
    home = Path(tempfile.mkdtemp(prefix="m-"))
    # No config and no daemon of the user's takes part.
    os.environ |= {
        "HOME": str(home),
        "MILK_MEMORY_DIR": str(home / "memory"),
        "MILKD_SOCKET": str(home / "sock"),
    }
    config = home / ".milk" / "config.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"memory": SETTINGS[setting]}))
    try:
        with milkd.connect() as memory:
            print(f"\n{setting}: milkd {milkd.__version__}, {memory.hello()['core']}")
            percept_of, loading = load(memory, facts)
            stores = list(dict.fromkeys(fact["store"] for fact in facts))
            following = dict(zip(stores, stores[1:] + stores[:1], strict=True))
            answers = [ask(memory, question, percept_of, following) for question in questions]
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


def ask(
    memory: milkd.Client,
    question: dict[str, Any],
    percept_of: dict[str, str],
    following: dict[str, str],
) -> Answer:
    text, session = question["question"], question["store"]
    start = time.perf_counter()
    recalled = memory.query(text, session=session, max_results=DEPTH)
    seconds = time.perf_counter() - start
    block = memory.inject(text, session=session, repeat=True)
    elsewhere = memory.inject(text, session=following[session], repeat=True)
    five = memory.query(text, session=session, max_results=5)
    near = [*five["percepts"], *five.get("neighbours", [])]
    many = memory.query(text, session=session, max_results=30)["percepts"]
    wanted = {percept_of[fact] for fact in question["evidence"]}
    shown = {*block["ids"], *(each["id"] for each in block.get("neighbours", []))}
    found = [percept["id"] in wanted for percept in recalled["percepts"]]
    return Answer(
        category=question["category"],
        at_5=sum(found[:5]) / len(wanted),
        at_10=sum(found[:10]) / len(wanted),
        reciprocal_rank=1 / (found.index(True) + 1) if True in found else 0.0,
        injected=len(wanted & shown) / len(wanted),
        block=block["bytes"],
        elsewhere=elsewhere["bytes"],
        beside=share(wanted, near),
        instead=share(wanted, of_size(many, sum(map(size, near)))),
        seconds=seconds,
    )


def share(wanted: set[str], percepts: list[Any]) -> float:
    """How much of the evidence is among some percepts."""
    return len(wanted.intersection(each["id"] for each in percepts)) / len(wanted)


def size(percept: Any) -> int:
    """Bytes of what an agent reads of a percept."""
    return len(percept["content"].encode())


def of_size(percepts: list[Any], most: int) -> list[Any]:
    """The first percepts that have so many bytes together."""
    taken, left = [], most
    for percept in percepts:
        left -= size(percept)
        if left < 0:
            break
        taken.append(percept)
    return taken


def report(answers: list[Answer]) -> None:
    groups: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        groups[answer.category].append(answer)
    print(f"{'category':<16}{'questions':>10}{'R@5':>8}{'R@10':>8}{'MRR':>8}{'injected':>10}")
    for category, group in [*sorted(groups.items()), ("all", answers)]:
        means = [
            statistics.fmean(getattr(answer, measure) for answer in group)
            for measure in ("at_5", "at_10", "reciprocal_rank", "injected")
        ]
        print(f"{category:<16}{len(group):>10}{means[0]:>8.3f}{means[1]:>8.3f}", end="")
        print(f"{means[2]:>8.3f}{means[3]:>10.3f}")
    block = statistics.fmean(answer.block for answer in answers)
    silent = statistics.fmean(not answer.elsewhere for answer in answers)
    elsewhere = statistics.fmean(answer.elsewhere for answer in answers)
    print(
        f"block: {block:.0f} bytes; without an answer: {silent:.1%} silence, {elsewhere:.0f} bytes"
    )
    beside = statistics.fmean(answer.beside for answer in answers)
    instead = statistics.fmean(answer.instead for answer in answers)
    print(f"five and their neighbours: {beside:.3f}; the best of as many bytes: {instead:.3f}")
    taken = sorted(answer.seconds for answer in answers)
    p50, p99 = taken[len(taken) // 2], taken[int(len(taken) * 0.99)]
    print(f"query, as the client sees it: p50 {p50 * 1e3:.2f} ms, p99 {p99 * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
