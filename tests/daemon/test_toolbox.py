"""The schemas of the tools, and the arguments of a model that knows them roughly."""

from __future__ import annotations

from typing import Any

import pytest

from milkd.daemon.tool_calls import _COMMANDS, _TEXTS
from milkd.daemon.toolbox import TOOLS, ToolError, coerced, mcp_schemas, openai_schemas


def taken(name: str, **given: object) -> dict[str, Any]:
    return coerced(TOOLS[name], given)


def test_every_tool_has_schemas_a_command_and_a_text() -> None:
    names = [each["function"]["name"] for each in openai_schemas()]
    assert names == [each["name"] for each in mcp_schemas()] == list(TOOLS)
    assert set(names) == set(_COMMANDS) == set(_TEXTS)


def test_names_and_arguments_are_milks() -> None:
    arguments = {name: [field.name for field in tool.fields] for name, tool in TOOLS.items()}
    assert arguments["record_memory"] == [
        "content", "subject", "producer", "consumer", "relation", "related_to",
    ]  # fmt: skip
    assert arguments["get_memory"] == ["query", "min_confidence", "max_results"]
    assert arguments["list_memory"] == ["scope", "producer", "min_w", "pattern"]
    assert arguments["forget_memory"] == ["id"]


def test_what_only_looks_is_marked_so() -> None:
    hints = {each["name"]: each["annotations"] for each in mcp_schemas()}
    looking = {name for name, hint in hints.items() if hint["readOnlyHint"]}
    assert looking == {"get_memory", "list_memory", "explain_memory"}
    assert [name for name, hint in hints.items() if hint["destructiveHint"]] == ["forget_memory"]


def test_numbers_may_be_text_and_other_keys_are_left_out() -> None:
    found = taken("get_memory", query="a", min_confidence="0.25", max_results="7", top_k=3)
    assert found == {"query": "a", "min_confidence": 0.25, "max_results": 7}
    assert taken("get_memory", query=42, max_results=2.0) == {"query": "42", "max_results": 2}
    assert taken("get_memory", query="a", max_results=100_000)["max_results"] == 100


def test_null_and_nothing_stand_for_absent() -> None:
    assert taken("record_memory", content="a", subject=None, consumer="", relation=" ") == {
        "content": "a"
    }


def test_a_word_of_a_set_may_be_written_in_any_case() -> None:
    assert taken("record_memory", content="a", producer=" User ")["producer"] == "user"


@pytest.mark.parametrize(
    ("name", "given", "sentence"),
    [
        ("record_memory", {}, "record_memory needs content"),
        ("record_memory", {"content": "  "}, "record_memory needs content"),
        ("record_memory", {"content": ["a"]}, "content has to be text"),
        ("record_memory", {"content": True}, "content has to be text"),
        ("record_memory", {"content": "a", "producer": "bob"}, "can't be 'bob', only one of user"),
        ("get_memory", {"query": "a", "min_confidence": "high"}, "has to be a number"),
        ("get_memory", {"query": "a", "min_confidence": 7}, "has to be a number"),
        ("get_memory", {"query": "a", "min_confidence": True}, "has to be a number"),
        ("get_memory", {"query": "a", "max_results": 0}, "has to be a number"),
        ("get_memory", {"query": "a", "max_results": "NaN"}, "has to be a number"),
        ("get_memory", {"query": "a", "max_results": "9" * 400}, "has to be a number"),
        ("relate_memory", {"from": "a", "to": "b"}, "relate_memory needs relation"),
    ],
)
def test_what_cannot_have_been_meant_is_refused_in_a_sentence(
    name: str, given: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ToolError) as caught:
        coerced(TOOLS[name], given)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
