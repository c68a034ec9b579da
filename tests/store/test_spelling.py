"""A text is found however a file spells it."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd.store.gojson import dumps
from milkd.store.spelling import PART, readings

TEXT = 'say "<ä>" & \\ / \t\n\x01\u2028 😀 to C:\\new'


@pytest.mark.parametrize(
    "spelled",
    [
        dumps(TEXT),
        json.dumps(TEXT),
        json.dumps(TEXT, ensure_ascii=False),
        json.dumps(TEXT).replace("/", r"\/"),
        re.sub(r"\\u[0-9a-f]{4}", lambda match: r"\u" + match[0][2:].upper(), json.dumps(TEXT)),
        "".join(f"\\u{ord(sign):04x}" for sign in "say ") + json.dumps(TEXT)[5:],
        TEXT,
    ],
)
def test_a_text_is_found_in_every_spelling(spelled: str) -> None:
    for before, after in ((b"", b""), (b'{"a": "', b'"'), (b"\xff\xfe\x00{", b"\xc3")):
        data = before + spelled.encode() + after
        assert any(TEXT in text for text in readings(data, len(TEXT)))


@pytest.mark.parametrize("codec", ["utf-16", "utf-8-sig"])
def test_a_text_is_found_in_what_an_editor_makes_of_it(codec: str) -> None:
    for spelled in (TEXT, dumps(TEXT)):
        assert any(TEXT in text for text in readings(spelled.encode(codec), 99))


@given(st.text(min_size=1), st.booleans(), st.binary(max_size=4))
def test_any_text_is_found(text: str, ascii_only: bool, noise: bytes) -> None:
    spelled = json.dumps(text, ensure_ascii=ascii_only).encode()
    data = noise.replace(b"\\", b"") + spelled + noise
    assert any(text in each for each in readings(data, len(text)))


@given(st.binary())
def test_nothing_is_too_odd(data: bytes) -> None:
    assert list(readings(data, 1)) or not data


@pytest.mark.parametrize("filling", [b"x", b"\\n", b"\xc3\xa4", b"\\ud83d\\ude00", b"\\\\"])
def test_a_text_is_found_wherever_a_large_file_is_parted(filling: bytes) -> None:
    spelled = json.dumps(TEXT).encode()
    for before in range(512):
        data = b"y" * (before % len(filling)) + filling * (before // len(filling)) + spelled
        parts = readings(data + b" " * 256, len(TEXT), part=128)
        assert any(TEXT in text for text in parts), before


def test_the_parts_of_a_file_are_all_of_it() -> None:
    data = bytes(number % 251 for number in range(3 * PART + 7)).replace(b"\\", b"/")
    parts = list(readings(data, 0))
    assert "".join(parts) == data.decode("utf-8", "surrogateescape")
    assert len(parts) == 4
