"""A document of an export as what can be imported: its entries, and where each stands."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from milkd.cli.document import LISTS, MARK, OURS, VERSION, text_of
from milkd.cli.output import short, visible
from milkd.errors import InvalidParams, TooLarge
from milkd.rpc.protocol import MAX_DEPTH, Connection
from milkd.rpc.values import deeper_than

if TYPE_CHECKING:
    from milkd.cli.document import Record

__all__ = ["Document", "Place", "read"]

ROOM = MAX_DEPTH - 4  # levels of a record: the message and its arguments are around it
LONGEST = 60  # characters of a content in a message


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entry stands in a document, and by what a person knows it."""

    scope: str
    where: str = ""
    position: int | None = None
    name: str = ""

    def __str__(self) -> str:
        where = visible(self.scope) + (f".{self.where}" if self.where else "")
        number = "" if self.position is None else f"[{self.position}]"
        return f"{where}{number} {self.name}".strip()


@dataclass(slots=True)
class Document:
    """What a document holds.

    Attributes:
        places: Where its entries stand, in order.
        records: Those that can be sent, as the daemon takes them.
        sent: The place of each of these.
        refused: Why the others cannot even be sent.
    """

    places: list[Place] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    sent: list[Place] = field(default_factory=list)
    refused: dict[Place, str] = field(default_factory=dict)

    def add(self, place: Place, record: Record) -> None:
        """Take an entry, if it can be sent."""
        problem = _unsendable(record)
        if problem is not None:
            self.refuse(place, problem)
        else:
            self.places.append(place)
            self.records.append(record)
            self.sent.append(place)

    def refuse(self, place: Place, problem: str) -> None:
        """Take note of an entry that is not sent."""
        self.places.append(place)
        self.refused[place] = problem


def read(name: str, data: bytes) -> Document:
    """Read a document.

    Args:
        name: The file, for messages.
        data: Its bytes.

    Raises:
        InvalidParams: It is not JSON, or not such a document.
    """
    made = _parsed(name, data)
    if not isinstance(made, dict) or MARK not in made:
        raise InvalidParams(name, f'not an export of milkd: it has no "{MARK}"')
    if made[MARK] != VERSION:
        found = f"found {text_of(made[MARK])[:40]}, expected {VERSION}"
        raise InvalidParams(name, f"{MARK}: {found} (of a newer milkd?)")
    _check_keys(name, made, {MARK, "scopes", "damaged"})
    scopes = made.get("scopes")
    if not isinstance(scopes, dict):
        raise InvalidParams(name, "scopes: expected an object")
    document = Document()
    for scope, members in scopes.items():
        if not isinstance(members, dict):
            raise InvalidParams(name, f"scopes.{scope}: expected an object")
        _check_keys(f"{name}: scopes.{scope}", members, {*LISTS, "extra"})
        _read_scope(name, document, scope, members)
    damaged = made.get("damaged", [])
    if not isinstance(damaged, list):
        raise InvalidParams(name, "damaged: expected a list")
    for position, each in enumerate(damaged):
        reason = each.get("reason") if isinstance(each, dict) else each
        document.refuse(Place("damaged", "", position), f"it was not exported: {reason}")
    return document


def _read_scope(name: str, document: Document, scope: str, members: Record) -> None:
    if "extra" in members:
        record = {"scope": scope, "kind": "meta", "extra": members["extra"]}
        document.add(Place(scope, "extra"), record)
    for where, kind in LISTS.items():
        entries = members.get(where, [])
        if not isinstance(entries, list):
            raise InvalidParams(name, f"scopes.{scope}.{where}: expected a list")
        for position, entry in enumerate(entries):
            place = Place(scope, where, position, _name(entry))
            if isinstance(entry, dict):
                document.add(place, _record(scope, kind, entry))
            else:
                document.refuse(place, f"found {text_of(entry)[:40]}, expected an object")


def _record(scope: str, kind: str, entry: Record) -> Record:
    record: Record = {"scope": scope, "kind": kind}
    shadowed = {key: value for key, value in entry.items() if key in OURS}
    if shadowed:
        record["shadowed"] = shadowed
    return record | {key: value for key, value in entry.items() if key not in OURS}


def _name(entry: object) -> str:
    """By what a person knows an entry: its id and its content, or its ends."""
    if not isinstance(entry, dict):
        return ""
    if "from" in entry:
        ends = (str(entry.get(key))[:8] for key in ("from", "relation", "to"))
        return visible("#{} {} #{}".format(*ends))
    text = str(entry.get("content", entry.get("subject_label", "")))
    cut = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return visible(f"{short(str(entry['id']))} {cut}".strip() if "id" in entry else cut)


def _unsendable(record: Record) -> str | None:
    """Why an entry has no form in which it can be sent."""
    if deeper_than(ROOM, record):
        return f"found values nested deeper than {ROOM} levels"
    try:
        Connection.request(0, "import", {"records": [record], "final": True, "op_id": "0" * 64})
    except InvalidParams:
        return "found a number beyond 64 bits or text without a UTF-8 form"
    except TooLarge as error:
        return f"too large: {error}"
    return None


def _parsed(name: str, data: bytes) -> Any:
    def refuse(literal: str) -> None:
        raise ValueError(f"the number {literal} is not JSON")

    def unique(pairs: list[tuple[str, Any]]) -> Record:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = next(key for n, (key, _) in enumerate(pairs) if key in dict(pairs[:n]))
            raise ValueError(f"the key {twice[:40]!a} occurs twice in an object")
        return found

    try:
        text = data.decode("utf-8-sig")
        return json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
    except UnicodeDecodeError as error:
        raise InvalidParams(name, f"not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise InvalidParams(name, "nested too deep") from error
    except ValueError as error:
        raise InvalidParams(name, f"not JSON: {error}") from error


def _check_keys(name: str, found: Record, known: set[str]) -> None:
    """What is not known is not passed over: it may be a list whose name is misspelled."""
    for key in found:
        if key not in known:
            expected = ", ".join(sorted(known))
            raise InvalidParams(name, f"found the key {key[:40]!a}, expected some of {expected}")
