"""A month with feedback and without: does what is useful come first, and is all else equal?

    python bench/learning.py [--plot docs/learning.svg]

200 facts on ten topics, thirty runs of twenty turns, in a time that this program makes.  A
quarter of the facts is of use to a simulated agent: whenever it is shown one on the topic at
hand, it does something with it, and with the others it does nothing.  Some facts are wrong: the
agent falls for one now and then, the user says no, and some of these are corrected.  Facts are
restated by users and agents on the way.  All of it is drawn from a seed, and the same happens
in both lives, but that one of them is told what came of its turns.

Ranks are the places, from 1, in the order of injection for ten prompts that never change.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, cast

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.plot import Line, chart
from milkd import wordlists
from milkd.engine import commands as ask
from milkd.engine.engine import Engine
from milkd.engine.params import Params
from milkd.engine.percept import GLOBAL, Percept, ScopeImage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from milkd.engine.results import Injection

TOPICS = (
    "release", "database", "parser", "website", "invoice",
    "tracing", "camera", "kernel", "garden", "library",
)  # fmt: skip
PER_TOPIC, USEFUL, WRONG = 20, 5, 2
RUNS, TURNS = 30, 20
HOUR, DAY = 3_600.0, 86_400.0
START = 1_767_225_600.0
SESSION = "s1"
IDLE = "I looked at what there was, and carried on with something of my own choosing."


@dataclass
class Fact:
    """What the simulated world knows of a percept."""

    id: str
    topic: str
    content: str
    own: str
    """Words that no other fact has: what shows when it is used."""
    kind: str
    """useful, wrong or other."""


@dataclass
class Story:
    """What happens, whoever listens."""

    facts: list[Fact]
    percepts: list[Percept]
    seed: int

    @classmethod
    def told(cls, seed: int) -> Story:
        """The facts of a seed, as a store of some age would have them."""
        chance, facts, percepts = random.Random(seed), [], []
        for topic in TOPICS:
            kinds = ["useful"] * USEFUL + ["wrong"] * WRONG
            kinds += ["other"] * (PER_TOPIC - len(kinds))
            chance.shuffle(kinds)
            for number, kind in enumerate(kinds):
                own = f"{_word(chance)} {_word(chance)} {_word(chance)}"
                fact = Fact(
                    _uuid(chance), topic, f"the {topic} has {own} in place {number}", own, kind
                )
                facts.append(fact)
                percepts.append(_percept(fact, chance))
        return cls(facts, percepts, seed)


@dataclass
class Month:
    """One life.

    Attributes:
        ranks: After each run, the median rank by kind of fact.
    """

    story: Story
    heeds: bool
    knobs: dict[str, Any] = field(default_factory=dict)
    ranks: list[dict[str, float]] = field(default_factory=list)
    promoted: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.engine = Engine(Params(**self.knobs), wordlists.load())
        self.engine.load(ScopeImage(name=GLOBAL, percepts=tuple(self.story.percepts)))
        self.engine.load(ScopeImage(name=SESSION))
        self.wall, self.running = START, 0.0
        self.chance = random.Random(self.story.seed + 1)
        self.by_id = {fact.id: fact for fact in self.story.facts}

    def live(self, runs: int = RUNS) -> Month:
        """Let it all happen."""
        self._measure()
        for _ in range(runs):
            self.engine.new_run()
            for _ in range(TURNS):
                self._turn()
            self._restate()
            report = cast("Any", self._do(ask.Consolidate(session=SESSION)))
            self.promoted.append(report.promoted)
            self.wall += DAY - TURNS * HOUR / 10
            self._measure()
        return self

    def facts(self) -> list[tuple[str, float, int, str]]:
        """What must not depend on feedback: content, strength, evidence and place."""
        images = (self.engine.image(name) for name in (GLOBAL, SESSION, "archive"))
        return [
            (p.content, p.w, p.evidence, image.name) for image in images for p in image.percepts
        ]

    def _turn(self) -> None:
        self.wall += HOUR / 10
        self.running += HOUR / 10
        topic, whim = self.chance.choice(TOPICS), self.chance.random()
        given = cast("Injection", self._do(ask.Inject(prompt=f"on the {topic}", session=SESSION)))
        shown = [self.by_id[each] for each in given.ids if each in self.by_id]
        wrong = [fact for fact in shown if fact.kind == "wrong"]
        falls = bool(wrong) and whim < 0.3
        trap = wrong[int(whim * 1e6) % len(wrong) :][:1] if falls else []
        used = trap if falls else [fact for fact in shown if fact.kind == "useful"]
        response = " ".join([IDLE, *(f"So: {fact.own}." for fact in used)])
        if self.heeds:
            reply = "no, that's wrong" if falls else "yes, exactly" if whim > 0.95 else ""
            self._do(ask.TurnEnd(response=response, user_reply=reply, session=SESSION))
        if self.chance.random() < 0.02:
            self._correct(topic)

    def _correct(self, topic: str) -> None:
        """The user puts one of the wrong facts of a topic right."""
        fact = next(f for f in self.story.facts if f.topic == topic and f.kind == "wrong")
        said = f"the {topic} never had {fact.own}, but {_word(self.chance)}"
        self._record(said, producer="user", relation="updates", related_to=fact.id)

    def _restate(self) -> None:
        """Somebody says some of it again, and something new."""
        for fact in self.chance.sample(self.story.facts, 4):
            if self.engine.content(fact.id) is not None:
                self._record(fact.content, producer=self.chance.choice(("user", "primary")))
        topic = self.chance.choice(TOPICS)
        self._record(f"the {topic} got a {_word(self.chance)} {_word(self.chance)}")

    def _record(self, content: str, **more: Any) -> None:
        command = ask.Record(content=content, new_id=_uuid(self.chance), session=SESSION, **more)
        self._do(command)

    def _do(self, command: ask.Command) -> object:
        now = ask.Now(self.wall, {GLOBAL: self.running, SESSION: self.running})
        decision = self.engine.decide(command, now)
        self.engine.apply_all(decision.changes)
        return decision.result

    def _measure(self) -> None:
        """Where the facts stand before prompts that never change; nobody is shown anything."""
        places: dict[str, list[float]] = {"useful": [], "wrong": [], "other": [], "all": []}
        for topic in TOPICS:
            command = ask.Inject(prompt=f"on the {topic}", repeat=True, explain=True)
            decision = self.engine.decide(command, ask.Now(self.wall, {}))
            candidates = cast("Injection", decision.result).candidates or ()
            # What was corrected is not injected, and stands before nothing.
            found = [
                each.id for each in candidates if each.hits and "superseded" not in each.reason
            ]
            for rank, percept_id in enumerate(found, 1):
                places["all"].append(rank)
                if percept_id in self.by_id:
                    places[self.by_id[percept_id].kind].append(rank)
        self.ranks.append({kind: median(ranks) for kind, ranks in places.items()})


def _percept(fact: Fact, chance: random.Random) -> Percept:
    at = START - chance.uniform(0, 60) * DAY
    return Percept(
        id=fact.id,
        content=fact.content,
        producer=chance.choice(("user", "primary")),
        w=round(chance.uniform(0.6, 0.9), 3),
        created_at=at,
        updated_at=at,
        evidence=chance.choice((0, 0, 1, 2)),
    )


def _word(chance: random.Random) -> str:
    return "".join(chance.choice("bdfgklmnprstvz") + chance.choice("aeiou") for _ in range(4))


def _uuid(chance: random.Random) -> str:
    digits = f"{chance.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"


def table(on: Month, off: Month) -> str:
    """The medians of both lives, every fifth run."""
    rows = ["| after run | useful | useful, no feedback | wrong | wrong, no feedback | all |"]
    rows.append("|---|---|---|---|---|---|")
    for run in range(0, len(on.ranks), 5):
        told, deaf = on.ranks[run], off.ranks[run]
        cells = (told["useful"], deaf["useful"], told["wrong"], deaf["wrong"], told["all"])
        rows.append("| " + " | ".join([str(run), *(f"{cell:g}" for cell in cells)]) + " |")
    return "\n".join(rows)


def drawn(on: Month, off: Month) -> str:
    """The ranks of both lives over the runs, as SVG."""

    def ranks(month: Month, kind: str) -> list[float]:
        return [each[kind] for each in month.ranks]

    lines: Iterable[Line] = (
        Line("useful, with feedback", ranks(on, "useful"), "#1a7f37"),
        Line("useful, without", ranks(off, "useful"), "#1a7f37", dashed=True),
        Line("wrong, with feedback", ranks(on, "wrong"), "#b42318"),
        Line("wrong, without", ranks(off, "wrong"), "#b42318", dashed=True),
    )
    return chart("median rank before ten fixed prompts", "runs", tuple(lines))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=7, help="another month (default: 7)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write the ranks as SVG")
    chosen = parser.parse_args()
    story = Story.told(chosen.seed)
    on, off = (Month(story, heeds=heeds).live() for heeds in (True, False))
    print(table(on, off))
    before, after = on.ranks[0]["useful"], on.ranks[-1]["useful"]
    same = on.facts() == off.facts() and on.promoted == off.promoted
    lowest = min(p.importance or 0.5 for p in on.engine.image(GLOBAL).percepts)
    print(f"\nuseful facts: rank {before:g} -> {after:g} ({after / before - 1:+.0%})")
    print(
        f"strengths, evidence and promotions {'are the same' if same else 'DIFFER'} in both lives"
    )
    print(f"least importance: {lowest:.2f}")
    if chosen.plot:
        chosen.plot.write_text(drawn(on, off))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
