"""The textbook's pass: what time, edges and thresholds do to every fact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textbook_shelf import ARCHIVE, DAY, GLOBAL, Edge, Fact
from textbook_stating import Stating

if TYPE_CHECKING:
    from milkd.engine import commands as ask

POSITIVE = ("extends", "updates", "derives")
PER_SESSION = ("decayed", "pruned", "promoted", "promotion_deferred", "merged", "edges_applied")


class Passing(Stating):
    """ADR-90, "Pass structure"."""

    def consolidate(self, c: ask.Consolidate, now: ask.Now) -> dict[str, Any]:
        sessions = self.sessions() if c.session is None else [c.session]
        reports = {name: self.decay(name, now) for name in [*sessions, GLOBAL]}
        for name in reports:
            reports[name]["edges_applied"] = self.propagate(name)
        for name in sessions:
            reports[name]["pruned"] = self.prune(name)
        archived = self.archive(now.wall)
        for name in sessions:
            reports[name] |= self.promote(name, now)
            if c.ending and c.session is not None:
                self.audiences.pop(name, None)
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

    # Edges

    def propagate(self, name: str) -> int:
        """ADR-53, "Edges are wired": only ends in the edge's own file move."""
        scope, applied = self.scopes[name], 0
        scope.edges = [e for e in scope.edges if self.exists(e[0]) and self.exists(e[1])]
        for edge in scope.edges:
            if self.params.edge_cadence == "run" and edge in self.acted:
                continue
            weights = {fact: fact.w for fact in scope.facts if not fact.core}
            self.act(edge, weights)
            for fact, before in weights.items():
                if fact.w > before:
                    self.award(fact)
            if any(fact.w != before for fact, before in weights.items()):
                self.acted.add(edge)
                applied += 1
        return applied

    def act(self, edge: Edge, facts: dict[Fact, float]) -> None:
        source, target, relation = edge
        inert = relation == "updates" and not self.params.updates_boosts
        for fact in facts:
            if relation == "contradicts" and self.live(source) and self.live(target):
                least = min(fact.w, self.params.contradiction_floor)
                if fact.id in (source, target):
                    fact.w = max(least, fact.w - 0.10)
            elif relation in POSITIVE and not inert and self.live(source) and fact.id == target:
                fact.w = min(1.0, fact.w + 0.05)

    def related(self, one: str, other: str) -> bool:
        ends = {one, other}
        return any(set(edge[:2]) == ends for s in self.scopes.values() for edge in s.edges)

    def contradicted(self, end: str) -> bool:
        files = [scope for name, scope in self.scopes.items() if name != ARCHIVE]
        return any(
            relation == "contradicts" and end in ends and all(map(self.live, ends))
            for scope in files
            for *ends, relation in scope.edges
        )

    # What goes, and where

    def prune(self, name: str) -> int:
        least = self.params.prune_threshold
        mortal = [fact for fact in self.scopes[name].facts if not fact.core]
        weak = [fact for fact in mortal if not self.reaches(fact, least) or fact.w == least]
        weak = [fact for fact in weak if not self.needed(fact)]
        for fact in weak:
            self.delete(name, fact)
        return len(weak)

    def needed(self, fact: Fact) -> bool:
        """Without it, the global that it updates would be the truth again."""
        files = [scope for name, scope in self.scopes.items() if name != ARCHIVE]
        updates = [edge for scope in files for edge in scope.edges if edge[2] == "updates"]
        newer = {source for source, target, _ in updates if self.where(target) == GLOBAL}
        for _ in updates:
            newer |= {source for source, target, _ in updates if target in newer}
        return self.params.keep_updates and fact.id in newer

    def archive(self, wall: float) -> int:
        limit = self.params.global_archive_after_days * DAY
        stale = [f for f in self.scopes[GLOBAL].facts if f.idle >= limit and not f.core]
        for fact in stale:
            self.put_away(fact, wall, "stale")
        return len(stale)

    def put_away(self, fact: Fact, wall: float, reason: str) -> None:
        fact.archived_at, fact.reason = wall, reason
        self.move(fact, GLOBAL, ARCHIVE)

    def evict(self, wall: float) -> int:
        """ADR-90: by ascending rank_score; core stays."""
        evicted, facts = 0, self.scopes[GLOBAL].facts
        while 0 < self.params.percept_store_max < len(facts):
            mortal = [fact for fact in facts if not fact.core]
            if not mortal:
                break
            lowest = self.ranked(mortal[::-1], lambda f: self.score(f, wall))[-1]
            if self.params.evict_to_archive:
                self.put_away(lowest, wall, "evicted")
            else:
                self.delete(GLOBAL, lowest)
            evicted += 1
        return evicted

    # Promotion

    def promote(self, name: str, now: ask.Now) -> dict[str, Any]:
        """ADR-90, "Promotion"."""
        promoted = deferred = merged = 0
        for fact in list(self.scopes[name].facts):
            strong = self.reaches(fact, self.params.promote_threshold)
            durable = self.reaches(fact, self.params.promote_corroborated_threshold)
            stated = fact.core or (fact.producer == "user" and strong)
            qualifies = stated or (fact.evidence >= 2 and durable)
            twin = self.twin(fact)
            if not qualifies or self.contradicted(fact.id):
                deferred += qualifies or strong or (durable and fact.evidence > 0)
            elif twin is not None:
                self.merge(name, fact, twin)
                merged += 1
            else:
                self.move(fact, name, GLOBAL)
                fact.idle, fact.at = 0.0, now.running[GLOBAL]
                promoted += 1
        return {"promoted": promoted, "promotion_deferred": deferred, "merged": merged}

    def twin(self, fact: Fact) -> Fact | None:
        """The global that says the same to the same agent, and is not said to be another."""
        if not self.params.merge_on_promote:
            return None
        fitting = [
            (GLOBAL, other)
            for other in self.scopes[GLOBAL].facts
            if other.consumer == fact.consumer and not self.related(fact.id, other.id)
        ]
        return self.nearest(fact.content, fitting)[2]

    def merge(self, name: str, fact: Fact, into: Fact) -> None:
        self.move(fact, name, GLOBAL)
        self.scopes[GLOBAL].facts.remove(fact)
        into.w, into.evidence = max(into.w, fact.w), max(into.evidence, fact.evidence)
        into.updated_at = max(into.updated_at, fact.updated_at)
        into.created_at = min(into.created_at, fact.created_at)
        into.producer = "user" if fact.producer == "user" else into.producer
        into.core |= fact.core
        into.recalls += fact.recalls
        into.bad_recalls += fact.bad_recalls
        into.idle = 0.0
        into.used_at = latest(into.used_at, fact.used_at)
        into.confirmed_at = latest(into.confirmed_at, fact.confirmed_at)
        into.importance = max(into.importance, fact.importance, key=usefulness)
        into.label = into.label or fact.label
        into.roles = fact.roles | into.roles
        worded = [*into.wordings, *fact.wordings, (fact.content, fact.updated_at)]
        into.wordings = [] if self.params.wordings else into.wordings
        for text, at in sorted(worded, key=lambda one: one[1]):
            self.keep_wording(into, text, at)
        if fact.id in self.awarded:
            self.awarded.add(into.id)
        seen = self.audience(name, None).shown
        seen |= {into.id} if fact.id in seen else set()
        self.redirect(fact.id, into.id)

    def redirect(self, old: str, new: str) -> None:
        """What was said of one is said of the other."""
        for scope in self.scopes.values():
            edges = [
                (new if a == old else a, new if b == old else b, relation)
                for a, b, relation in scope.edges
            ]
            self.acted |= {a for a, b in zip(edges, scope.edges, strict=True) if b in self.acted}
            kept = [(a, b, relation) for a, b, relation in edges if a != b]
            scope.edges = list(dict.fromkeys(kept))


def latest(one: float | None, other: float | None) -> float | None:
    known = [value for value in (one, other) if value is not None]
    return max(known, default=None)


def usefulness(importance: float | None) -> float:
    return 0.5 if importance is None else importance
