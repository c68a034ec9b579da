"""Call milkd as Go's net/rpc does with ugorji's MsgpackSpecRpc, byte for byte.

That client takes nothing but the header 0x94 and reads the error into a string; anything else
ends it, as here.  $MILKD_SOCKET is the daemon's, $CALLS a JSON list of [name, method, params…].
Prints what each call came to, as JSON: {name: {"result": …} or {"error": text}}.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

import msgpack

FOUR = b"\x94"


class Strict:
    """A client without tolerance."""

    def __init__(self, path: str) -> None:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.connect(path)
        self._file = sock.makefile("rwb", buffering=0)
        self._unpacker = msgpack.Unpacker(self._file, read_size=1)
        self._seq = -1

    def call(self, method: str, *params: object) -> dict[str, Any]:
        """Make a call, and read its response as Go would."""
        self._seq += 1
        # The old specification's raw bytes, with no str8: what the codec writes by default.
        request = msgpack.packb([0, self._seq, method, list(params)], use_bin_type=False)
        self._file.write(request)
        assert self._file.read(1) == FOUR, "not an array of four"
        kind, seq, error, result = (self._unpacker.unpack() for _ in range(4))
        assert (type(kind), kind) == (int, 1)
        assert seq == self._seq
        assert error is None or type(error) is str, f"cannot read {error!r} into a string"
        return {"result": result} if error is None else {"error": error}


client = Strict(os.environ["MILKD_SOCKET"])
said = {"strings": client.call("hello", {"errors": "string"})}
for name, method, *params in json.loads(os.environ["CALLS"]):
    said[name] = client.call(method, *params)
print(json.dumps(said))
