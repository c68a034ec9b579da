"""The methods about sessions."""

from __future__ import annotations

import logging
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NoReturn

import trio

from milkd.daemon import render, requests
from milkd.daemon.batches import Answer, at_once
from milkd.daemon.facts import run_pass
from milkd.daemon.fatal import trace
from milkd.engine.commands import DropSession
from milkd.engine.percept import GLOBAL
from milkd.engine.results import Report

if TYPE_CHECKING:
    from milkd.daemon.core import Call, Core
    from milkd.daemon.replays import Operation
    from milkd.daemon.sessions import Listed, Undo
    from milkd.errors import WireError

PAGE = 100  # sessions of a page unless told otherwise

_log = logging.getLogger(__name__)


async def session_open(core: Core, call: Call) -> Answer:
    """The session is open by now, as after any call that names it."""
    name = call.arguments["session"]
    percepts = core.engine.count(name)
    running = core.clocks.reading().get(name, 0.0)
    body: render.Wire = {"session": name, "percepts": percepts, "running_seconds": running}
    return Answer(lambda: body, core.commits.newest())


async def session_close(core: Core, call: Call) -> Answer:
    """Close a session with a pass; one that is closed only forgets what it was shown."""
    name = call.arguments["session"]
    done = core.replays.find(call.operation)
    if done is not None:
        return done
    core.sessions.check_known(name)
    visited = (name,) if core.sessions.is_adjourned(name) else ()
    async with core.loading.visiting(visited):
        return core.once(call, partial(_end, core, name, call.operation))


async def session_drop(core: Core, call: Call) -> Answer:
    """Delete a session with all that is in it, open or not."""
    name = call.arguments["session"]
    done = core.replays.find(call.operation)
    if done is not None:
        return done
    core.sessions.check_known(name)
    async with core.loading.visiting((name,)):
        return core.once(call, partial(_drop, core, name, call.operation))


async def session_list(core: Core, call: Call) -> Answer:
    """A page of the sessions, open or closed."""
    start = requests.offset(call.arguments.get("cursor"))
    limit = call.arguments.get("limit", PAGE)
    found = list(islice(core.sessions.listing(), start, start + limit + 1))
    body: render.Wire = {"sessions": [listed(session) for session in found[:limit]]}
    if len(found) > limit:
        body["next"] = requests.cursor_at(start + limit)
    return Answer(lambda: body, core.commits.newest())


def listed(session: Listed) -> render.Wire:
    """A session as it is listed."""
    return {
        "session": session.name,
        "open": session.is_open,
        "percepts": session.percepts,
        "running_seconds": session.running_seconds,
        "connections": session.connections,
    }


def close_session(
    core: Core, name: str, *, ending: bool, operation: Operation | None = None
) -> Answer:
    """Close an open session with a pass.

    Args:
        ending: Whether somebody ended it, so that it begins anew when it is opened next.
        operation: Under which the answer can be had again.
    """
    answer = run_pass(core, name, ending=ending, operation=operation)
    _finish(core, answer, "closed", name, core.sessions.close(name))
    return answer


async def watch_leases(core: Core) -> NoReturn:
    """Close the sessions that everybody has left, for ever."""
    while True:
        await trio.sleep(core.limits.lease_check_s)
        if core.commits.refusal is not None:
            continue  # the pass that closes a session would be refused, each time anew
        for name in core.sessions.expired(core.limits.lease_s):
            try:
                close_session(core, name, ending=False)
            except Exception as error:  # a fault in a pass must not end the daemon
                _log.error("session %s could not be closed\n%s", name, trace(error))


def _end(core: Core, name: str, operation: Operation | None) -> Answer:
    if core.sessions.is_open(name):
        return close_session(core, name, ending=True, operation=operation)
    if core.sessions.is_adjourned(name) and core.engine.is_loaded(name):
        return run_pass(core, name, ending=True, operation=operation)
    return at_once(render.report(Report(global_total=core.engine.count(GLOBAL))))


def _drop(core: Core, name: str, operation: Operation | None) -> Answer:
    answer = core.execute(DropSession(session=name), render.result, operation)
    _finish(core, answer, "dropped", name, core.sessions.drop(name))
    return answer


def _finish(core: Core, answer: Answer, event: str, name: str, undo: Undo) -> None:
    """See to it that a session that left is unloaded, or comes back if the disk refuses."""

    def settled(error: WireError | None) -> None:
        if error is None:
            core.hub.publish("sessions", event, session=name)
        else:
            undo()

    answer.when_settled(settled)
    core.loading.sweep()
