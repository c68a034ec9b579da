"""A known fact said again: stronger, corroborated, perhaps in other words, or merely echoed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from milkd.engine import engrams
from milkd.engine.changes import Used
from milkd.engine.differences import differs
from milkd.engine.moving import move
from milkd.engine.percept import (
    ARCHIVE,
    CORE_BIRTH_WEIGHT,
    GLOBAL,
    SUBJECT_ROLE,
    Percept,
    Producer,
    Wording,
    birth_weight,
    unite_consumers,
)
from milkd.engine.results import Differs, Match, Outcome
from milkd.engine.strength import reinforced, touched_at
from milkd.engine.wordings import with_wording

if TYPE_CHECKING:
    from collections.abc import Mapping

    from milkd.engine.commands import Record
    from milkd.engine.draft import Draft
    from milkd.engine.duplicates import Search

ECHO_SHARE = 0.5
"""Share of a statement's tokens in the prompt from which it is the user's own, not an echo."""


def restate(draft: Draft, found: Search, command: Record) -> Outcome:
    """Reinforce a visible percept, unless the statement is an echo of it."""
    assert found.place is not None
    scope, slot = found.place
    known = scope.percept(slot)
    if _is_echo(draft, known, command):
        return _echo(draft, scope.name, known, found, command)
    known = draft.current(scope.name, known)
    percept = _said_again(draft, known, command)
    percept = with_roles(draft, scope.name, percept, command)
    target = GLOBAL if command.core else scope.name
    if target != scope.name:
        percept = move(draft, percept, scope.name, target, touched=True)
    else:
        draft.put(target, percept, touched=True)
    return _outcome("reinforced", target, percept, known, found, command)


def revive(draft: Draft, found: Search, command: Record) -> Outcome:
    """Bring a percept back from the archive into global, and reinforce it there."""
    assert found.place is not None
    scope, slot = found.place
    known = scope.percept(slot)
    percept = _said_again(draft, known, command)
    percept = replace(percept, archived_at=None, archived_reason=None)
    percept = with_roles(draft, ARCHIVE, percept, command)
    percept = move(draft, percept, ARCHIVE, GLOBAL, touched=True)
    return _outcome("revived", GLOBAL, percept, known, found, command)


def with_roles(draft: Draft, scope: str, percept: Percept, command: Record) -> Percept:
    """Fill roles and subject that are empty; filled ones stay."""
    given: Mapping[str, object] = {k: v for k, v in command.roles.items() if v}
    subject = command.subject
    had_theme = bool(percept.roles.get(SUBJECT_ROLE))
    if subject and not had_theme:
        given = {**given, SUBJECT_ROLE: subject}
    filled = {k: v for k, v in given.items() if not percept.roles.get(k)}
    if filled:
        percept = replace(percept, roles={**percept.roles, **filled})
    if subject and not had_theme and percept.engram_id is None:
        percept = engrams.join(draft, scope, percept, subject)
    return percept


def _said_again(draft: Draft, known: Percept, command: Record) -> Percept:
    """The percept after a restatement; `known` has its strength of the moment."""
    percept = _reinforced(draft, known, command)
    return _made_core(draft, percept, command) if command.core else percept


def _reinforced(draft: Draft, known: Percept, command: Record) -> Percept:
    """The percept stronger, corroborated and with its new wording."""
    params = draft.params
    w = reinforced(known.w, params)
    if params.restate_to_birth:
        # A faded fact said again must not be weaker than one never heard.
        born = birth_weight(command.producer, core=False)
        w = max(w, min(params.reconfirm_cap, born))
    percept = replace(
        known,
        w=w,
        updated_at=touched_at(known.updated_at, draft.now.wall),
        idle_seconds=0.0,
        consumer=unite_consumers(known.consumer, command.consumer),
    )
    if params.user_restatement and command.producer == Producer.USER:
        percept = replace(percept, producer=command.producer)
    if not command.core:
        said = Wording(command.content, draft.now.wall)
        percept = with_wording(percept, said, draft.memory.analyzer)
    return draft.award(percept)


def _made_core(draft: Draft, percept: Percept, command: Record) -> Percept:
    """The percept as the explicit words want it: theirs, and for good."""
    said_before = Wording(percept.content, draft.now.wall)
    producer = command.producer if command.producer == Producer.USER else percept.producer
    percept = replace(
        percept,
        core=True,
        w=CORE_BIRTH_WEIGHT,
        content=command.content,
        content_at=draft.now.wall,
        producer=producer,
    )
    return with_wording(percept, said_before, draft.memory.analyzer)


def _is_echo(draft: Draft, known: Percept, command: Record) -> bool:
    """Whether an agent says no more than what it was just told."""
    if not draft.params.echo_guard or command.producer == Producer.USER or command.core:
        return False
    memory, caller = draft.memory, command.session or command.caller
    if not memory.was_shown(caller, known.id):
        return False
    analyzer = memory.analyzer
    said = analyzer.terms(command.content)
    told = analyzer.terms(known.content).union(
        *(analyzer.terms(wording.content) for wording in known.wordings)
    )
    return said <= told and not is_in_prompt(draft, said, caller)


def is_in_prompt(draft: Draft, said: frozenset[str], caller: str | None) -> bool:
    """Whether the user's own prompt of the turn says most of it."""
    audience = draft.memory.audiences.get(caller or "")
    if audience is None or audience.prompt is None or not said:
        return False
    prompt = draft.memory.analyzer.terms(audience.prompt)
    return len(said & prompt) >= ECHO_SHARE * len(said)


def _echo(draft: Draft, scope: str, known: Percept, found: Search, command: Record) -> Outcome:
    """Strengthen nothing: an echo counts as use; its wording and attributes are kept."""
    said = Wording(command.content, draft.now.wall)
    percept = with_wording(known, said, draft.memory.analyzer)
    consumer = unite_consumers(known.consumer, command.consumer)
    if consumer != known.consumer:
        percept = replace(percept, consumer=consumer)
    percept = with_roles(draft, scope, percept, command)
    if percept is not known:
        draft.put(scope, percept)
    draft.changes.append(Used(scope, (known.id,), draft.now.wall))
    known = draft.current(scope, known)
    return _outcome("echoed", scope, replace(percept, w=known.w), known, found, command)


def _outcome(
    status: str, scope: str, percept: Percept, known: Percept, found: Search, command: Record
) -> Outcome:
    new, old = differs(command.content, known.content)
    return Outcome(
        id=percept.id,
        status=status,
        similarity=found.similarity,
        existing=Match(known.id, known.content, known.w, found.similarity),
        look_alike=found.look_alike,
        differs=Differs(tuple(new), tuple(old)) if new or old else None,
        w=percept.w,
        evidence=percept.evidence,
        scope=scope,
    )
