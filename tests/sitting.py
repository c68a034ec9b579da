"""An engine with a clock that the test holds: what most tests of the engine sit down with."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from milkd import wordlists
from milkd.engine import commands as ask
from milkd.engine.engine import Engine
from milkd.engine.params import STRICT, Params
from milkd.engine.percept import GLOBAL, Percept, ScopeImage

if TYPE_CHECKING:
    from milkd.engine import results
    from milkd.engine.commands import Command
    from milkd.engine.results import Decision

LEXICON = wordlists.load()
NOON = 1_767_225_600.0
"""The wall time at which a sitting begins."""
DAY = 86_400.0


class Sitting:
    """One engine, its sessions, and a time that moves only when told to."""

    def __init__(self, *sessions: str, base: Params = STRICT, **knobs: Any) -> None:
        self.engine = Engine(replace(base, **knobs), LEXICON)
        self.wall = NOON
        self.running: dict[str, float] = {GLOBAL: 0.0}
        self._numbers = count(1)
        for session in sessions:
            self.engine.load(ScopeImage(name=session))
            self.running[session] = 0.0

    def run(self, seconds: float) -> None:
        """Let time pass, on the wall and in every scope that is open."""
        self.wall += seconds
        for scope in self.running:
            self.running[scope] += seconds

    def decide(self, command: Command) -> Decision:
        return self.engine.decide(command, ask.Now(self.wall, dict(self.running)))

    def do(self, command: Command) -> results.Result:
        decision = self.decide(command)
        self.engine.apply_all(decision.changes)
        return decision.result

    def record(self, content: str, session: str | None = None, **more: Any) -> results.Outcome:
        number = next(self._numbers)
        command = ask.Record(
            content=content,
            session=session,
            new_id=f"{number:08x}-0000-4000-8000-000000000000",
            **more,
        )
        return cast("results.Outcome", self.do(command))

    def learn(self, content: str, session: str | None = None, **more: Any) -> results.Outcome:
        number = next(self._numbers)
        command = ask.Learn(
            content=content,
            session=session,
            new_id=f"{number:08x}-0000-4000-8000-000000000000",
            **more,
        )
        return cast("results.Outcome", self.do(command))

    def recall(self, text: str, session: str | None = None, **more: Any) -> list[str]:
        """The contents that a query gives back."""
        result = self.do(ask.Query(text=text, session=session, **more))
        return [hit.view.percept.content for hit in cast("results.Recalled", result).hits]

    def inject(self, prompt: str, session: str | None = None, **more: Any) -> results.Injection:
        command = ask.Inject(prompt=prompt, session=session, **more)
        return cast("results.Injection", self.do(command))

    def consolidate(self, session: str | None = None) -> results.Report:
        return cast("results.Report", self.do(ask.Consolidate(session=session)))

    def end(self, session: str) -> None:
        """Close a session as its owner would, and begin it anew."""
        self.do(ask.Consolidate(session=session, ending=True))

    def hold(self, scope: str, *percepts: Percept) -> None:
        """Let a scope hold these percepts, as if a file had brought them."""
        image = ScopeImage(name=scope, percepts=percepts)
        self.engine.load(image, self.running.setdefault(scope, 0.0))

    def contents(self, scope: str) -> list[str]:
        return [percept.content for percept in self.engine.image(scope).percepts]

    def only(self, scope: str) -> Percept:
        """The one percept of a scope."""
        (percept,) = self.engine.image(scope).percepts
        return percept


def percept(content: str, number: int = 1, **more: Any) -> Percept:
    """A percept of an agent, born at noon, with an id made of a number."""
    values: dict[str, Any] = {
        "id": f"{number:08x}-0000-4000-8000-00000000000f",
        "producer": "primary",
        "w": 0.75,
        "created_at": NOON,
        "updated_at": NOON,
    } | more
    return Percept(content=content, **values)
