"""Which fact is meant: candidates for a reference, and the question to a person at a terminal.

A reference that fits nothing may still be part of what somebody remembers of a fact.
What has such parts is offered, and never taken by a command that changes anything.
"""

from __future__ import annotations

import sys

from milkd.cli.command import Declined
from milkd.cli.output import Output, short, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from milkd.client import Client
    from milkd.shapes import Percept

__all__ = ["chosen", "guesses"]

SHORTEST_ID = 4  # digits that are taken for the beginning of an id
MOST = 20  # candidates
WORDS = 6  # of a reference that are looked for
LONGEST_WORD = 100  # characters
ENOUGH = 500  # facts that hold a word, the most that the daemon gives at once


def guesses(client: Client, ref: str) -> list[Percept]:
    """The visible facts that hold most of the words of a reference, or of their beginnings.

    Whoever guesses makes no use of a fact: `list` is asked, and not `query`.
    """
    words = sorted({word[:LONGEST_WORD] for word in ref.casefold().split()}, key=len)[-WORDS:]
    found: dict[str, Percept] = {}
    for word in words:
        page = client.list(pattern=word, limit=ENOUGH)
        found |= {percept["id"]: percept for percept in page["percepts"]}
    held = {
        ident: sum(word in percept["content"].casefold() for word in words)
        for ident, percept in found.items()
    }
    most = max(held.values(), default=0)
    best = [percept for ident, percept in found.items() if held[ident] == most]
    best.sort(key=lambda percept: -percept["rank_score"])
    return best[:MOST]


def chosen(client: Client, ref: str, *, what: str) -> str:
    """The reference, if it is an id; else the id of the fact that the user says yes to.

    Args:
        client: Finds the candidates.
        ref: As the user gave it.
        what: What is to be done to it: `forget`.

    Raises:
        Declined: The user says no, or nothing that is an answer.
    """
    found = client.resolve(ref)["percepts"]
    digits = ref.strip().removeprefix("#").lower()
    if len(found) == 1 and len(digits) >= SHORTEST_ID and found[0]["id"].startswith(digits):
        return ref
    found = found[:MOST] or guesses(client, ref)
    if not found:
        return ref  # the daemon says best why it fits nothing
    percept = _confirmed(found[0], what) if len(found) == 1 else _picked(found, what)
    if percept is None:
        raise Declined(f"nothing to {what} was chosen")
    return percept["id"]


def _confirmed(percept: Percept, what: str) -> Percept | None:
    _say([f"[{percept['w']:.2f}] {visible(percept['content'])}", percept["id"]])
    return percept if _asked(f"{what} it? [y/N] ") in ("y", "yes") else None


def _picked(found: list[Percept], what: str) -> Percept | None:
    """The one whose number or id is answered."""
    for number, percept in enumerate(found, 1):
        _say([f"{number:>3}  [{percept['w']:.2f}] {visible(percept['content'])}", percept["id"]])
    answer = _asked(f"which one to {what}? [1-{len(found)} or #id, nothing: none] ")
    if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(found):
        return found[int(answer) - 1]
    digits = answer.removeprefix("#")
    fitting = [percept for percept in found if percept["id"].startswith(digits)]
    return fitting[0] if len(digits) >= SHORTEST_ID and len(fitting) == 1 else None


def _say(parts: list[str]) -> None:
    out = Output.standard()
    out.line(f"{parts[0]}  {out.dim(short(parts[1]))}")


def _asked(question: str) -> str:
    sys.stdout.write(question)
    sys.stdout.flush()
    return sys.stdin.buffer.readline().strip().lower().decode(errors="replace")
