"""What the textbook puts beside its answers: what an edge joins to them, what is much like them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from textbook_judging import Judging
from textbook_shelf import GLOBAL, Edge, Fact
from textbook_text import terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Near = tuple[Fact, Fact, str]  # the neighbour, the result, how they are joined


class Neighbouring(Judging):
    """The neighbours of results."""

    def neighbours(
        self, results: Sequence[Fact], allowed: list[Fact], session: str | None, wall: float
    ) -> list[Near]:
        """One result after the other; each fact once, so many a result, so many in all."""
        found: list[Near] = []
        for fact in results:
            mine = 0
            for other, how in [
                *self.joined(fact, session),
                *self.alike(fact, allowed, session, wall),
            ]:
                if mine == self.params.neighbours_per_result:
                    break
                known = other in results or any(other is near for near, _, _ in found)
                if not known and other in allowed and not self.outdated(other, allowed, session):
                    found.append((other, fact, how))
                    mine += 1
        return found[: self.params.neighbours_max]

    def edges_seen(self, session: str | None) -> list[Edge]:
        names = [GLOBAL] if session is None else [GLOBAL, session]
        return [edge for name in names for edge in self.scopes[name].edges]

    def outdated(self, fact: Fact, allowed: list[Fact], session: str | None) -> bool:
        if not self.params.superseded:
            return False
        edges = self.edges_seen(session)
        return any((other.id, fact.id, "updates") in edges for other in allowed)

    def joined(self, fact: Fact, session: str | None) -> list[tuple[Fact, str]]:
        """By an edge; contradictions come first."""
        edges = [edge for edge in self.edges_seen(session) if fact.id in edge[:2]]
        edges.sort(key=lambda edge: edge[2] != "contradicts")
        found = []
        for source, target, relation in edges:
            wanted = target if source == fact.id else source
            ends = [other for _, other in self.visible(session) if other.id == wanted]
            found += [(other, relation) for other in ends[:1]]
        return found

    def alike(
        self, fact: Fact, allowed: list[Fact], session: str | None, wall: float
    ) -> Iterator[tuple[Fact, str]]:
        """By the words of the fact that they have, rare ones counting for more."""
        if not self.params.neighbour_overlap:
            return
        wanted = sorted(terms(self.searched(fact), self.params))
        visible = [other for _, other in self.visible(session)]
        having = [terms(self.searched(other), self.params) for other in visible]
        weights = {
            word: math.log1p(len(having) / sum(word in found for found in having))
            for word in wanted
        }
        total = math.fsum(weights.values())
        if not total:
            return
        levels = {other: self.level(other, weights) for other in allowed}
        order = self.ranked(allowed, lambda other: self.order_score(other, wall))
        for other in self.ranked(order, lambda other: levels[other]):
            if levels[other] and levels[other] / total >= self.params.neighbour_overlap:
                yield other, "overlap"

    def level(self, other: Fact, weights: dict[str, float]) -> float:
        has = terms(self.searched(other), self.params)
        total = 0.0
        for word, weight in weights.items():  # in the order of the words
            total += weight if word in has else 0.0
        return total

    def searched(self, fact: Fact) -> list[str]:
        if self.params.hit_fields == "content":
            return [fact.content]
        theme = fact.roles.get("theme")
        themes = [theme] if isinstance(theme, str) else []
        return [fact.content, *(text for text, _ in fact.wordings), *themes]
