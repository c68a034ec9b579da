"""What a command says when it failed, and its exit code."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING

import pytest

from milkd import errors
from milkd.cli import failing, verbs
from milkd.cli.command import Declined, Options, WrongUsage

if TYPE_CHECKING:
    from places import Ran


def told(error: Exception, capsys: pytest.CaptureFixture[str], *, json: bool = False) -> Ran:
    """What is printed for an error, and the exit code."""
    from places import Ran

    command = verbs.command("show")
    assert command is not None
    code = failing.tell(error, None, command, Options(json=json))
    return Ran(code, *capsys.readouterr())


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.NotFound("x"), 1),
        (errors.Timeout("the disk took more than 5 s"), 1),
        (errors.ConfigError("x"), 1),
        (Declined("not forgotten"), 1),
        (WrongUsage("x"), 2),
        (errors.Unanswered("no answer within 30 s"), 3),
        (errors.DaemonUnreachable("x"), 3),
        (errors.ConnectionLost("x"), 3),
    ],
)
def test_the_exit_code_tells_refusals_from_usage_and_from_silence(
    error: Exception, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(error, capsys) == (code, "", f"milkctl: {error}\n")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            errors.NotFound("nothing fits; archive_list shows what is there"),
            "nothing fits; `milkctl list --scope archive` shows what is there",
        ),
        (
            errors.NotFound("no session s1; session_list has them"),
            "no session s1; `milkctl session list` has them",
        ),
        (errors.InvalidParams("min_confidence", "found 2.0"), "--min-confidence: found 2.0"),
        (errors.InvalidParams("roles.when", "found empty text"), "--role when: found empty text"),
        (errors.InvalidParams("content", "found empty text"), "TEXT: found empty text"),
        (
            errors.InvalidParams("reconfirm_cap", "found 'high'"),
            "reconfirm_cap: found 'high'",
        ),
        (OSError(errno.EISDIR, os.strerror(errno.EISDIR), "/a/b"), "/a/b: Is a directory"),
        (OSError("odd"), "odd"),
    ],
)
def test_what_the_protocol_calls_its_things_is_said_in_the_commands_words(
    error: Exception, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(error, capsys) == (1, "", f"milkctl: {said}\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.NotFound("x"), "not_found"),
        (errors.Unanswered("x"), "timeout"),
        (errors.DaemonUnreachable("x"), "daemon_unreachable"),
        (errors.ConnectionLost("x"), "connection_lost"),
        (errors.ConfigError("x"), "config_error"),
        (Declined("x"), "declined"),
        (OSError("x"), "system_error"),
    ],
)
def test_as_json_an_error_has_a_code_and_a_message(
    error: Exception, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = told(error, capsys, json=True)
    assert json.loads(ran.out) == {"error": {"code": code, "message": "x"}}
    assert ran.err == ""


def test_wrong_usage_is_text_even_where_json_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(WrongUsage("x"), capsys, json=True) == (2, "", "milkctl: x\n")
