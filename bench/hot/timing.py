"""Samples that other programs do not disturb, and what a machine is.

A sample is the lesser of the wall time and the processor time of the thread: while another
program has the core only the first goes on, and the clock of the second costs more to read
than a short call takes.
"""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import re
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


def sample(call: Callable[[Any], Any], argument: object) -> tuple[float, Any]:
    """Seconds of one call, and what it gave."""
    thread_began = time.thread_time_ns()
    began = time.perf_counter_ns()
    answer = call(argument)
    wall = time.perf_counter_ns() - began
    thread = time.thread_time_ns() - thread_began
    return min(wall, thread) / 1e9, answer


def samples(
    measure: Callable[[Any], tuple[float, Any]], arguments: Iterable[object], seconds: float
) -> tuple[list[float], list[Any]]:
    """Seconds and answers of one call after the other, until the time is up; of one at least.

    Args:
        measure: Makes a call and tells how long it took, as `sample` does.
        seconds: When they are over, no further call begins.
    """
    taken: list[float] = []
    answers: list[Any] = []
    with unswept():
        until = time.perf_counter() + seconds
        for argument in arguments:
            if taken and time.perf_counter() > until:
                break
            took, answer = measure(argument)
            taken.append(took)
            answers.append(answer)
    return taken, answers


@contextmanager
def unswept() -> Iterator[None]:
    """No garbage collection, which would take its time from whoever is being measured."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def quantile(taken: Sequence[float], share: float) -> float:
    """The nearest sample at a share of the way from the least to the greatest."""
    ordered = sorted(taken)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def pin() -> None:
    """Keep this process, and all that it starts, on one core."""
    with suppress(AttributeError, OSError):  # not on every system
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def resident(pid: int | str = "self") -> int:
    """Bytes of memory that a process has; 0 where the system does not tell."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGESIZE")


def processor_time(pid: int) -> float:
    """Seconds of the processor that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def trim() -> None:
    """Give back what was freed, so that the next reading of `resident` is of what is used."""
    gc.collect()
    with suppress(AttributeError, OSError):  # glibc alone has it
        ctypes.CDLL(None).malloc_trim(0)


def machine() -> dict[str, str]:
    """What the figures were measured on, without the name of it."""
    found = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "kernel": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
    }
    compiler = _first_line(["gcc", "--version"])
    return found | ({"compiler": compiler} if compiler else {})


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _first_line(command: list[str]) -> str:
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
    version = re.search(r"\d+\.\d+(\.\d+)?", told.partition("\n")[0].rpartition(")")[2])
    return f"{command[0]} {version.group()}" if version else ""


def say(line: str) -> None:
    """Tell how far it is, where it does not get among the figures."""
    print(line, file=sys.stderr, flush=True)
