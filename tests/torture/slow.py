"""A milkd whose syncs take at least as long as an ordinary disk's, wherever its files are.

python slow.py SECONDS [what milkd is to be told]
"""

from __future__ import annotations

import sys
import time

from milkd.daemon.main import main
from milkd.store.files import Files


def slow_down(seconds: float) -> None:
    """Let every sync of a journal take so much longer."""
    sync = Files.fdatasync

    def slow(self: Files, fd: int) -> None:
        sync(self, fd)
        time.sleep(seconds)

    Files.fdatasync = slow  # type: ignore[method-assign]


if __name__ == "__main__":
    slow_down(float(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
