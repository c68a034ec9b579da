"""Calls of every method with arguments that nobody expects, and sessions with bytes astray."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgpack
from hypothesis import strategies as st

from milkd.rpc.schema import METHODS

if TYPE_CHECKING:
    from collections.abc import Sequence
SURROGATES = st.sampled_from(["\ud800", "a\udcff", "\udfff\ud800"])
WORDS = st.sampled_from(
    [
        "", " ", "\0", "s1", "global", "the user indents with tabs", "0b54c1de", "#0b54", "user",
        "updates", "percepts", "o1", "é", "🦆", "a" * 65, "x" * 1_025, "../..", ".hidden",
    ]
)  # fmt: skip
NUMBERS = st.sampled_from([0, 1, -1, 500, 501, 2**31, 2**63 - 1, 2**63, 2**64 - 1, -(2**63)])
TEXTS = WORDS | st.text(max_size=20) | SURROGATES
SCALARS = (
    st.none()
    | st.booleans()
    | NUMBERS
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | TEXTS
    | st.binary(max_size=20)
    | st.builds(msgpack.ExtType, st.integers(0, 127), st.binary(max_size=8))
    | st.builds(msgpack.Timestamp, st.integers(0, 2**40), st.integers(0, 999_999_999))
)
KEYS = TEXTS | st.binary(max_size=8) | st.integers(-9, 9) | st.none() | st.booleans() | st.floats()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=6,
)
NAMES = st.sampled_from(sorted(METHODS))
FORMS = st.sampled_from(["usual"] * 7 + ["bare", "alien", "anything"])
ANYTHING = WORDS | NUMBERS | SCALARS | VALUES  # mostly simple: what nests takes long to draw
CHANGES = {
    method.name: st.dictionaries(st.sampled_from(sorted(method.by_name)), ANYTHING, max_size=2)
    for method in METHODS.values()
    if method.by_name
}
ALIENS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=2)


@dataclass(frozen=True)
class Call:
    """A method and whatever stands where its arguments should."""

    method: str
    params: Any

    def encoded(self, msgid: int) -> bytes:
        """The request; text goes out as some clients send it, surrogates and all."""
        message = [0, msgid, self.method, self.params]
        data: bytes = msgpack.packb(message, use_bin_type=True, unicode_errors="surrogatepass")
        return data


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """A method's example, but for an argument or two; `shutdown` is never granted."""
    method = METHODS[draw(NAMES)]
    form = draw(FORMS)
    if form == "anything" and method.name != "shutdown":
        return Call(method.name, draw(VALUES))
    arguments: dict[Any, Any] = dict(method.example.arguments)
    if form == "alien":
        arguments |= draw(ALIENS)
    if method.by_name:
        arguments |= draw(CHANGES[method.name])
    if method.name == "shutdown":
        arguments["never"] = True
    return Call(method.name, arguments if form == "bare" else [arguments])


@st.composite
def mangled(draw: st.DrawFn, messages: Sequence[bytes]) -> tuple[bytes, int]:
    """A session with damage, and how many of its messages come before that."""
    stream = bytearray(b"".join(messages))
    first = len(stream)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(stream)))
        end = min(len(stream), at + draw(st.integers(0, 12)))
        stream[at:end] = draw(_pieces(bytes(stream[at:end])))
        first = min(first, at)
    return bytes(stream), _whole(messages, first)


def _pieces(old: bytes) -> st.SearchStrategy[bytes]:
    """What may stand in place of some bytes."""
    return st.binary(max_size=12) | st.sampled_from(
        [b"", old + old, old[::-1], b"\xc1", b"\x94", b"\x90", b"\xdd\x7f\xff\xff\xff", b"\xc0"]
    )


def _whole(messages: Sequence[bytes], size: int) -> int:
    """How many messages lie within so many bytes."""
    for number, message in enumerate(messages):
        size -= len(message)
        if size < 0:
            return number
    return len(messages)
