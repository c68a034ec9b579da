"""Files that milkctl writes outside the store, beside what users write there.

Each bears a line with a sum of the rest: so one that somebody has changed since, or that
was there before, is known, and is put aside rather than overwritten.
"""

from __future__ import annotations

import hashlib
import os
import re

__all__ = ["is_marked", "marked", "put", "says", "state", "take_away"]

MARK = re.compile(r"[^\n]*written by milkctl service install, sum ([0-9a-f]{8})[^\n]*\n")
ABSENT, OURS, CHANGED = "absent", "ours", "changed"


def marked(text: str, comment: str = "# {}") -> str:
    """The text with our mark as its first line, or its second after the declaration of XML."""
    head, rest = "", text
    if text.startswith("<?"):
        head, rest = text[: text.index("\n") + 1], text[text.index("\n") + 1 :]
    line = comment.format(f"written by milkctl service install, sum {_sum(text)}")
    return f"{head}{line}\n{rest}"


def put(path: str, text: str) -> tuple[str, str | None]:
    """Have a file say this: `unchanged`, `written` or `replaced`, and where the other one is kept.

    Args:
        path: Its directory is made if need be.
        text: With a mark.
    """
    if says(path, text):
        return "unchanged", None
    before = state(path)
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    kept = _put_aside(path) if before == CHANGED else None
    beside = f"{path}.new"
    with open(beside, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(beside, path)
    return ("written" if before == ABSENT else "replaced"), kept


def take_away(path: str) -> tuple[str, str | None]:
    """Remove what `put` wrote: `absent`, `removed`, or `put aside` where it was changed since."""
    found = state(path)
    if found == OURS:
        os.unlink(path)
        return "removed", None
    if is_marked(path):
        return "put aside", _put_aside(path)
    return ("absent" if found == ABSENT else "left"), None


def says(path: str, text: str) -> bool:
    """Whether a file says just this."""
    return os.path.isfile(path) and not os.path.islink(path) and _read(path) == text


def is_marked(path: str) -> bool:
    """Whether `put` wrote a file, whatever has become of it."""
    return not os.path.islink(path) and MARK.search(_read(path)) is not None


def state(path: str) -> str:
    """Whether a file is `absent`, as `put` wrote it (`ours`), or not (`changed`)."""
    if not os.path.lexists(path):
        return ABSENT
    text = _read(path)
    found = MARK.search(text)
    if found is None or os.path.islink(path):
        return CHANGED
    return OURS if _sum(text[: found.start()] + text[found.end() :]) == found[1] else CHANGED


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:  # a link that leads nowhere, or a directory
        return ""


def _put_aside(path: str) -> str:
    """Give a file another name, which no program takes for a unit's."""
    number = 1
    while os.path.lexists(kept := f"{path}.kept-{number}"):
        number += 1
    os.rename(path, kept)
    return kept


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
