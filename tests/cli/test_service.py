"""Commands about the daemon itself."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from milkd.errors import StorageFailed
from scripted import Peer, Scripted

if TYPE_CHECKING:
    from collections.abc import Callable

    from places import Place, Ran

    Milkctl = Callable[..., Ran]


def test_statistics_are_counts_and_times(place: Place, milkctl: Milkctl) -> None:
    place.start()
    milkctl("learn", "the user prefers tabs")
    milkctl("record", "only for this session", "--session", "s1")
    lines = milkctl("stats").out.splitlines()
    assert re.match(r"milkd \d.* \((compiled|pure) \d+\), run ", lines[0])
    assert lines[1:3] == [f"store  {place.store}", f"socket {place.socket}"]
    assert json.loads(milkctl("stats", "--json").out)["store"] == str(place.store)
    assert "global 1 percept, archive 0" in lines
    assert any(line.startswith("session s1: 1 percept, ran ") for line in lines)


def test_stats_show_how_strong_facts_are_by_now(place: Place, milkctl: Milkctl) -> None:
    place.start()
    milkctl("learn", "the user prefers tabs")
    for number in range(3):
        milkctl("record", f"word{number}a word{number}b", "--session", "s1")
    milkctl("record", "only this is weak", "--session", "s1", "--producer", "system")
    lines = milkctl("stats", "--session", "s1").out.splitlines()
    sign = "█" if "█" in lines[-1] else "#"
    assert lines[-7:] == [
        "strength in global",
        f"  0.9 to 1.0  {sign * 20}      1",
        "strength in s1",
        f"  0.7 to 0.8  {sign * 20}      3",
        f"  0.6 to 0.7  {' ' * 20}      0",
        f"  0.5 to 0.6  {' ' * 20}      0",
        f"  0.4 to 0.5  {sign * 7}{' ' * 13}      1",
    ]
    weights = json.loads(milkctl("stats", "--json", "--session", "s1").out)["weights"]
    assert sum(weights["s1"]) == 4
    assert weights["global"] == [0] * 9 + [1]


def test_a_healthy_daemon_is_code_zero(place: Place, milkctl: Milkctl) -> None:
    place.start()
    ran = milkctl("health")
    assert (ran.code, ran.err) == (0, "")
    assert re.fullmatch(
        r"ok: 0 of 0 percepts searchable\nkernels: (compiled \d+|pure \d+; .+)\n", ran.out
    )


def test_a_daemon_on_pure_kernels_is_healthy_and_says_why_they_are(
    place: Place, milkctl: Milkctl
) -> None:
    place.env["MILKD_PURE"] = "1"
    place.start()
    ran = milkctl("health")
    assert ran.code == 0
    told = "MILKD_PURE=1 was set when the daemon started: unset it, then `milkctl stop`"
    assert re.search(rf"^kernels: pure \d+; {told}$", ran.out, re.MULTILINE)
    assert json.loads(milkctl("health", "--json").out)["why_pure"] == told
    assert json.loads(milkctl("stats", "--json").out)["why_pure"] == told


@pytest.mark.parametrize("status", ["degraded", "read_only"])
def test_a_daemon_in_trouble_is_code_one_with_its_reasons(
    status: str, place: Place, milkctl: Milkctl
) -> None:
    def handler(peer: Peer) -> None:
        peer.answer(
            peer.request(),
            {"status": status, "reasons": ["the disk is full"], "indexed": 3, "total": 4},
        )

    with Scripted(place.socket, handler):
        ran = milkctl("health")
    assert ran == (1, f"{status}: 3 of 4 percepts searchable\n  the disk is full\n", "")


def test_a_daemon_that_stops_without_saving_everything_is_code_one(
    place: Place, milkctl: Milkctl
) -> None:
    said = "stopped, but not everything could be saved: the disk is full"
    with Scripted(place.socket, lambda peer: peer.refuse(peer.request(), StorageFailed(said))):
        assert milkctl("stop") == (1, "", f"milkctl: {said}\n")


def test_a_daemon_that_dies_while_it_stops_leaves_a_doubt(place: Place, milkctl: Milkctl) -> None:
    def dying(peer: Peer) -> None:
        peer.request()

    with Scripted(place.socket, dying):
        ran = milkctl("stop")
    assert (ran.code, ran.out) == (3, "")
    assert "whether it has saved everything is not known" in ran.err


def test_ping_and_stop(place: Place, milkctl: Milkctl) -> None:
    place.start()
    assert milkctl("ping") == (0, "pong\n", "")
    assert milkctl("stop") == (0, "stopped; everything is saved\n", "")
    assert milkctl("ping").code == 3
