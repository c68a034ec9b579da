"""What may stand in a message, and how a value is named without repeating it.

Errors say what was found; the peer's bytes must not travel back in them, since an
invalid string in an error breaks strict clients.
"""

from __future__ import annotations

# Free of charge: msgpack has imported `collections` already.
from collections.abc import Mapping

from milkd.errors import Internal, InvalidParams, TooLarge, error_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeVar

    from milkd.errors import WireError

    Error = TypeVar("Error", bound=BaseException)

__all__ = [
    "alone",
    "decoded",
    "deeper_than",
    "error_from_wire",
    "error_to_wire",
    "found",
    "named",
    "plain",
]

MAX_DEPTH = 24  # arrays and maps within each other, the message itself included; Nvim dies at 32
MAX_ITEMS = 65_536  # entries of one array or map
INT64_LOW, INT64_HIGH = -(2**63), 2**63 - 1
NESTING = (list, dict)
TOO_DEEP = "(nested too deep)"
REPLACEMENT = "\ufffd"


def decoded(value: object) -> str | None:
    """The text that a str or bin value is; None if it is neither, or not valid UTF-8."""
    if type(value) is bytes:
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    if type(value) is str and (value.isascii() or _sound(value) == value):
        return value
    return None


def deeper_than(limit: int, value: object) -> bool:
    """Whether lists and maps nest more than `limit` deep, found without recursion."""
    level: list[Any] = [value] if isinstance(value, NESTING) else []
    for _ in range(limit):
        if not level:
            return False
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if type(inner) is dict or type(inner) is list
        ]
    return bool(level)


def found(value: object) -> str:
    """A value in words: its kind, and itself if it is a number."""
    if value is None:
        return "nil"
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        return f"{value}" if abs(value) < 2**64 else "a number beyond 64 bits"
    if type(value) is float:
        return f"{value!r}"
    if type(value) is list:
        return f"a list of {len(value)}"
    if type(value) in (str, bytes) and decoded(value) is None:
        return "text that is not UTF-8"
    return KINDS.get(type(value), "an extension type")


KINDS: dict[type, str] = {str: "text", bytes: "binary data", dict: "a map"}


def named(name: str) -> str:
    """A name given by the peer, cut and escaped so that it may be repeated."""
    return ascii(name[:64])


def plain(value: object, room: int = MAX_DEPTH - 1) -> object:
    """The value in the types that every client can read: the last word on what is sent.

    Text without UTF-8 form gets replacement characters, numbers beyond int64 become floats,
    non-finite ones nil; what nests deeper than `room` is cut.

    Raises:
        TypeError: The value, or one in it, has no place in a message.
        TooLarge: A list or map has more than MAX_ITEMS entries.
    """
    if type(value) is dict or type(value) is list:
        return _plain_container(value, room) if value or room <= 0 else value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _sound(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, int):
        return value if INT64_LOW <= value <= INT64_HIGH else _as_float(value)
    if isinstance(value, float):
        return value if value - value == 0.0 else None
    if isinstance(value, (list, tuple, Mapping)):
        return _plain_container(value, room)
    raise TypeError(f"{type(value).__name__} has no place in a message")


def _plain_container(
    value: Sequence[object] | Mapping[object, object], room: int
) -> str | list[object] | dict[str, object]:
    if len(value) > MAX_ITEMS:
        raise TooLarge(f"a list of {len(value):,} entries, at most {MAX_ITEMS:,} are sent at once")
    if room <= 0:
        return TOO_DEEP
    if type(value) is dict or isinstance(value, Mapping):
        return _plain_map(value, room - 1)
    return [plain(item, room - 1) for item in value]


def _plain_map(value: Mapping[object, object], room: int) -> dict[str, object]:
    """What nearly every value is, is seen at a glance: this is most of what an answer costs."""
    result: dict[str, object] = {}
    item: Any
    for key, item in value.items():
        kind = type(item)
        if kind is str:
            item = item if item.isascii() else _sound(item)
        elif kind is float:
            item = item if item - item == 0.0 else None
        elif kind is int:
            item = item if INT64_LOW <= item <= INT64_HIGH else _as_float(item)
        elif item is not None and kind is not bool:
            item = plain(item, room)
        result[key if type(key) is str and key.isascii() else _sound(str(key))] = item
    return result


def _sound(text: str) -> str:
    """The text with U+FFFD for every lone surrogate."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(REPLACEMENT if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


def _as_float(value: int) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def alone(error: Error) -> Error:
    """The error without the way it came, to be kept.

    That way leads through whoever keeps it, and through what it read: such a circle lies about
    with all that until garbage is looked for.
    """
    link: BaseException | None = error
    while link is not None:
        link.__traceback__ = None
        link = link.__cause__ or link.__context__
    return error


def error_to_wire(error: WireError, *, as_string: bool = False) -> object:
    """`[kind, "code: sentence"]`, or the string alone for clients that cannot read a list."""
    text = _sound(f"{error.code}: {error}")
    return text if as_string else [error.kind, text]


def error_from_wire(value: object) -> WireError:
    """The error that a response or an `error` notification carries, in either form."""
    text = value[1] if type(value) is list and len(value) == 2 else value
    if type(text) is not str:
        return Internal("the daemon answered with an error of unknown form")
    code, _, sentence = text.partition(": ")
    cls = error_class(code)
    if issubclass(cls, InvalidParams):
        argument, _, problem = sentence.partition(": ")
        return cls(argument, problem)
    return cls(sentence if cls.code == code else text)
