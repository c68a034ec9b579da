"""From what the engine answers to the maps of the wire (protocol.md, "Shapes")."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from milkd.daemon.encoding import time_text
from milkd.daemon.requests import cursor_at
from milkd.engine import results
from milkd.engine.percept import ARCHIVE, GLOBAL, Edge, live, living
from milkd.store.records import percept_to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from milkd.engine.percept import Live, Percept
    from milkd.engine.results import Candidate, Differs, Hit, Match, Report, Result, View

Wire = dict[str, Any]

MESSAGES = {
    "inserted": "learned",
    "reinforced": "already known — reinforced",
    "revived": "already known — brought back from the archive",
}
"""What `learn` tells people; the user's own words are never an echo."""


def result(value: Result) -> Wire:
    """A result as the method's answer, where the result alone says it all."""
    return _RENDERERS[type(value)](value)


def scope_name(scope: str) -> str:
    """What a client calls a scope: `global`, `archive`, or `session` for any session's."""
    return scope if scope in (GLOBAL, ARCHIVE) else "session"


def percept(view: View) -> Wire:
    """A percept with the place where it is and its score."""
    wire = members(view.known) if view.live is None else members(view.known, view.live)
    scope = wire["scope"] = scope_name(view.scope)
    wire["rank_score"] = view.rank_score
    if scope == "session":
        wire["session"] = view.scope
    return wire


def members(percept: Percept, numbers: Live | None = None) -> Wire:
    """What `percept_to_json` gives, which a test holds it to, in a third of the time.

    Args:
        percept: Which one.
        numbers: What counts instead of its own.
    """
    if percept.extra or percept.wordings or percept.stamps:
        return percept_to_json(percept if numbers is None else living(percept, numbers))
    w, idle_seconds, last_used_at = live(percept) if numbers is None else numbers
    wire: Wire = {"id": percept.id, "content": percept.content, "producer": percept.producer}
    if percept.consumer:
        wire["consumer"] = percept.consumer
    wire["w"] = w
    wire["roles"] = dict(percept.roles)
    if percept.engram_id:
        wire["engram_id"] = percept.engram_id
    wire["created_at"] = time_text(percept.created_at)
    wire["updated_at"] = time_text(percept.updated_at)
    if percept.core:
        wire["core"] = True
    if percept.evidence:
        wire["evidence"] = percept.evidence
    if idle_seconds:
        wire["idle_seconds"] = idle_seconds
    if last_used_at is not None:
        wire["last_used_at"] = time_text(last_used_at)
    if percept.importance:
        wire["importance"] = percept.importance
    if percept.recall_count:
        wire["recall_count"] = percept.recall_count
    if percept.bad_recall_count:
        wire["bad_recall_count"] = percept.bad_recall_count
    if percept.last_confirmed_use_at is not None:
        wire["last_confirmed_use_at"] = time_text(percept.last_confirmed_use_at)
    _add_history(wire, percept)
    return wire


def _add_history(wire: Wire, percept: Percept) -> None:
    if percept.content_at is not None:
        wire["content_at"] = time_text(percept.content_at)
    if percept.archived_at is not None:
        wire["archived_at"] = time_text(percept.archived_at)
    if percept.archived_reason:
        wire["archived_reason"] = percept.archived_reason


def edge(value: Edge) -> Wire:
    """An edge by its ends and relation."""
    return {"from": value.source, "to": value.target, "relation": value.relation}


def report(value: Report) -> Wire:
    """The counts of a pass, in all and by session."""
    wire = asdict(value)
    if not wire["sessions"]:
        del wire["sessions"]
    else:
        for counts in wire["sessions"].values():
            del counts["sessions"]
    return wire


def learned(value: results.Outcome) -> Wire:
    """An outcome with a line for people."""
    return _outcome(value) | {"message": MESSAGES[value.status]}


def related(value: results.Related, *, word: str) -> Wire:
    """An edge, and under `word` whether anything changed."""
    return {"edge": edge(value.edge), word: value.changed}


def known(**fields: object) -> Wire:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def _outcome(value: results.Outcome) -> Wire:
    return known(
        id=value.id,
        status=value.status,
        similarity=value.similarity,
        existing=_match(value.existing),
        w=value.w,
        evidence=value.evidence,
        scope=scope_name(value.scope),
        look_alike=_match(value.look_alike),
        differs=_differs(value.differs),
        edge=None if value.edge is None else edge(value.edge),
        edge_error=value.edge_error,
        masked=list(value.masked) or None,
    )


def _match(value: Match | None) -> Wire | None:
    if value is None:
        return None
    return known(
        id=value.id,
        content=value.content,
        w=value.w,
        similarity=value.similarity,
        reason=value.reason,
    )


def _differs(value: Differs | None) -> Wire | None:
    return None if value is None else {"new": list(value.new), "old": list(value.old)}


def _forgotten(value: results.Forgotten) -> Wire:
    return {"id": value.id, "content": value.content, "others": value.others}


def _dropped(value: results.Dropped) -> Wire:
    return {"dropped": value.percepts}


def _recalled(value: results.Recalled) -> Wire:
    percepts = [_hit(hit) for hit in value.hits]
    return known(
        percepts=percepts,
        neighbours=[_near(near) for near in value.neighbours] or None,
        turn=value.turn,
        candidates=_candidates(value.candidates),
    )


def _near(value: results.Near) -> Wire:
    wire = percept(value.view)
    return wire | known(of=value.of, via=value.via, overlap=value.overlap)


def _hit(value: Hit) -> Wire:
    wire = percept(value.view)
    wire["hits"] = value.hits
    wire["score"] = value.score
    if value.superseded_by is not None:
        wire["superseded_by"] = value.superseded_by
    return wire


def _candidates(value: tuple[Candidate, ...] | None) -> list[Wire] | None:
    return None if value is None else [_candidate(candidate) for candidate in value]


def _candidate(value: Candidate) -> Wire:
    return {
        "id": value.id,
        "in": value.included,
        "reason": value.reason,
        "hits": value.hits,
        "score": value.score,
        "w": value.w,
        "importance": value.importance,
        "bytes": value.bytes,
    }


def _injection(value: results.Injection) -> Wire:
    return known(
        text=value.text,
        ids=list(value.ids),
        bytes=value.bytes,
        turn=value.turn,
        neighbours=[known(**each._asdict()) for each in value.neighbours] or None,
        candidates=_candidates(value.candidates),
    )


def _judgement(value: results.Judgement) -> Wire:
    return known(
        turn=value.turn,
        judged=[asdict(each) for each in value.judged],
        report=None if value.report is None else report(value.report),
    )


def _page(value: results.Page) -> Wire:
    return known(
        percepts=[percept(view) for view in value.views],
        total=value.total,
        next=None if value.next_offset is None else cursor_at(value.next_offset),
    )


def _detail(value: results.Detail) -> Wire:
    return percept(value.view) | {"edges": [edge(each) for each in value.edges]}


def _alike(value: results.Alike) -> Wire:
    percepts = [percept(each.view) for each in value.likenesses]
    for wire, each in zip(percepts, value.likenesses, strict=True):
        wire["similarity"] = each.similarity
    return known(percepts=percepts, duplicate=value.duplicate, look_alike=_match(value.look_alike))


def _explanation(value: results.Explanation) -> Wire:
    return {
        "percept": percept(value.view),
        "edges": [edge(each) for each in value.edges],
        "w_now": value.w_now,
        "holds": list(value.holds),
        "next": list(value.next),
    }


def _outlook(value: results.Outlook) -> Wire:
    return {
        "scopes": [_shelf(shelf) for shelf in value.shelves],
        "due": [
            percept(each.view) | known(what=each.what, in_seconds=each.in_seconds)
            for each in value.due
        ],
        "total_due": value.total_due,
    }


def _shelf(value: results.Shelf) -> Wire:
    scope = scope_name(value.scope)
    return known(
        scope=scope,
        session=value.scope if scope == "session" else None,
        total=value.total,
        core=value.core,
        weights=list(value.weights),
        percepts=[percept(view) for view in value.views],
    )


def _whys(value: results.Whys) -> Wire:
    return {
        "percept": percept(value.view),
        "inject": _candidate(value.inject),
        "query": _candidate(value.query),
    }


def _resolved(value: tuple[View, ...]) -> Wire:
    return {"percepts": [percept(view) for view in value]}


_RENDERERS: Mapping[type, Callable[[Any], Wire]] = {
    results.Outcome: _outcome,
    results.View: percept,
    results.Forgotten: _forgotten,
    results.Report: report,
    results.Dropped: _dropped,
    results.Recalled: _recalled,
    results.Injection: _injection,
    results.Judged: asdict,
    results.Judgement: _judgement,
    results.Page: _page,
    results.Detail: _detail,
    results.Explanation: _explanation,
    results.Outlook: _outlook,
    results.Whys: _whys,
    results.Alike: _alike,
    tuple: _resolved,
}
