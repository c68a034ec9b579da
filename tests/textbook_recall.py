"""What the textbook gives back: by words, before a prompt, by the page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from textbook_near import Near, Neighbouring
from textbook_shelf import ARCHIVE, GLOBAL, Edge, Fact
from textbook_text import block, hits, terms

if TYPE_CHECKING:
    from collections.abc import Callable

    from milkd.engine import commands as ask

CONFLICT = " (in conflict with the fact above)"
Recollection = list[tuple[str, int | str, str | None]]


class Recalling(Neighbouring):
    """Query, inject, list, similar."""

    def query(self, c: ask.Query, now: ask.Now) -> Recollection:
        """Most hits first, then score (ADR-90, "Weighing")."""
        allowed = [f for f in self.for_agent(c.session, c.consumer) if f.w >= c.min_confidence]
        number = {fact: self.hits(c.text, fact) for fact in allowed}
        order = self.by_hits(c.text, allowed, c.session, now.wall)
        found = [fact for fact in order if number[fact] or not c.text.strip()]
        placed = self.placed(found, order, c.session)
        if self.params.diversity in ("query", "both"):
            placed = self.varied(placed)
        answer = placed[: c.max_results]
        self.use([fact for fact, _ in answer], now.wall)
        near: list[Near] = []
        if self.params.neighbours in ("query", "both"):
            near = self.neighbours([f for f, _ in answer], allowed, c.session, now.wall)
        seen = {fact.id for fact, _ in answer} | {fact.id for fact, _, _ in near}
        self.audience(c.session, c.caller).shown |= seen
        results: Recollection = [
            (fact.id, len(number[fact]), by.id if by else None) for fact, by in answer
        ]
        return [*results, *((fact.id, of.id, how) for fact, of, how in near)]

    def hits(self, text: str, fact: Fact) -> frozenset[str]:
        contents = [fact.content]
        if self.params.hit_fields == "all":
            theme = fact.roles.get("theme")
            contents += [text for text, _ in fact.wordings]
            contents += [theme] if isinstance(theme, str) else []
        return hits(text, contents, self.params)

    def by_hits(self, text: str, facts: list[Fact], session: str | None, wall: float) -> list[Fact]:
        """All of them: the most words in common first, then the score, then as they came."""
        weight = self.rarity(text, session)
        weights = {fact: sum(map(weight, sorted(self.hits(text, fact)))) for fact in facts}
        order = self.ranked(facts, lambda fact: self.order_score(fact, wall))
        return self.ranked(order, lambda fact: weights[fact])

    def rarity(self, text: str, session: str | None) -> Callable[[str], float]:
        """What a word in common counts: one, or more when few visible facts have it."""
        if self.params.hit_weight == "count" or not terms([text], self.params):
            return lambda word: 1
        having = [self.hits(text, fact) for _, fact in self.visible(session)]
        return lambda word: math.log(1 + len(having) / sum(word in found for found in having))

    def placed(
        self, found: list[Fact], allowed: list[Fact], session: str | None
    ) -> list[tuple[Fact, Fact | None]]:
        """Before what is superseded stands what updates it, in its place."""
        if not self.params.superseded:
            return [(fact, None) for fact in found]
        names = [GLOBAL] if session is None else [GLOBAL, session]
        edges = [edge for name in names for edge in self.scopes[name].edges]
        newer = {
            fact: [f for edge in edges[::-1] for f in allowed if edge == updating(f, fact)]
            for fact in allowed
        }
        placed: dict[Fact, Fact | None] = {}
        for fact in found:
            self.place(fact, newer, placed, set())
        return list(placed.items())

    def place(
        self,
        fact: Fact,
        newer: dict[Fact, list[Fact]],
        placed: dict[Fact, Fact | None],
        waiting: set[Fact],
    ) -> None:
        """Of several that update a fact, the latest said to do so comes first."""
        for other in newer[fact]:
            if other not in placed and other not in waiting:
                self.place(other, newer, placed, waiting | {fact})
        if fact not in placed:
            # In a circle, what waits for this one does not come before it.
            placed[fact] = next((f for f in newer[fact] if f not in waiting | {fact}), None)

    def varied(self, placed: list[tuple[Fact, Fact | None]]) -> list[tuple[Fact, Fact | None]]:
        """What is much like one before it waits until the others have come."""
        chosen: list[tuple[Fact, Fact | None]] = []
        for fact, by in placed:
            near = [self.likeness(fact.content, other.content) for other, _ in chosen]
            if all(alike <= self.params.diversity_threshold for alike in near):
                chosen.append((fact, by))
        return chosen + [pair for pair in placed if pair not in chosen]

    def use(self, facts: list[Fact], wall: float) -> None:
        for fact in facts:
            fact.used_at, fact.idle, fact.busy = wall, 0.0, True

    def inject(self, c: ask.Inject, now: ask.Now) -> tuple[list[str], str]:
        """What fits of the best; one that does not fit is passed over."""
        audience = self.audience(c.session, c.caller)
        audience.turn, audience.prompt = audience.turn + 1, c.prompt
        most = self.params.percept_inject_max if c.max_facts is None else c.max_facts
        room = self.params.percept_inject_max_bytes if c.max_bytes is None else c.max_bytes
        chosen: list[Fact] = []
        misfits = 0  # in a row; 64 of them end it
        for fact in self.apt(c, now.wall):
            text = block([self.line(f) for f in (*chosen, fact)])
            new = c.repeat or not self.repeated(fact, audience.lines, audience.turn)
            if new and len(chosen) < most and misfits < 64:
                fits = len(text.encode()) <= room
                chosen += [fact] if fits else []
                misfits = 0 if fits else misfits + 1
        lines = {fact.id: self.line(fact) for fact in chosen}
        groups = [[fact.id] for fact in chosen]
        for fact, of, how in self.near_to(c, chosen, now.wall):
            line = self.line(fact) + (CONFLICT if how == "contradicts" else "")
            text = block([*lines.values(), line])
            new = c.repeat or not self.repeated(fact, audience.lines, audience.turn, line)
            if new and len(lines) < most and len(text.encode()) <= room:
                lines[fact.id] = line
                groups[chosen.index(of)].append(fact.id)
        self.use(chosen, now.wall)
        audience.shown |= lines.keys()
        audience.lines |= {one: (audience.turn, line) for one, line in lines.items()}
        order = [one for group in groups for one in group]
        text = block([lines[one] for one in order]) if lines else ""
        return [fact.id for fact in chosen], text

    def near_to(self, c: ask.Inject, chosen: list[Fact], wall: float) -> list[Near]:
        """What may stand beside what was chosen."""
        if self.params.neighbours not in ("inject", "both"):
            return []
        allowed = [fact for fact in self.for_agent(c.session, c.consumer) if fact.w >= 0.4]
        return self.neighbours(chosen, allowed, c.session, wall)

    def apt(self, c: ask.Inject, wall: float) -> list[Fact]:
        """What bears on a prompt and is not superseded, the best first."""
        allowed = [fact for fact in self.for_agent(c.session, c.consumer) if fact.w >= 0.4]
        asked = terms([c.prompt], self.params)
        if self.params.inject_order == "hits" and asked:
            order = self.by_hits(c.prompt, allowed, c.session, wall)
        else:
            order = self.ranked(allowed, lambda fact: self.order_score(fact, wall))
        found = order
        if self.params.percept_relevance_gate and asked:
            found = [fact for fact in order if self.hits(c.prompt, fact)]
        elif self.params.percept_relevance_gate and self.params.profile != "strict":
            found = []
        placed = self.placed(found, order, c.session)
        kept = [pair for pair in placed if pair[1] is None]
        if self.params.diversity in ("inject", "both"):
            kept = self.varied(kept)
        return [fact for fact, _ in kept]

    def repeated(
        self, fact: Fact, lines: dict[str, tuple[int, str]], turn: int, now: str | None = None
    ) -> bool:
        """Whether one of the last turns showed the very same line."""
        shown, line = lines.get(fact.id, (turn - self.params.inject_repeat_turns - 1, ""))
        return line == (now or self.line(fact)) and turn - shown <= self.params.inject_repeat_turns

    def similar(self, c: ask.Similar) -> tuple[list[tuple[str, float]], str | None, str | None]:
        pairs = [(f.id, self.likeness(c.text, f.content)) for _, f in self.visible(c.session)]
        order = sorted((pair for pair in pairs if pair[1] > 0), key=lambda pair: -pair[1])
        same = self.nearest(c.text, self.visible(c.session))[2]
        other = self.nearest(c.text, self.visible(c.session), rejected=True)[2]
        return order[: c.limit], same.id if same else None, other.id if other else None

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


def updating(one: Fact, other: Fact) -> Edge:
    return (one.id, other.id, "updates")
