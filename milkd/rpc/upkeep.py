"""The methods for sessions, passes and the store as a whole."""

from __future__ import annotations

from dataclasses import replace

from milkd.rpc.arguments import Flag
from milkd.rpc.compounds import Records
from milkd.rpc.facts import EDGE
from milkd.rpc.method import SESSION, Example, Method, changing, reading
from milkd.rpc.recall import CURSOR, LIMIT

IMPORT_RECORDS = 10_000
WHICH = replace(SESSION, doc="which one", required=True)
REPORT = {
    "decayed": 12,
    "pruned": 1,
    "promoted": 1,
    "promotion_deferred": 0,
    "merged": 0,
    "global_decayed": 40,
    "archived": 0,
    "evicted": 0,
    "edges_applied": 2,
    "global_total": 41,
    "running_seconds": 1800.0,
}
RECORD = {"scope": "global", "kind": "edge"} | EDGE

UPKEEP: tuple[Method, ...] = (
    changing(
        "consolidate",
        "One pass over global and a session: decay, edges, pruning, archiving, promotion.",
        replace(SESSION, doc="which one; absent: every open one"),
        result="a *report*",
        example=Example({"session": "s1"}, REPORT),
    ),
    reading(
        "session_open",
        "Opens a session, as any call that names it does.",
        WHICH,
        result="`session`, `percepts` (how many), `running_seconds`",
        example=Example(
            {"session": "s1"}, {"session": "s1", "percepts": 13, "running_seconds": 5400.0}
        ),
    ),
    changing(
        "session_close",
        "Closes a session with a pass; its facts stay on disk.",
        WHICH,
        result="a *report*",
        example=Example({"session": "s1"}, REPORT),
    ),
    changing(
        "session_drop",
        "Deletes a session and all facts in it.",
        WHICH,
        result="`dropped` (how many facts)",
        example=Example({"session": "s1"}, {"dropped": 13}),
    ),
    reading(
        "session_list",
        "Lists the sessions, open or not.",
        LIMIT,
        CURSOR,
        result="`sessions` ([{`session`, `open`, `percepts`, `running_seconds`, `connections`}]), "
        "`next?`",
        example=Example(
            {},
            {
                "sessions": [
                    {
                        "session": "s1",
                        "open": True,
                        "percepts": 13,
                        "running_seconds": 5400.0,
                        "connections": 1,
                    }
                ]
            },
        ),
    ),
    reading(
        "snapshot",
        "Writes everything to the JSON files now.",
        result="`files` (their names)",
        example=Example({}, {"files": ["global.json", "s1.json"]}),
    ),
    reading(
        "export",
        "The whole store, a page at a time; the pages of one export belong to one connection.",
        CURSOR,
        LIMIT,
        result="`records` (maps with `scope`, `kind` and the keys of that kind), `next?`. Kinds: "
        "meta, percept, engram, edge, unreadable (an entry that milkd keeps without using it: "
        "`list`, `position`, `value`) and damaged (what is not in the export: `reason`). Scopes "
        "come in the order global, archive, sessions by name. An entry's own keys of the names "
        "scope, kind, session, rank_score and shadowed are in `shadowed?`",
        example=Example({"limit": 1}, {"records": [RECORD], "next": "e1.0.2"}),
    ),
    changing(
        "import",
        "Adds records as `export` gives them, in as many calls of one connection as it takes; the "
        "last one, with `final`, applies them. Ids and edges must be new; what a record refers to "
        "must be known or taken with it. Of a `meta` record the keys of another program are "
        "taken, where the scope has none of these names, and running times are not.",
        Records("records", "some of the records", IMPORT_RECORDS, required=True),
        Flag("dry_run", "whether to say what would happen only"),
        Flag("final", "whether these are the last ones"),
        result="`accepted` (how many percepts, edges and engrams), `refused` "
        "([{`index`, `reason`}]; `index` counts all records of the import)",
        example=Example(
            {"records": [RECORD], "final": True},
            {"accepted": 0, "refused": [{"index": 0, "reason": "to: no percept has this id"}]},
        ),
    ),
)
