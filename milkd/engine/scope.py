"""One file's worth of memory: numbers in columns, texts beside them, index, edges, engrams.

A `Scope` changes only through its `put`, `drop` … methods, which the engine's
`apply` calls.  Its percepts are handed out as values; one that nothing touched
is the same object each time, so that saving can tell what changed.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from milkd.engine import kernels
from milkd.engine.capture import Capture
from milkd.engine.columns import Columns
from milkd.engine.compaction import Compaction, is_gappy
from milkd.engine.ends import Ends
from milkd.engine.lookup import Lookup
from milkd.engine.percept import (
    GLOBAL,
    Edge,
    Engram,
    Percept,
    Relation,
    ScopeImage,
    live,
    living,
)
from milkd.engine.ranking import freshness
from milkd.engine.strength import decay_factor, decayed, elapsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from milkd.engine.analysis import Analyzer
    from milkd.engine.changes import Passed, Used
    from milkd.engine.marks import Marks

MANY = 4_096  # percepts taken in at one stroke when nobody waits
FEW = 64  # when others wait for their turn: a few milliseconds


class Scope:
    """Global, the archive, or one open session."""

    def __init__(self, name: str, analyzer: Analyzer) -> None:
        self.name = name
        self.analyzer = analyzer
        self.columns = Columns()
        self.lookup = Lookup(analyzer)
        self.slots: dict[str, int] = {}
        self.edges: dict[Edge, Edge] = {}
        self.ends = Ends()
        self.engrams: dict[str, Engram] = {}
        self.passed_at = 0.0
        """Running seconds at the last pass."""
        self.read_at = 0.0
        """Running seconds at the last reading of the clock that left a trace."""
        self.latest = 0.0
        """No `updated_at` of the scope is later than this wall time."""
        self.shown: dict[str, None] = {}
        """Ids that the session was shown since it began, in order."""
        self.updaters: dict[str, list[str]] = {}
        """By id, the percepts that update it according to edges of this scope."""
        self._texts: list[Percept | None] = []
        self._touched: dict[int, float] = {}
        self._decided: tuple[Passed, array[float], array[float]] | None = None
        """The pass that was worked out last and what it would leave, as long as that holds."""
        self._layout = object()
        """Another one whenever slots become others."""
        self._moving: Compaction | None = None
        self.extra: Mapping[str, object] = {}
        self.unreadable: tuple[tuple[str, int, object], ...] = ()

    @classmethod
    def from_image(cls, image: ScopeImage, analyzer: Analyzer, running: float) -> Scope:
        """The scope of an image, with strengths that are current at a running reading."""
        scope = cls(image.name, analyzer)
        for _ in scope.filling(image, running, MANY):
            pass
        return scope

    def filling(self, image: ScopeImage, running: float, rows: int = FEW) -> Iterator[None]:
        """Take an image into the empty scope, a step at a time; what is not whole is not used.

        Args:
            image: The scope's.
            running: The reading at which its strengths are current.
            rows: Percepts or edges of a step.
        """
        for first in range(0, len(image.percepts), rows):
            self._append(image.percepts[first : first + rows])
            yield
        for first in range(0, len(image.edges), rows):
            for edge in image.edges[first : first + rows]:
                self.put_edge(edge)
            yield
        self.shown = dict.fromkeys(image.shown)
        self.engrams = {engram.id: engram for engram in image.engrams}
        self.passed_at = self.read_at = running
        for percept_id, since in image.touched.items():
            self._touch(percept_id, since)
        for percept_id in self.slots.keys() & set(image.used):
            self.columns.used[self.slots[percept_id]] = 1
        self.extra, self.unreadable = image.extra, image.unreadable

    def _append(self, percepts: Sequence[Percept]) -> None:
        """Insert percepts at the end, as `put` would one by one."""
        first, params = len(self.columns), self.analyzer.params
        slots = {percept.id: slot for slot, percept in enumerate(percepts, first)}
        if len(slots) < len(percepts) or not self.slots.keys().isdisjoint(slots):
            for percept in percepts:
                self.put(percept)
            return
        updated_at = [percept.updated_at for percept in percepts]
        self.columns.extend(percepts, [freshness(at, params) for at in updated_at])
        self.slots |= slots
        self._texts += percepts
        self.latest = max(self.latest, *updated_at)
        for slot, percept in enumerate(percepts, first):
            self.lookup.file(slot, percept)

    def capture(self) -> Capture:
        """The whole scope as it is now, to be made a value of later, in any thread."""
        return Capture(
            name=self.name,
            slots=list(self.slots.values()),
            texts=self._texts.copy(),
            stale=self.columns.stale[:],
            w=self.columns.w[:],
            idle_s=self.columns.idle_s[:],
            last_used_at=self.columns.last_used_at[:],
            used=self.columns.used[:],
            touched=self._touched.copy(),
            engrams=tuple(self.engrams.values()),
            edges=tuple(self.edges.values()),
            running_seconds=self.passed_at,
            shown=tuple(self.shown),
            extra=self.extra,
            unreadable=self.unreadable,
            layout=self._layout,
        )

    def freshen(self, capture: Capture, image: ScopeImage, rows: range) -> None:
        """Take over percepts that were made of a capture, where nothing changed since."""
        columns = self.columns
        if capture.layout is not self._layout:
            return
        for row in rows:
            slot, percept = capture.slots[row], image.percepts[row]
            if (
                columns.stale[slot]
                and self._texts[slot] is capture.texts[slot]
                and columns.live(slot) == live(percept)
            ):
                self._texts[slot] = percept
                columns.stale[slot] = 0

    def image(self) -> ScopeImage:
        """The whole scope as a value; untouched percepts are the same objects each time."""
        for slot in self.slots.values():
            self.percept(slot)
        return self.capture().image()

    def __len__(self) -> int:
        return len(self.slots)

    def __contains__(self, percept_id: object) -> bool:
        return percept_id in self.slots

    def percepts(self) -> Iterator[Percept]:
        """All percepts, the oldest in the scope first."""
        return (self.percept(slot) for slot in self.slots.values())

    def percept(self, slot: int) -> Percept:
        """The percept of a live row."""
        percept = self._texts[slot]
        assert percept is not None
        if self.columns.stale[slot]:
            percept = self._texts[slot] = living(percept, self.columns.live(slot))
            self.columns.stale[slot] = 0
        return percept

    def text(self, slot: int) -> Percept:
        """The percept of a live row, whose numbers may be older than the columns'."""
        percept = self._texts[slot]
        assert percept is not None
        return percept

    def live_ids(self, rows: Iterable[int]) -> set[str]:
        """The ids of the rows among these that are not empty."""
        texts = self._texts
        return {percept.id for row in rows if (percept := texts[row]) is not None}

    def get(self, percept_id: str) -> Percept | None:
        """The percept of an id, if it is here."""
        slot = self.slots.get(percept_id)
        return None if slot is None else self.percept(slot)

    def current_since(self, slot: int) -> float:
        """Running seconds at which the row's strength was current."""
        return max(self._touched.get(slot, self.passed_at), self.passed_at)

    def is_touched(self, slot: int) -> bool:
        """Whether the row came in or changed its strength since the last pass."""
        return slot in self._touched

    def holds_unread(self, percept_id: str) -> bool:
        """Whether an entry that could not be read bears the id."""
        return any(
            isinstance(raw, dict) and raw.get("id") == percept_id for _, _, raw in self.unreadable
        )

    def count_unread(self) -> int:
        """Entries among the percepts that could not be read."""
        return sum(where == "percepts" for where, _, _ in self.unreadable)

    def put(self, percept: Percept, running: float | None = None) -> None:
        """Insert a percept at the end, or give the one of its id these values."""
        slot = self.slots.get(percept.id)
        if slot is None:
            slot = self.slots[percept.id] = self.columns.append()
            self._texts.append(None)
        reads_alike = _reads_alike(self._texts[slot], percept)
        if not reads_alike:
            self.lookup.file(slot, percept)
        self._texts[slot] = percept
        self._decided = None
        self.columns.write(slot, percept, freshness(percept.updated_at, self.analyzer.params))
        if self._moving is not None:
            self._moving.put(self.columns, slot, percept, reads_alike=reads_alike)
        self.latest = max(self.latest, percept.updated_at)
        if running is not None:
            self._touch(percept.id, running)

    def _touch(self, percept_id: str, running: float) -> None:
        """Take note that a strength is current as of a reading of the running clock."""
        if percept_id in self.slots:
            self._touched[self.slots[percept_id]] = running
            self.read_at = max(self.read_at, running)

    def put_edge(self, edge: Edge) -> None:
        """Add an edge, once."""
        if edge.relation == Relation.UPDATES and edge not in self.edges:
            self.updaters.setdefault(edge.target, []).append(edge.source)
        self.edges[edge] = edge
        self.ends.add(edge)

    def drop_edge(self, edge: Edge) -> None:
        """Take an edge out; one that is not there is no error."""
        if self.edges.pop(edge, None) is None:
            return
        self.ends.remove(edge)
        if edge.relation == Relation.UPDATES:
            self.updaters[edge.target].remove(edge.source)

    def drop(self, percept_id: str) -> None:
        """Take a percept out; its row stays empty."""
        slot = self.slots.pop(percept_id)
        self._texts[slot] = self._decided = None
        self._touched.pop(slot, None)
        self.columns.clear(slot)
        self.lookup.remove(slot)
        if self._moving is not None:
            self._moving.drop(slot, percept_id)

    def use(self, used: Used) -> None:
        """Note that percepts were handed out: idle time starts anew."""
        self._decided = None
        for percept_id in used.ids:
            slot = self.slots.get(percept_id)
            if slot is not None:  # else forgotten while the note of its use was on the way
                self.columns.use(slot, used.at)
                if self._moving is not None:
                    self._moving.use(self.columns, slot)

    def after_pass(self, passed: Passed) -> tuple[array[float], array[float], int]:
        """Weights, idle seconds and how many weights fell, were the pass applied."""
        w, idle_s = self.columns.w[:], self.columns.idle_s[:]
        exempt, used = self.columns.exempt[:], self.columns.used[:]
        for slot in self._touched:
            exempt[slot] = used[slot] = 1
        factor = decay_factor(passed.elapsed_s, passed.half_life_s)
        # Without time no strength changes; floor + (w - floor) could round to less than w.
        fell = kernels.decay(w, exempt, factor, passed.floor) if factor < 1.0 else 0
        for slot in self._touched:
            fell += self._decay_touched(slot, w, passed)
        if self.name == GLOBAL:
            kernels.accrue(idle_s, used, passed.elapsed_s)
        self._decided = passed, w, idle_s
        return w, idle_s, fell

    def _decay_touched(self, slot: int, w: array[float], passed: Passed) -> int:
        """Decay a row over the time since its own touch; gives 1 if it fell."""
        if self.columns.exempt[slot]:
            return 0
        since = elapsed(self.current_since(slot), passed.running)
        before = w[slot]
        w[slot] = decayed(before, decay_factor(since, passed.half_life_s), passed.floor)
        return int(w[slot] < before)

    def apply_pass(self, passed: Passed) -> None:
        """Decay every weight and let idle time accrue."""
        if self._decided is None or self._decided[0] is not passed:
            self.after_pass(passed)
        assert self._decided is not None
        _, self.columns.w, self.columns.idle_s = self._decided
        self._decided = self._moving = None
        self.columns.stale = array("B", b"\1" * len(self.columns))
        self._touched.clear()
        self.columns.used = array("B", bytes(len(self.columns)))
        self.passed_at = max(self.passed_at, passed.running)
        self.read_at = max(self.read_at, passed.running)

    def compacting(self) -> Iterator[None]:
        """Leave out the empty rows, a step at a time, if they are too many.

        Between steps the scope may be used and changed; a pass or other knobs end it unfinished.
        """
        if not is_gappy(len(self.columns), len(self.slots)):
            return
        self._moving = moving = Compaction(self.columns, self.analyzer)
        while moving.move(self.columns, self._texts, FEW):
            yield
            if self._moving is not moving:
                return
        moving.keep_marks(self.lookup)
        self._touched = {moving.slots[row]: at for row, at in self._touched.items()}
        self.columns, self.lookup = moving.columns, moving.lookup
        self.slots, self._texts = moving.ids, moving.texts
        self._layout, self._decided, self._moving = object(), None, None

    def marks(self, slot: int) -> Marks:
        """What the distinctness guard needs of a row's content."""
        return self.lookup.marks(slot, self.text(slot).content)

    def configure(self, analyzer: Analyzer) -> None:
        """Take other knobs: rows keep their values; what is derived from them is made anew."""
        if not self.analyzer.reads_like(analyzer.params):
            self.lookup = Lookup(analyzer)
            for slot in self.slots.values():
                self.lookup.file(slot, self.text(slot))
        self.analyzer, self._moving = analyzer, None
        for slot in self.slots.values():
            self.columns.u[slot] = freshness(self.columns.updated_at[slot], analyzer.params)


def _reads_alike(known: Percept | None, percept: Percept) -> bool:
    """Whether two percepts are found under the same words."""
    return (
        known is not None
        and known.content == percept.content
        and known.wordings == percept.wordings
        and known.roles == percept.roles
    )
