"""What each knob of the memory model is for: unit, range, source.

The defaults of two profiles are in `params.py`: `default`, what milkd found best for
the people it is for, and `strict`, the letter of the ADRs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import snowballstemmer  # type: ignore[import-untyped]  # ships no types

from milkd.engine.params import DAY_S, PROFILES

STEMMERS = ("none", *snowballstemmer.algorithms())
WHERE = ("off", "inject", "query", "both")


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """How one knob may be set.

    `low` and `high` are inclusive; `positive` excludes zero.  With `zero_is_default` a zero
    stands for "not set" (ADR-90, "Knobs"), elsewhere it is a value like any other.
    """

    name: str
    kind: type
    unit: str
    source: str
    doc: str
    low: float = 0.0
    high: float = math.inf
    choices: tuple[str, ...] = ()
    zero_is_default: bool = False


def _days(name: str, doc: str) -> Knob:
    return Knob(
        name=name,
        kind=float,
        unit="running days",
        source="ADR-90",
        doc=doc,
        # Below a second, or beyond the life of the machine, a half-life is a slip of the pen.
        low=1 / DAY_S,
        high=1e6,
        zero_is_default=True,
    )


def _weight(name: str, doc: str, source: str = "ADR-90") -> Knob:
    return Knob(
        name=name,
        kind=float,
        unit="strength",
        source=source,
        doc=doc,
        high=1.0,
        zero_is_default=source == "ADR-90",
    )


def _count(name: str, unit: str, source: str, doc: str, *, low: int = 0, high: int = 2**31) -> Knob:
    return Knob(name=name, kind=int, unit=unit, source=source, doc=doc, low=low, high=high)


def _switch(name: str, doc: str, source: str = "milkd") -> Knob:
    return Knob(name=name, kind=bool, unit="", source=source, doc=doc)


def _choice(name: str, doc: str, *choices: str) -> Knob:
    return Knob(name=name, kind=str, unit="", source="milkd", doc=doc, choices=choices)


def _number(name: str, unit: str, doc: str, *, low: float = 0.0, high: float = 1.0) -> Knob:
    return Knob(name=name, kind=float, unit=unit, source="milkd", doc=doc, low=low, high=high)


def _step(name: str, doc: str) -> Knob:
    return Knob(name=name, kind=float, unit="importance", source="RFC", doc=doc, high=1.0)


KNOBS: tuple[Knob, ...] = (
    _choice("profile", "the set of rules that gives the other knobs their defaults", *PROFILES),
    _days("session_half_life_days", "a session percept loses half its strength in this time"),
    _days("global_half_life_days", "a global percept loses half its distance to the floor"),
    _weight("reconfirm_boost", "what a restatement adds to the strength"),
    _weight("reconfirm_cap", "restatements raise the strength no further than this"),
    _weight("promote_threshold", "strength from which the user's word may become global"),
    _weight("prune_threshold", "session percepts at or below it go; globals decay no further"),
    _weight("recency_boost", "what being new adds to the rank, as a share of the strength"),
    replace(
        _days("recency_half_life_days", "age at which half of the recency boost is left"),
        unit="days",
    ),
    _days("global_archive_after_days", "a global percept unused for this long is archived"),
    _count("percept_inject_max", "facts", "milk", "at most so many facts in an injected block"),
    _count("percept_inject_max_bytes", "bytes", "milk", "at most so long an injected block"),
    _count("percept_store_max", "facts", "milk", "at most so many global facts; 0 sets no limit"),
    _switch(
        "percept_relevance_gate", "inject only facts that share a word with the prompt", "milk"
    ),
    _count(
        "percept_max_bytes", "bytes", "milkd", "longest content of a percept", low=64, high=65_536
    ),
    _choice(
        "secret_guard",
        "what becomes of a text that seems to hold a key, a token or a password",
        "refuse",
        "mask",
        "off",
    ),
    replace(
        _number("duplicate_threshold", "Jaccard similarity", "texts that similar are one fact"),
        source="ADR-53",
        low=0.01,
    ),
    _choice(
        "running_time",
        "what makes the running clocks run: calls at most a lease apart, or an open session",
        "activity",
        "open",
    ),
    _number("run_gap_hours", "hours", "a gap without calls that ends a run; 0: none", high=1e6),
    _switch("unicode_text", "tokens beyond ASCII; texts of signs alone can be told apart"),
    _choice(
        "distinctness_guard",
        "what makes two similar texts different facts: nothing, values and negation, or any word",
        "off",
        "values",
        "words",
    ),
    _count("wordings", "wordings", "milkd", "so many other wordings of a fact are kept", high=100),
    _choice("stemmer", "language in which words are reduced to stems for recall", *STEMMERS),
    _choice("hit_fields", "where recall looks: content, wordings and subject", "all", "content"),
    _choice("hit_weight", "whether a rare word in common counts for more", "count", "idf"),
    _switch("restate_to_birth", "a fact said again is at least as strong as a new one"),
    _switch("user_restatement", "a fact that the user says again becomes the user's"),
    _switch("echo_guard", "an agent that repeats what it was shown corroborates nothing"),
    _switch("verify_user_claims", "a model's claim that the user said it must fit the prompt"),
    _switch("superseded", "what a visible fact updates comes after it, and is not injected"),
    _number("recency_unit_days", "days", "ages count in whole units; 0: exactly", high=366.0),
    _choice("edge_cadence", "how often an edge acts", "run", "pass"),
    _number("contradiction_floor", "strength", "a contradiction takes no end below this"),
    _switch("updates_boosts", "`updates` lifts what it replaces, like other positive edges"),
    _switch("keep_updates", "what updates a live global fact is not pruned"),
    _weight(
        "promote_corroborated_threshold",
        "strength from which a fact corroborated in two runs may become global",
        source="milkd",
    ),
    _switch("merge_on_promote", "what is promoted merges with a global of the same meaning"),
    _switch("revive", "an archived fact that is stated again comes back"),
    _switch("evict_to_archive", "what exceeds percept_store_max is archived, not deleted"),
    _choice(
        "inject_order", "what comes first in a block: most hits, or the score", "hits", "score"
    ),
    _count(
        "inject_repeat_turns", "turns", "milkd", "a fact is not injected again so soon", high=1000
    ),
    _count(
        "inject_chance_words",
        "words",
        "milkd",
        "a prompt of so many that shares two with no fact of a large store gets none; 0: any does",
        high=1000,
    ),
    _choice("diversity", "where a fact much like one before it has to wait", *WHERE),
    _number(
        "diversity_threshold", "Jaccard similarity", "facts more alike than this are much alike"
    ),
    _choice("neighbours", "where facts come beside those that they belong to", *WHERE),
    _number(
        "neighbour_overlap",
        "share of a fact's words, by rarity",
        "a fact that has so much of another's is its neighbour; 0: by relations alone",
    ),
    _count("neighbours_per_result", "facts", "RFC", "at most so many beside one", low=1, high=100),
    _count("neighbours_max", "facts", "RFC", "at most so many neighbours in all", high=1000),
    _number("importance_weight", "share", "how far usefulness orders what comes back", high=2.0),
    _step("importance_floor", "feedback takes the importance no lower"),
    _step("feedback_used", "what being used in a turn adds, once a run"),
    _step("feedback_confirmed", "what the user's yes adds, once a run"),
    _step("feedback_rejected", "what the user's no takes, once a run"),
    _step("feedback_unused", "what being shown in vain takes, once a run"),
    _step("feedback_unused_floor", "being shown in vain takes the importance no lower"),
    _number(
        "feedback_used_share",
        "share of a fact's own words, by rarity",
        "from which the fact was used",
        low=0.01,
    ),
    _number(
        "feedback_unused_share",
        "share of a fact's own words, by rarity",
        "below which the fact was not used",
    ),
    _count(
        "feedback_min_response",
        "characters",
        "milkd",
        "a shorter response does not show that a fact was not used",
    ),
    _count(
        "feedback_streak", "turns", "RFC", "unused in so many turns in a row, a fact loses", low=1
    ),
    _count("feedback_reply_words", "words", "milkd", "a longer reply says neither yes nor no"),
    _count(
        "min_recall_count", "turns", "RFC", "shown less often, a fact loses nothing by being unused"
    ),
)
BY_NAME = {knob.name: knob for knob in KNOBS}
ROOT_KEYS = (
    "percept_inject_max",
    "percept_inject_max_bytes",
    "percept_store_max",
    "percept_relevance_gate",
)
"""Keys that milk keeps at the root of its config file; the `memory` block wins."""
RETIRED = {
    "decay_per_session": "session_half_life_days",
    "global_decay_per_session": "global_half_life_days",
}
