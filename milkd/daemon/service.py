"""The service: from a request to its answer.

A request is checked against the method table, the session it names is opened, and
its method runs.  What a request can do wrong comes out as a `WireError`; any other
exception is a fault of the daemon's, and changed nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import trio

from milkd.daemon import facts, process_calls, session_calls, store_calls, tool_calls
from milkd.daemon.batches import Answer
from milkd.daemon.core import Call, Core
from milkd.daemon.replays import operation
from milkd.errors import Overloaded, ShuttingDown, Timeout
from milkd.rpc import schema

if TYPE_CHECKING:
    from milkd.daemon.caller import Caller
    from milkd.rpc.messages import Request

Method = Callable[[Core, Call], Answer | Awaitable[Answer]]
"""A plain function where nothing has to be waited for: a coroutine costs as much as the rest."""

METHODS: Mapping[str, Method] = {
    "forget": facts.forget,
    "turn_end": facts.turn_end,
    "tool_schemas": tool_calls.tool_schemas,
    "tool_call": tool_calls.tool_call,
    "consolidate": facts.consolidate,
    "session_open": session_calls.session_open,
    "session_close": session_calls.session_close,
    "session_drop": session_calls.session_drop,
    "session_list": session_calls.session_list,
    "snapshot": store_calls.snapshot,
    "export": store_calls.export,
    "import": store_calls.import_,
    "hello": process_calls.hello,
    "ping": process_calls.ping,
    "health": process_calls.health,
    "stats": process_calls.stats,
    "outlook": process_calls.outlook,
    "config": process_calls.config,
    "reload": process_calls.reload,
    "subscribe": process_calls.subscribe,
    "unsubscribe": process_calls.unsubscribe,
    "shutdown": process_calls.shutdown,
}
"""The methods that are more than one command of the engine."""
NOT_ENTERING = frozenset({"session_close", "session_drop"})
"""They name a session without opening it."""
PASSIVE = frozenset(
    {"hello", "ping", "health", "stats", "outlook", "subscribe", "unsubscribe", "shutdown"}
)
"""They are no activity: somebody looks on or leaves, nobody works."""

ALWAYS = frozenset({"hello", "ping", "health", "shutdown"})
"""What a spare connection is served."""

_BARE = frozenset(
    name
    for name, method in schema.METHODS.items()
    if not any(argument.required for argument in method.arguments)
)
"""They may be called without arguments, and then there is nothing to check."""


class Service:
    """Answers requests, one connection's after another's."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.stopping = False

    def begin(self, caller: Caller, request: Request) -> Answer | Awaitable[Answer]:
        """What a request gets, or, if something has to be waited for, what gives it.

        Raises:
            WireError: The request is refused or failed; nothing was changed.  What is to be
                awaited may raise so, too.
        """
        if request.problem is not None:
            raise request.problem
        method = request.method
        if caller.spare and method not in ALWAYS:
            raise Overloaded(
                f"{self._core.limits.connections} connections are open already; beyond them only "
                f"{', '.join(sorted(ALWAYS))} are served; try again later"
            )
        params = request.params
        arguments = schema.validate(method, params) if params or method not in _BARE else {}
        if method in PASSIVE:
            return METHODS[method](self._core, Call(caller, method, arguments))
        call = self._call(caller, method, arguments)
        given = arguments.get("session")
        session = None if given is None or method in NOT_ENTERING else str(given)
        if self._core.edits.overdue():
            return self._prepared(call, session)
        if session is not None and not self._core.sessions.touch(session, caller):
            return self._prepared(call, session)
        return self._run(call)

    def _call(self, caller: Caller, method: str, arguments: dict[str, Any]) -> Call:
        op_id = arguments.pop("op_id", None)
        done = None if op_id is None else operation(op_id, method, arguments)
        return Call(caller, method, arguments, done)

    async def _prepared(self, call: Call, session: str | None) -> Answer:
        """Run a method for which the files are to be looked at, or a session opened."""
        await self._core.edits.glance()
        if session is not None:
            await self._enter(session, call.caller)
        begun = self._run(call)
        return begun if isinstance(begun, Answer) else await begun

    def _run(self, call: Call) -> Answer | Awaitable[Answer]:
        self._core.active_at = trio.current_time()
        self._core.runs.note_activity()
        self._core.clocks.called(call.arguments.get("session"))
        return METHODS.get(call.method, facts.run_command)(self._core, call)

    async def _enter(self, session: str, caller: Caller) -> None:
        """Open the session if need be; the store may take its time over that, but not for ever."""
        try:
            with trio.fail_after(self._core.limits.request_s):
                await self._core.sessions.enter(session, caller)
        except trio.TooSlowError:
            limit = self._core.limits.request_s
            raise Timeout(f"session {session} could not be loaded within {limit:g} s") from None
        if self.stopping:
            raise ShuttingDown("milkd is stopping; nothing was changed")
