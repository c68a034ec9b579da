"""The blocking client of the daemon: one method for each method of the protocol.

    with milkd.Client(session="s1") as memory:
        memory.record("deploys go through the west cluster")
        for percept in memory.query("where do deploys go?")["percepts"]:
            print(percept["w"], percept["content"])

Results are the protocol's maps as dictionaries (docs/protocol.md; `milkd.shapes` has
their types).  A refusal raises the class of its code (`milkd.NotFound`, …).  This
module imports nothing that is slow to import, so that hooks may use it freely.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

from milkd.dial import dial, refused, unreachable
from milkd.errors import ConnectionLost, DaemonUnreachable, MilkdError, ShuttingDown, Unanswered
from milkd.methods import Methods
from milkd.paths import named_socket, sockets, store_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from types import TracebackType
    from typing import Any, Self

    from milkd.events import Events
    from milkd.link import Link

__all__ = ["Client", "connect"]

PAUSE = 0.15  # seconds before asking again: one that was killed may still let others connect
CALL_TIMEOUT = 30.0  # seconds; the daemon gives a request no longer either

# The methods that take an `op_id`: the daemon does them once however often they arrive.
CHANGING = frozenset(
    {
        "confirm",
        "consolidate",
        "edit",
        "forget",
        "import",
        "learn",
        "record",
        "reject",
        "relate",
        "restore",
        "session_close",
        "session_drop",
        "tool_call",
        "turn_end",
        "unrelate",
    }
)
# Sent once only: a second `shutdown` would stop the next daemon, and the parts of an
# import belong to one connection.
NEVER_AGAIN = frozenset({"import", "shutdown"})


def connect(
    socket: str | None = None,
    *,
    store: str | None = None,
    session: str | None = None,
    autostart: bool = True,
    timeout: float = CALL_TIMEOUT,
) -> Client:
    """A client that is connected already, to a daemon started for it if none runs.

    Raises:
        DaemonUnreachable: No daemon answers, and none could be started.
    """
    client = Client(socket, store=store, session=session, autostart=autostart, timeout=timeout)
    return client.__enter__()


class Client(Methods):
    """A conversation with the daemon, for one thread at a time.

    The connection is made by the first call (or by `with`) and made again when the daemon was
    restarted in between.  A call that lost its connection before the answer began is sent
    once more; changes carry an `op_id`, so that they are not done twice.  A socket that is named
    as well as a store may lead to the daemon of another one, which is asked for its store then.

    Args:
        socket: Path of the daemon's socket; by default the one that belongs to `store`.
        store: Directory of the memory; by default $MILK_MEMORY_DIR or ~/.milk/memory.
        session: Session for every call that takes one and isn't given another.
        autostart: Whether to start a daemon when none runs ($MILKD_NO_AUTOSTART forbids it).
        timeout: Seconds that a call may take.
    """

    def __init__(
        self,
        socket: str | None = None,
        *,
        store: str | None = None,
        session: str | None = None,
        autostart: bool = False,
        timeout: float = CALL_TIMEOUT,
    ) -> None:
        try:
            self.store = store_directory(store)
            self._named = named_socket(self.store, socket)
            self.socket = next(sockets(self.store, self._named))
        except FileNotFoundError as error:  # os.getcwd() fails
            raise DaemonUnreachable(
                "the working directory has been deleted, so that a relative path leads nowhere; "
                "give the whole path of the store and the socket"
            ) from error
        # Of two things that were named, one may be wrong.
        own = store or os.environ.get("MILK_MEMORY_DIR")
        self._may_be_anothers = bool(own) and self._named is not None
        self.session = session
        self.timeout = timeout
        self._autostart = autostart
        self._nobody = OSError()  # what the latest attempt to reach anybody got
        self._link: Link | None = None
        self._turn = allocate_lock()

    def __enter__(self) -> Self:
        self._connected()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.socket!r}, session={self.session!r})"

    def close(self) -> None:
        """Close the connection; another call would open a new one."""
        if self._link is not None:
            self._link.close()
            self._link = None

    def call(self, method: str, /, **arguments: object) -> dict[str, Any]:
        """Call any method with exactly these arguments, leaving out those that are None.

        Raises:
            WireError: The daemon's refusal or failure, in the class of its code.
            DaemonUnreachable: No daemon answers.
            ConnectionLost: The daemon went away.
            Unanswered: No answer came in time.  After either a change may or may not have been
                made; the message says so then.
            RuntimeError: Another thread is in the middle of a call.
        """
        sent = {name: value for name, value in arguments.items() if value is not None}
        if method in CHANGING:
            sent.setdefault("op_id", os.urandom(16).hex())
        if not self._turn.acquire(False):
            raise RuntimeError("this client is in the middle of a call; use one client per thread")
        try:
            return self._exchange(method, sent)
        finally:
            self._turn.release()

    def subscribe(self, *topics: str) -> Events:
        """What happens from now on, on a connection of its own.

        Args:
            topics: Any of percepts, passes, sessions, health.
        """
        from milkd.events import Events

        return Events(self._dial(), topics, timeout=self.timeout)

    # The connection

    def _exchange(self, method: str, arguments: dict[str, object]) -> dict[str, Any]:
        """Ask, and once more if the daemon went away without having begun to answer."""
        delivered = False
        try:
            return self._ask(method, arguments)
        except (ConnectionLost, Unanswered) as error:
            delivered = self._delivered()
            silent = self._link is None or self._link.silent
            if isinstance(error, Unanswered) or not silent or method in NEVER_AGAIN:
                raise self._explained(error, method, arguments, delivered=delivered) from None
            time.sleep(PAUSE)
        except ShuttingDown:  # nothing was done; the next daemon may
            if not self._autostart or method in NEVER_AGAIN:
                raise
        self.close()
        try:
            return self._ask(method, arguments)
        except MilkdError as error:
            if isinstance(error, (ConnectionLost, Unanswered)):
                delivered = delivered or self._delivered()
            raise self._explained(error, method, arguments, delivered=delivered) from None

    def _ask(self, method: str, arguments: dict[str, object]) -> dict[str, Any]:
        link = self._link
        if link is None or link.closed:
            link = self._connected()
        return link.ask(method, arguments, timeout=self.timeout)

    def _delivered(self) -> bool:
        """Whether the request that failed went out whole."""
        return self._link is not None and self._link.delivered

    def _explained(
        self, error: MilkdError, method: str, arguments: dict[str, object], *, delivered: bool
    ) -> MilkdError:
        """The error, saying what became of the request if that is not known."""
        from milkd.doubt import explained

        return explained(
            error,
            method,
            arguments,
            doubtful=delivered and (method in CHANGING or method == "shutdown"),
            holder_of=(self.store, self.socket),
        )

    def _connected(self) -> Link:
        if self._link is None or self._link.closed:
            self._link = None
            self._link = self._dial()
        return self._link

    def _dial(self) -> Link:
        sock = self._reached()
        # Only now, for it takes a while, in which the daemon gets to accept the connection.
        from milkd.link import Link

        link = Link(sock)
        if self._may_be_anothers:
            from milkd.doubt import check_store

            check_store(link, self.store, self.socket, timeout=self.timeout)
        return link

    def _reached(self) -> _socket.socket:
        """A connection to the daemon, or to the one that is started if there is none."""
        if (sock := self._found()) is not None:
            return sock
        if not self._autostart:
            raise unreachable(self.socket, self._nobody) from self._nobody
        from milkd.autostart import start

        try:
            return start(self.store, self.socket)
        except DaemonUnreachable:
            # Somebody with other variables may have started one for this store meanwhile.
            if (sock := self._found()) is None:
                raise
            return sock

    def _found(self) -> _socket.socket | None:
        """A connection to a daemon that runs; None if nobody is there."""
        for path in sockets(self.store, self._named):
            self.socket = path
            try:
                return dial(path, timeout=self.timeout)
            except OSError as error:
                if not refused(error, path):
                    raise unreachable(path, error) from error
                self._nobody = error
        return None
