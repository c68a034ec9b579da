"""The methods about the daemon itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.daemon import render, session_calls
from milkd.daemon.batches import Answer, at_once
from milkd.daemon.health import DEGRADED, OK
from milkd.engine import kernels
from milkd.engine.commands import LookAhead
from milkd.engine.percept import ARCHIVE, GLOBAL
from milkd.errors import ConfigError, InvalidParams
from milkd.rpc.protocol import MAX_DEPTH, MAX_MESSAGE, MAX_RESPONSE

if TYPE_CHECKING:
    from milkd.daemon.core import Call, Core

_NOTHING = at_once({})

PROTOCOL = 1
"""Version of the protocol; `hello`, `ping`, `health` and `shutdown` are the same in all."""


def hello(core: Core, call: Call) -> Answer:
    """Who is there, and how errors shall be written from now on."""
    if "errors" in call.arguments:
        call.caller.errors_as_string = call.arguments["errors"] == "string"
    who = core.identity
    sizes = {"max_message": MAX_MESSAGE, "max_response": MAX_RESPONSE, "max_depth": MAX_DEPTH}
    return at_once(
        {
            "server": f"milkd {who.version}",
            "version": who.version,
            "protocol": PROTOCOL,
            "run_id": core.runs.id,
            "pid": who.pid,
            "store": who.store,
            "socket": who.socket,
            "limits": sizes | core.limits.to_wire(),
            **_kernels(),
        }
    )


def ping(_: Core, __: Call) -> Answer:
    """Answer."""
    return _NOTHING


async def health(core: Core, __: Call) -> Answer:
    """Whether all is well."""
    await core.edits.look()
    scopes = (GLOBAL, ARCHIVE, *core.sessions.names())
    indexed = sum(core.engine.count(scope) for scope in scopes)
    unread = {scope: count for scope in scopes if (count := core.engine.unreadable(scope))}
    while core.store.warnings:
        core.health.tell(core.store.warnings.pop(0))
    status, reasons = core.health.status, core.health.reasons
    reasons += [_unsearchable(scope, count) for scope, count in unread.items()]
    return at_once(
        {
            "status": DEGRADED if status == OK and reasons else status,
            "reasons": reasons,
            "indexed": indexed,
            "total": indexed + sum(unread.values()),
            **_kernels(),
        }
    )


def _kernels() -> render.Wire:
    """Which kernels are at work; pure ones are slower, but no trouble."""
    why = {} if kernels.WHY_PURE is None else {"why_pure": kernels.WHY_PURE}
    return {"core": kernels.DESCRIPTION, **why}


def _unsearchable(scope: str, count: int) -> str:
    entries = "1 entry" if count == 1 else f"{count} entries"
    return f"{entries} of {scope}.json cannot be read as facts: kept in the file, but never found"


def stats(core: Core, _: Call) -> Answer:
    """Counts of facts, sessions, connections and time."""
    sessions = [
        {name: value for name, value in session_calls.listed(session).items() if name != "open"}
        for session in core.sessions.listing()
        if session.is_open
    ]
    body: render.Wire = {
        "global": core.engine.count(GLOBAL),
        "archive": core.engine.count(ARCHIVE),
        "sessions": sessions,
        "run_id": core.runs.id,
        "running_seconds": core.clocks.reading()[GLOBAL],
        "uptime_seconds": core.clock.mono() - core.started_at,
        "connections": len(core.callers),
        "version": core.identity.version,
        **_kernels(),
    }
    return Answer(lambda: body, core.commits.newest())


def outlook(core: Core, call: Call) -> Answer:
    """What is there and what is ahead of it; a session is not opened for that."""
    given = call.arguments
    session = given.get("session")
    if session is not None and not core.engine.is_loaded(session):
        given = {name: value for name, value in given.items() if name != "session"}
    return core.preview(LookAhead(**given), render.result)


def config(core: Core, _: Call) -> Answer:
    """Every knob with its value and where that comes from."""
    return at_once(core.config.to_wire())


async def reload(core: Core, _: Call) -> Answer:
    """Read the config file again."""
    try:
        return at_once({"changed": await core.config.reload()})
    except ConfigError as error:
        key, problem = str(error).split(": ", 1)
        raise InvalidParams(key, problem) from error


def subscribe(core: Core, call: Call) -> Answer:
    """Tell the caller about some topics too."""
    caller = call.caller
    topics = call.arguments["topics"]
    caller.subscription = core.hub.subscribe(caller.subscription, topics, caller.wake)
    return at_once({})


def unsubscribe(core: Core, call: Call) -> Answer:
    """Tell the caller about some topics no more."""
    if call.caller.subscription is not None:
        core.hub.unsubscribe(call.caller.subscription, call.arguments["topics"])
    return at_once({})


def shutdown(core: Core, _: Call) -> Answer:
    """End the daemon; the answer leaves when all is saved."""
    core.stop()
    return Answer(dict, core.saved)
