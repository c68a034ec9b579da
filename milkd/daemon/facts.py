"""The methods about facts: one command of the engine each, and who is told of it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from milkd.daemon import render, requests
from milkd.engine.commands import Command, Consolidate, Forget, Show
from milkd.engine.results import Detail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from milkd.daemon.batches import Answer
    from milkd.daemon.core import Call, Core
    from milkd.daemon.replays import Operation
    from milkd.errors import WireError

COUNTS = ("decayed", "pruned", "promoted", "merged", "archived", "evicted", "global_total")
"""What subscribers learn of a pass."""
EVENTS = {
    "edit": "edited",
    "forget": "forgotten",
    "restore": "restored",
    "relate": "related",
    "unrelate": "unrelated",
    "confirm": "confirmed",
    "reject": "rejected",
}
"""What subscribers learn of a change; of a stated fact they learn its status."""

STATING = frozenset({"record", "learn"})
"""Subscribers hear of these even if all was known, and merely echoed."""


def run_command(core: Core, call: Call) -> Answer:
    """Any method that is one command of the engine."""
    command = requests.command(call.method, call.arguments, core.new_id, call.caller.name)
    if call.operation is None:
        return _run(core, call, command)
    return core.once(call, partial(_run, core, call, command))


async def forget(core: Core, call: Call) -> Answer:
    """Delete a percept; with `all`, also the equal ones in sessions that are closed now."""
    done = core.replays.find(call.operation)
    if done is not None:
        return done
    names = {"all": "everywhere"}
    command = Forget(**{names.get(name, name): value for name, value in call.arguments.items()})
    async with AsyncExitStack() as visits:
        while command.everywhere and (closed := _closed_with(core, command)):
            await visits.enter_async_context(core.loading.visiting(closed))
        return core.once(call, partial(_run, core, call, command))


async def consolidate(core: Core, call: Call) -> Answer:
    """A pass over global and one session, or every open one."""
    session = call.arguments.get("session")
    if session is None:
        await core.loading.only_open()
    return core.once(call, partial(run_pass, core, session, operation=call.operation))


def run_pass(
    core: Core, session: str | None, *, ending: bool = False, operation: Operation | None = None
) -> Answer:
    """Do a pass, and tell of it once it is on disk; with `ending` it is the session's last."""
    command = Consolidate(session=session, ending=ending)
    answer = core.execute(command, render.result, operation)
    answer.when_settled(lambda error: _tell_pass(core, session, error, answer.body))
    return answer


async def turn_end(core: Core, call: Call) -> Answer:
    """Judge what was shown in a turn; with `consolidate`, a pass goes with it."""
    session, consolidates = call.arguments.get("session"), call.arguments.get("consolidate")
    if consolidates and session is None:
        await core.loading.only_open()
    return core.once(call, partial(_end_turn, core, call))


def _end_turn(core: Core, call: Call) -> Answer:
    command = requests.command(call.method, call.arguments, core.new_id, call.caller.name)
    answer = core.execute(command, render.result, call.operation)
    if call.arguments.get("consolidate"):
        session = call.arguments.get("session")
        answer.when_settled(
            lambda error: _tell_pass(core, session, error, lambda: answer.body()["report"])
        )
    return answer


def _tell_pass(
    core: Core, session: str | None, error: WireError | None, report: Callable[[], render.Wire]
) -> None:
    """Publish what a pass did, once it is certain."""
    if error is None:
        counts = {name: report()[name] for name in COUNTS}
        core.hub.publish("passes", "passed", session=session, **counts)


def _run(core: Core, call: Call, command: Command) -> Answer:
    answer = core.execute(command, _RENDERERS.get(call.method, render.result), call.operation)
    if answer.changes or call.method in STATING:
        answer.when_settled(partial(_tell, core, call, answer))
    return answer


def _closed_with(core: Core, command: Forget) -> tuple[str, ...]:
    """The closed sessions that hold the very text of the percept that is to go."""
    show = Show(ref=command.ref, session=command.session)
    shown = core.engine.decide(show, core.now()).result
    assert isinstance(shown, Detail)
    return core.engine.dormant_with(shown.view.percept.content)


def _tell(core: Core, call: Call, answer: Answer, error: WireError | None) -> None:
    """Publish what happened, once it is certain."""
    if error is not None:
        return
    wire, session = answer.body(), call.arguments.get("session")
    if "created" in wire or "removed" in wire:
        core.hub.publish("percepts", EVENTS[call.method], session=session, **wire["edge"])
    else:
        event = EVENTS.get(call.method) or wire["status"]
        core.hub.publish("percepts", event, id=wire["id"], session=session)


_RENDERERS: Mapping[str, Callable[[Any], render.Wire]] = {
    "learn": render.learned,
    "relate": partial(render.related, word="created"),
    "unrelate": partial(render.related, word="removed"),
}
