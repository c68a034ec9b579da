"""The parser by hand reads what the full one reads, or leaves it to that one."""

from __future__ import annotations

import shlex

import pytest

from milkd.cli import parser, quick, verbs

READ_ALIKE = [
    "recall tabs",
    "recall tabs or spaces",
    "recall ''",
    "recall -",
    "recall tabs --json",
    "recall --json tabs",
    "recall --session s1 --min-confidence 0.5 --max-results=3 tabs",
    "recall --min-confidence 1 --consumer primary --explain tabs",
    "recall --session= tabs",
    "recall tabs --max-results 500 --min-confidence 1e-3",
    "recall --store /a --socket /b tabs",
    "recall -- --json",
    "record tabs",
    "record --producer user --subject style --core tabs",
    "record tabs --relation extends --related-to '#abcd'",
    "record tabs --related-to=-1",
    "record -- -v means verbose",
    "inject 'what next?' --max 3 --max-bytes 512 --consumer escalation",
    "inject --explain -",
    "inject --repeat tabs",
    "inject tabs --repeat --json",
]
LEFT = [
    "recall",
    "recall --help",
    "recall -h",
    "recall --frobnicate tabs",
    "recall tabs --max-results",
    "recall tabs --max-results many",
    "recall tabs --max-results --json",
    "recall --min-confidence high tabs",
    "recall --sess s1 tabs",
    "recall --session s1 --session s2 tabs",
    "recall tabs --max-results 0",
    "recall tabs --max-results 501",
    "recall --min-confidence nan tabs",
    "inject tabs --max-bytes -1",
    "record tabs --role theme=style",
    "record -x",
    "list",
    "show abcd",
]


@pytest.mark.parametrize("line", READ_ALIKE)
def test_both_parsers_read_the_same(line: str) -> None:
    verb, *arguments = shlex.split(line)
    command = verbs.command(verb)
    assert command is not None
    found = quick.parse(verb, arguments)
    assert found is not None
    assert found == parser.parse(verb, command, arguments)


@pytest.mark.parametrize("line", LEFT)
def test_what_is_out_of_the_ordinary_is_left_to_the_full_parser(line: str) -> None:
    verb, *arguments = shlex.split(line)
    assert quick.parse(verb, arguments) is None
