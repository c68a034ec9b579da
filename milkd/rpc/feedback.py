"""The methods that say of what use facts were."""

from __future__ import annotations

from milkd.rpc.arguments import Flag, Text, Whole
from milkd.rpc.facts import REF, TABS
from milkd.rpc.method import SESSION, Example, Method, changing
from milkd.rpc.recall import TEXT_BYTES

TURNS = 2**31
CONFIRMED = {
    "id": TABS,
    "verdict": "confirmed",
    "importance": 0.65,
    "recall_count": 4,
    "step": 0.15,
}

FEEDBACK: tuple[Method, ...] = (
    changing(
        "turn_end",
        "Judges each fact that was shown in a turn by what the agent did: `used`, `unused` or "
        "`unknown`; with the user's short reply to it, `confirmed` or `rejected`. That moves its "
        "importance, which orders what comes back; no strength, evidence or promotion depends on "
        "it. A turn is judged once; if none waits, nothing is.",
        Text(
            "response",
            "what the agent answered",
            required=True,
            max_bytes=TEXT_BYTES,
            empty=True,
            blank=True,
        ),
        SESSION,
        Whole(
            "turn", "the one that `inject` or `query` gave; absent: the oldest unjudged", 1, TURNS
        ),
        Text(
            "tool_text",
            "arguments of tools, diffs: what the agent did",
            max_bytes=TEXT_BYTES,
            empty=True,
            blank=True,
        ),
        Text(
            "user_reply",
            "what the user said to that",
            max_bytes=TEXT_BYTES,
            empty=True,
            blank=True,
        ),
        Flag("consolidate", "whether a pass goes with it, as `consolidate` of the session"),
        result="`turn?` (absent if none waited), `judged`: of each fact `id`, `verdict`, "
        "`importance`, `recall_count` and `step` (by how much the importance changed); "
        "`report?` of the pass",
        example=Example(
            {"response": "Indented with tabs.", "session": "s1", "user_reply": "exactly"},
            {"turn": 1, "judged": [CONFIRMED]},
        ),
    ),
    changing(
        "confirm",
        "The user says that a fact was right: its importance rises, once a run. Its strength does "
        "not; `record` it again as the user for that.",
        REF,
        SESSION,
        result="`id`, `verdict`, `importance`, `recall_count`, `step`",
        example=Example({"ref": "#0b54"}, CONFIRMED),
    ),
    changing(
        "reject",
        "The user says that a fact was wrong or out of place: its importance falls, once a run. "
        "It stays; `forget` deletes it.",
        REF,
        SESSION,
        result="`id`, `verdict`, `importance`, `recall_count`, `step`",
        example=Example(
            {"ref": "#0b54"},
            CONFIRMED | {"verdict": "rejected", "importance": 0.4, "step": -0.1},
        ),
    ),
)
