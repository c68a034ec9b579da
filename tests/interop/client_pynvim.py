"""Call milkd with the RPC client of pynvim: python client_pynvim.py.

$MILKD_SOCKET is the daemon's, $CALLS a JSON list of [name, method, params…].  Prints what each
call came to, as JSON: {name: {"result": …} or {"error": text}}, and the events.
"""

from __future__ import annotations

import json
import os
from typing import Any

from pynvim.msgpack_rpc import socket_session

session = socket_session(os.environ["MILKD_SOCKET"])
said: dict[str, Any] = {}


def call(name: str, method: str, *params: object) -> None:
    """Make a call; pynvim raises the second part of an error."""
    try:
        said[name] = {"result": session.request(method, *params)}
    except Exception as error:
        said[name] = {"error": str(error)}


for each in json.loads(os.environ["CALLS"]):
    call(*each)
call("not_utf8", "record", {"content": "a\udcffb"})
call("bytes", "learn", {"content": b"Sent as bytes"})
call("subscribed", "subscribe", {"topics": ["percepts"]})
call("watched", "learn", {"content": "A fact that subscribers are told"})
if "result" in said["watched"]:  # or it would wait for ever
    message = session.next_message()
    said["events"] = [message and [message.name, *message.args]]
session.close()
print(json.dumps(said))
