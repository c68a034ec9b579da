"""docs/protocol.md, made from the table that also validates the calls.

python -m milkd.rpc.document > docs/protocol.md
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from milkd import errors
from milkd.rpc.arguments import size
from milkd.rpc.facts import FACTS
from milkd.rpc.feedback import FEEDBACK
from milkd.rpc.method import OP_ID, SESSION
from milkd.rpc.process import PROCESS, TOPICS
from milkd.rpc.protocol import MAX_DEPTH, MAX_ITEMS, MAX_MESSAGE, MAX_METHOD, MAX_RESPONSE
from milkd.rpc.recall import RECALL
from milkd.rpc.tools import TOOLS
from milkd.rpc.upkeep import UPKEEP

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from milkd.rpc.arguments import Argument
    from milkd.rpc.method import Method

HEAD = f"""\
# The protocol

<!-- Generated: python -m milkd.rpc.document > docs/protocol.md -->

milkd speaks MessagePack-RPC on a Unix stream socket: any client of that protocol works as it is.
By hand, from Neovim:

    :echo rpcrequest(sockconnect('pipe', $XDG_RUNTIME_DIR.'/milkd/milkd.sock', {{'rpc':1}}), \
'query', {{'text': 'tabs'}})

Only processes of the user who owns the socket are served.

## Messages

    request       [0, msgid, method, params]     msgid: 0 to 4294967295, chosen by the client
    response      [1, msgid, error, result]      error: nil, or [kind, "code: sentence"]
    notification  [2, method, params]            both ways; never answered

Messages follow each other with nothing in between. `params` is a list of one map of named
arguments, `[{{"text": "tabs"}}]`. No arguments are `[]`, `[{{}}]` or `[[]]`; a bare map is taken
for a list of one. Unknown arguments are refused by name; an argument that is nil counts as absent.
Text is UTF-8 as str, or as bin. Clients must ignore keys of a result that they don't know.

Results hold nil, booleans, floats, whole numbers of int64, text, lists, and maps with text as
keys; no bin, no extension types. Times are RFC 3339. Answers of one connection come in the order
of the calls, and changes apply in that order; connections do not wait for each other. A change
that is answered is on disk.

A daemon that cannot read on sends the notification `error` with `["code: sentence"]` and closes
that connection: `parse_error` or `invalid_request` for what is no message, `overloaded`,
`timeout`. A request whose msgid can be read is answered instead, and the connection goes on.

Beyond its limit of connections the daemon keeps a few spare ones, on which `hello`, `ping`,
`health` and `shutdown` are served; all else is answered with `overloaded` until a place is free.

`cancel` with `[msgid]` is a notification to the daemon: a read of that msgid ends with
`cancelled`; a change is completed. Other notifications are ignored.

`event` with `[{{"topic", "event", "id?", "session?", …}}]` is a notification from the daemon, to
those who called `subscribe`; `[{{"lost": n}}]` says that n of them did not fit into the queue.
Topics are {", ".join(TOPICS)}. A new run, which begins with the daemon or when nobody called for
`run_gap_hours`, is the event `run_began` of sessions, with its `run_id`.
"""

ERRORS_HEAD = """
## Errors

The code is stable, the sentence is for people. Kind 1: mend the request; kind 0: the daemon could
not. A client that can only decode text calls `hello` with `errors: "string"` and gets
`"code: sentence"`.

| code | kind | meaning |
|---|---|---|
"""

LIMITS = f"""
## Limits

| limit | value | beyond it |
|---|---|---|
| message to the daemon | {size(MAX_MESSAGE)} | `parse_error`, the connection is closed |
| message from the daemon | {size(MAX_RESPONSE)} | `too_large`; lists come in pages |
| nesting, the message included | {MAX_DEPTH} | `invalid_params`; results are cut |
| entries of a list or map | {MAX_ITEMS:,} | `parse_error`; results: `too_large` |
| name of a method | {MAX_METHOD} bytes | `invalid_request` |

The limits of the daemon in force (connections, calls in flight, waiting times) are in the answer
to `hello`. Those that guard it against its clients may be lowered in its config file, until it
ends: `{{"milkd": {{"limits": {{"connections": 16, "request_s": 5}}}}}}`. Those of each argument
stand with it.

| in `hello` | beyond it |
|---|---|
| `connections` | spare ones, see above; beyond those `overloaded`, and the connection is closed |
| `in_flight`, `in_flight_all` | no more is read from that connection until answers have left |
| `turn_messages`, `turn_s` | other connections get their turn |
| `partial_s` | half a message for so long: `timeout`, the connection is closed |
| `send_s` | nothing taken of what it is sent: the connection is closed |
| `spare_s` | nothing asked on a spare connection: `overloaded`, it is closed |
| `request_s` | a session that loads, or a disk that hangs: the answer is `timeout` |
| `events` | the oldest event in the queue of a subscriber is lost, and counted |
| `import_records` | `too_large` |
"""

WORDS = f"""
## Words

* *percept*: a fact. `id`, `content`, `producer`, `consumer?`, `w` (strength, 0 to 1), `roles`,
  `engram_id?`, `created_at`, `updated_at`, `core?`, `evidence?` (runs in which it was
  corroborated), `idle_seconds?`, `last_used_at?`, `wordings?` (how else it was stated: a list
  of `content` and `at`), `content_at?` (when other words replaced the content), in the archive
  `archived_at` and `archived_reason`; besides, `scope` (global, session or archive), `session?`
  (whose it is) and `rank_score`. A key with `?` is absent when empty, zero or false.
* *reference*: a full id, at least 4 hex digits of its beginning, with or without `#`, or a text
  that matches exactly one percept that the caller can see. None: `not_found`; several:
  `ambiguous`.
* *session id*: {SESSION.expected}. What is recorded in a session is seen by it alone until a pass
  promotes it to global. A call that names a session opens it.
* *op_id*: {OP_ID.expected}, on every call that changes facts. A second call of the same id changes
  nothing and gets the answer of the first, on any connection, so a client that lost an answer may
  just ask again; the same id with other arguments is a `conflict`. The daemon remembers the last
  ids (`op_ids` of the limits in `hello`), also across a restart. What it answered before that it
  gives with `replayed`: true, and without what it keeps no copy of: `content` is what the fact
  says now, blank if it is gone; all other texts are blank or absent; ids, names and numbers are
  as they were.
* *outcome*: `id`, `status`, `similarity` (0 to 1), `existing?` (the fact it restates, as it was),
  `w`, `evidence`, `scope`, `look_alike?` (the most similar fact that is another one all the same),
  `differs?` (the words that it has and the fact it restates lacks, and the other way round),
  `edge?`, `edge_error?` (why the relation could not be kept; the fact was),
  `masked?` (kinds of the secrets that are not in the stored text).
* `status`: `inserted`, a new fact; `reinforced`, a known one, stronger now; `echoed`, an agent
  repeated what it was shown, and nothing is stronger; `revived`, a known one is back from the
  archive.
* `existing`, `look_alike`: `id`, `content`, `w`, `similarity`, `reason?` (why it is another).
* `differs`: `new`, `old`: lists of words.
* `edge`: `from`, `to`, `relation`.
* `candidates`: a list of `id`, `in` (whether it is part of the answer), `reason`, `hits`, `score`,
  `w`, `importance`, `bytes`; of what was considered as a neighbour, hits and score are 0.
* `neighbours`: what belongs to an answer without being part of it: `of` (the id of which fact),
  `via` (the relation that joins them, or `overlap`), `overlap?` (share of the other's words, by
  rarity); with `query` *percepts*, with `inject` an `id`.
* *report*: what a pass did: `decayed`, `pruned`, `promoted`, `promotion_deferred`, `merged`,
  `global_decayed`, `archived`, `evicted`, `edges_applied`, `global_total`, `running_seconds`; over
  several sessions the sum, and `sessions`: {{id: report}}.
"""

GROUPS = (
    ("Facts", FACTS),
    ("Recall", RECALL),
    ("Feedback", FEEDBACK),
    ("Tools for a model", TOOLS),
    ("Sessions, passes and the store", UPKEEP),
    ("The daemon", PROCESS),
)


def document() -> str:
    """The text of docs/protocol.md."""
    groups = (part for title, methods in GROUPS for part in _group(title, methods))
    return "".join((HEAD, ERRORS_HEAD, *_codes(), LIMITS, WORDS, *groups))


def _codes() -> Iterator[str]:
    for value in vars(errors).values():
        if (
            isinstance(value, type)
            and issubclass(value, errors.WireError)
            and "code" in vars(value)
        ):
            meaning = (value.__doc__ or "").splitlines()[0]
            yield f"| `{value.code}` | {value.kind} | {meaning} |\n"


def _group(title: str, methods: Sequence[Method]) -> Iterator[str]:
    yield f"\n## {title}\n"
    for method in methods:
        yield f"\n### `{method.name}`\n\n{method.summary}\n\n"
        if method.arguments:
            yield "| argument | type | accepted | meaning |\n|---|---|---|---|\n"
            yield from map(_row, method.arguments)
            yield "\n"
        yield f"Result: {method.result}.\n\n"
        yield from _example(method)


def _row(argument: Argument) -> str:
    name = f"`{argument.name}`" + ("" if argument.required else "?")
    return f"| {name} | {argument.kind} | {argument.accepted} | {argument.doc} |\n"


def _example(method: Method) -> Iterator[str]:
    arguments = [method.example.arguments] if method.example.arguments else []
    yield f"    → {_json([0, 7, method.name, arguments])}\n"
    yield f"    ← {_json([1, 7, None, method.example.result])}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    sys.stdout.buffer.write(document().encode())  # UTF-8 whatever the locale
