"""The block of facts that is put before a prompt.

It is the only thing an agent sees of the memory, so it must not be possible to
write a fact that closes it, forges another, or starts a line.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from milkd.engine.wordings import latest_own

if TYPE_CHECKING:
    from milkd.engine.analysis import Analyzer
    from milkd.engine.percept import Percept

HEADER = "[Remembered facts]"
FOOTER = "[End of remembered facts]"
FRAME_BYTES = len(f"{HEADER}\n{FOOTER}\n".encode())
_FORGERY = re.compile(r"\[\s*(?:end\s*of\s*)?remembered\s*facts\s*\]", re.IGNORECASE)
_BRACKETS = str.maketrans("[]［］", "()()")  # noqa: RUF001 - wide ones look the same
# Line and paragraph ends, control and invisible format characters (bidi overrides among them).
_NEUTRALISED = {"Cc", "Cf", "Zl", "Zp"}
# Joiners are format characters that spell words and emoji: harmless, and lost they change both.
_JOINERS = {"\u200c", "\u200d"}
# Characters that show nothing, whatever their category: what is left is what an agent reads.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)


def render(lines: list[str]) -> str:
    """The delimited block; nothing at all for no lines."""
    return "\n".join((HEADER, *lines, FOOTER, "")) if lines else ""


def line_of(percept: Percept, analyzer: Analyzer) -> str:
    """A percept as it stands in the block, with the newest wording that has own words."""
    line = "- " + neutralised(percept.content)
    later = latest_own(percept, analyzer)
    return line if later is None else f"{line} (later stated: {neutralised(later)})"


def neutralised(content: str) -> str:
    """A fact as one harmless line: no control characters, no delimiter of the block."""
    if content.isascii() and content.isprintable() and "[" not in content:
        return " ".join(content.split())  # as what follows would have it, in a tenth of the time
    flat = " ".join("".join(" " if _is_control(char) else char for char in content).split())
    seen = _INVISIBLE.sub("", unicodedata.normalize("NFKC", flat))
    return flat.translate(_BRACKETS) if _FORGERY.search(seen) else flat


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in _NEUTRALISED and char not in _JOINERS
