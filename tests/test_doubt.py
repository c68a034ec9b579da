"""Whose daemon it is, and what a lost call may have done."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import milkd
from milkd.doubt import holder
from milkd.errors import NotFound
from milkd.paths import boot_id, computed_socket, endpoint_path, endpoint_text
from places import Place
from scripted import Peer, Scripted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from milkd.client import Client

READS: list[Callable[[Client], object]] = [
    lambda client: client.ping(),
    lambda client: client.query("tabs"),
    lambda client: client.list(),
]


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A home without a daemon, which is this process's home too."""
    with Place() as home:
        monkeypatch.setenv("HOME", str(home.home))
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(home.home))
        yield home


def silent(peer: Peer) -> None:
    """Take a request, and go without an answer."""
    peer.request()


# Whose daemon it is


def other_daemon(peer: Peer) -> None:
    """A daemon of another store, to which nothing but the question is sent."""
    request = peer.request()
    assert request.method == "hello"
    peer.answer(request, {"store": "/another/store"})
    assert not peer.sock.recv(1)


def check_refused(client: Client, place: Place) -> None:
    with pytest.raises(milkd.DaemonUnreachable) as caught:
        client.record("meant for the one store only")
    for named in ("/another/store", client.store, str(place.socket)):
        assert named in str(caught.value)


def test_the_daemon_of_another_store_is_sent_nothing_where_both_were_named(place: Place) -> None:
    client = milkd.Client(str(place.socket), store=str(place.store))
    with Scripted(place.socket, other_daemon):
        check_refused(client, place)


def test_variables_name_store_and_socket_too(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILKD_SOCKET", str(place.socket))
    monkeypatch.setenv("MILK_MEMORY_DIR", str(place.home / "elsewhere"))
    with Scripted(place.socket, other_daemon):
        check_refused(milkd.Client(), place)
    place.socket.unlink()
    with Scripted(place.socket, other_daemon), pytest.raises(milkd.DaemonUnreachable):
        milkd.Client().subscribe("health")


def test_the_store_is_asked_for_once_a_connection(place: Place) -> None:
    asked: list[str] = []

    def handler(peer: Peer) -> None:
        for result in ({"store": str(place.store)}, {"total": 1}, {"total": 2}):
            asked.append((request := peer.request()).method)
            peer.answer(request, result)

    client = milkd.Client(str(place.socket), store=str(place.store))
    with Scripted(place.socket, handler), client:
        assert [client.list()["total"], client.list()["total"]] == [1, 2]
    assert asked == ["hello", "list", "list"]


@pytest.mark.parametrize("named", ["socket", "store", "neither"])
def test_nothing_is_asked_where_only_one_was_named(place: Place, named: str) -> None:
    other = place.home / "other"
    path, client = {
        "socket": (place.socket, milkd.Client(str(place.socket))),
        "store": (Path(computed_socket(str(other))), milkd.Client(store=str(other))),
        "neither": (Path(computed_socket(str(place.store))), milkd.Client()),
    }[named]
    path.parent.mkdir(exist_ok=True)

    def handler(peer: Peer) -> None:
        request = peer.request()
        assert request.method == "stats"
        peer.answer(request, {})

    with Scripted(path, handler), client:
        client.stats()


def test_a_store_reached_by_a_link_is_the_same_store(place: Place) -> None:
    place.start()
    (place.home / "link").symlink_to(place.store)
    with milkd.Client(str(place.socket), store=str(place.home / "link")) as client:
        assert client.stats()["global"] == 0


def test_where_a_note_leads_nowhere_the_usual_socket_is_tried(place: Place) -> None:
    note = Path(endpoint_path(str(place.store)))
    note.parent.mkdir(parents=True)
    note.write_bytes(endpoint_text(str(place.home / "gone")))
    path = Path(computed_socket(str(place.store)))
    path.parent.mkdir()
    with Scripted(path, lambda peer: peer.answer(peer.request(), {})), milkd.Client() as client:
        client.stats()
        assert client.socket == str(path)


def test_a_relative_path_in_a_deleted_directory_is_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = place.home / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for socket, store in (("here", None), (None, "here")):
        with pytest.raises(milkd.DaemonUnreachable, match="working directory has been deleted"):
            milkd.Client(socket, store=store)
    milkd.Client(str(place.socket))


# What became of a call


@pytest.mark.parametrize("call", READS)
def test_a_stopped_daemon_is_named_by_its_process(
    place: Place, call: Callable[[Client], object]
) -> None:
    daemon = place.start()
    daemon.send_signal(signal.SIGSTOP)
    try:
        client = place.client()
        client.timeout = 0.1
        with pytest.raises(milkd.Unanswered) as caught:
            call(client)
    finally:
        daemon.send_signal(signal.SIGCONT)
    assert str(caught.value).splitlines() == [
        "no answer within 0.1 s (is the daemon stopped, or overloaded?)",
        f"if it stays silent, the last resort is: kill -9 {daemon.pid}",
    ]


def test_a_change_that_a_stopped_daemon_got_may_still_be_made(place: Place) -> None:
    daemon = place.start()
    daemon.send_signal(signal.SIGSTOP)
    try:
        client = place.client(session="s1")
        client.timeout = 0.1
        with pytest.raises(milkd.Unanswered) as caught:
            client.record("tabs")
    finally:
        daemon.send_signal(signal.SIGCONT)
    assert str(caught.value).splitlines()[1:] == [
        "whether the change was made is not known; look with: milkctl list --session s1",
        f"if it stays silent, the last resort is: kill -9 {daemon.pid}",
    ]


def test_a_change_lost_twice_is_in_doubt(place: Place) -> None:
    client = place.client()
    with Scripted(place.socket, silent, silent), pytest.raises(milkd.ConnectionLost) as caught:
        client.forget("tabs")
    assert str(caught.value).splitlines()[1:] == [
        "whether the change was made is not known; look with: milkctl list"
    ]


def test_a_change_whose_daemon_is_gone_afterwards_is_in_doubt(place: Place) -> None:
    def last(peer: Peer) -> None:
        peer.request()
        place.socket.unlink()

    client = place.client()
    with Scripted(place.socket, last), pytest.raises(milkd.ConnectionLost) as caught:
        client.session_drop("s1")
    told = str(caught.value)
    assert told.startswith("the daemon went away in the middle\ncannot reach the daemon at ")
    assert told.endswith(
        "whether the change was made is not known; look with: milkctl session list"
    )


def test_a_read_lost_twice_is_in_no_doubt(place: Place) -> None:
    client = place.client()
    with Scripted(place.socket, silent, silent), pytest.raises(milkd.ConnectionLost) as caught:
        client.list()
    assert "known" not in str(caught.value)


def test_a_refusal_of_the_second_attempt_does_not_speak_for_the_first(place: Place) -> None:
    def refusing(peer: Peer) -> None:
        peer.refuse(peer.request(), NotFound("nothing fits"))

    told = pytest.raises(milkd.NotFound, match=r"^nothing fits\n.* the first .* granted$")
    with Scripted(place.socket, silent, refusing), place.client() as client, told:
        client.forget("tabs")


def test_a_change_that_was_not_sent_is_in_no_doubt(place: Place) -> None:
    def once(peer: Peer) -> None:
        peer.answer(peer.request(), {})
        place.socket.unlink()

    client = place.client()
    with Scripted(place.socket, once):
        client.ping()
    with pytest.raises(milkd.DaemonUnreachable) as caught:
        client.record("tabs")
    assert "known" not in str(caught.value)


# The process that holds a store


def test_only_a_daemon_of_this_socket_is_named(place: Place) -> None:
    assert holder(str(place.store), str(place.socket)) is None
    daemon = place.start()
    assert holder(str(place.store), str(place.socket)) == daemon.pid
    assert holder(str(place.store), str(place.home / "other")) is None


def test_a_lock_that_nobody_holds_names_nobody(place: Place) -> None:
    place.start()
    place.stop(signal.SIGKILL)
    lock = place.store / ".milkd" / "lock"
    assert json.loads(lock.read_text())["boot_id"] == boot_id()
    assert holder(str(place.store), str(place.socket)) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "1"}', '{"pid": 1, "host": "another"}'])
def test_a_lock_file_that_tells_nothing_names_nobody(place: Place, text: str) -> None:
    place.start()
    (place.store / ".milkd" / "lock").write_text(text)
    assert holder(str(place.store), str(place.socket)) is None
    assert os.path.exists(place.socket)
