"""Other ways in which a percept was stated: kept, searchable, shown; never judged by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from milkd.engine.analysis import Analyzer
    from milkd.engine.percept import Percept, Wording


def with_wording(percept: Percept, wording: Wording, analyzer: Analyzer) -> Percept:
    """The percept with another wording, if it has words that the content lacks.

    The last so many distinct ones are kept (knob `wordings`), the newest last.
    """
    limit = analyzer.params.wordings
    if not limit or not own_words(wording.content, percept.content, analyzer):
        return percept
    known = next((w for w in percept.wordings if w.content == wording.content), wording)
    others = [w for w in percept.wordings if w.content != wording.content]
    return replace(percept, wordings=(*others, replace(known, at=wording.at))[-limit:])


def latest_own(percept: Percept, analyzer: Analyzer) -> str | None:
    """The newest wording with words of its own: what is rendered behind the content.

    One that is older than the content was replaced by it, and is not what holds now.  None as
    well where wordings are not wanted, though a file may have brought some.
    """
    since = percept.content_at
    for wording in reversed(percept.wordings if analyzer.params.wordings else ()):
        if since is not None and wording.at <= since:
            continue
        if own_words(wording.content, percept.content, analyzer):
            return wording.content
    return None


def own_words(text: str, content: str, analyzer: Analyzer) -> frozenset[str]:
    """The tokens that a text has and the content lacks."""
    return analyzer.features(text) - analyzer.features(content)
