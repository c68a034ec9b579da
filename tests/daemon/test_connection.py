"""One client's connection: order, limits, and how it ends."""

from __future__ import annotations

import gc
import logging
import tracemalloc

import pytest
import trio
import trio.testing

from daemon.doubles import HeldDisk, Refused, eventually, memory_wires, open_house
from milkd.daemon.limits import Limits
from milkd.rpc.protocol import Connection as Protocol


async def test_a_call_gets_its_result() -> None:
    async with open_house() as house:
        peer = await house.connect()
        assert await peer.call("ping") == {}


async def test_a_refusal_names_code_and_argument() -> None:
    async with open_house() as house:
        peer = await house.connect()
        assert (await peer.refusal("record")).startswith("invalid_params: content: ")
        assert (await peer.refusal("recrod")).startswith("method_not_found: ")
        assert (await peer.refusal("show", ref="nothing")).startswith("not_found: ")


async def test_responses_come_in_the_order_of_the_requests() -> None:
    async with open_house() as house:
        peer = await house.connect()
        asked = [
            await peer.ask(*each)
            for each in [("ping",), ("health",), ("ping",), ("nonsense",), ("stats",)] * 20
        ]
        await peer.response(asked[-1])
        assert peer.order == asked


async def test_requests_in_one_piece_are_all_answered() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.send(b"".join(Protocol.request(n, "ping", {}) for n in range(100, 300)))
        await peer.response(299)
        assert peer.order == list(range(100, 300))


async def test_a_request_byte_by_byte_is_answered() -> None:
    async with open_house() as house:
        peer = await house.connect()
        for byte in Protocol.request(9, "ping", {}):
            await peer.send(bytes([byte]))
        assert await peer.result(9) == {}


async def test_a_request_that_cannot_be_read_is_answered_and_the_next_one_too() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.send(b"\x94\x00\x05\xa4ping\x01")  # params: 1
        assert (await peer.response(5)).error
        assert await peer.call("ping") == {}


@pytest.mark.parametrize(
    ("rubbish", "code"),
    [
        (b"\xc1", "parse_error"),
        (b"GET / HTTP/1.1\r\n\r\n", "invalid_request"),
        (b'{"jsonrpc": "2.0"}', "invalid_request"),
        (b"\x93\x00\x01\xa4ping", "invalid_request"),
        (b"\xdd\xff\xff\xff\xff", "parse_error"),
    ],
)
async def test_rubbish_gets_one_error_and_the_end(rubbish: bytes, code: str) -> None:
    async with open_house() as house:
        peer, other = await house.connect(), await house.connect()
        await peer.send(rubbish)
        (error,) = await peer.end()
        assert error.startswith(code)
        assert await other.call("ping") == {}


async def test_what_came_before_rubbish_is_answered() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.send(Protocol.request(1, "ping", {}) + b"\xc1")
        assert await peer.result(1) == {}
        assert len(await peer.end()) == 1


async def test_half_a_message_for_too_long_ends_the_connection(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_house(limits=Limits(partial_s=10.0)) as house:
        peer = await house.connect()
        began = trio.current_time()
        await peer.send(b"\x94\x00\x01")
        await trio.sleep(6)
        await peer.send(b"\xa4pi")
        (error,) = await peer.end()
        assert error.startswith("timeout")
        assert 10.0 <= trio.current_time() - began < 11.0


async def test_silence_between_messages_is_no_offence(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.call("ping")
        await trio.sleep(86_400)
        assert await peer.call("ping") == {}


async def test_a_client_that_takes_nothing_is_dropped(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_house(limits=Limits(send_s=10.0)) as house:
        peer = await house.connect_over(*memory_wires(capacity=3))
        other = await house.connect()
        began = trio.current_time()
        await peer.ask("ping")
        while house.core.callers and len(house.core.callers) > 1:
            await trio.sleep(0.5)
            assert await other.call("ping") == {}
        assert trio.current_time() - began == pytest.approx(10.0, abs=1.0)
        assert "left unread for 10 s" in caplog.text


async def test_a_client_that_does_not_read_is_not_read_from() -> None:
    async with open_house(limits=Limits(in_flight=2)) as house:
        peer = await house.connect_over(*memory_wires(capacity=3))
        sent = 0
        with trio.move_on_after(0.2):
            for _ in range(100):
                await peer.ask("ping")
                sent += 1
        # One being sent, what the channel holds, one waiting for room in it.
        assert sent <= 8


async def test_a_client_that_shuts_its_sending_side_still_gets_its_answers() -> None:
    async with open_house() as house:
        peer = await house.connect()
        asked = [await peer.ask("record", content=f"fact number {n} of many") for n in range(5)]
        await peer.stream.send_eof()
        for msgid in asked:
            assert (await peer.result(msgid))["id"]
        assert await peer.end() == []


async def test_writes_of_a_client_that_died_are_finished() -> None:
    disk = HeldDisk()
    async with open_house(disk=disk) as house:
        peer = await house.connect()
        await peer.ask("record", content="said with a last breath")
        await trio.testing.wait_all_tasks_blocked()
        await trio.aclose_forcefully(peer.stream)
        disk.let_go()
        other = await house.connect()
        assert (await other.call("list"))["total"] == 1


async def test_a_read_that_waits_for_the_disk_can_be_taken_back() -> None:
    disk = HeldDisk()
    async with open_house(disk=disk) as house:
        writer, reader = await house.connect(), await house.connect()
        written = await writer.ask("record", content="not on disk yet")
        await trio.testing.wait_all_tasks_blocked()
        asked = await reader.ask("list")
        await trio.testing.wait_all_tasks_blocked()
        await reader.notify("cancel", asked)
        with pytest.raises(Refused, match=r"^cancelled: "):
            await reader.result(asked)
        disk.let_go()
        assert (await writer.result(written))["status"] == "inserted"


async def test_a_write_cannot_be_taken_back() -> None:
    disk = HeldDisk()
    async with open_house(disk=disk) as house:
        peer = await house.connect()
        asked = await peer.ask("record", content="not on disk yet")
        await trio.testing.wait_all_tasks_blocked()
        await peer.notify("cancel", {"msgid": asked})
        await peer.notify("cancel", "what?")
        disk.let_go()
        assert (await peer.result(asked))["status"] == "inserted"


async def test_a_msgid_in_flight_is_not_taken_twice() -> None:
    disk = HeldDisk()
    async with open_house(disk=disk) as house:
        peer = await house.connect()
        await peer.send(Protocol.request(7, "record", {"content": "not on disk yet"}))
        await trio.testing.wait_all_tasks_blocked()
        await peer.send(Protocol.request(7, "ping", {}) + Protocol.request(8, "list", {}))
        await trio.testing.wait_all_tasks_blocked()
        disk.let_go()
        assert await peer.result(8)
        assert peer.order == [7, 7, 8]


async def test_errors_are_strings_for_those_who_ask() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.call("hello", errors="string")
        response = await peer.response(await peer.ask("nonsense"))
        assert isinstance(response.error, str)
        assert response.error.startswith("method_not_found: ")


async def test_one_client_cannot_keep_the_others_waiting() -> None:
    async with open_house() as house:
        greedy, modest = await house.connect(), await house.connect()
        await greedy.send(b"".join(Protocol.request(n, "stats", {}) for n in range(2_000)))
        await modest.call("ping")
        await greedy.read()
        assert len(greedy.order) < 1_000
        await greedy.response(1_999)


async def test_unknown_notifications_are_ignored() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.notify("nvim_error_event", 0, "what?")
        assert await peer.call("ping") == {}


async def test_nobody_answers_a_response() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.send(Protocol.response(0, {}))
        assert await peer.call("ping") == {}
        assert peer.order == [1]


async def test_a_fault_in_the_log_shows_no_content(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with open_house() as house:
        peer = await house.connect()
        await peer.call("record", content="a secret that nobody may read")
        await peer.call("query", text="secret")
        await peer.refusal("show", ref="another secret")
    assert "secret" not in caplog.text


async def test_who_leaves_with_much_unanswered_leaves_no_trace() -> None:
    async with open_house(limits=Limits(in_flight=4, in_flight_all=8, farewell_s=0.1)) as house:
        other = await house.connect()
        for _ in range(5):
            peer = await house.connect_over(*memory_wires(capacity=200))
            with trio.move_on_after(0.05):
                await peer.send(b"".join(Protocol.request(n, "stats", {}) for n in range(200)))
            await peer.stream.aclose()
        await eventually(lambda: len(house.core.callers) == 1)
        assert house.core.flights.count == 0
        assert await other.call("ping") == {}


async def test_of_a_crowd_each_may_ask_one_thing() -> None:
    disk = HeldDisk()
    async with open_house(disk=disk, limits=Limits(in_flight_all=4)) as house:
        writers = [await house.connect() for _ in range(2)]
        asked = [
            (writer, await writer.ask("record", content=f"fact number {number} of many"))
            for writer in writers
            for number in range(4)
        ]
        await trio.testing.wait_all_tasks_blocked()
        assert house.core.flights.count <= 6  # 4, and one for either
        late = await house.connect()
        assert await late.call("ping") == {}
        asked.append((late, await late.ask("record", content="a late one is taken too")))
        disk.let_go()
        for peer, msgid in asked:
            assert (await peer.result(msgid))["id"]
        assert house.core.flights.count == 0


async def test_a_disk_that_decides_after_the_end_meets_nobody(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    disk = HeldDisk()
    async with open_house(disk=disk, limits=Limits(send_s=1.0)) as house:
        peer = await house.connect_over(*memory_wires(capacity=3))
        await peer.ask("ping")  # never taken: the connection is given up
        await peer.ask("record", content="not on disk yet")
        await eventually(lambda: not house.core.callers)
        disk.let_go()
        other = await house.connect()
        assert (await other.call("list"))["total"] == 1
    assert "what follows a commit failed" not in caplog.text


async def test_who_is_owed_nothing_waits_for_nobody() -> None:
    disk = HeldDisk()
    async with open_house(disk=disk, limits=Limits(in_flight_all=4)) as house:
        greedy, modest = await house.connect(), await house.connect()
        for number in range(4):
            await greedy.ask("record", content=f"fact number {number} of many")
        await trio.testing.wait_all_tasks_blocked()
        assert house.core.flights.full
        # Asked in one piece: each waits for the one before it alone.
        await modest.send(b"".join(Protocol.request(n, "ping", {}) for n in range(50)))
        assert await modest.result(49) == {}
        disk.let_go()


async def test_a_refusal_is_no_garbage_that_has_to_be_found() -> None:
    async with open_house() as house:
        peer = await house.connect()
        refused = [("show", {"ref": "nothing"}), ("pnig", {}), ("show", {"rfe": "a" * 10_000})]
        for method, arguments in refused:
            await peer.response(await peer.ask(method, **arguments))
        gc.collect()
        gc.disable()
        try:
            for method, arguments in refused * 20:
                await peer.response(await peer.ask(method, **arguments))
            assert gc.collect() < 20
        finally:
            gc.enable()


async def test_who_is_gone_leaves_nothing_of_what_was_sent() -> None:
    async with open_house() as house:
        gc.collect()
        gc.disable()
        try:
            tracemalloc.start()
            for _ in range(10):
                peer = await house.connect()
                await peer.send(Protocol.request(1, "record", {"content": "a" * 500_000})[:400_000])
                await trio.testing.wait_all_tasks_blocked()
                await peer.stream.aclose()
                await eventually(lambda: not house.core.callers)
                del peer
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            gc.enable()
        assert kept < 1_000_000
