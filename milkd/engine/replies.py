"""Whether a short reply says yes or no to what was just answered (RFC, proposal A).

Only the opening counts, and only where little follows it: "no problem" rejects nothing,
"right now" and "yes please" confirm nothing, and a question says neither.
"""

from __future__ import annotations

import re

_PIECE = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[?,.;:!]")
_MARKS = frozenset(",.;:!")

_YES = """
yes yep yeah yup correct exactly right ja genau stimmt richtig oui exact exactement sí correcto
exacto sim exato certo esatto giusto precies klopt juist да верно точно 对 对的 是的 没错 正确
"""
_NO = """
no nope wrong incorrect false nein falsch non faux incorrecto falso não errado sbagliato nee fout
onjuist нет неверно неправильно 不对 不是 错 错了
"""
_OPENERS = "that's that this it's it is das c'est"
_DENIALS = "not isn't nicht pas"
_AFTER_BOTH = "that that's this it it's its is sorry actually sir indeed"
_AFTER_YES = "correct right exactly"
_AFTER_NO = "not wrong incorrect you i we use the"

YES, NO = frozenset(_YES.split()), frozenset(_NO.split())
OPENERS, DENIALS = frozenset(_OPENERS.split()), frozenset(_DENIALS.split())
"""What may stand before the word that counts ("that's right"), and turn it round ("not right")."""
AFTER_YES = frozenset((_AFTER_BOTH + " " + _AFTER_YES).split()) | _MARKS
AFTER_NO = frozenset((_AFTER_BOTH + " " + _AFTER_NO).split()) | _MARKS
"""What may follow it: "no, it's …" is an answer, "no problem" another phrase."""


def consent(reply: str, most: int) -> bool | None:
    """True for yes, False for no, None where the reply says neither for certain.

    Args:
        reply: The user's next words, as they are.
        most: Words of a reply that is short enough to be about the answer as a whole.
    """
    pieces = _PIECE.findall(reply.casefold().replace("’", "'"))  # noqa: RUF001 - as it is typeset
    words = sum(piece not in _MARKS for piece in pieces)
    if words > most or "?" in pieces:
        return None
    while pieces and pieces[0] in OPENERS:
        del pieces[0]
    denied = bool(pieces) and pieces[0] in DENIALS
    word, after = (*pieces[denied : denied + 2], "", "")[:2]
    if word in YES and (not after or after in AFTER_YES):
        return not denied
    if word in NO and not denied and (not after or after in AFTER_NO):
        return False
    return None
