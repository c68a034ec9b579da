"""How many instructions the compiled index takes, which is the same on a busy machine.

The limits hold for 100,000 facts, which `make torture` files; the usual run files fewer.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from needs import absent
from torture import counted
from torture.size import size
from torture.zipf import Facts

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.lasting
FACTS = size(10_000, 100_000)
QUESTIONS = 200
SLACK = 1.2
LIMITS = {
    "reading": 5_000,
    "match": 15_000,
    "novel": 45_000,
    "mixed": 250_000,
    "frequent": 250_000,
}
GROWTH = 3.0  # of finding a fact, with ten times as many
SUMMARY = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)

Counts = dict[str, float]


def write_questions(folder: Path, facts: list[str], draw: Facts) -> None:
    """Write the facts and what is asked about them."""
    some = facts[:: len(facts) // QUESTIONS][:QUESTIONS]
    sizes = [3 + n % 6 for n in range(QUESTIONS)]
    texts = {
        "facts": facts,
        "reading": some,
        "match": [draw.restated(fact) for fact in some],
        "novel": [draw.fresh() for _ in some],
        "mixed": [draw.about(fact, count) for fact, count in zip(some, sizes, strict=True)],
        "frequent": [draw.frequent(count) for count in sizes],
    }
    for kind, lines in texts.items():
        (folder / kind).write_text("\n".join(lines) + "\n")


def count(folder: Path, facts: int) -> Counts:
    """Instructions of a question of each kind, on average."""
    draw = Facts(seed=facts)
    write_questions(folder, [draw.fresh() for _ in range(facts)], draw)
    told = folder / "told"
    watch = ["valgrind", "--quiet", "--tool=callgrind", "--dump-before=getsid"]
    program = [sys.executable, "-P", counted.__file__, str(folder)]
    subprocess.run([*watch, f"--callgrind-out-file={told}", *program], check=True)
    # The first of the files tells how the index was filled.
    dumps = [folder / f"told.{n}" for n in range(2, 2 + len(counted.KINDS))]
    totals = [int(SUMMARY.findall(dump.read_text())[0]) for dump in dumps]
    each = [(total - totals[0]) / QUESTIONS for total in totals]
    return dict(zip(counted.KINDS, each, strict=True))


@pytest.fixture(scope="module")
def counts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Counts:
    if request.config.getoption("--no-extension"):
        pytest.skip("--no-extension")
    if shutil.which("valgrind") is None:
        absent("no valgrind here: apt-get install valgrind")
    return count(tmp_path_factory.mktemp("many"), FACTS)


@pytest.mark.parametrize("kind", LIMITS)
def test_a_question_takes_so_many_instructions(counts: Counts, kind: str) -> None:
    assert 0 < counts[kind] <= LIMITS[kind] * SLACK, counts


def test_finding_a_fact_among_ten_times_as_many_takes_little_more(
    counts: Counts, tmp_path: Path
) -> None:
    fewer = count(tmp_path, FACTS // 10)
    assert counts["match"] <= GROWTH * fewer["match"], (fewer, counts)
