"""The client: what it sends, what it makes of answers, and how it takes a daemon's end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from typing import TYPE_CHECKING

import pytest

import milkd
from milkd.client import CHANGING, Client
from milkd.errors import InvalidParams, NotFound
from milkd.rpc.protocol import Connection
from milkd.rpc.schema import METHODS
from places import Place
from scripted import Peer, Scripted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from milkd.rpc.messages import Request

OUTCOME = {"id": "00000000-0000-4000-8000-000000000000", "status": "inserted"}
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@pytest.fixture
def place() -> Iterator[Place]:
    with Place() as home:
        yield home


def answering(*results: object) -> tuple[Callable[[Peer], None], list[Request]]:
    """A handler that grants as many requests as there are results, and what it was asked."""
    asked: list[Request] = []

    def handler(peer: Peer) -> None:
        for result in results:
            asked.append(peer.request())
            peer.answer(asked[-1], result)

    return handler, asked


# What is sent


def test_arguments_that_are_none_are_left_to_the_daemon(place: Place) -> None:
    handler, asked = answering({"percepts": []})
    with Scripted(place.socket, handler), place.client() as client:
        client.query("tabs", max_results=3)
    assert (asked[0].method, asked[0].params) == ("query", {"text": "tabs", "max_results": 3})


def test_the_clients_session_goes_with_every_call_that_takes_one(place: Place) -> None:
    handler, asked = answering({}, {}, {}, {})
    with Scripted(place.socket, handler), place.client(session="s1") as client:
        client.list()
        client.list(session="s2")
        client.session_open()
        client.stats()
    assert [request.params.get("session") for request in asked] == ["s1", "s2", "s1", None]


def test_an_empty_session_is_refused_and_makes_no_global_fact(place: Place) -> None:
    place.start()
    with place.client() as client, pytest.raises(InvalidParams, match=r"^session: "):
        client.record("meant for a session", session="")
    with place.client(session="") as client, pytest.raises(InvalidParams, match=r"^session: "):
        client.record("meant for a session")
    with place.client() as client:
        assert client.list()["total"] == 0


def test_an_edge_goes_from_its_source_to_its_target(place: Place) -> None:
    handler, asked = answering({})
    with Scripted(place.socket, handler), place.client() as client:
        client.relate("aaaa", "extends", "bbbb")
    sent = dict(asked[0].params)
    del sent["op_id"]
    assert sent == {"from": "aaaa", "relation": "extends", "to": "bbbb"}


def test_every_change_has_an_operation_id_of_its_own_and_reads_have_none(place: Place) -> None:
    handler, asked = answering(OUTCOME, OUTCOME, {})
    with Scripted(place.socket, handler), place.client() as client:
        client.record("tabs")
        client.record("tabs")
        client.show("tabs")
    one, other, read = (request.params.get("op_id") for request in asked)
    assert one != other
    assert isinstance(one, str)
    assert len(one) == 32
    assert read is None


def test_the_client_knows_which_methods_change_something() -> None:
    assert {name for name, method in METHODS.items() if method.changes} == CHANGING


def test_every_method_of_the_protocol_is_a_method_of_the_client() -> None:
    on_its_own = {"import": "import_", "unsubscribe": "subscribe"}  # a subscription is closed
    assert not [name for name in METHODS if not hasattr(Client, on_its_own.get(name, name))]


def test_text_without_a_utf8_form_is_refused_by_name_before_it_is_sent(place: Place) -> None:
    handler, asked = answering({})
    with Scripted(place.socket, handler), place.client() as client:
        with pytest.raises(InvalidParams, match=r"^content: "):
            client.record("\udcff")
        client.stats()
    assert [request.method for request in asked] == ["stats"]


def test_a_request_beyond_the_limit_is_refused_before_it_is_sent(place: Place) -> None:
    handler, _ = answering({})
    with Scripted(place.socket, handler), place.client() as client:
        with pytest.raises(milkd.TooLarge):
            client.record("x" * (1 << 20))
        client.stats()


# What comes back


def test_an_answer_may_arrive_byte_by_byte(place: Place) -> None:
    def handler(peer: Peer) -> None:
        request = peer.request()
        for byte in Connection.response(request.msgid, {"percepts": [], "total": 7}):
            peer.sock.sendall(bytes([byte]))

    with Scripted(place.socket, handler), place.client() as client:
        assert client.list()["total"] == 7


def test_a_refusal_raises_the_class_of_its_code_with_its_sentence(place: Place) -> None:
    def handler(peer: Peer) -> None:
        peer.refuse(peer.request(), NotFound("nothing fits 'abcd'"))
        peer.refuse(peer.request(), InvalidParams("ref", "found nothing"))
        peer.answer(peer.request(), {})

    with Scripted(place.socket, handler), place.client() as client:
        with pytest.raises(milkd.NotFound, match=r"^nothing fits 'abcd'$"):
            client.show("abcd")
        with pytest.raises(milkd.InvalidParams, match=r"^ref: found nothing$") as caught:
            client.show("")
        assert caught.value.argument == "ref"
        client.stats()


def test_an_answer_that_is_no_map_is_the_daemons_fault(place: Place) -> None:
    handler, _ = answering([1, 2])
    client = place.client()
    with Scripted(place.socket, handler), pytest.raises(milkd.Internal, match="stats is not a map"):
        client.stats()
    client.close()


def test_what_comes_unasked_between_answers_is_passed_over(place: Place) -> None:
    def handler(peer: Peer) -> None:
        request = peer.request()
        peer.notify("event", {"topic": "health"})
        peer.sock.sendall(Connection.response(request.msgid + 7, {"total": 1}))
        peer.answer(request, {"total": 2})

    with Scripted(place.socket, handler), place.client() as client:
        assert client.list()["total"] == 2


def test_a_notification_of_an_error_is_why_the_connection_ended(place: Place) -> None:
    def handler(peer: Peer) -> None:
        peer.notify("error", "overloaded: 64 connections are open, at most 64 are served")

    client = place.client()
    with Scripted(place.socket, handler), pytest.raises(milkd.Overloaded, match="at most 64"):
        client.list()


# How a lost connection is taken


def test_a_change_whose_answer_never_began_is_sent_again_with_its_operation_id(
    place: Place,
) -> None:
    lost: list[Request] = []
    handler, asked = answering(OUTCOME)
    server = Scripted(place.socket, lambda peer: lost.append(peer.request()), handler)
    with server, place.client() as client:
        assert client.record("tabs")["status"] == "inserted"
    assert lost[0].params == asked[0].params


def test_a_call_is_sent_twice_at_most(place: Place) -> None:
    def handler(peer: Peer) -> None:
        peer.request()

    client = place.client()
    with Scripted(place.socket, handler, handler), pytest.raises(milkd.ConnectionLost):
        client.stats()


def test_a_call_whose_answer_had_begun_is_not_sent_again(place: Place) -> None:
    def handler(peer: Peer) -> None:
        peer.sock.sendall(Connection.response(peer.request().msgid, OUTCOME)[:5])

    client = place.client()
    with Scripted(place.socket, handler), pytest.raises(milkd.ConnectionLost):
        client.record("tabs")


def test_a_lost_shutdown_is_not_sent_to_the_next_daemon(place: Place) -> None:
    def handler(peer: Peer) -> None:
        peer.request()

    client = place.client()
    with Scripted(place.socket, handler), pytest.raises(milkd.ConnectionLost):
        client.shutdown()


def test_a_daemon_that_was_replaced_between_two_calls_is_found(place: Place) -> None:
    first, _ = answering({"total": 1})
    second, _ = answering({"total": 2})
    with Scripted(place.socket, first, second), place.client() as client:
        assert [client.list()["total"], client.list()["total"]] == [1, 2]


def test_a_late_answer_is_not_taken_for_that_of_the_next_call(place: Place) -> None:
    over = threading.Event()

    def late(peer: Peer) -> None:
        request = peer.request()
        over.wait(5)
        with contextlib.suppress(BrokenPipeError):  # the client may be gone already
            peer.answer(request, {"total": 1})

    prompt, _ = answering({"total": 2})
    with Scripted(place.socket, late, prompt), place.client() as client:
        client.timeout = 0.05
        with pytest.raises(milkd.Timeout, match=r"no answer within 0\.05 s"):
            client.list()
        over.set()
        client.timeout = 5.0
        assert client.list()["total"] == 2


def test_a_closed_client_opens_another_connection_when_it_is_used(place: Place) -> None:
    handler, _ = answering({"total": 1})
    with Scripted(place.socket, handler, handler):
        client = place.client()
        client.list()
        client.close()
        client.close()
        client.list()
        client.close()


def test_a_second_thread_in_the_middle_of_a_call_is_refused(place: Place) -> None:
    asked, over = threading.Event(), threading.Event()

    def handler(peer: Peer) -> None:
        for total in (1, 2):
            request = peer.request()
            asked.set()
            over.wait(5)
            peer.answer(request, {"total": total})

    with Scripted(place.socket, handler), place.client() as client:
        totals: list[int] = []
        first = threading.Thread(target=lambda: totals.append(client.list()["total"]))
        first.start()
        asked.wait(5)
        with pytest.raises(RuntimeError, match="one client per thread"):
            client.list()
        over.set()
        first.join(5)
        assert (totals, client.list()["total"]) == ([1], 2)


# Many messages


def test_an_export_is_paged_through_to_its_end(place: Place) -> None:
    handler, asked = answering({"records": [{"n": 1}, {"n": 2}], "next": "c"}, {"records": []})
    with Scripted(place.socket, handler), place.client() as client:
        assert list(client.export(page=2)) == [{"n": 1}, {"n": 2}]
    assert [dict(request.params) for request in asked] == [
        {"limit": 2},
        {"cursor": "c", "limit": 2},
    ]


def test_an_import_is_cut_into_messages_of_which_the_last_is_final(place: Place) -> None:
    handler, asked = answering({}, {}, {"accepted": 3, "refused": []})
    records = [{"content": "x" * 200_000} for _ in range(3)]
    with Scripted(place.socket, handler), place.client() as client:
        assert client.import_(records)["accepted"] == 3
    sent = [request.params for request in asked]
    assert [params["final"] for params in sent] == [False, False, True]
    assert [params["records"] for params in sent] == [[record] for record in records]


def test_events_come_in_order_until_the_subscription_is_closed(place: Place) -> None:
    quiet, _ = answering()

    def handler(peer: Peer) -> None:
        request = peer.request()
        assert request.params == {"topics": ["percepts"]}
        peer.notify("event", {"topic": "percepts", "event": "inserted"})  # before the answer
        peer.answer(request, {})
        peer.notify("event", {"lost": 2})
        assert not peer.sock.recv(1)

    with Scripted(place.socket, quiet, handler), place.client() as client:
        with client.subscribe("percepts") as events:
            assert next(events) == {"topic": "percepts", "event": "inserted"}
            assert next(events) == {"lost": 2}
        assert list(events) == []


def test_a_subscription_ends_with_the_daemon(place: Place) -> None:
    handler, _ = answering({})
    with Scripted(place.socket, handler):
        events = place.client().subscribe("health")
        with pytest.raises(milkd.ConnectionLost):
            next(events)


# When nobody is there


def test_without_a_socket_the_error_says_how_to_start_a_daemon(place: Place) -> None:
    with pytest.raises(milkd.DaemonUnreachable, match="not running") as caught:
        place.client().stats()
    assert "start it with: milkd" in str(caught.value)
    assert str(place.socket) in str(caught.value)


def test_a_socket_that_nobody_listens_on_is_told_from_none(place: Place) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(place.socket))
    with pytest.raises(milkd.DaemonUnreachable, match="nobody listens"):
        place.client().stats()


def test_what_is_no_socket_is_neither_used_nor_replaced(place: Place) -> None:
    place.socket.write_text("precious")
    with pytest.raises(milkd.DaemonUnreachable, match="not a socket of milkd"):
        place.client(autostart=True).stats()
    assert place.socket.read_text() == "precious"


def test_a_socket_of_another_kind_is_called_so(place: Place) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(place.socket))
        with pytest.raises(milkd.DaemonUnreachable, match="not a socket of milkd"):
            place.client().stats()


def test_a_path_too_long_for_a_socket_is_refused_with_both_lengths(place: Place) -> None:
    client = milkd.Client(str(place.home / ("x" * 120)), store=str(place.store))
    with pytest.raises(milkd.DaemonUnreachable, match=r"is \d+ bytes long, at most \d+ fit"):
        client.stats()


def test_a_full_backlog_is_waited_for(place: Place) -> None:
    with socket.socket(socket.AF_UNIX) as busy:
        busy.bind(str(place.socket))
        busy.listen(0)
        with socket.socket(socket.AF_UNIX) as first:
            first.connect(str(place.socket))
            client = place.client()
            client.timeout = 0.05
            with pytest.raises(milkd.DaemonUnreachable, match="no connections at present"):
                client.stats()


@ROOT_ONLY
def test_nothing_is_sent_to_somebody_elses_server(place: Place) -> None:
    place.home.chmod(0o777)
    said, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.setuid(65534)
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(place.socket))
        server.listen()
        os.write(tell, b"ready")
        peer, _ = server.accept()
        os._exit(len(peer.recv(100)))
    os.read(said, 5)
    os.close(said)
    os.close(tell)
    with pytest.raises(milkd.DaemonUnreachable, match="user id 65534, not by yours"):
        place.client().stats()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


# With a daemon


def test_a_fact_is_recorded_recalled_explained_and_forgotten(place: Place) -> None:
    place.start()
    with place.client() as client:
        outcome = client.record("deploys go through the west cluster", producer="user")
        assert outcome["status"] == "inserted"
        assert client.record("deploys go through the west cluster")["status"] == "reinforced"
        recalled = client.recall("where do deploys go?")["percepts"]
        assert [percept["id"] for percept in recalled] == [outcome["id"]]
        assert client.explain(outcome["id"])["holds"]
        assert client.similar("the west cluster")["percepts"][0]["id"] == outcome["id"]
        assert client.resolve(outcome["id"][:8])["percepts"][0]["scope"] == "global"
        assert "west cluster" in client.inject("how are deploys done?")["text"]
        assert client.forget(outcome["id"])["id"] == outcome["id"]
        assert client.list() == {"percepts": [], "total": 0}


def test_facts_are_learned_edited_related_and_shown(place: Place) -> None:
    place.start()
    with place.client(session="s1") as client:
        learned = client.learn("the user prefers tabs", subject="style")
        other = client.record("indentation is checked by the linter")
        assert learned["message"] == "learned"
        client.edit(learned["id"], "the user prefers spaces")
        assert client.relate(other["id"], "extends", learned["id"])["created"] is True
        shown = client.show(learned["id"])
        assert shown["content"] == "the user prefers spaces"
        assert shown["roles"] == {"theme": "style"}
        assert shown["edges"] == [{"from": other["id"], "to": learned["id"], "relation": "extends"}]
        assert client.unrelate(other["id"], "extends", learned["id"])["removed"] is True


def test_sessions_are_opened_listed_passed_over_and_dropped(place: Place) -> None:
    place.start()
    with place.client(session="s1") as client:
        assert client.session_open()["session"] == "s1"
        client.record("only for this session")
        assert client.consolidate()["pruned"] == 0
        assert [each["session"] for each in client.session_list()["sessions"]] == ["s1"]
        assert client.session_drop() == {"dropped": 1}
        assert client.session_list()["sessions"] == []
        client.session_open("s2")
        assert "running_seconds" in client.session_close("s2")


def test_the_daemon_tells_of_itself(place: Place) -> None:
    daemon = place.start()
    with place.client() as client:
        hello = client.hello()
        client.ping()
        assert hello["pid"] == daemon.pid
        assert hello["store"] == str(place.store)
        assert client.health()["status"] == "ok"
        assert client.stats()["global"] == 0
        assert client.config()["values"]["reconfirm_cap"]["value"] == 0.9
        assert client.reload() == {"changed": []}
        assert client.archive_list()["total"] == 0
        client.record("something to be saved")
        assert "global.json" in client.snapshot()["files"]


def test_what_was_exported_can_be_imported_elsewhere(place: Place) -> None:
    place.start()
    with place.client() as client:
        client.record("deploys go through the west cluster")
        records = list(client.export())
    with Place() as other:
        other.start()
        with other.client() as client:
            assert client.import_(records, dry_run=True)["accepted"] == 1
            assert client.list()["total"] == 0
            assert client.import_(records) == {"accepted": 1, "refused": []}
            assert client.list()["total"] == 1


def test_an_event_reaches_a_subscriber(place: Place) -> None:
    place.start()
    with place.client() as client, client.subscribe("percepts") as events:
        ident = client.record("somebody is listening")["id"]
        assert next(events).get("id") == ident


def test_a_client_lives_through_a_restart_of_the_daemon(place: Place) -> None:
    place.start()
    with place.client() as client:
        before = client.hello()["run_id"]
        client.record("kept over the restart")
        place.stop(signal.SIGKILL)
        place.start()
        assert client.hello()["run_id"] != before
        assert client.list()["total"] == 1
