"""Tools called by a model: one command of the engine each, and a text for an answer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from milkd.daemon import render
from milkd.daemon import tool_texts as texts
from milkd.daemon.batches import at_once
from milkd.daemon.toolbox import TOOLS, ToolError, coerced, mcp_schemas, openai_schemas
from milkd.engine import commands
from milkd.engine.results import Forgotten, Outcome, Related
from milkd.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from milkd.daemon.batches import Answer
    from milkd.daemon.core import Call, Core
    from milkd.errors import WireError

LISTED = 100


def tool_schemas(core: Core, call: Call) -> Answer:
    """The tools, in the form in which a host hands them to a model."""
    of_openai = call.arguments.get("format", "openai") == "openai"
    return at_once({"tools": openai_schemas() if of_openai else mcp_schemas()})


def tool_call(core: Core, call: Call) -> Answer:
    """Do what a model asked for; what it got wrong is told it, and is no fault of the caller's."""
    return core.once(call, partial(_call, core, call))


def _call(core: Core, call: Call) -> Answer:
    name, given = call.arguments["name"], call.arguments.get("arguments", {})
    if name not in TOOLS:
        return _refused(f"there is no tool {name[:40]!a}, only {', '.join(TOOLS)}")
    try:
        arguments = coerced(TOOLS[name], given)
        command = _COMMANDS[name](core, call.arguments["session"], arguments)
        return _done(core, call, name, command)
    except (ToolError, RequestError) as error:
        return _refused(str(error))


def _done(core: Core, call: Call, name: str, command: commands.Command) -> Answer:
    """Carry a command out, and tell subscribers what it changed."""
    results: list[Any] = []

    def said(result: Any) -> dict[str, Any]:
        results.append(result)
        return {"output": _TEXTS[name](result)}

    answer = core.execute(command, said, call.operation)
    if answer.changes and (event := _event(results[0])):
        answer.when_settled(partial(_tell, core, call.arguments["session"], event))
    return answer


def _tell(core: Core, session: str, event: dict[str, Any], error: WireError | None) -> None:
    if error is None:
        core.hub.publish(session=session, **event)


def _event(result: object) -> dict[str, Any] | None:
    match result:
        case Outcome():
            return {"topic": "percepts", "event": result.status, "id": result.id}
        case Forgotten():
            return {"topic": "percepts", "event": "forgotten", "id": result.id}
        case Related():
            return {"topic": "percepts", "event": "related", **render.edge(result.edge)}
    return None


def _refused(sentence: str) -> Answer:
    return at_once({"error": sentence})


def _record(core: Core, session: str, given: Mapping[str, Any]) -> commands.Command:
    return commands.Record(new_id=core.new_id(), session=session, claimed=True, **given)


def _get(_: Core, session: str, given: Mapping[str, Any]) -> commands.Command:
    names = {"query": "text"}
    return commands.Query(
        session=session, **{names.get(name, name): value for name, value in given.items()}
    )


def _list(_: Core, session: str, given: Mapping[str, Any]) -> commands.Command:
    return commands.List(session=session, limit=LISTED, **given)


def _forget(_: Core, session: str, given: Mapping[str, Any]) -> commands.Command:
    return commands.Forget(ref=given["id"], session=session)


def _relate(_: Core, session: str, given: Mapping[str, Any]) -> commands.Command:
    ends = {"source": given["from"], "target": given["to"]}
    return commands.Relate(relation=given["relation"], session=session, **ends)


def _explain(_: Core, session: str, given: Mapping[str, Any]) -> commands.Command:
    return commands.Explain(ref=given["id"], session=session)


_COMMANDS: Mapping[str, Callable[[Core, str, Mapping[str, Any]], commands.Command]] = {
    "record_memory": _record,
    "get_memory": _get,
    "list_memory": _list,
    "forget_memory": _forget,
    "relate_memory": _relate,
    "explain_memory": _explain,
}
_TEXTS: Mapping[str, Callable[[Any], str]] = {
    "record_memory": texts.recorded,
    "get_memory": texts.recalled,
    "list_memory": texts.listed,
    "forget_memory": texts.forgotten,
    "relate_memory": texts.related,
    "explain_memory": texts.explained,
}
