"""Several programs that answer the same questions, each in a process of its own, in turns.

A process forks off with the corpus in its memory, builds its index, and then answers when it
is its turn: one slice of the questions after the other goes to each of them, so that all meet
the same machine.  What it tells of its memory is what building the index added.
"""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from bench.hot.timing import quantile, resident, sample, samples, say, trim, unswept

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from multiprocessing.connection import Connection

    from bench.hot.corpus import Corpus

_Found = TypeVar("_Found")
ROUNDS = 5
_FORK = multiprocessing.get_context("fork")
_WARMING = 0.005  # seconds before a slice
_CLOCK_LIMIT = 900.0  # seconds after which a process is taken to hang


@dataclass
class Index:
    """What a program has built."""

    ask: Callable[[Any], Any]
    """Answers what `prepare` made of a question."""
    prepare: Callable[[str], Any] = lambda text: text
    """What is not counted, in favour of the program."""
    insert: Callable[[str], object] | None = None
    measure: Callable[[Any], tuple[float, Any]] | None = None
    """Asks, and tells the seconds: for a program that runs elsewhere and takes its own time."""


class Entrant(NamedTuple):
    """A program that takes part."""

    name: str
    build: Callable[[Corpus], Index]
    needs: tuple[str, ...] = ()
    """Modules whose memory is not the index's."""
    most: int = 1_000_000
    """The most facts for which it is worth the time."""


@dataclass
class Measured:
    """What came of one program."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    """By kind of question."""
    answers: dict[str, dict[int, Any]] = field(default_factory=dict)
    """By kind, and by the number of the question: slow ones do not get to all."""
    bytes_per_fact: float = 0.0
    build_us: float = 0.0
    """Microseconds a fact."""

    def take(self, kind: str, first: int, taken: list[float], answers: list[Any]) -> None:
        """Note what came of the questions of a kind from a number on."""
        if taken:
            self.seconds.setdefault(kind, []).extend(taken)
            self.answers.setdefault(kind, {}).update(enumerate(answers, first))

    def figures(self) -> dict[str, float]:
        """Medians and such in microseconds, by what they are called."""
        found = {"bytes/fact": self.bytes_per_fact, "build": self.build_us}
        for kind, taken in self.seconds.items():
            found[f"{kind} p50"] = quantile(taken, 0.5) * 1e6
            found[f"{kind} calls"] = len(taken)
            if len(taken) >= 100:  # of fewer there is no hundredth
                found[f"{kind} p99"] = quantile(taken, 0.99) * 1e6
        return found


class _Process:
    """The process of an entrant, seen from outside."""

    def __init__(self, entrant: Entrant, facts: Corpus) -> None:
        self.name = entrant.name
        self._here, there = _FORK.Pipe()
        self._process = _FORK.Process(target=_serve, args=(entrant, facts, there), daemon=True)
        self._process.start()
        there.close()

    def hear(self) -> Any:
        """The next answer.

        Raises:
            RuntimeError: The process failed, or is gone.
        """
        try:
            answered = self._here.recv() if self._here.poll(_CLOCK_LIMIT) else None
        except EOFError:
            answered = None
        if answered is None or isinstance(answered, str):
            raise RuntimeError(f"{self.name}: {answered or 'no answer'}")
        return answered

    def ask(self, kind: str, part: Sequence[str], seconds: float) -> Any:
        self._here.send((kind, part, seconds))
        return self.hear()

    def end(self) -> None:
        self._process.kill()
        self._process.join()


def contest(
    entrants: Sequence[Entrant], facts: Corpus, asked: Mapping[str, Sequence[str]], seconds: float
) -> dict[str, Measured]:
    """Measure entrants against each other; those that fail are said to, and left out.

    Args:
        asked: Questions by kind; the kind `insert` adds facts, and comes last.
        seconds: At most so long for a kind of question, for each entrant, over all rounds.
    """
    running: list[tuple[_Process, Measured]] = []
    try:
        for entrant in entrants:
            if len(facts) <= entrant.most:
                _start(entrant, facts, running)
        for kind, texts in asked.items():
            size = max(1, len(texts) // ROUNDS)
            for first in range(0, size * ROUNDS, size):
                for process, measured in running:
                    answered = process.ask(kind, texts[first : first + size], seconds / ROUNDS)
                    measured.take(kind, first, *answered)
    finally:
        for process, _ in running:
            process.end()
    return {process.name: measured for process, measured in running}


def _start(entrant: Entrant, facts: Corpus, running: list[tuple[_Process, Measured]]) -> None:
    process = _Process(entrant, facts)
    try:
        running.append((process, Measured(**process.hear())))
    except RuntimeError as error:
        say(f"  left out: {error}")
        process.end()


def apart(task: Callable[[], _Found], environment: Mapping[str, str] | None = None) -> _Found:
    """What a task gives in a process of its own, where nothing of milkd is imported yet.

    Raises:
        RuntimeError: It failed.
    """
    here, there = _FORK.Pipe()

    def run() -> None:
        os.environ.update(environment or {})
        try:
            there.send((task(), ""))
        except Exception as error:
            there.send((None, f"{type(error).__name__}: {error}"))

    process = _FORK.Process(target=run, daemon=True)
    process.start()
    there.close()
    try:
        found, failed = here.recv()
    except EOFError:
        found, failed = None, "the process is gone"
    process.join()
    if failed:
        raise RuntimeError(failed)
    return cast("_Found", found)


def _serve(entrant: Entrant, facts: Corpus, there: Connection) -> None:
    """What the process does until it is ended."""
    try:
        for module in entrant.needs:
            importlib.import_module(module)
        trim()
        before, began = resident(), time.process_time()
        with unswept():
            index = entrant.build(facts)
        took = time.process_time() - began
        trim()
        grown = resident() - before
        gc.freeze()
        there.send({"bytes_per_fact": grown / len(facts), "build_us": took / len(facts) * 1e6})
        while True:
            there.send(_answers(index, *there.recv()))
    except (EOFError, KeyboardInterrupt):
        return
    except Exception as error:
        there.send(f"{type(error).__name__}: {error}")


def _answers(
    index: Index, kind: str, part: Sequence[str], seconds: float
) -> tuple[list[float], list[Any]]:
    """Seconds and answers of a slice."""
    if kind == "insert":
        return samples(partial(sample, index.insert), part, seconds) if index.insert else ([], [])
    prepared = [index.prepare(text) for text in part]
    measure = index.measure or partial(sample, index.ask)
    # The last ones first: what the others have left of the caches is not this one's to pay for.
    until = time.perf_counter() + _WARMING
    for argument in reversed(prepared[-20:]):
        if len(prepared) >= 100 and time.perf_counter() < until:
            measure(argument)
    return samples(measure, prepared, seconds)
