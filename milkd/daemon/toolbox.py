"""The tools that a model is given: their schemas, and its arguments made fit for them.

Names and arguments are milk's.  A model sends numbers as strings, nulls, and keys that nobody
asked for: what is plainly meant is taken, and anything else refused in one sentence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from milkd.rpc.facts import CONSUMERS, PRODUCERS, RELATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_RESULTS = 100
"""Facts of one answer: no model reads more of them at a time."""


class ToolError(Exception):
    """What a model got wrong, in a sentence for it."""


@dataclass(frozen=True, slots=True)
class Field:
    """One argument."""

    name: str
    doc: str
    kind: str = "string"
    """string, number or integer."""
    required: bool = False
    choices: tuple[str, ...] = ()
    most: float = math.inf


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool; the hints are MCP's."""

    name: str
    doc: str
    fields: tuple[Field, ...]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False


_ID = "the percept: its id as printed, at least 4 hex digits of it, or its text"
_STATED = tuple(producer for producer in PRODUCERS if producer != "system")

TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "record_memory",
            "Remember one fact that will matter in later conversations: a preference of the user, "
            "a decision, how something is done here. One sentence that can stand alone. Stating a "
            "known fact again strengthens it.",
            (
                Field("content", "the fact, in one sentence", required=True),
                Field("subject", "what it is about, a few words"),
                Field("producer", "user if the user said it, else who you are", choices=_STATED),
                Field("consumer", "the only agent it is for; empty: all", choices=CONSUMERS),
                Field("relation", "how it bears on related_to", choices=RELATIONS),
                Field("related_to", "the fact it bears on: its id, or its text"),
            ),
        ),
        Tool(
            "get_memory",
            "Look up what is remembered, by words. Use it before asking the user what they may "
            "have said before.",
            (
                Field("query", "words to look for", required=True),
                Field("min_confidence", "least strength, 0 to 1 (0.4)", "number", most=1.0),
                Field("max_results", "at most so many (5)", "integer", most=MOST_RESULTS),
            ),
            read_only=True,
        ),
        Tool(
            "list_memory",
            "List what is remembered, the strongest first.",
            (
                Field("scope", "only this one; empty: both", choices=("global", "session")),
                Field("producer", "only what they stated", choices=PRODUCERS),
                Field("min_w", "least strength, 0 to 1", "number", most=1.0),
                Field("pattern", "text that the fact contains"),
            ),
            read_only=True,
        ),
        Tool(
            "forget_memory",
            "Delete a fact for good, when it is wrong or the user wants it gone.",
            (Field("id", _ID, required=True),),
            destructive=True,
        ),
        Tool(
            "relate_memory",
            "Say how one remembered fact bears on another: updates (the other holds no longer), "
            "contradicts, extends or derives.",
            (
                Field("from", _ID, required=True),
                Field("relation", "how it bears on the other", required=True, choices=RELATIONS),
                Field("to", _ID, required=True),
            ),
            idempotent=True,
        ),
        Tool(
            "explain_memory",
            "Say why a remembered fact is as it is, and what comes next for it.",
            (Field("id", _ID, required=True),),
            read_only=True,
        ),
    )
}


def openai_schemas() -> list[dict[str, Any]]:
    """The tools as functions of OpenAI's chat interface."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.doc,
                "parameters": _parameters(tool),
            },
        }
        for tool in TOOLS.values()
    ]


def mcp_schemas() -> list[dict[str, Any]]:
    """The tools as MCP lists them."""
    return [
        {
            "name": tool.name,
            "description": tool.doc,
            "inputSchema": _parameters(tool),
            "annotations": {
                "readOnlyHint": tool.read_only,
                "destructiveHint": tool.destructive,
                "idempotentHint": tool.idempotent or tool.read_only,
                "openWorldHint": False,
            },
        }
        for tool in TOOLS.values()
    ]


def _parameters(tool: Tool) -> dict[str, Any]:
    properties: dict[str, dict[str, Any]] = {}
    for field in tool.fields:
        shape: dict[str, Any] = {"type": field.kind, "description": field.doc}
        if field.choices:
            shape["enum"] = [*field.choices] if field.required else [*field.choices, ""]
        properties[field.name] = shape
    required = [field.name for field in tool.fields if field.required]
    return {"type": "object", "properties": properties, "required": required}


def coerced(tool: Tool, given: Mapping[str, object]) -> dict[str, Any]:
    """The arguments that were meant, without those that stand for nothing.

    Raises:
        ToolError: One is missing, or cannot have been meant.
    """
    taken: dict[str, Any] = {}
    for field in tool.fields:
        value = given.get(field.name)
        if isinstance(value, str) and not value.strip():
            value = None
        if value is not None:
            taken[field.name] = _value(tool, field, value)
        elif field.required:
            raise ToolError(f"{tool.name} needs {field.name}: {field.doc}")
    return taken


def _value(tool: Tool, field: Field, value: object) -> str | float:
    if field.kind != "string":
        return _number(tool, field, value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ToolError(f"{tool.name}: {field.name} has to be text: {field.doc}")
    text = str(value)
    if not field.choices:
        return text
    chosen = text.strip().casefold()
    if chosen not in field.choices:
        listed = ", ".join(field.choices)
        raise ToolError(f"{tool.name}: {field.name} can't be {text[:40]!a}, only one of {listed}")
    return chosen


def _number(tool: Tool, field: Field, value: object) -> float:
    what = f"{tool.name}: {field.name} has to be a number: {field.doc}"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ToolError(what)
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise ToolError(what) from None
    if not 0 <= number < math.inf:
        raise ToolError(what)
    if field.kind == "integer":
        if number < 1:
            raise ToolError(what)
        return int(min(number, field.most))  # who wants a thousand gets as many as there may be
    if number > field.most:
        raise ToolError(what)
    return number
