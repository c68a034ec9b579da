"""Commands about the daemon itself."""

from __future__ import annotations

from milkd.cli.command import Command, always
from milkd.cli.output import counted, duration, visible
from milkd.errors import MethodNotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from milkd.cli.command import Options
    from milkd.cli.output import Output
    from milkd.client import Client
    from milkd.shapes import Health, Snapshot

__all__ = ["COMMANDS"]

LONGEST_BAR = 20  # cells


def _stats(client: Client, _options: Options) -> dict[str, Any]:
    """The counts, and whose they are."""
    hello = client.hello()
    return {
        **client.stats(),
        "store": hello["store"],
        "socket": hello["socket"],
        "weights": _weights(client),
    }


def _weights(client: Client) -> dict[str, list[int]]:
    """How many facts of global, and of the session if that is open, each tenth of strength has."""
    try:
        shelves = client.outlook(limit=1)["scopes"]
    except MethodNotFound:  # a daemon of an earlier version
        return {}
    return {shelf.get("session", shelf["scope"]): shelf["weights"] for shelf in shelves}


def _say_stats(stats: dict[str, Any], out: Output, _options: Options) -> None:
    out.line(f"milkd {stats['version']} ({stats['core']}), run {stats['run_id']}")
    out.line(f"store  {visible(stats['store'])}")
    out.line(f"socket {visible(stats['socket'])}")
    out.line(
        f"up {duration(stats['uptime_seconds'])}, {counted(stats['connections'], 'connection')}"
    )
    out.line(f"running time {duration(stats['running_seconds'])}")
    out.line(f"global {counted(stats['global'], 'percept')}, archive {stats['archive']}")
    for session in stats["sessions"]:
        out.line(
            f"session {visible(session['session'])}: {counted(session['percepts'], 'percept')}, "
            f"ran {duration(session['running_seconds'])}, "
            f"{counted(session['connections'], 'connection')}"
        )
    for scope, counts in stats["weights"].items():
        _say_histogram(scope, counts, out)


def _say_histogram(scope: str, counts: list[int], out: Output) -> None:
    """The strengths of a scope, the strongest tenth first, from there down to the last one."""
    if not any(counts):
        return
    out.line(out.bold(f"strength in {visible(scope)}"))
    bins = [bin_ for bin_, count in enumerate(counts) if count]
    for bin_ in range(bins[-1], bins[0] - 1, -1):
        cells = -(-LONGEST_BAR * counts[bin_] // max(counts))  # what is there is seen
        ends = f"{bin_ / len(counts):.1f} to {(bin_ + 1) / len(counts):.1f}"
        sign = "█" if out.blocks else "#"
        out.line(f"  {ends}  {sign * cells:<{LONGEST_BAR}} {counts[bin_]:>6}")


def _health(client: Client, _options: Options) -> Health:
    return client.health()


def _say_health(health: Health, out: Output, _options: Options) -> None:
    total = counted(health["total"], "percept")
    out.line(f"{health['status']}: {health['indexed']} of {total} searchable")
    for reason in health["reasons"]:
        out.line(f"  {visible(reason)}")
    if "core" in health:  # a daemon of an earlier version does not tell
        why = f"; {health['why_pure']}" if "why_pure" in health else ""
        out.line(f"kernels: {visible(health['core'] + why)}")


def _healthy(health: Health) -> int:
    return 0 if health["status"] == "ok" else 1


def _ping(client: Client, _options: Options) -> dict[str, object]:
    return client.call("ping")


def _say_pong(_answer: object, out: Output, _options: Options) -> None:
    out.line("pong")


def _snapshot(client: Client, _options: Options) -> Snapshot:
    return client.snapshot()


def _say_written(answer: Snapshot, out: Output, _options: Options) -> None:
    for name in answer["files"]:
        out.line(visible(name))


def _stop(client: Client, _options: Options) -> dict[str, Any]:
    """Stop the daemon, and the unit that would start it again with the next connection."""
    if _has_manager():
        from milkd.cli import systemd

        unit = systemd.owner(client)
        if unit is not None:
            return systemd.stop(client, unit)
    return client.call("shutdown")


def _has_manager() -> bool:
    from milkd.cli import manager

    return manager.is_there()


def _say_stopped(answer: dict[str, Any], out: Output, _options: Options) -> None:
    if answer.get("ran", True):
        out.line("stopped; everything is saved")
    if unit := answer.get("unit"):
        out.line(
            f"{unit} is stopped too, for a connection would start the daemon again; it is back "
            f"with the next milkctl that needs it, or by: systemctl --user start {unit}"
        )


def _no_arguments(_parser: ArgumentParser) -> None:
    pass


COMMANDS = {
    "stats": Command(
        _stats,
        _say_stats,
        _no_arguments,
        about="Print where store and socket are, counts of percepts and connections, times,\n"
        "and how strong facts are by now: globally, and in the session if it is open.",
    ),
    "health": Command(
        _health,
        _say_health,
        _no_arguments,
        about="Print whether the daemon can do its work, and whether its kernels are compiled or\n"
        "pure (slower, but no trouble), and why.  Exit code 0 if all is well, 1 if not, 3 if\n"
        "no daemon runs (none is started).",
        autostart=False,
        verdict=_healthy,
    ),
    "ping": Command(
        _ping,
        _say_pong,
        _no_arguments,
        about="Exit code 0 if the daemon answers, 3 if none runs (none is started).",
        autostart=False,
    ),
    "snapshot": Command(
        _snapshot,
        _say_written,
        _no_arguments,
        about="Have everything written now to the files that milk reads too, and print their\n"
        "names.  milkd does so by itself from time to time and when it stops; what was\n"
        "acknowledged is safe without.",
    ),
    "stop": Command(
        _stop,
        _say_stopped,
        _no_arguments,
        changes=always,
        about="Save everything and stop the daemon.  Exit code 3 if none runs.  If a socket unit\n"
        "of systemd would start it with the next connection, that is stopped, too.",
        autostart=False,
    ),
}
