"""The memory model as a textbook would write it: lists and loops, straight from the ADRs.

The referee of the real engine, with which it shares no code.  Each method is a command;
answers are dicts, lists and tuples of plain values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from milkd.errors import Ambiguous, InvalidParams, NotFound
from textbook_shelf import ARCHIVE, DAY, GLOBAL, Edge, Fact, Shelf, touched
from textbook_text import block, hits, meant, only, similarity, tokens

if TYPE_CHECKING:
    from milkd.engine import commands as ask

BIRTH = {"user": 0.9, "primary": 0.7, "escalation": 0.7, "system": 0.4}
POSITIVE = ("extends", "updates", "derives")
PER_SESSION = ("decayed", "pruned", "promoted", "promotion_deferred", "edges_applied")


class Textbook(Shelf):
    """Global, archive and the open sessions, by the strict profile."""

    # Stating facts

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
        birth = 1.0 if c.core else BIRTH.get(c.producer, BIRTH["system"])
        told = Fact(id=c.new_id, content=c.content, producer=c.producer, w=birth,
                    created_at=now.wall, updated_at=now.wall, consumer=c.consumer,
                    roles=dict(c.roles), core=c.core)  # fmt: skip
        outcome = self.state(told, c.session, c.subject, target, now)
        edge = None
        if target is not None and c.relation is not None:
            edge = (outcome["id"], target.id, c.relation)
            self.add_edge(edge)
        return outcome | {"edge": edge, "edge_error": unresolved}

    def learn(self, c: ask.Learn, now: ask.Now) -> dict[str, Any]:
        self.check(c.content)
        told = Fact(id=c.new_id, content=c.content, producer="user", w=1.0,
                    created_at=now.wall, updated_at=now.wall, core=True)  # fmt: skip
        outcome = self.state(told, c.session, c.subject, None, now)
        return outcome | {"edge": None, "edge_error": False}

    def check(self, content: str) -> None:
        lone = any(0xD800 <= ord(character) < 0xE000 for character in content)
        if lone or "\0" in content or not content.strip():
            raise InvalidParams("content", "is no text")
        if len(content.encode()) > self.params.percept_max_bytes:
            raise InvalidParams("content", "is too long")

    def state(
        self,
        told: Fact,
        session: str | None,
        subject: str | None,
        beside: Fact | None,
        now: ask.Now,
    ) -> dict[str, Any]:
        """ADR-53, "Reinforcement replaces duplicate rejection"; else the fact is new."""
        alike, scope, known = self.nearest(told.content, session, beside)
        status, existing = "reinforced", None
        if known is None or alike < self.params.duplicate_threshold:
            status, known, alike = "inserted", told, 0.0
            scope = GLOBAL if session is None or told.core else session
            self.scopes[scope].facts.append(told)
        else:
            existing = (known.id, known.content, self.strength(scope, known, now), alike)
            self.reinforce(scope, known, told, now)
            if told.core and scope != GLOBAL:
                self.move(known, scope, GLOBAL)
                scope = GLOBAL
        before = {} if known is told else known.roles
        if subject and "theme" not in before:
            known.label = known.label or subject.strip().casefold()
        given = told.roles | ({"theme": subject} if subject else {})
        known.roles = {role: who for role, who in given.items() if who} | before
        known.at, known.busy = now.running[scope], True
        return {"id": known.id, "status": status, "similarity": alike, "w": known.w,
                "evidence": known.evidence, "scope": scope, "existing": existing}  # fmt: skip

    def nearest(
        self, text: str, session: str | None, beside: Fact | None
    ) -> tuple[float, str, Fact | None]:
        """The visible fact most like a text; global before session, then the older one."""
        best: tuple[float, str, Fact | None] = (0.0, GLOBAL, None)
        for name, fact in self.visible(session):
            alike = similarity(text, fact.content)
            if fact is not beside and alike > best[0]:
                best = (alike, name, fact)
        return best

    def reinforce(self, scope: str, fact: Fact, told: Fact, now: ask.Now) -> None:
        w = self.strength(scope, fact, now)
        fact.w = max(w, min(self.params.reconfirm_cap, w + self.params.reconfirm_boost))
        fact.updated_at = touched(fact.updated_at, now.wall)
        fact.idle = 0.0
        self.award(fact)
        fact.consumer = fact.consumer if fact.consumer == told.consumer else None
        if told.core:
            fact.w, fact.core, fact.content = 1.0, True, told.content
            fact.producer = "user" if told.producer == "user" else fact.producer

    def award(self, fact: Fact) -> None:
        """ADR-90: evidence counts runs, not restatements."""
        if fact.id not in self.awarded:
            self.awarded.add(fact.id)
            fact.evidence += 1

    # Changing what is known

    def edit(self, c: ask.Edit, now: ask.Now) -> str:
        self.check(c.content)
        _, fact = self.one(c.ref, c.session)
        fact.content, fact.updated_at = c.content, touched(fact.updated_at, now.wall)
        return fact.id

    def forget(self, c: ask.Forget) -> tuple[str, int]:
        scope, fact = self.one(c.ref, c.session)
        held = [(name, other) for name, s in self.scopes.items() for other in s.facts]
        same = [(n, f) for n, f in held if f is not fact and f.content == fact.content]
        asleep = [f for s in self.closed.values() for f in s.facts if f.content == fact.content]
        for name, gone in [(scope, fact), *(same if c.everywhere else ())]:
            self.delete(name, gone)
        return fact.id, len(same) + len(asleep)

    def restore(self, c: ask.Restore, now: ask.Now) -> str:
        _, fact = only(c.ref, meant(c.ref, self.archived()))
        self.move(fact, ARCHIVE, GLOBAL)
        fact.idle, fact.used_at, fact.archived_at, fact.reason = 0.0, now.wall, None, None
        fact.at, fact.busy = now.running[GLOBAL], True
        return fact.id

    def relate(self, c: ask.Relate) -> tuple[Edge, bool]:
        edge = self.edge(c)
        return edge, self.add_edge(edge)

    def unrelate(self, c: ask.Unrelate) -> tuple[Edge, bool]:
        edge = self.edge(c)
        holding = [scope for scope in self.scopes.values() if edge in scope.edges]
        for scope in holding:
            scope.edges.remove(edge)
        return edge, bool(holding)

    def drop_session(self, c: ask.DropSession) -> int:
        gone = self.scopes.pop(c.session).facts
        for fact in gone:
            self.drop_edges(fact.id)
        return len(gone)

    def edge(self, c: ask.Relate | ask.Unrelate) -> Edge:
        source, target = self.one(c.source, c.session)[1], self.one(c.target, c.session)[1]
        if source is target:
            raise InvalidParams("target", "is the source itself")
        return (source.id, target.id, c.relation)

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

    # The pass

    def consolidate(self, c: ask.Consolidate, now: ask.Now) -> dict[str, Any]:
        """ADR-90, "Pass structure"."""
        sessions = self.sessions() if c.session is None else [c.session]
        reports = {name: self.decay(name, now) for name in [*sessions, GLOBAL]}
        for name in reports:
            reports[name]["edges_applied"] = self.propagate(name)
        for name in sessions:
            reports[name]["pruned"] = self.prune(name)
        archived = self.archive(now.wall)
        for name in sessions:
            reports[name] |= self.promote(name, now)
        total = reports.pop(GLOBAL)
        total |= {"global_decayed": total.pop("decayed"), "archived": archived}
        total |= {"evicted": self.evict(now.wall), "sessions": reports}
        for key in PER_SESSION:
            total[key] = total.get(key, 0) + sum(report[key] for report in reports.values())
        return total | {"global_total": len(self.scopes[GLOBAL].facts)}

    def decay(self, name: str, now: ask.Now) -> dict[str, Any]:
        scope, decayed = self.scopes[name], 0
        elapsed = min(DAY, now.running[name] - scope.passed)
        for fact in scope.facts:
            before, fact.w = fact.w, self.strength(name, fact, now)
            self.doubtful |= 0 < before - fact.w < 1e-14
            decayed += fact.w < before
            fact.idle += elapsed if name == GLOBAL and not fact.busy else 0.0
            fact.at, fact.busy = now.running[name], False
        scope.passed = now.running[name]
        return {"decayed": decayed, "running_seconds": elapsed}

    def propagate(self, name: str) -> int:
        """ADR-53, "Edges are wired": only ends in the edge's own file move."""
        scope, applied = self.scopes[name], 0
        scope.edges = [e for e in scope.edges if self.exists(e[0]) and self.exists(e[1])]
        for source, target, relation in scope.edges:
            ends: tuple[str, ...] = ()
            if relation in POSITIVE and self.live(source):
                ends, step = (target,), 0.05
            elif relation == "contradicts" and self.live(source) and self.live(target):
                ends, step = (source, target), -0.10
            moved = False
            for fact in [f for end in ends for f in scope.facts if f.id == end and not f.core]:
                before, fact.w = fact.w, min(1.0, max(0.0, fact.w + step))
                moved |= fact.w != before
                if fact.w > before:
                    self.award(fact)
            applied += moved
        return applied

    def prune(self, name: str) -> int:
        least = self.params.prune_threshold
        mortal = [fact for fact in self.scopes[name].facts if not fact.core]
        weak = [fact for fact in mortal if not self.reaches(fact, least) or fact.w == least]
        for fact in weak:
            self.delete(name, fact)
        return len(weak)

    def archive(self, wall: float) -> int:
        limit = self.params.global_archive_after_days * DAY
        stale = [f for f in self.scopes[GLOBAL].facts if f.idle >= limit and not f.core]
        for fact in stale:
            fact.archived_at, fact.reason = wall, "stale"
            self.move(fact, GLOBAL, ARCHIVE)
        return len(stale)

    def promote(self, name: str, now: ask.Now) -> dict[str, Any]:
        """ADR-90, "Promotion"."""
        promoted = deferred = 0
        for fact in list(self.scopes[name].facts):
            strong = self.reaches(fact, self.params.promote_threshold)
            durable = self.reaches(fact, self.params.promote_corroborated_threshold)
            stated = fact.core or (fact.producer == "user" and strong)
            qualifies = stated or (fact.evidence >= 2 and durable)
            if qualifies and not self.contradicted(fact.id):
                self.move(fact, name, GLOBAL)
                fact.idle, fact.at = 0.0, now.running[GLOBAL]
                promoted += 1
            else:
                deferred += qualifies or strong or durable
        return {"promoted": promoted, "promotion_deferred": deferred}

    def contradicted(self, end: str) -> bool:
        files = [scope for name, scope in self.scopes.items() if name != ARCHIVE]
        return any(
            relation == "contradicts" and end in ends and all(map(self.live, ends))
            for scope in files
            for *ends, relation in scope.edges
        )

    def evict(self, wall: float) -> int:
        """ADR-90: by ascending rank_score; core stays."""
        evicted, facts = 0, self.scopes[GLOBAL].facts
        while 0 < self.params.percept_store_max < len(facts):
            mortal = [fact for fact in facts if not fact.core]
            if not mortal:
                break
            self.delete(GLOBAL, self.ranked(mortal[::-1], lambda f: self.score(f, wall))[-1])
            evicted += 1
        return evicted

    # Recall

    def resolve(self, c: ask.Resolve) -> list[str]:
        return [fact.id for _, fact in self.candidates(c.ref, c.session)]

    def show(self, c: ask.Show) -> tuple[str, list[Edge]]:
        _, fact = self.one(c.ref, c.session)
        edges = [edge for scope in self.scopes.values() for edge in scope.edges]
        return fact.id, [edge for edge in edges if fact.id in edge[:2]]

    def explain(self, c: ask.Explain, now: ask.Now) -> tuple[str, float]:
        scope, fact = self.one(c.ref, c.session)
        return fact.id, self.strength(scope, fact, now)

    def query(self, c: ask.Query, now: ask.Now) -> list[tuple[str, int]]:
        """Most hits first, then score (ADR-90, "Weighing")."""
        allowed = [f for f in self.for_agent(c.session, c.consumer) if f.w >= c.min_confidence]
        number = {fact: hits(c.text, fact.content) for fact in allowed}
        found = [fact for fact in allowed if number[fact] or not c.text.strip()]
        found = self.ranked(found, lambda fact: self.score(fact, now.wall))
        found = sorted(found, key=lambda fact: -number[fact])[: c.max_results]
        self.use(found, now.wall)
        return [(fact.id, number[fact]) for fact in found]

    def use(self, facts: list[Fact], wall: float) -> None:
        for fact in facts:
            fact.used_at, fact.idle, fact.busy = wall, 0.0, True

    def inject(self, c: ask.Inject, now: ask.Now) -> tuple[list[str], str]:
        """What fits of the best; one that does not fit is passed over."""
        words = tokens(c.prompt) if self.params.percept_relevance_gate else set()
        allowed = [fact for fact in self.for_agent(c.session, c.consumer) if fact.w >= 0.4]
        apt = [fact for fact in allowed if not words or words & tokens(fact.content)]
        most = self.params.percept_inject_max if c.max_facts is None else c.max_facts
        room = self.params.percept_inject_max_bytes if c.max_bytes is None else c.max_bytes
        chosen: list[Fact] = []
        for fact in self.ranked(apt, lambda fact: self.score(fact, now.wall)):
            text = block([f.content for f in (*chosen, fact)])
            if len(chosen) < most and len(text.encode()) <= room:
                chosen.append(fact)
        self.use(chosen, now.wall)
        return [f.id for f in chosen], block([f.content for f in chosen]) if chosen else ""

    def similar(self, c: ask.Similar) -> tuple[list[tuple[str, float]], str | None]:
        pairs = [(f.id, similarity(c.text, f.content)) for _, f in self.visible(c.session)]
        order = sorted((pair for pair in pairs if pair[1] > 0), key=lambda pair: -pair[1])
        same = [alike for alike, value in order if value >= self.params.duplicate_threshold]
        return order[: c.limit], same[0] if same else None

    def page(self, c: ask.List, now: ask.Now) -> tuple[list[str], int]:
        own = [pair for pair in self.visible(c.session) if pair[0] == c.session]
        everything = {
            None: self.visible(c.session),
            GLOBAL: self.visible(None),
            ARCHIVE: self.archived(),
            "session": own,
        }
        wanted = [
            fact
            for _, fact in everything[c.scope]
            if c.producer in (None, fact.producer)
            and (c.consumer is None or fact.consumer in (None, c.consumer))
            and (c.min_w is None or fact.w >= c.min_w)
            and c.core in (None, fact.core)
            and (c.pattern or "").casefold() in fact.content.casefold()
        ]
        scores = {fact: self.score(fact, now.wall) for fact in wanted}
        order = self.ranked(
            wanted, lambda f: scores[f] if c.sort == "score" else float(getattr(f, c.sort))
        )
        return [fact.id for fact in order[c.offset : c.offset + c.limit]], len(order)
