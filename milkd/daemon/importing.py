"""Records on their way in: checked one by one, gathered by scope until the last has come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from milkd.daemon import vetting
from milkd.daemon.exporting import entry_of
from milkd.engine.percept import ARCHIVE, GLOBAL, Edge, Engram, Percept, ScopeImage
from milkd.errors import TooLarge
from milkd.paths import valid_session

if TYPE_CHECKING:
    from milkd.engine.results import Imported, Place

MAX_REFUSED = 10_000  # of one import; their reasons are kept until its end

E = TypeVar("E")
Record = Mapping[str, object]


@dataclass(slots=True)
class _Gathered:
    extra: dict[str, object] = field(default_factory=dict)
    percepts: list[Percept] = field(default_factory=list)
    engrams: list[Engram] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)


@dataclass(slots=True)
class Intake:
    """The records of one import so far.

    Attributes:
        count: How many came.
        refused: Why a record cannot be taken, by its number in the whole import.
    """

    count: int = 0
    refused: dict[int, str] = field(default_factory=dict)
    _scopes: dict[str, _Gathered] = field(default_factory=dict)
    _numbers: dict[Place, int] = field(default_factory=dict)
    _ids: set[str] = field(default_factory=set)

    def take(self, records: Sequence[Record], limit: int) -> None:
        """Check records and gather those that are valid.

        Raises:
            TooLarge: There are more than may be held until the last one, or so many are refused
                that they cannot be meant.
        """
        if self.count + len(records) > limit:
            raise TooLarge(
                f"records: more than {limit:,} before the final ones; import them in several parts"
            )
        for record in records:
            try:
                self._gather(record)
            except ValueError as error:
                self._refuse(str(error))
            self.count += 1

    def _refuse(self, reason: str) -> None:
        if len(self.refused) >= MAX_REFUSED:
            raise TooLarge(f"records: more than {MAX_REFUSED:,} are refused, the last: {reason}")
        self.refused[self.count] = reason

    def images(self) -> tuple[ScopeImage, ...]:
        """What was gathered, by scope."""
        return tuple(
            ScopeImage(
                name=name,
                percepts=tuple(gathered.percepts),
                engrams=tuple(gathered.engrams),
                edges=tuple(gathered.edges),
                extra=gathered.extra,
            )
            for name, gathered in self._scopes.items()
        )

    def sessions(self) -> list[str]:
        """The sessions that records are for."""
        return [name for name in self._scopes if name not in (GLOBAL, ARCHIVE)]

    def outcome(self, imported: Imported) -> dict[str, object]:
        """The answer to the import, with every record refused on the way."""
        refused = self.refused | {
            self._numbers[place]: reason for place, reason in imported.refused
        }
        return {"accepted": imported.accepted, "refused": _listed(refused)}

    def progress(self) -> dict[str, object]:
        """The answer to a part of the import: how it stands so far."""
        extras = sum(bool(gathered.extra) for gathered in self._scopes.values())
        return {"accepted": len(self._numbers) - extras, "refused": _listed(self.refused)}

    def _gather(self, record: Record) -> None:
        scope = _scope(record)
        value = entry_of(record)
        match record.get("kind", "percept"):
            case "percept":
                percept = self._new(vetting.percept(value, scope))
                self._keep(scope, "percepts", self._gathered(scope).percepts, percept)
            case "engram":
                engram = vetting.engram(value)
                self._keep(scope, "engrams", self._gathered(scope).engrams, engram)
            case "edge":
                edge = vetting.edge(value)
                self._keep(scope, "edges", self._gathered(scope).edges, edge)
            case "meta":  # running time is each store's own affair
                self._annotate(scope, vetting.extra(value.get("extra")))
            case "unreadable":
                raise vetting.unreadable(value)
            case "damaged":
                raise ValueError("the store that it comes from could not read what belongs here")
            case _:
                raise ValueError("kind: expected percept, engram, edge or meta")

    def _annotate(self, scope: str, extra: Mapping[str, object]) -> None:
        if not extra:
            return
        known = self._gathered(scope).extra
        for key in known.keys() & extra.keys():
            if known[key] != extra[key]:
                raise ValueError(f"extra: another record has another value of {key[:40]!a}")
        known.update(extra)
        self._numbers[scope, "extra", 0] = self.count

    def _gathered(self, scope: str) -> _Gathered:
        return self._scopes.setdefault(scope, _Gathered())

    def _keep(self, scope: str, where: str, entries: list[E], entry: E) -> None:
        self._numbers[scope, where, len(entries)] = self.count
        entries.append(entry)

    def _new(self, percept: Percept) -> Percept:
        if percept.id in self._ids:
            raise ValueError("id: another record of this import has it")
        self._ids.add(percept.id)
        return percept


def _scope(record: Record) -> str:
    scope = record.get("scope", GLOBAL)
    if scope == "session":  # as percepts are shown on the wire
        scope = record.get("session")
    if isinstance(scope, str) and (scope in (GLOBAL, ARCHIVE) or valid_session(scope)):
        return scope
    raise ValueError("scope: expected global, archive or the id of a session")


def _listed(refused: Mapping[int, str]) -> list[dict[str, object]]:
    return [{"index": index, "reason": refused[index]} for index in sorted(refused)]
