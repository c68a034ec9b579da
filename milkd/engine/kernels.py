"""The passes over columns and the indexes, from the compiled module where there is one.

The choice is made once, at import: `milkd._fastcore` if it was built and speaks
this version's ABI, else the references in `_kernels_py`, `_words_py` and `_index_py`.
Set `MILKD_PURE=1` to have the references in any case.  Nothing else imports any of them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from milkd.engine._kernels_py import ABI

__all__ = [
    "DESCRIPTION",
    "USING_EXTENSION",
    "WHY_PURE",
    "TokenIndex",
    "Vocabulary",
    "Words",
    "accrue",
    "at_least",
    "at_most",
    "decay",
    "lowest",
    "rank_scores",
]

_REINSTALL = (
    "in its sources run `MILKD_BUILD_EXTENSION=yes pipx install --force .`, then `milkctl stop`"
)


def _why_pure() -> str | None:
    """Why the compiled module is not used, and what to do about it."""
    if os.environ.get("MILKD_PURE") == "1":
        return "MILKD_PURE=1 was set when the daemon started: unset it, then `milkctl stop`"
    try:
        from milkd._fastcore import ABI as compiled
    except ModuleNotFoundError:
        compiler = "a C compiler (Debian: apt-get install gcc python3-dev)"
        return f"milkd was built without its extension: install {compiler}, then {_REINSTALL}"
    except ImportError as error:
        return f"milkd._fastcore cannot be loaded ({error}): {_REINSTALL}"
    if compiled != ABI:
        return f"milkd._fastcore is of another build (ABI {compiled}, not {ABI}): {_REINSTALL}"
    return None


WHY_PURE = _why_pure()
"""Why the reference is used, with the way out; None if it is not."""

USING_EXTENSION = WHY_PURE is None

# Both have the same interface; the types are those of the references.
if TYPE_CHECKING or not USING_EXTENSION:
    from milkd.engine._index_py import TokenIndex
    from milkd.engine._kernels_py import accrue, at_least, at_most, decay, lowest, rank_scores
    from milkd.engine._words_py import Vocabulary, Words
else:
    from milkd._fastcore import (
        TokenIndex,
        Vocabulary,
        Words,
        accrue,
        at_least,
        at_most,
        decay,
        lowest,
        rank_scores,
    )

DESCRIPTION = f"{'compiled' if USING_EXTENSION else 'pure'} {ABI}"
"""What `hello` and `stats` tell as `core`."""
