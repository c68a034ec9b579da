"""The methods that change facts."""

from __future__ import annotations

from milkd.rpc.arguments import Choice, Flag, Text
from milkd.rpc.compounds import Texts
from milkd.rpc.method import SESSION, Example, Method, changing

CONTENT_BYTES = 64 << 10  # of the wire; the knob percept_max_bytes may say less
REF_BYTES = 8 << 10  # a reference may be the text of a percept
SHORT_BYTES = 1 << 10

PRODUCERS = ("user", "primary", "escalation", "system")
CONSUMERS = ("primary", "escalation")
RELATIONS = ("extends", "updates", "derives", "contradicts")
ROLES = ("action", "agent", "recipient", "theme", "when", "where")

CONTENT = Text(
    "content",
    "the fact, in one sentence; kept byte for byte",
    required=True,
    max_bytes=CONTENT_BYTES,
    nul=False,
)
SUBJECT = Text("subject", "what the fact is about, a few words", max_bytes=SHORT_BYTES, nul=False)
REF = Text(
    "ref",
    "which percept: its id, at least 4 hex digits of it, or its text",
    required=True,
    max_bytes=REF_BYTES,
)
SOURCE = Text("from", "the percept that bears on the other", required=True, max_bytes=REF_BYTES)
TARGET = Text("to", "the percept that is borne upon", required=True, max_bytes=REF_BYTES)
RELATION = Choice("relation", "how the one bears on the other", RELATIONS, required=True)

TABS = "0b54c1de-8f0a-4c86-9a52-6a1f0e1d7c33"
SPACES = "7d3f2a90-55e1-4b7e-8c1d-2f9b6a4e0d18"
PERCEPT = {
    "id": TABS,
    "content": "the user indents with tabs",
    "producer": "user",
    "w": 0.9,
    "roles": {},
    "created_at": "2026-03-02T09:15:00Z",
    "updated_at": "2026-03-02T09:15:00Z",
    "evidence": 1,
    "scope": "global",
    "rank_score": 1.03,
}
OLD = PERCEPT | {
    "id": SPACES,
    "content": "the user indents with spaces",
    "w": 0.7,
    "evidence": 0,
    "wordings": [{"content": "indents with 4 spaces", "at": "2026-03-01T08:00:00Z"}],
    "rank_score": 0.72,
}
EDGE = {"from": TABS, "to": SPACES, "relation": "updates"}

FACTS: tuple[Method, ...] = (
    changing(
        "record",
        "States a fact. A new one is inserted; one that restates a known fact reinforces that, "
        "or brings it back from the archive. An agent that repeats what it was shown is "
        "`echoed`, and nothing is strengthened.",
        CONTENT,
        SESSION,
        Choice("producer", "who states it; primary if absent", PRODUCERS),
        Choice("consumer", "the only agent it is for; absent: all", CONSUMERS),
        SUBJECT,
        Texts(
            "roles",
            "who did what to whom, when and where, as far as it was said",
            ROLES,
            Text("role", "one role", max_bytes=SHORT_BYTES, nul=False),
        ),
        Flag("core", "whether it is kept for good and in global"),
        Choice("relation", "how the fact bears on `related_to`", RELATIONS),
        Text("related_to", "reference to the percept it bears on", max_bytes=REF_BYTES),
        result="an *outcome*",
        example=Example(
            {"content": "the user indents with tabs", "producer": "user", "session": "s1"},
            {
                "id": TABS,
                "status": "inserted",
                "similarity": 0.0,
                "w": 0.9,
                "evidence": 0,
                "scope": "session",
                "look_alike": {
                    "id": SPACES,
                    "content": "the user never indents with tabs",
                    "w": 0.7,
                    "similarity": 0.75,
                    "reason": "negated: never",
                },
            },
        ),
    ),
    changing(
        "learn",
        "States a fact for good: global, core, at full strength.",
        CONTENT,
        SESSION,
        SUBJECT,
        result="an *outcome*, and `message`, a line for people",
        example=Example(
            {"content": "deploys need a second pair of eyes"},
            {
                "id": SPACES,
                "status": "inserted",
                "similarity": 0.0,
                "w": 1.0,
                "evidence": 0,
                "scope": "global",
                "message": "learned",
            },
        ),
    ),
    changing(
        "edit",
        "Gives a percept other words; id, strength and evidence stay.",
        REF,
        CONTENT,
        SESSION,
        result="a *percept*",
        example=Example({"ref": "#0b54", "content": PERCEPT["content"]}, PERCEPT),
    ),
    changing(
        "forget",
        "Deletes a percept and every edge it is an end of.",
        REF,
        SESSION,
        Flag("all", "whether percepts of the same text elsewhere go too"),
        result="`id`, `content`, `others` (how many more percepts have the same text)",
        example=Example({"ref": "#0b54"}, {"id": TABS, "content": PERCEPT["content"], "others": 0}),
    ),
    changing(
        "restore",
        "Brings a percept back from the archive into global.",
        REF,
        SESSION,
        result="a *percept*",
        example=Example({"ref": "#0b54"}, PERCEPT),
    ),
    changing(
        "relate",
        "Adds an edge between two percepts; nothing happens if it is there.",
        SOURCE,
        TARGET,
        RELATION,
        SESSION,
        result="`edge`, `created` (false: it was there)",
        example=Example(
            {"from": "#0b54", "to": "#7d3f", "relation": "updates"},
            {"edge": EDGE, "created": True},
        ),
    ),
    changing(
        "unrelate",
        "Removes an edge; nothing happens if it is not there.",
        SOURCE,
        TARGET,
        RELATION,
        SESSION,
        result="`edge`, `removed` (false: it was not there)",
        example=Example(
            {"from": "#0b54", "to": "#7d3f", "relation": "updates"},
            {"edge": EDGE, "removed": True},
        ),
    ),
)
