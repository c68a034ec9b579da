"""The command line of the daemon."""

from __future__ import annotations

import os

import pytest

import milkd
from milkd.daemon.fatal import EXIT_USAGE
from milkd.daemon.options import parse


def test_nothing_need_be_said() -> None:
    options = parse([])
    assert options.store == os.path.realpath(
        os.environ.get("MILK_MEMORY_DIR") or os.path.expanduser("~/.milk/memory")
    )
    assert (options.socket, options.idle_exit_s, options.ready_fd) == (None, None, None)


def test_everything_can_be_said() -> None:
    options = parse(
        [
            *("--store", "/s", "--socket", "k", "--config", "c", "--foreground"),
            *("--idle-exit", "0.5", "--ready-fd", "7", "--lock-wait", "0"),
            *("--log-level", "debug"),
        ]
    )
    assert (options.store, options.socket, options.config) == ("/s", "k", os.path.abspath("c"))
    assert (options.idle_exit_s, options.ready_fd, options.lock_wait_s) == (0.5, 7, 0.0)
    assert options.log_level == "DEBUG"


@pytest.mark.parametrize(
    "wrong",
    [
        ["--stoer", "/s"],
        ["more"],
        ["--idle-exit", "-1"],
        ["--idle-exit", "nan"],
        ["--idle-exit", "soon"],
        ["--ready-fd", "-1"],
        ["--log-level", "loud"],
    ],
)
def test_what_is_wrong_is_a_matter_of_usage(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(wrong)
    assert ended.value.code == EXIT_USAGE
    assert capsys.readouterr().err


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"milkd {milkd.__version__}\n"
