"""`milkctl` as a whole: verbs, options on either side of them, exit codes, and other ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import milkd
from scripted import Peer, Scripted
from terminal import on_a_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from places import Place, Ran

    Milkctl = Callable[..., Ran]


# Without a daemon


def test_bare_milkctl_prints_what_it_can_do(milkctl: Milkctl) -> None:
    ran = milkctl()
    assert ran.code == 0
    assert ran == milkctl("--help")
    verbs = "learn record recall list show similar forget restore relate unrelate edit inject"
    verbs += " session consolidate stats health explain config ping stop export import"
    verbs += " snapshot check repair backup"
    for verb in verbs.split():
        assert f"\n  {verb} " in ran.out
    assert max(map(len, ran.out.splitlines())) <= 90


def test_the_version_is_that_of_the_package(milkctl: Milkctl) -> None:
    assert milkctl("--version") == (0, f"milkctl {milkd.__version__}\n", "")


def test_the_version_is_json_too(milkctl: Milkctl) -> None:
    for arguments in (("--version", "--json"), ("--json", "--version")):
        assert json.loads(milkctl(*arguments).out) == {"version": milkd.__version__}


def test_help_is_a_verb_too(milkctl: Milkctl) -> None:
    assert milkctl("help") == milkctl("--help") == milkctl("help", "help")
    assert milkctl("help", "recall") == milkctl("recall", "--help")
    assert milkctl("help", "recal").code == 2
    assert "did you mean help?" in milkctl("hlep").err


def test_an_unknown_verb_is_refused_with_the_one_that_was_meant(milkctl: Milkctl) -> None:
    ran = milkctl("recal", "tabs")
    assert ran.code == 2
    assert "no such verb: recal; did you mean recall?" in ran.err
    assert "did you mean" not in milkctl("\x1bzzz").err


def test_options_without_a_verb_are_wrong_usage(milkctl: Milkctl) -> None:
    assert milkctl("--session", "s1").code == 2
    assert milkctl("--frobnicate").code == 2


def test_wrong_usage_is_told_from_a_refusal(milkctl: Milkctl) -> None:
    assert milkctl("recall").code == 2
    assert milkctl("record", "--core=maybe", "tabs").code == 2
    assert milkctl("relate", "abcd").code == 2


@pytest.mark.parametrize("option", ["--session", "--store", "--socket"])
@pytest.mark.parametrize("verb", ["recall", "list"])
def test_an_empty_option_is_wrong_usage_not_an_absent_one(
    option: str, verb: str, milkctl: Milkctl
) -> None:
    for arguments in ((option, ""), (f"{option}=",)):
        ran = milkctl(verb, *arguments, "tabs")
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == (
            f"milkctl: {option} is empty (an unset variable?); leave it out or name one\n"
        )


@pytest.mark.parametrize(
    "arguments",
    [
        ("--session", "a", "recall", "--session", "b", "tabs"),
        ("record", "--producer", "user", "--producer", "user", "tabs"),
        ("list", "--sort", "w", "tabs", "--sort=score"),
    ],
)
def test_an_option_given_twice_is_wrong_usage(arguments: tuple[str, ...], milkctl: Milkctl) -> None:
    ran = milkctl(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "may be given once only" in ran.err


def test_a_dash_among_words_is_wrong_usage(milkctl: Milkctl) -> None:
    for arguments in (
        ("record", "-", "extra"),
        ("recall", "tabs", "-"),
        ("edit", "abcd", "-", "x"),
    ):
        ran = milkctl(*arguments, stdin=b"text")
        assert (ran.code, ran.out) == (2, "")
        assert "either - for standard input, or words" in ran.err


def test_without_a_daemon_the_code_is_three_and_a_variable_forbids_to_start_one(
    milkctl: Milkctl,
) -> None:
    ran = milkctl("recall", "tabs")
    assert (ran.code, ran.out) == (3, "")
    assert "$MILKD_NO_AUTOSTART" in ran.err


def test_ping_health_and_stop_start_no_daemon(place: Place) -> None:
    for verb in ("ping", "health", "stop"):
        ran = place.milkctl(verb)
        assert ran.returncode == 3
        assert b"not running?" in ran.stderr
    assert not place.store.exists()


# With a daemon


def test_options_may_stand_on_either_side_of_the_verb(place: Place, milkctl: Milkctl) -> None:
    place.start()
    milkctl("--session", "s1", "record", "tabs are for indenting")
    for arguments in (
        ("--session", "s1", "recall", "tabs"),
        ("recall", "--session", "s1", "tabs"),
        ("recall", "tabs", "--session=s1"),
        ("--session=s1", "--socket", str(place.socket), "--store", str(place.store), "list"),
        ("list", "--session", "s1"),
    ):
        assert "tabs are for indenting" in milkctl(*arguments).out
    assert milkctl("recall", "tabs").out == "(no relevant memories found)\n"


def test_the_session_may_come_from_the_environment(place: Place) -> None:
    place.start()
    place.env["MILK_SESSION"] = "s1"
    place.milkctl("record", "tabs are for indenting")
    assert b"tabs" in place.milkctl("recall", "tabs").stdout
    assert b"tabs" not in place.milkctl("recall", "tabs", "--session", "s2").stdout


def test_an_empty_variable_names_no_session(place: Place) -> None:
    place.start()
    place.env["MILK_SESSION"] = ""
    assert b"(global, " in place.milkctl("record", "tabs are for indenting").stdout


def test_an_error_is_json_too(place: Place, milkctl: Milkctl) -> None:
    ran = milkctl("recall", "tabs", "--json")
    told = json.loads(ran.out)["error"]
    assert (ran.code, ran.err, told["code"]) == (3, "", "daemon_unreachable")
    place.start()
    ran = milkctl("show", "no such thing", "--json")
    told = json.loads(ran.out)["error"]
    assert (ran.code, ran.err, told["code"]) == (1, "", "not_found")
    assert told["message"].startswith("no percept visible here fits")
    ran = milkctl("show", "--json")
    assert (ran.code, ran.out) == (2, "")


def test_json_is_the_daemons_answer_as_it_is(place: Place, milkctl: Milkctl) -> None:
    place.start()
    outcome = json.loads(milkctl("record", "tabs\tare \x1b for indenting", "--json").out)
    assert outcome["status"] == "inserted"
    shown = json.loads(milkctl("--json", "show", outcome["id"]).out)
    assert shown["content"] == "tabs\tare \x1b for indenting"
    with place.client() as client:
        assert shown.keys() == client.show(outcome["id"]).keys()  # the score changes by the hour
        assert json.loads(milkctl("config", "--json").out) == client.config()
    assert json.loads(milkctl("ping", "--json").out) == {}


def test_a_refusal_is_told_in_its_sentence_with_code_one(place: Place, milkctl: Milkctl) -> None:
    place.start()
    ran = milkctl("show", "no such thing")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("milkctl: ")
    assert milkctl("record", "tabs", "--session", "..").code == 1


def test_an_ambiguous_reference_lists_what_it_may_mean(place: Place, milkctl: Milkctl) -> None:
    place.start()
    with place.client(session="s1") as client:
        one = client.record("the very same words", session="s2")["id"]
        client.consolidate()
        other = client.record("the very same words")["id"]
        assert one != other
    with place.client() as client:
        records = [record for record in client.export() if record["kind"] == "percept"]
    twins = [
        record | {"id": f"abcd000{number}-0000-4000-8000-000000000000", "scope": "global"}
        for number, record in enumerate(records)
    ]
    with place.client() as client:
        client.import_(twins)
    ran = milkctl("forget", "abcd")
    assert (ran.code, ran.out) == (1, "")
    listed = [f"  {twin['id']}  the very same words" for twin in twins]
    assert ran.err.splitlines() == ["milkctl: 2 percepts fit:", *listed]
    told = json.loads(milkctl("forget", "abcd", "--json").out)["error"]
    assert told["code"] == "ambiguous"
    assert [each["id"] for each in told["candidates"]] == [twin["id"] for twin in twins]
    unclear = milkctl("relate", "abcd", "extends", "no such thing")
    assert unclear.code == 1
    assert milkctl("forget", "abcd0000").code == 0
    assert milkctl("forget", "abcd").code == 0


def test_twenty_commands_at_once_start_one_daemon(place: Place) -> None:
    with ThreadPoolExecutor(20) as pool:
        facts = [f"subject{number} lives in place{number}" for number in range(20)]
        ran = list(pool.map(lambda fact: place.milkctl("record", fact), facts))
    assert [(each.returncode, each.stderr) for each in ran] == [(0, b"")] * 20
    assert len(daemons(place)) == 1
    with place.client() as client:
        assert client.list()["total"] == 20


def daemons(place: Place) -> list[str]:
    """The processes that serve the place's store."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"--ready-fd" in command and str(place.store).encode() in command:
            found.append(process.name)
    return found


def test_a_daemon_started_by_a_command_outlives_it_and_is_stopped_by_another(
    place: Place,
) -> None:
    assert place.milkctl("learn", "the user prefers tabs").returncode == 0
    assert place.milkctl("ping").stdout == b"pong\n"
    assert place.milkctl("stop").returncode == 0
    assert place.milkctl("ping").returncode == 3
    assert b"prefers tabs" in place.milkctl("list").stdout


def test_a_reader_that_has_enough_is_no_error(place: Place) -> None:
    place.start()
    with place.client() as client:
        for number in range(40):
            client.record(f"subject{number} lives in place{number}, " + f"word{number}x " * 500)
    command = subprocess.Popen(
        [sys.executable, "-m", "milkd.cli", "list"],
        env=place.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert command.stdout is not None
    assert command.stderr is not None
    with command:
        command.stdout.close()
        assert command.stderr.read() == b""
    assert command.returncode == 141


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Programs started now can be interrupted, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_command_ends_without_a_traceback(place: Place) -> None:
    def interrupt(peer: Peer) -> None:
        peer.request()
        command.send_signal(signal.SIGINT)
        assert not peer.sock.recv(1)

    with Scripted(place.socket, interrupt):
        command = subprocess.Popen(
            [sys.executable, "-m", "milkd.cli", "recall", "tabs"],
            env=place.env,
            stderr=subprocess.PIPE,
        )
        assert command.communicate()[1] == b""
    assert command.returncode == 130


def test_on_a_terminal_a_list_is_a_table_that_fits(place: Place) -> None:
    place.start()
    with place.client() as client:
        ident = client.record("deploys go through the west cluster, always " * 3)["id"]
    head, row = on_a_terminal(place, "list").out.splitlines()
    assert head == "ID         SCOPE      W  CORE  PRODUCER  FOR  CONTENT"
    assert row.startswith(f"#{ident[:8]}  global  0.70        primary   all  deploys go")
    assert row.endswith("…")
    assert len(row) == 60


def test_on_a_narrow_terminal_no_line_is_wrapped(place: Place) -> None:
    place.start()
    with place.client(session="a-session-with-quite-a-long-name") as client:
        client.record("deploys go through the west cluster", consumer="escalation")
        client.learn("the user prefers tabs over spaces everywhere")
    for arguments in (
        ("list", "--session", client.session or ""),
        ("config",),
        ("session", "list"),
    ):
        lines = on_a_terminal(place, *arguments, columns=40).out.splitlines()
        assert max(map(len, lines)) <= 40
        assert len(lines) > 1
    listed = on_a_terminal(place, "list", columns=40).out.splitlines()
    assert listed[0] == "ID         SCOPE      W  CONTENT"
    assert "session_half_life_days" in on_a_terminal(place, "config", columns=40).out


def test_no_color_is_respected(place: Place) -> None:
    place.start()
    with place.client() as client:
        client.record("deploys go through the west cluster")
    place.env["NO_COLOR"] = ""
    assert "\x1b[2m#" in on_a_terminal(place, "recall", "deploys").out
    place.env["NO_COLOR"] = "1"
    assert "\x1b" not in on_a_terminal(place, "recall", "deploys").out
