"""The methods about the daemon itself."""

from __future__ import annotations

from milkd.rpc.arguments import Choice, Text
from milkd.rpc.compounds import Choices
from milkd.rpc.method import Example, Method, reading

TOPICS = ("percepts", "passes", "sessions", "health")
ERROR_FORMS = ("list", "string")

PROCESS: tuple[Method, ...] = (
    reading(
        "hello",
        "Who is there. Optional; it works in every version of the protocol.",
        Text("client", "name of the client, for the daemon's log", max_bytes=128),
        Text("version", "version of the client", max_bytes=64),
        Choice("errors", "how errors are written: list if absent", ERROR_FORMS),
        result="`server`, `version`, `protocol`, `run_id`, `pid`, `store`, `socket`, `core` "
        "(compiled or pure, and the ABI), `why_pure?`, `limits`",
        example=Example(
            {"client": "notes.nvim"},
            {
                "server": "milkd 0.1.0",
                "version": "0.1.0",
                "protocol": 1,
                "run_id": "5e0c2b1f-3a4d-4f6a-9b7c-8d1e2f3a4b5c",
                "pid": 4711,
                "store": "/home/ada/.milk/memory",
                "socket": "/run/user/1000/milkd/milkd.sock",
                "core": "compiled 2",
                "limits": {"max_message": 1048576, "connections": 64, "request_s": 30.0},
            },
        ),
    ),
    reading(
        "ping",
        "Answers. Works in every version of the protocol.",
        result="nothing",
        example=Example({}, {}),
    ),
    reading(
        "health",
        "Whether all is well. Works in every version of the protocol.",
        result="`status` (ok, degraded or read_only), `reasons` (sentences), `indexed` and "
        "`total` (facts: those a search can find, and those it ought to; of open scopes only), "
        "`core` (compiled or pure, and the ABI), `why_pure?` (why it is not compiled, and what "
        "to do about it)",
        example=Example(
            {},
            {"status": "ok", "reasons": [], "indexed": 54, "total": 54, "core": "compiled 2"},
        ),
    ),
    reading(
        "stats",
        "Counts: facts, sessions, connections, time.",
        result="`global`, `archive`, `sessions` ([{`session`, `percepts`, `running_seconds`, "
        "`connections`}]), `run_id`, `running_seconds`, `uptime_seconds`, `connections`, "
        "`version`, `core`, `why_pure?`",
        example=Example(
            {},
            {
                "global": 41,
                "archive": 7,
                "sessions": [
                    {
                        "session": "s1",
                        "percepts": 13,
                        "running_seconds": 5400.0,
                        "connections": 1,
                    }
                ],
                "run_id": "5e0c2b1f-3a4d-4f6a-9b7c-8d1e2f3a4b5c",
                "running_seconds": 7200.0,
                "uptime_seconds": 9000.5,
                "connections": 2,
                "version": "0.1.0",
                "core": "compiled 2",
            },
        ),
    ),
    reading(
        "config",
        "Every knob with its value and where that comes from.",
        result="`values` ({name: {`value`, `origin`, `default`, `unit`}}), `path`, `warnings`",
        example=Example(
            {},
            {
                "values": {
                    "session_half_life_days": {
                        "value": 3.0,
                        "origin": "default",
                        "default": 3.0,
                        "unit": "running days",
                    }
                },
                "path": "/home/ada/.milk/config.json",
                "warnings": [],
            },
        ),
    ),
    reading(
        "reload",
        "Reads the config file again: all of it is taken or nothing.",
        result="`changed` (names of knobs); `invalid_params` names the key that is wrong",
        example=Example({}, {"changed": ["session_half_life_days"]}),
    ),
    reading(
        "subscribe",
        "Asks for `event` notifications about these topics too.",
        Choices("topics", "what to be told about", TOPICS, required=True),
        result="nothing",
        example=Example({"topics": ["percepts"]}, {}),
    ),
    reading(
        "unsubscribe",
        "Ends the notifications about these topics.",
        Choices("topics", "what not to be told about", TOPICS, required=True),
        result="nothing",
        example=Example({"topics": ["percepts"]}, {}),
    ),
    reading(
        "shutdown",
        "Saves everything and ends the daemon; answers when it is as good as gone. Works in "
        "every version of the protocol.",
        result="nothing; `storage_failed` says that not everything could be saved, but it ends "
        "all the same",
        example=Example({}, {}),
    ),
)
