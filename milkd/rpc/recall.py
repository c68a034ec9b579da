"""The methods that find facts."""

from __future__ import annotations

from milkd.rpc.arguments import Choice, Flag, Number, Text, Whole
from milkd.rpc.facts import (
    CONSUMERS,
    EDGE,
    OLD,
    PERCEPT,
    PRODUCERS,
    REF,
    SHORT_BYTES,
    SPACES,
    TABS,
)
from milkd.rpc.method import SESSION, Example, Method, reading

TEXT_BYTES = 256 << 10
PAGE_LIMIT = 500
INJECT_FACTS = 10_000
INJECT_BYTES = 1 << 20

SCOPES = ("global", "session", "archive")
SORTS = ("score", "w", "updated_at", "created_at")

CONSUMER = Choice("consumer", "only what this agent may see; absent: everything", CONSUMERS)
LIMIT = Whole("limit", "at most so many; 100 if absent", 1, PAGE_LIMIT)
CURSOR = Text("cursor", "`next` of the page before; absent: the first page", max_bytes=64)
EXPLAIN = Flag("explain", "whether to add `candidates`: why each fact is in or out, 1,000 of them")
CANDIDATE = {
    "id": TABS,
    "in": False,
    "reason": "shares no word with the prompt",
    "hits": 0,
    "score": 1.03,
    "w": 0.9,
    "importance": 0.5,
    "bytes": 29,
}

RECALL: tuple[Method, ...] = (
    reading(
        "query",
        "Recalls facts by their words: most hits first, then the best score. Empty text lists "
        "by score. What is returned counts as used.",
        Text(
            "text",
            "words to look for",
            required=True,
            max_bytes=TEXT_BYTES,
            empty=True,
            blank=True,
        ),
        SESSION,
        Number("min_confidence", "only facts at least this strong; 0.4 if absent", 0.0, 1.0),
        Whole("max_results", "at most so many; 5 if absent", 1, PAGE_LIMIT),
        CONSUMER,
        EXPLAIN,
        result="`percepts` (*percepts* with `hits`, `score`, and `superseded_by?`, the id of the "
        "percept before it that updates it), `neighbours?`, `turn?` (the one that `turn_end` "
        "judges; absent if nothing was found), `candidates?`",
        example=Example(
            {"text": "tabs or spaces?", "session": "s1"},
            {
                "percepts": [
                    PERCEPT | {"hits": 1, "score": 1.03},
                    OLD | {"hits": 1, "score": 0.72, "superseded_by": TABS},
                ],
                "turn": 1,
            },
        ),
    ),
    reading(
        "inject",
        "Renders the facts that bear on a prompt as one block of text, within a budget. What the "
        "session, or else the connection, was shown in its last turns is left out. The text is "
        "empty when there is nothing new. What is rendered counts as used.",
        Text(
            "prompt",
            "what the agent is about to read",
            required=True,
            max_bytes=TEXT_BYTES,
            empty=True,
            blank=True,
        ),
        SESSION,
        CONSUMER,
        Flag("repeat", "whether to show again what the last turns of the session showed"),
        Whole(
            "max", "at most so many facts; the knob percept_inject_max if absent", 0, INJECT_FACTS
        ),
        Whole(
            "max_bytes",
            "at most so long a block; the knob percept_inject_max_bytes if absent",
            0,
            INJECT_BYTES,
        ),
        EXPLAIN,
        result="`text`, `ids`, `bytes`, `turn` (the one that `turn_end` judges), `neighbours?` "
        "(what stands in the text beside those), `candidates?`",
        example=Example(
            {"prompt": "Format this file.", "session": "s1", "explain": True},
            {
                "text": "",
                "ids": [],
                "bytes": 0,
                "turn": 1,
                "candidates": [CANDIDATE],
            },
        ),
    ),
    reading(
        "list",
        "Lists facts, a page at a time.",
        SESSION,
        Choice("scope", "only this one; absent: global and the session", SCOPES),
        Choice("producer", "only what they stated", PRODUCERS),
        CONSUMER,
        Number("min_w", "only facts at least this strong", 0.0, 1.0),
        Flag("core", "true: only core facts; false: only others"),
        Text("pattern", "only facts that hold this text, in any case", max_bytes=SHORT_BYTES),
        Choice("sort", "the highest or newest first; score if absent", SORTS),
        LIMIT,
        CURSOR,
        result="`percepts`, `total`, `next?` (the cursor of the next page)",
        example=Example(
            {"pattern": "tabs", "sort": "updated_at"}, {"percepts": [PERCEPT], "total": 1}
        ),
    ),
    reading(
        "show",
        "One fact with its edges.",
        REF,
        SESSION,
        result="a *percept* with `edges`",
        example=Example({"ref": "#0b54"}, PERCEPT | {"edges": [EDGE]}),
    ),
    reading(
        "explain",
        "What holds for a fact and what happens to it next, in sentences with the numbers.",
        REF,
        SESSION,
        result="`percept`, `edges`, `w_now` (strength with the decay since the last pass), "
        "`holds`, `next`",
        example=Example(
            {"ref": "#0b54"},
            {
                "percept": PERCEPT,
                "edges": [],
                "w_now": 0.875,
                "holds": ["stated by the user"],
                "next": ["archived after 14 running days without use"],
            },
        ),
    ),
    reading(
        "outlook",
        "For somebody who looks on: facts at their strength of this moment, and what the next "
        "passes do to which of them, if nothing happens. No use of a fact and no activity; a "
        "session that is not open is left closed and out.",
        SESSION,
        LIMIT,
        result="`scopes` (global, then the session: [{`scope`, `session?`, `total`, `core`, "
        "`weights` (how many facts each tenth of strength has), `percepts` (those of the highest "
        "score)}]), `due` (*percepts* with `what`: pruned, archived, promoted, or held_back from "
        "that by a contradiction or for want of a second run, and `in_seconds?`, running time; "
        "the soonest first, within a running day, no longer than `limit`), `total_due`",
        example=Example(
            {},
            {
                "scopes": [
                    {
                        "scope": "global",
                        "total": 1,
                        "core": 0,
                        "weights": [0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
                        "percepts": [PERCEPT],
                    }
                ],
                "due": [PERCEPT | {"what": "archived", "in_seconds": 43200.0}],
                "total_due": 1,
            },
        ),
    ),
    reading(
        "why",
        "Why a fact would be injected for a prompt and recalled by it, or would not be. Nothing is "
        "shown or used by asking.",
        REF,
        Text(
            "prompt",
            "what it would be injected for, or recalled by",
            required=True,
            max_bytes=TEXT_BYTES,
            empty=True,
            blank=True,
        ),
        SESSION,
        CONSUMER,
        result="`percept`, `inject` and `query`: an entry of *candidates* each",
        example=Example(
            {"ref": "#0b54", "prompt": "Format this file."},
            {
                "percept": PERCEPT,
                "inject": CANDIDATE,
                "query": CANDIDATE,
            },
        ),
    ),
    reading(
        "resolve",
        "Every percept that a reference could mean.",
        REF,
        SESSION,
        result="`percepts`",
        example=Example({"ref": "0b54"}, {"percepts": [PERCEPT]}),
    ),
    reading(
        "similar",
        "The duplicate search alone: what stating a text would restate, and what resembles it.",
        Text("text", "a fact that might be stated", required=True, max_bytes=TEXT_BYTES),
        SESSION,
        Whole("limit", "at most so many; 5 if absent", 1, PAGE_LIMIT),
        result="`percepts` (*percepts* with `similarity`), `duplicate?` (id of the one that "
        "would be reinforced), `look_alike?`",
        example=Example(
            {"text": "the user indents with two tabs"},
            {"percepts": [PERCEPT | {"similarity": 0.75}], "duplicate": TABS},
        ),
    ),
    reading(
        "archive_list",
        "Lists the archive, a page at a time.",
        LIMIT,
        CURSOR,
        result="`percepts`, `total`, `next?`",
        example=Example(
            {"limit": 1},
            {
                "percepts": [
                    PERCEPT
                    | {
                        "id": SPACES,
                        "scope": "archive",
                        "archived_at": "2026-04-01T12:00:00Z",
                        "archived_reason": "stale",
                    }
                ],
                "total": 7,
                "next": "o1",
            },
        ),
    ),
)
