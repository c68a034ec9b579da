"""The passes over columns, from the compiled module where there is one.

The choice is made once, at import: `milkd._fastcore` if it was built and speaks
this version's ABI, else the reference in `_kernels_py`.  Set `MILKD_PURE=1` to
have the reference in any case.  Nothing else imports either of them.
"""

from __future__ import annotations

import os

from milkd.engine._index_py import TokenIndex
from milkd.engine._kernels_py import ABI
from milkd.engine._words_py import Vocabulary, Words

__all__ = [
    "DESCRIPTION",
    "USING_EXTENSION",
    "TokenIndex",
    "Vocabulary",
    "Words",
    "accrue",
    "at_least",
    "at_most",
    "decay",
    "rank_scores",
]


def _extension_fits() -> bool:
    if os.environ.get("MILKD_PURE") == "1":
        return False
    try:
        from milkd._fastcore import ABI as compiled
    except ImportError:
        return False
    return compiled == ABI


USING_EXTENSION = _extension_fits()

if USING_EXTENSION:
    from milkd._fastcore import accrue, at_least, at_most, decay, rank_scores
else:
    from milkd.engine._kernels_py import accrue, at_least, at_most, decay, rank_scores

DESCRIPTION = f"{'compiled' if USING_EXTENSION else 'pure'} {ABI}"
"""What `hello` and `stats` tell as `core`."""
