"""The full parser: help, and the refusal of what is not right."""

from __future__ import annotations

import pytest

from milkd.cli import parser, verbs

VERBS = [verb for group in verbs.GROUPS.values() for verb in group]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = verbs.command(verb)
    assert command is not None
    with pytest.raises(SystemExit) as leaving:
        parser.parse(verb, command, ["--help"])
    assert leaving.value.code == 0
    help_text = capsys.readouterr().out
    assert help_text.startswith(f"usage: milkctl {verb} ")
    assert command.about.splitlines()[0] in help_text
    for option in ("--session ID", "--store DIR", "--socket PATH", "--json"):
        assert option in help_text


def test_options_are_not_abbreviated(capsys: pytest.CaptureFixture[str]) -> None:
    command = verbs.command("recall")
    assert command is not None
    with pytest.raises(SystemExit) as leaving:
        parser.parse("recall", command, ["--max-res", "3", "tabs"])
    assert leaving.value.code == 2
    assert "--max-res" in capsys.readouterr().err


def test_a_role_needs_a_name_and_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    command = verbs.command("record")
    assert command is not None
    options = parser.parse("record", command, ["--role", "theme=a=b", "--role", "when=now", "x"])
    assert options.role == [("theme", "a=b"), ("when", "now")]
    with pytest.raises(SystemExit):
        parser.parse("record", command, ["--role", "theme", "x"])
    assert "argument --role: found 'theme', expected NAME=TEXT" in capsys.readouterr().err
