"""The methods by which a host lets a model, or a line that a person typed, use the memory."""

from __future__ import annotations

from milkd.rpc.arguments import Choice, Session, Text
from milkd.rpc.compounds import Record
from milkd.rpc.facts import SHORT_BYTES
from milkd.rpc.method import Example, Method, changing, reading

TOOLS: tuple[Method, ...] = (
    reading(
        "tool_schemas",
        "The tools for a model: `record_memory`, `get_memory`, `list_memory`, `forget_memory`, "
        "`relate_memory`, `explain_memory`.",
        Choice("format", "openai if absent", ("openai", "mcp")),
        result="`tools`: function schemas of OpenAI's interface, or MCP's",
        example=Example(
            {"format": "mcp"},
            {"tools": [{"name": "forget_memory", "description": "…", "inputSchema": {}}]},
        ),
    ),
    changing(
        "tool_call",
        "Does what a model asked for by a tool. Its arguments may be sloppy: numbers as text, "
        "nulls, keys that the tool has not. What it got wrong is told it in `error`.",
        Text("name", "of the tool", required=True, max_bytes=SHORT_BYTES),
        Record("arguments", "as the model gave them"),
        Session("session", "whose memory it is", required=True),
        result="`output` or `error`: a text for the model",
        example=Example(
            {"name": "get_memory", "arguments": {"query": "tabs?"}, "session": "s1"},
            {"output": "[0.90] the user indents with tabs"},
        ),
    ),
)
