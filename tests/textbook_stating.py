"""What becomes of a statement: a new fact, or one that is known said again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from milkd.errors import Ambiguous, InvalidParams, NotFound
from textbook_judging import Judging
from textbook_shelf import ARCHIVE, GLOBAL, Edge, Fact, touched
from textbook_text import line, meant, only, terms

if TYPE_CHECKING:
    from milkd.engine import commands as ask

BIRTH = {"user": 0.9, "primary": 0.7, "escalation": 0.7, "system": 0.4}


class Stating(Judging):
    """Record and learn."""

    def record(self, c: ask.Record, now: ask.Now) -> dict[str, Any]:
        self.check(c.content)
        if (c.relation is None) != (c.related_to is None):
            raise InvalidParams("relation", "goes with related_to")
        target, unresolved = None, False
        if c.related_to is not None:
            try:
                _, target = only(c.related_to, meant(c.related_to, self.visible(c.session)))
            except (NotFound, Ambiguous):
                unresolved = True
        told = Fact(id=c.new_id, content=c.content, producer=c.producer,
                    w=1.0 if c.core else self.birth(c.producer),
                    created_at=now.wall, updated_at=now.wall, consumer=c.consumer,
                    roles=dict(c.roles), core=c.core)  # fmt: skip
        outcome = self.state(told, c, target, now)
        edge = None
        if target is not None and c.relation is not None:
            edge = (outcome["id"], target.id, c.relation)
            self.add_edge(edge)
        return outcome | {"edge": edge, "edge_error": unresolved}

    def learn(self, c: ask.Learn, now: ask.Now) -> dict[str, Any]:
        self.check(c.content)
        told = Fact(id=c.new_id, content=c.content, producer="user", w=1.0,
                    created_at=now.wall, updated_at=now.wall, core=True)  # fmt: skip
        return self.state(told, c, None, now) | {"edge": None, "edge_error": False}

    def birth(self, producer: str) -> float:
        return BIRTH.get(producer, BIRTH["system"])

    def check(self, content: str) -> None:
        lone = any(0xD800 <= ord(character) < 0xE000 for character in content)
        if lone or "\0" in content or not line(content):
            raise InvalidParams("content", "is no text")
        if len(content.encode()) > self.params.percept_max_bytes:
            raise InvalidParams("content", "is too long")

    def state(
        self, told: Fact, c: ask.Record | ask.Learn, beside: Fact | None, now: ask.Now
    ) -> dict[str, Any]:
        """ADR-53, "Reinforcement replaces duplicate rejection"; else the fact is new."""
        set_against = self.at_odds(beside)
        seen = [pair for pair in self.visible(c.session) if pair[1].id not in set_against]
        alike, scope, known = self.nearest(told.content, seen)
        mistaken, _, other = self.nearest(told.content, seen, rejected=True)
        if known is None and self.params.revive:
            archived = [pair for pair in self.archived() if pair[1].id not in set_against]
            alike, scope, known = self.nearest(told.content, archived)
        before = known and (known.id, known.content, self.strength(scope, known, now), alike)
        beside_it = other and (other.id, other.content, other.w, mistaken)
        if known is None:
            status, known = "inserted", told
            scope = GLOBAL if c.session is None or told.core else c.session
            self.scopes[scope].facts.append(told)
            self.touch(scope, told, now)
        elif scope != ARCHIVE and self.echoes(told, known, c):
            status = "echoed"
            known.consumer = known.consumer if known.consumer == told.consumer else None
            self.keep_wording(known, told.content, now.wall)
            known.used_at, known.idle, known.busy = now.wall, 0.0, True
        else:
            status = "revived" if scope == ARCHIVE else "reinforced"
            scope = self.restate(scope, known, told, now)
        self.fill(known, {} if known is told else known.roles, told.roles, c.subject)
        return {"id": known.id, "status": status, "similarity": alike, "scope": scope,
                "w": self.strength(scope, known, now), "evidence": known.evidence,
                "existing": before, "look_alike": beside_it}  # fmt: skip

    def at_odds(self, beside: Fact | None) -> set[str]:
        """A statement is set against all that its target was said to update or contradict."""
        found = set() if beside is None else {beside.id}
        files = [scope for name, scope in self.scopes.items() if name != ARCHIVE]
        edges = [edge for scope in files for edge in scope.edges]
        for _ in edges:
            for source, target, relation in edges:
                if relation in ("updates", "contradicts") and found & {source, target}:
                    found |= {source, target}
        return found

    def echoes(self, told: Fact, known: Fact, c: ask.Record | ask.Learn) -> bool:
        """Whether an agent only repeats what it was told."""
        if not self.params.echo_guard or told.producer == "user" or told.core:
            return False
        audience = self.audience(c.session, getattr(c, "caller", None))
        said = terms([told.content], self.params)
        had = terms([known.content, *(text for text, _ in known.wordings)], self.params)
        asked = terms([audience.prompt or ""], self.params)
        by_itself = audience.prompt is None or not said or 2 * len(said & asked) < len(said)
        return known.id in audience.shown and said <= had and by_itself

    def restate(self, scope: str, known: Fact, told: Fact, now: ask.Now) -> str:
        """Returns where the fact is from now on."""
        if scope == ARCHIVE:
            self.bring_back(known, now)
            scope = GLOBAL
        self.reinforce(scope, known, told, now)
        if told.core and scope != GLOBAL:
            self.move(known, scope, GLOBAL)
            scope = GLOBAL
        self.touch(scope, known, now)
        return scope

    def reinforce(self, scope: str, fact: Fact, told: Fact, now: ask.Now) -> None:
        w, cap = self.strength(scope, fact, now), self.params.reconfirm_cap
        least = self.birth(told.producer) if self.params.restate_to_birth else 0.0
        fact.w = max(w, min(cap, w + self.params.reconfirm_boost), min(cap, least))
        fact.idle = 0.0
        self.award(fact)
        fact.consumer = fact.consumer if fact.consumer == told.consumer else None
        if told.producer == "user" and (told.core or self.params.user_restatement):
            fact.producer = "user"
        worded = told.content
        if told.core:
            worded = fact.content
            fact.w, fact.core, fact.content = 1.0, True, told.content
            fact.content_at = now.wall
        self.keep_wording(fact, worded, now.wall)
        fact.updated_at = touched(fact.updated_at, now.wall)

    def fill(
        self, fact: Fact, own: dict[str, object], told: dict[str, object], subject: str | None
    ) -> None:
        """Empty roles are filled, filled ones stay."""
        if subject and "theme" not in own:
            fact.label = fact.label or subject.strip().casefold()
        given = told | ({"theme": subject} if subject else {})
        fact.roles = {role: who for role, who in given.items() if who} | own

    def bring_back(self, fact: Fact, now: ask.Now) -> None:
        """From the archive."""
        self.move(fact, ARCHIVE, GLOBAL)
        fact.idle, fact.archived_at, fact.reason = 0.0, None, None
        fact.at = now.running[GLOBAL]

    def touch(self, scope: str, fact: Fact, now: ask.Now) -> None:
        fact.at, fact.busy = now.running[scope], True

    def award(self, fact: Fact) -> None:
        """ADR-90: evidence counts runs, not restatements."""
        if fact.id not in self.awarded:
            self.awarded.add(fact.id)
            fact.evidence += 1

    def add_edge(self, edge: Edge) -> bool:
        """To the scope of its source; what is updated no longer updates."""
        source, target, relation = edge
        home = self.scopes[self.where(source) or GLOBAL]
        if edge in home.edges:
            return False
        home.edges.append(edge)
        for scope in self.scopes.values():
            if relation == "updates" and (target, source, relation) in scope.edges:
                scope.edges.remove((target, source, relation))
        return True
