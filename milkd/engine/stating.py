"""Facts being stated: inserted when new, reinforced when known (ADR-53, 2; ADR-90)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from milkd.engine import restating
from milkd.engine.commands import Edit, Learn, Now, Record
from milkd.engine.draft import Draft
from milkd.engine.duplicates import search
from milkd.engine.percept import ARCHIVE, GLOBAL, Edge, Percept, Producer, birth_weight
from milkd.engine.references import resolve
from milkd.engine.relating import link
from milkd.engine.results import Decision, Outcome, View
from milkd.engine.strength import touched_at
from milkd.engine.text import check_content
from milkd.errors import InvalidParams, NotFound, RequestError

if TYPE_CHECKING:
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
    doubted = _is_doubtful(draft, command)
    if doubted:
        command = replace(command, producer=Producer.PRIMARY.value)
    target, edge_error = _target(memory, command)
    outcome = _state(draft, command, leave_out=_at_odds(memory, target))
    if target is not None and command.relation is not None:
        edge = Edge(outcome.id, target, command.relation)
        link(draft, outcome.scope, edge)
        outcome = replace(outcome, edge=edge)
    outcome = replace(outcome, edge_error=edge_error, doubted=doubted)
    return Decision(tuple(draft.changes), outcome)


def _is_doubtful(draft: Draft, command: Record) -> bool:
    """Whether a model gives out as the user's what the prompt of the turn, if known, says not."""
    if not (command.claimed and draft.params.verify_user_claims):
        return False
    audience = draft.memory.audiences.get(command.session or command.caller or "")
    if command.producer != Producer.USER or audience is None or audience.prompt is None:
        return False
    said = draft.memory.analyzer.terms(command.content)
    return not restating.is_in_prompt(draft, said, command.session or command.caller)


def edit(memory: Memory, command: Edit, now: Now) -> Decision:
    """Give a percept other words.  It stays what it is: id, strength and evidence remain."""
    check_content(command.content, memory.params.percept_max_bytes)
    scope, slot = resolve(memory, command.ref, command.session)
    percept = scope.percept(slot)
    percept = replace(
        percept,
        content=command.content,
        content_at=now.wall,
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


def _at_odds(memory: Memory, target: str | None) -> set[str]:
    """The percept that a statement bears on, and all that it was said to update or contradict.

    They share most words with the statement and are what it is set against: none of a chain
    of updates may swallow the next one.
    """
    found = set() if target is None else {target}
    to_visit = list(found)
    while to_visit:
        ends = memory.at_odds(to_visit.pop())
        to_visit += ends - found
        found |= ends
    return found


def _state(draft: Draft, command: Record, leave_out: set[str]) -> Outcome:
    """Reinforce what the statement restates, bring it back from the archive, or insert it."""
    memory = draft.memory
    found = search(memory, command.content, memory.visible(command.session), leave_out)
    if found.place is not None:
        return restating.restate(draft, found, command)
    if memory.params.revive:
        archived = search(memory, command.content, (memory.scopes[ARCHIVE],), leave_out)
        if archived.place is not None:
            archived.look_alike = found.look_alike
            return restating.revive(draft, archived, command)
    return replace(_insert(draft, command), look_alike=found.look_alike)


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
    percept = restating.with_roles(draft, scope, percept, command)
    draft.put(scope, percept, touched=True)
    return Outcome(
        id=percept.id,
        status="inserted",
        similarity=0.0,
        w=percept.w,
        evidence=percept.evidence,
        scope=scope,
    )
