"""Where the daemon's words go: to stderr, whatever that is.

By hand that is a terminal.  Under systemd it is the journal, which adds the time and is
told the level.  A client that starts a daemon makes it the file of `milkd.paths.log_path`,
which is then rotated while the daemon runs; whatever else is written to stderr, such as
the interpreter's last words, goes along into the new file.

No log holds what anybody remembered.  Of an exception types and places are told, since its
message may quote a value; and where a sentence about a file quotes one, it is left out.
"""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
import re
import sys
import threading
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING

from milkd.daemon.fatal import trace
from milkd.errors import ConfigError
from milkd.paths import log_path

if TYPE_CHECKING:
    from io import TextIOWrapper
    from types import TracebackType

LIMIT = 1 << 20  # bytes of a log file
KEPT = 3  # log files, the one that is written among them
STANDARD = (1, 2)  # descriptors that lead to the log, too
LINE = "%(asctime)s milkd[%(process)d] %(levelname)s: %(message)s"
# A value as `gojson.shown` has it: whole or cut, and whatever else stands in quotes.
QUOTED = re.compile(
    r'"(?:[^"\\\n]|\\.){0,38}"|"[^\n]{36}\.\.\.|"(?:[^"\\\n]|\\.)*(?:"|$)', re.MULTILINE
)
PRIORITIES = {  # of syslog, as the journal understands them: sd-daemon(3)
    logging.DEBUG: 7,
    logging.INFO: 6,
    logging.WARNING: 4,
    logging.ERROR: 3,
    logging.CRITICAL: 2,
}


def set_up(level: str) -> None:
    """Have everything said from now on, of this level and above."""
    handler: logging.Handler = logging.StreamHandler()
    form = _Discreet(LINE)
    if _is_journal():
        form = _ForJournal("%(message)s")
    elif (path := _own_file()) is not None:
        handler = Rotated(path)
    handler.setFormatter(form)
    logging.basicConfig(level=level, handlers=[handler])
    logging.raiseExceptions = False  # what cannot be said is not to be shown either
    threading.excepthook = _tell_thread_end
    sys.unraisablehook = _tell_unraisable
    with contextlib.suppress(OSError, ValueError):  # no stderr
        faulthandler.enable()


def discreet(text: str) -> str:
    """The text without the values that it quotes from files."""
    return QUOTED.sub('"…"', text)


class Rotated(RotatingFileHandler):
    """A log file of limited size that stderr leads to.

    Daemons of several stores may share it, and a person may delete it: so before each line
    it is made sure that the file is still the one at the path.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path, maxBytes=LIMIT, backupCount=KEPT - 1, encoding="utf-8")
        if os.path.getsize(path) > LIMIT:  # by what others wrote to stderr
            self.doRollover()

    def emit(self, record: logging.LogRecord) -> None:
        """Say it."""
        with contextlib.suppress(OSError):
            self._follow()
        super().emit(record)

    def doRollover(self) -> None:
        """Begin a new file; where that can't be, go on with this one."""
        with contextlib.suppress(OSError):
            super().doRollover()
        if self.stream is None:
            self.stream = self._open()
        self._lead()

    def _open(self) -> TextIOWrapper:
        def private(path: str, flags: int) -> int:
            return os.open(path, flags, 0o600)

        return open(
            self.baseFilename, "a", encoding="utf-8", errors="backslashreplace", opener=private
        )

    def _follow(self) -> None:
        """Take the file that is at the path by now."""
        try:
            there = os.stat(self.baseFilename)
        except FileNotFoundError:
            there = None
        old = self.stream
        if old is None or (there and os.path.samestat(there, os.fstat(old.fileno()))):
            return
        self.stream = self._open()
        old.close()
        self._lead()

    def _lead(self) -> None:
        """Have stderr and stdout lead there."""
        if self.stream is not None:
            for fd in STANDARD:
                os.dup2(self.stream.fileno(), fd)


class _Discreet(logging.Formatter):
    """Tells of an exception what `trace` does, and quotes nothing."""

    def format(self, record: logging.LogRecord) -> str:
        return discreet(super().format(record))

    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        return trace(ei[1]) if ei[1] is not None else ""


class _ForJournal(_Discreet):
    """Puts the priority before each line: the journal makes an entry of each."""

    def format(self, record: logging.LogRecord) -> str:
        mark = f"<{PRIORITIES.get(record.levelno, 6)}>"
        return "\n".join(mark + line for line in super().format(record).splitlines())


def _is_journal() -> bool:
    """Whether stderr is a stream of the journal: systemd.exec(5), $JOURNAL_STREAM."""
    with contextlib.suppress(OSError):
        found = os.fstat(2)
        return os.environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"
    return False


def _own_file() -> str | None:
    """The log file, if stderr is that."""
    with contextlib.suppress(OSError, ConfigError):
        path = log_path()
        if os.path.samestat(os.stat(path), os.fstat(2)) and os.path.isfile(path):
            return path
    return None


def _tell_thread_end(what: threading.ExceptHookArgs) -> None:
    if what.exc_value is not None:
        print(f"milkd: a thread failed\n{trace(what.exc_value)}", file=sys.stderr)


def _tell_unraisable(what: sys.UnraisableHookArgs) -> None:
    if what.exc_value is not None:
        told = trace(what.exc_value)
        print(f"milkd: something failed while it was put away\n{told}", file=sys.stderr)
