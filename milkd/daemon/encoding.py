"""Responses as bytes, and times as text, from the compiled module where there is one.

The choice is made once, at import: `milkd._wire` if it was built and speaks this
version's ABI, else `milkd.rpc.protocol` and `milkd.store.fields`, whose meaning it has
and to which it leaves whatever is not plain.  Set `MILKD_PURE=1` to have these in any
case.  Clients do without: to load the module takes longer than it could save one of them.
"""

from __future__ import annotations

import os
from functools import lru_cache

from milkd.rpc.protocol import MAX_DEPTH, MAX_ITEMS, MAX_RESPONSE, Connection
from milkd.store.fields import format_time

__all__ = ["USING_EXTENSION", "response", "time_text"]

ABI = 1
DEPTH = MAX_DEPTH - 1  # within the response, which is a list itself


def _extension_fits() -> bool:
    if os.environ.get("MILKD_PURE") == "1":
        return False
    try:
        from milkd._wire import ABI as compiled
    except ImportError:
        return False
    return compiled == ABI


USING_EXTENSION = _extension_fits()

if USING_EXTENSION:
    from milkd import _wire

    def response(msgid: int, result: object, *, as_string: bool = False) -> bytes:
        """Encode a result as `Connection.response` does."""
        data = _wire.response(msgid, result, DEPTH, MAX_ITEMS, MAX_RESPONSE)
        if data is None:
            return Connection.response(msgid, result, as_string=as_string)
        return data

    def time_text(at: float) -> str:
        """A time as `format_time` writes it."""
        return _wire.time_text(at) or format_time(at)

else:
    response = Connection.response
    # What was handed out lately was handed out at the same moment, and is again.
    time_text = lru_cache(maxsize=1024)(format_time)
