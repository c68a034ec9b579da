"""All loaded scopes together: what decisions read and `apply` writes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from milkd.engine import kernels
from milkd.engine.audience import Audience
from milkd.engine.changes import (
    Annotated,
    AudienceLeft,
    Awarded,
    Change,
    EdgeActed,
    EdgeDropped,
    EdgePut,
    EngramDropped,
    EngramPut,
    Passed,
    PerceptDropped,
    PerceptPut,
    ScopeDropped,
    Shown,
    Stepped,
    TurnEnded,
    Used,
)
from milkd.engine.percept import ARCHIVE, AT_ODDS, GLOBAL, Edge, Engram, Percept, ScopeImage
from milkd.engine.ranking import freshness, order_score, rank_score, recency_scale
from milkd.engine.results import View
from milkd.engine.scope import Scope

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from milkd.engine.analysis import Analyzer
    from milkd.engine.params import Params


@dataclass(slots=True)
class Memory:
    """The state of the engine."""

    analyzer: Analyzer
    """Reads texts; holds the knobs in force."""
    scopes: dict[str, Scope] = field(default_factory=dict)
    awarded: set[str] = field(default_factory=set)
    """Percepts that had their evidence of this run."""
    acted: set[Edge] = field(default_factory=set)
    """Edges that acted in this run."""
    stepped: set[tuple[str, str]] = field(default_factory=set)
    """Percepts whose importance took a step in this run, each with the kind of it."""
    audiences: dict[str, Audience] = field(default_factory=dict)
    """What callers were shown, by session or connection."""
    dormant: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """Closed sessions: content by percept id."""
    prepared: tuple[ScopeImage, Scope] | None = None
    """The scope that was made of an image and is about to be loaded."""

    @property
    def params(self) -> Params:
        """The knobs in force."""
        return self.analyzer.params

    def sessions(self) -> tuple[str, ...]:
        """The open sessions, in order of opening."""
        return tuple(name for name in self.scopes if name not in (GLOBAL, ARCHIVE))

    def live(self) -> Iterator[Scope]:
        """Global and the open sessions."""
        return (scope for scope in self.scopes.values() if scope.name != ARCHIVE)

    def visible(self, session: str | None) -> tuple[Scope, ...]:
        """What a caller sees: global, then its own session."""
        shared = self.scopes[GLOBAL]
        return (shared,) if session is None else (shared, self.scopes[session])

    def exists(self, percept_id: str, beside: str | None = None) -> bool:
        """Whether any scope has the percept: loaded, archived or closed; `beside` one of them."""
        scopes = [scope for scope in self.scopes.values() if scope.name != beside]
        return (
            any(percept_id in scope for scope in scopes)
            or any(percept_id in contents for contents in self.dormant.values())
            or any(scope.holds_unread(percept_id) for scope in scopes)
        )

    def is_live(self, percept_id: str) -> bool:
        """Whether the percept is in global or in an open session."""
        return any(percept_id in scope for scope in self.live())

    def was_shown(self, caller: str | None, percept_id: str) -> bool:
        """Whether the caller was shown the percept, in this process or before."""
        if caller is None:
            return False
        if caller in self.scopes and percept_id in self.scopes[caller].shown:
            return True
        return caller in self.audiences and percept_id in self.audiences[caller].seen

    def at_odds(self, percept_id: str) -> set[str]:
        """The other ends of all edges that say that a percept is updated or contradicted."""
        return {
            end
            for scope in self.live()
            for edge in scope.edges
            if edge.relation in AT_ODDS and percept_id in (edge.source, edge.target)
            for end in (edge.source, edge.target)
        }

    def rank_score(self, percept: Percept, wall: float) -> float:
        """The percept's score at a wall time; a stamp in the future counts as now."""
        u = freshness(min(percept.updated_at, wall), self.params)
        return rank_score(percept.w, percept.evidence, u, recency_scale(wall, self.params))

    def view(self, scope: Scope, slot: int, wall: float, c: float) -> View:
        """A row as callers see it; `c` is the `recency_scale` of the wall time."""
        score = self._rank_of_row(scope, slot, wall, c)
        return View(scope.text(slot), scope.name, score, scope.columns.live(slot))

    def column_scores(
        self, scope: Scope, wall: float, *, w: array[float] | None = None
    ) -> array[float]:
        """The rank_score of every row of a scope by slot; `w` are other weights than its own."""
        columns, c = scope.columns, recency_scale(wall, self.params)
        w = columns.w if w is None else w
        scores = kernels.rank_scores(w, columns.evidence, columns.u, c)
        if scope.latest > wall:
            u_now = freshness(wall, self.params)
            for slot in scope.slots.values():
                if columns.updated_at[slot] > wall:
                    scores[slot] = rank_score(w[slot], columns.evidence[slot], u_now, c)
        return scores

    def row_score(self, scope: Scope, slot: int, wall: float, c: float) -> float:
        """The order_score of a row; `c` is the recency scale of the wall time."""
        score = self._rank_of_row(scope, slot, wall, c)
        return order_score(score, scope.columns.importance[slot], self.params)

    def _rank_of_row(self, scope: Scope, slot: int, wall: float, c: float) -> float:
        columns = scope.columns
        u = columns.u[slot]
        if columns.updated_at[slot] > wall:
            u = freshness(wall, self.params)
        return rank_score(columns.w[slot], columns.evidence[slot], u, c)

    def load(self, image: ScopeImage, running: float) -> None:
        """Take a scope in, without what global has already (`without_known`)."""
        self.put_back(self.without_known(image), running)

    def put_back(self, image: ScopeImage, running: float) -> None:
        """Take a scope in as it is."""
        self.scopes[image.name] = self._prepared(image, running) or Scope.from_image(
            image, self.analyzer, running
        )
        self.dormant.pop(image.name, None)

    def preparing(self, image: ScopeImage) -> Iterator[None]:
        """Make the scope of an image, a step at a time, for the `load` that must follow at once.

        Between steps anything may be done, to this memory too.
        """
        scope = Scope(image.name, self.analyzer)
        yield from scope.filling(image, image.running_seconds)
        self.prepared = image, scope

    def compacting(self) -> Iterator[None]:
        """Leave out the empty rows of every scope that has many, a step at a time."""
        for name, scope in tuple(self.scopes.items()):
            for _ in scope.compacting():
                yield
                if self.scopes.get(name) is not scope:
                    break

    def _prepared(self, image: ScopeImage, running: float) -> Scope | None:
        prepared, self.prepared = self.prepared, None
        if prepared is None or prepared[0] is not image or running != image.running_seconds:
            return None
        _, scope = prepared
        if scope.analyzer is not self.analyzer:
            scope.configure(self.analyzer)
        return scope

    def without_known(self, image: ScopeImage) -> ScopeImage:
        """The image without what global holds too; itself if there is nothing.

        It is in both files when milk was stopped between saving the one and the other.
        """
        if image.name == GLOBAL or GLOBAL not in self.scopes:
            return image
        shared = self.scopes[GLOBAL]
        ids = {percept.id for percept in image.percepts if percept.id in shared}
        return _without(image, ids, shared.edges.__contains__) if ids else image

    def without(self, image: ScopeImage, ids: Collection[str]) -> ScopeImage:
        """The image without some percepts and their edges; itself if it has none of them."""
        there = {percept.id for percept in image.percepts if percept.id in ids}
        if not there:
            return image
        return _without(image, there, lambda edge: bool(there & {edge.source, edge.target}))

    def apply(self, change: Change) -> None:
        """Make a change so.  The scope must be loaded."""
        match change:
            case Awarded():
                self.awarded.add(change.id)
            case EdgeActed():
                self.acted.add(change.edge)
            case Stepped():
                self.stepped.add((change.id, change.kind))
            case TurnEnded():
                self._audience(change.caller).waiting.pop(change.turn.number, None)
            case Shown():
                self._audience(change.caller).take(change, self.params.inject_repeat_turns)
                if change.scope is not None:
                    self.scopes[change.scope].shown |= dict.fromkeys(change.lines)
            case AudienceLeft():
                self.scopes[change.scope].shown.clear()
                self.audiences.pop(change.scope, None)
            case ScopeDropped():
                name = change.scope
                self.scopes[name] = Scope.from_image(
                    ScopeImage(name=name), self.analyzer, self.scopes[name].passed_at
                )
                self.audiences.pop(name, None)
            case _:
                _apply_to_scope(self.scopes[change.scope], change)

    def revoke(self, change: Change) -> None:
        """Let what this process alone remembers not have been."""
        match change:
            case Awarded():
                self.awarded.discard(change.id)
            case EdgeActed():
                self.acted.discard(change.edge)
            case Stepped():
                self.stepped.discard((change.id, change.kind))
            case TurnEnded():
                self._audience(change.caller).put_back(change.turn)

    def _audience(self, caller: str) -> Audience:
        return self.audiences.setdefault(caller, Audience())


def _apply_to_scope(scope: Scope, change: Change) -> None:
    match change:
        case PerceptPut():
            scope.put(change.percept, change.running)
        case PerceptDropped():
            scope.drop(change.id)
        case EdgePut():
            scope.put_edge(change.edge)
        case EdgeDropped():
            scope.drop_edge(change.edge)
        case EngramPut():
            scope.engrams[change.engram.id] = change.engram
        case EngramDropped():
            scope.engrams.pop(change.id, None)
        case Passed():
            scope.apply_pass(change)
        case Used():
            scope.use(change)
        case Annotated():
            scope.extra, scope.unreadable = change.extra, change.unreadable


def _without(image: ScopeImage, ids: set[str], goes: Callable[[Edge], bool]) -> ScopeImage:
    return replace(
        image,
        percepts=tuple(percept for percept in image.percepts if percept.id not in ids),
        engrams=tuple(_engrams_without(image.engrams, ids)),
        edges=tuple(edge for edge in image.edges if not goes(edge)),
    )


def _engrams_without(engrams: Iterable[Engram], ids: set[str]) -> Iterator[Engram]:
    """The engrams without some percepts; one of which nothing is left goes."""
    for engram in engrams:
        left = tuple(each for each in engram.percept_ids if each not in ids)
        if left == engram.percept_ids:
            yield engram
        elif left:
            yield replace(engram, percept_ids=left)
