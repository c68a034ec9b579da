"""Facts being stated: inserted when new, reinforced when known (ADR-53, 2; ADR-90)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from milkd.engine import engrams
from milkd.engine.commands import Edit, Learn, Now, Record
from milkd.engine.draft import Draft
from milkd.engine.duplicates import nearest
from milkd.engine.moving import move
from milkd.engine.percept import (
    CORE_BIRTH_WEIGHT,
    GLOBAL,
    Edge,
    Percept,
    Producer,
    birth_weight,
    unite_consumers,
)
from milkd.engine.references import resolve
from milkd.engine.relating import link
from milkd.engine.results import Decision, Match, Outcome, View
from milkd.engine.strength import reinforced, touched_at
from milkd.engine.text import check_content
from milkd.errors import InvalidParams, NotFound, RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from milkd.engine.memory import Memory


def learn(memory: Memory, command: Learn, now: Now) -> Decision:
    """State a fact for good: the user's explicit words (ADR-16, `/learn`)."""
    statement = Record(
        content=command.content,
        new_id=command.new_id,
        session=command.session,
        producer=Producer.USER.value,
        subject=command.subject,
        core=True,
    )
    return record(memory, statement, now)


def record(memory: Memory, command: Record, now: Now) -> Decision:
    """State a fact, and perhaps how it bears on another one."""
    check_content(command.content, memory.params.percept_max_bytes)
    if (command.relation is None) != (command.related_to is None):
        missing = "related_to" if command.related_to is None else "relation"
        raise InvalidParams(missing, "missing; relation and related_to go together")
    draft = Draft(memory, now)
    target, edge_error = _target(memory, command)
    found = nearest(memory, command.content, command.session, leave_out=target)
    if found is None:
        outcome = _insert(draft, command)
    else:
        (scope, slot), similarity = found
        outcome = _restate(draft, scope.name, scope.percept(slot), similarity, command)
    if target is not None and command.relation is not None:
        edge = Edge(outcome.id, target, command.relation)
        link(draft, outcome.scope, edge)
        outcome = replace(outcome, edge=edge)
    return Decision(tuple(draft.changes), replace(outcome, edge_error=edge_error))


def edit(memory: Memory, command: Edit, now: Now) -> Decision:
    """Give a percept other words.  It stays what it is: id, strength and evidence remain."""
    check_content(command.content, memory.params.percept_max_bytes)
    scope, slot = resolve(memory, command.ref, command.session)
    percept = scope.percept(slot)
    percept = replace(
        percept,
        content=command.content,
        updated_at=touched_at(percept.updated_at, now.wall),
    )
    draft = Draft(memory, now)
    draft.put(scope.name, percept)
    view = View(percept, scope.name, memory.rank_score(percept, now.wall))
    return Decision(tuple(draft.changes), view)


def _target(memory: Memory, command: Record) -> tuple[str | None, str | None]:
    """The id that `related_to` means, or why there is none: no reason to lose the fact."""
    if command.related_to is None:
        return None, None
    try:
        scope, slot = resolve(memory, command.related_to, command.session)
    except RequestError as error:
        return None, f"{error.code}: {error}"
    if scope not in memory.visible(command.session):
        return None, f"{NotFound.code}: the percept is archived; restore it before relating to it"
    return scope.text(slot).id, None


def _insert(draft: Draft, command: Record) -> Outcome:
    """A new percept: the session's if there is one, global if not or if it is core (ADR-16)."""
    scope = GLOBAL if command.core or command.session is None else command.session
    percept = Percept(
        id=command.new_id,
        content=command.content,
        producer=command.producer,
        consumer=command.consumer,
        w=birth_weight(command.producer, core=command.core),
        created_at=draft.now.wall,
        updated_at=draft.now.wall,
        core=command.core,
    )
    percept = _with_roles(draft, scope, percept, command)
    draft.put(scope, percept, touched=True)
    return Outcome(
        id=percept.id,
        status="inserted",
        similarity=0.0,
        w=percept.w,
        evidence=percept.evidence,
        scope=scope,
    )


def _restate(
    draft: Draft, scope: str, known: Percept, similarity: float, command: Record
) -> Outcome:
    """A known percept said again: stronger, and corroborated once a run."""
    known = draft.current(scope, known)
    percept = draft.award(
        replace(
            known,
            w=reinforced(known.w, draft.params),
            updated_at=touched_at(known.updated_at, draft.now.wall),
            idle_seconds=0.0,
            consumer=unite_consumers(known.consumer, command.consumer),
        )
    )
    if command.core:
        percept = _made_core(percept, command)
    percept = _with_roles(draft, scope, percept, command)
    if command.core and scope != GLOBAL:
        percept, scope = move(draft, percept, scope, GLOBAL, touched=True), GLOBAL
    else:
        draft.put(scope, percept, touched=True)
    return Outcome(
        id=percept.id,
        status="reinforced",
        similarity=similarity,
        existing=Match(known.id, known.content, known.w, similarity),
        w=percept.w,
        evidence=percept.evidence,
        scope=scope,
    )


def _made_core(percept: Percept, command: Record) -> Percept:
    """The percept as the explicit words want it: theirs, and for good."""
    producer = command.producer if command.producer == Producer.USER else percept.producer
    return replace(
        percept, core=True, w=CORE_BIRTH_WEIGHT, content=command.content, producer=producer
    )


def _with_roles(draft: Draft, scope: str, percept: Percept, command: Record) -> Percept:
    """Fill roles and subject that are empty; filled ones stay."""
    given: Mapping[str, object] = {k: v for k, v in command.roles.items() if v}
    subject = command.subject
    had_theme = bool(percept.roles.get(engrams.SUBJECT_ROLE))
    if subject and not had_theme:
        given = {**given, engrams.SUBJECT_ROLE: subject}
    filled = {k: v for k, v in given.items() if not percept.roles.get(k)}
    if filled:
        percept = replace(percept, roles={**percept.roles, **filled})
    if subject and not had_theme and percept.engram_id is None:
        percept = engrams.join(draft, scope, percept, subject)
    return percept
