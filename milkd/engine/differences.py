"""Which words one text has and another lacks, for people to read."""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

from milkd.engine.literals import UNSPACED
from milkd.engine.text import STOP_WORDS, fold, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

_RUN = re.compile(f"[{UNSPACED}]+|[^\\s{UNSPACED}]+")
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_PUNCTUATION = ".,:;!?()[]{}\"'`“”„«»‘’…*"  # noqa: RUF001 - as it is typeset
_PASSED_OVER = STOP_WORDS - {"no", "not"}


def differs(new: str, known: str) -> tuple[list[str], list[str]]:
    """The words of either text that the other lacks, in order and as they stand there.

    Of a script written without spaces, the stretches that the other lacks.
    """
    return _own_words(new, known), _own_words(known, new)


def _own_words(text: str, other: str) -> list[str]:
    there, forms = tokens(other), set(map(_form, _RUN.findall(fold(other))))
    own: dict[str, str] = {}
    for run in _RUN.findall(unicodedata.normalize("NFKC", text)):
        form = _form(fold(run))
        if _UNSPACED_RUN.match(run):
            own |= {stretch: stretch for stretch in _stretches(run, there)}
        elif form and form not in forms and form not in _PASSED_OVER:
            own.setdefault(form, _form(run))
    return list(own.values())


def _form(run: str) -> str:
    return run.strip(_PUNCTUATION)


def _stretches(run: str, there: frozenset[str]) -> Iterator[str]:
    """The parts of a run of letters that no bigram of the other text covers."""
    if len(run) == 1:
        shared = [run in there]
    else:
        pairs = [run[i : i + 2] in there for i in range(len(run) - 1)]
        shared = [left or right for left, right in pairwise([False, *pairs, False])]
    for is_shared, letters in groupby(zip(run, shared, strict=True), key=itemgetter(1)):
        stretch = "".join(map(itemgetter(0), letters))
        # What is no letter is in no bigram.
        if not is_shared and any(map(str.isalnum, stretch)):
            yield stretch
