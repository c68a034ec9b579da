"""The `milkd` command: locks, start, and the exit code.

Exit codes: 0 stopped in good order, 64 usage, 70 a fault of milkd, 74 the disk
failed, 75 another daemon is running, 78 the store cannot be used.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import resource
import signal
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import msgpack
import trio

import milkd
from milkd import paths, wordlists
from milkd.daemon import config, endpoint, logs
from milkd.daemon.address import Address, activated
from milkd.daemon.core import Core, Identity, new_uuid
from milkd.daemon.fatal import (
    EXIT_IO,
    EXIT_RUNNING,
    EXIT_SOFTWARE,
    EXIT_STORE,
    EXIT_USAGE,
    Fatal,
    trace,
)
from milkd.daemon.holding import LockWatch
from milkd.daemon.limits import Limits
from milkd.daemon.network import Heartbeat, notes
from milkd.daemon.notify import notify, reloading, taking_time
from milkd.daemon.options import IDLE_EXIT_S, Options, parse
from milkd.daemon.server import Server
from milkd.engine.engine import Engine
from milkd.engine.params import DEFAULT
from milkd.errors import AlreadyRunning, ConfigError, Failure, StoreDamaged, VersionMismatch
from milkd.store import mounts
from milkd.store.files import Poisoned
from milkd.store.lock import StoreLock
from milkd.store.store import JournalStore

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Sequence

DESCRIPTORS = 4096  # asked of the system, if it lets us
SPARE = 24  # descriptors kept for files, the loop and the like
SWITCH = 0.001  # seconds that a thread may keep the interpreter while the loop wants it
FEWEST = 4  # connections, however few descriptors there are
STOPPING = (signal.SIGTERM, signal.SIGINT)
HEEDED = (*STOPPING, signal.SIGHUP)

_log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the daemon; the exit code."""
    try:
        options = parse(sys.argv[1:] if argv is None else argv)
    except ConfigError as error:
        return _failed(EXIT_USAGE, str(error))
    logs.set_up(options.log_level)
    try:
        return run(options)
    except AlreadyRunning as error:
        return _failed(EXIT_RUNNING, str(error))
    except ConfigError as error:
        return _failed(EXIT_USAGE, str(error))
    except (StoreDamaged, VersionMismatch) as error:
        return _failed(EXIT_STORE, f"cannot use the store {options.store}: {error}")
    except (Failure, Poisoned) as error:
        return _failed(EXIT_IO, str(error))
    except OSError as error:
        return _failed(EXIT_IO, f"cannot serve the store {options.store}: {error}")
    except Exception as error:  # without its message, which may quote a fact
        return _failed(EXIT_SOFTWARE, f"a fault of milkd\n{trace(error)}")


def run(options: Options) -> int:
    """Lock the store and serve it until told to stop."""
    os.umask(0o077)
    sys.setswitchinterval(SWITCH)
    handed_over = activated()
    path = _socket_path(options, handed_over)
    about = {"version": milkd.__version__, "socket": path}
    lock = StoreLock(options.store, about, network=mounts.network_of(options.store))
    lock.acquire(options.lock_wait_s)
    address = Address(path, options.store)
    try:
        endpoint.remove(options.store)  # one that died has left it; who sees it need not wait
        _claim(address, handed_over)
        return trio.run(_serve, options, address, lock, handed_over, _keep_signals())
    except BaseExceptionGroup as group:
        fatal = _first_fatal(group) or Fatal(EXIT_SOFTWARE, f"a fault of milkd\n{trace(group)}")
        return _failed(fatal.code, fatal.reason)
    finally:
        _ignore_signals()
        address.remove()
        endpoint.remove(options.store, path)
        address.unlock()
        lock.release()


async def _serve(
    options: Options,
    address: Address,
    lock: StoreLock,
    handed_over: socket.socket | None,
    early: list[int],
) -> int:
    """Load the store and serve it.  Nobody is served before, so this may block meanwhile."""
    core = _core(options, address.path, lock)
    for number, note in enumerate(notes(options.store, address.path, mounts.read_mounts())):
        _log.warning("%s", note)
        core.health.note(f"network {number}", note)
    _load(core)
    core.config.start()
    listening = address.take() if handed_over is None else handed_over
    endpoint.write(options.store, address.path)
    server = Server(
        core,
        listening,
        address=address if handed_over is None else None,
        idle_exit_s=_idle_exit(options, activated=handed_over is not None),
    )
    with trio.open_signal_receiver(*HEEDED) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_obey, signals, server)
            watch = Heartbeat(core, lock) if lock.beats else LockWatch(core, lock)
            nursery.start_soon(watch.run)
            if set(early) & set(STOPPING):
                server.stop()
            code = await server.run(lambda: _announce(options, address.path))
            nursery.cancel_scope.cancel(reason="the daemon has stopped")
    return code


def _claim(address: Address, handed_over: socket.socket | None) -> None:
    """Take the path's lock before anything is done to the store.

    Beside a service manager's socket it may be that none can be made; that is its affair.
    """
    try:
        address.claim()
    except ConfigError:
        if handed_over is None:
            raise


def _load(core: Core) -> None:
    """Load the store, and keep what stays from being looked through for garbage ever again."""
    gc.disable()
    notify("STATUS=loading the store")
    try:
        with taking_time():
            core.load_store()
        gc.freeze()
    finally:
        gc.enable()


def _core(options: Options, socket_path: str, lock: StoreLock) -> Core:
    identity = Identity(
        version=milkd.__version__,
        run_id=new_uuid(),
        pid=os.getpid(),
        store=options.store,
        socket=socket_path,
    )
    store = JournalStore(
        options.store,
        refusal=lock.refusal,
        # A network's disk is asked by the heartbeat, which can wait for it.
        holds=(lambda: True) if lock.beats else lock.holds,
    )
    usual = replace(Limits(), connections=_connections())
    limits, wrong = config.limits(options.config, usual)
    core = Core(
        Engine(DEFAULT, wordlists.load()),
        store,
        identity,
        config_path=options.config,
        limits=limits,
    )
    if wrong is not None:
        _log.error("%s", wrong)
        core.health.note("limits", wrong)
    return core


async def _obey(signals: AsyncIterator[int], server: Server) -> None:
    """Do what signals ask for.  A disk that makes a reload wait does not make the end wait."""
    async with trio.open_nursery() as nursery:
        async for number in signals:
            if number == signal.SIGHUP:
                nursery.start_soon(_reload, server)
            else:
                server.stop()


async def _reload(server: Server) -> None:
    reloading()
    await server.refresh()
    notify("READY=1")


def _announce(options: Options, path: str) -> None:
    """Say that clients are being served: to the log, the manager, and whoever started us."""
    if msgpack.Unpacker.__module__ != "msgpack._cmsgpack":
        _log.warning("msgpack runs without its C part; long messages will be slow")
    _log.info("milkd %s serves %s on %s", milkd.__version__, options.store, path)
    notify("READY=1", f"STATUS=serving {options.store}")
    if options.ready_fd is not None:
        # Whoever waited may be gone by now.
        with contextlib.suppress(OSError):
            os.write(options.ready_fd, b"ready\n")
            os.close(options.ready_fd)


def _socket_path(options: Options, handed_over: socket.socket | None) -> str:
    if handed_over is not None:
        return str(handed_over.getsockname())
    # What a client would find, but for the note that an earlier daemon may have left.
    named = paths.named_socket(options.store, options.socket)
    return named or paths.computed_socket(options.store)


def _idle_exit(options: Options, *, activated: bool) -> float | None:
    default = IDLE_EXIT_S if activated else 0.0
    given = default if options.idle_exit_s is None else options.idle_exit_s
    return given or None


def _connections() -> int:
    """As many connections as there are descriptors for, after asking for more of those."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    if soft == resource.RLIM_INFINITY:
        return Limits().connections
    return max(FEWEST, min(soft - SPARE, Limits().connections))


def _keep_signals() -> list[int]:
    """Collect signals that come before they can be obeyed."""
    kept: list[int] = []
    for number in HEEDED:
        signal.signal(number, lambda found, _: kept.append(found))
    return kept


def _ignore_signals() -> None:
    """From here to the end of the process nothing is left to be asked for.

    The interpreter puts a handler of ours back to "terminate" before it ends, but not this.
    """
    for number in HEEDED:
        signal.signal(number, signal.SIG_IGN)


def _first_fatal(group: BaseExceptionGroup[BaseException]) -> Fatal | None:
    for error in group.exceptions:
        found = _first_fatal(error) if isinstance(error, BaseExceptionGroup) else error
        if isinstance(found, Fatal):
            return found
    return None


def _failed(code: int, reason: str) -> int:
    print(f"milkd: {logs.discreet(reason)}", file=sys.stderr)
    return code
