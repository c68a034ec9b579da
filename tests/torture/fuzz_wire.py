"""A fuzzer that sees which lines run (atheris), on all between a client's bytes and its answers.

    python fuzz_wire.py [CORPUS] [-max_total_time=SECONDS] [any option of libFuzzer]
    python fuzz_wire.py crash-…

Bytes are read, checked and carried out by a daemon whose store is in memory, and the answers
are encoded.  An exception, an answer that breaks the protocol or one that confesses a fault ends
it; the bytes are then in a file `crash-…`.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import atheris
import msgpack
import trio

with atheris.instrument_imports(include=["milkd"]):
    from daemon.doubles import House, open_house
    from milkd.daemon.batches import Answer
    from milkd.errors import InvalidRequest, ParseError, WireError
    from milkd.rpc.messages import Notification, Request
    from milkd.rpc.protocol import Connection
    from milkd.rpc.schema import METHODS, cancelled

from torture.raw import check_message, pack, request
from torture.wire_cases import CASES

if TYPE_CHECKING:
    from milkd.daemon.caller import Caller

WORN = 2_000  # inputs until there is a new daemon: its memory is part of what they meet
LONGEST = 512  # bytes of an input


class Victim:
    """A daemon in a thread of its own, since the fuzzer keeps the main one."""

    def __init__(self) -> None:
        self._begun = threading.Event()
        self._house: House | None = None
        self._worn = trio.Event()
        self._left = 0
        threading.Thread(target=trio.run, args=(self._live,), daemon=True).start()
        self._begun.wait()

    def take(self, data: bytes) -> None:
        """Take a client's bytes; raises if anything is not as it must be."""
        trio.from_thread.run(self._take, data, trio_token=self._token)

    async def _live(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        while True:
            async with open_house() as self._house:
                self._worn, self._left = trio.Event(), WORN
                self._begun.set()
                await self._worn.wait()

    async def _take(self, data: bytes) -> None:
        while self._left == 0:
            self._worn.set()
            await trio.lowlevel.checkpoint()
        self._left -= 1
        assert self._house is not None
        await serve(self._house, data)


async def answer(house: House, caller: Caller, message: Request) -> bytes:
    """The response to a request; it waits for no disk."""
    try:
        begun = house.service.begin(caller, message)
        granted = begun if isinstance(begun, Answer) else await begun
        body = granted.body()
    except WireError as error:
        return Connection.error(message.msgid, error)
    return Connection.response(message.msgid, body)


async def serve(house: House, data: bytes) -> None:
    """What a connection does with bytes, without the connection."""
    protocol, caller = Connection(), house.core.new_caller()
    house.core.callers.add(caller)
    try:
        for piece in (data, b""):
            for message in protocol.receive_data(piece):
                if isinstance(message, Request):
                    check_message(unpack(await answer(house, caller, message)))
                elif isinstance(message, Notification):
                    cancelled(message.params)
    except (ParseError, InvalidRequest):
        assert protocol.broken
    finally:
        house.core.callers.discard(caller)
        house.core.engine.leave(caller.name)
        house.core.sessions.leave_all(caller)


def unpack(data: bytes) -> Any:
    return msgpack.unpackb(data)


def write_seeds(corpus: Path) -> None:
    """A call of every method, and what is no call."""
    messages = [request(1, name, method.example.arguments) for name, method in METHODS.items()]
    for number, data in enumerate(messages):
        (corpus / f"seed-{number}").write_bytes(data)
    for number, case in enumerate(CASES.values()):
        (corpus / f"case-{number}").write_bytes(case.data[:LONGEST])


def write_words(path: Path) -> None:
    """What to try in an input: the names of methods and arguments, as they are on the wire."""
    names = {*METHODS} | {name for method in METHODS.values() for name in method.by_name}
    lines = ["".join(f"\\x{byte:02x}" for byte in pack(name)) for name in sorted(names)]
    path.write_text("".join(f'"{line}"\n' for line in lines))


def main() -> None:
    corpora = [each for each in sys.argv[1:] if not each.startswith("-")]
    options = [each for each in sys.argv[1:] if each.startswith("-")]
    directory = Path(tempfile.mkdtemp(prefix="fuzz-"))
    seeds, words = directory / "seeds", directory / "words"
    seeds.mkdir()
    write_seeds(seeds)
    write_words(words)
    usual = [f"-dict={words}", f"-max_len={LONGEST}", "-timeout=10", "-rss_limit_mb=1024"]
    victim = Victim()
    if not any(Path(each).is_file() for each in corpora):
        corpora.append(str(seeds))
    atheris.Setup([sys.argv[0], *usual, *options, *corpora], victim.take)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
