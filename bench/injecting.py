"""How long an injection takes: 25 facts of 10,000, in the engine and through the socket.

    python -P bench/injecting.py [--facts 10000] [--pure]

The facts are made by `bench/hot/corpus.py`; the prompts are questions about them, so that
hundreds of facts bear on each and the block is full: by its 25 facts, and by its bytes.  A
tenth of the facts is joined to another one by an edge.  The time is the median, in
milliseconds, and the 99th percentile; through the socket it is what milkd's own client waits,
on as many cores as there are.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.append(str(Path(__file__).parents[1]))  # milkd itself may be an installed one

from bench.hot.corpus import NOW, ZIPF, corpus, questions
from bench.hot.living import image
from bench.hot.timing import quantile

if TYPE_CHECKING:
    from collections.abc import Callable

    from milkd.engine.percept import ScopeImage

CALLS = 400
ROOM = 16_384  # bytes: so that not they, but the 25 facts are the limit


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--facts", type=int, default=10_000, help="facts in global")
    parser.add_argument("--pure", action="store_true", help="without the extension")
    chosen = parser.parse_args()
    if chosen.pure:
        os.environ["MILKD_PURE"] = "1"  # before milkd is imported
    facts = corpus(ZIPF, chosen.facts)
    held, prompts = joined(image(facts)), [f"{text} so" for text in questions(facts, CALLS).mixed]
    kernels = "pure" if chosen.pure else "as built"
    print(f"{chosen.facts:,} facts, {len(held.edges):,} edges, {kernels}")
    for room in (ROOM, None):
        tell("engine", room, in_engine(held, prompts, room))
        tell("socket", room, through_socket(held, prompts, room, pure=chosen.pure))


def joined(whole: ScopeImage) -> ScopeImage:
    """The facts, a tenth of them joined to the one before."""
    from milkd.engine.percept import Edge

    ids = [percept.id for percept in whole.percepts]
    edges = (Edge(ids[n], ids[n - 1], "extends") for n in range(1, len(ids), 10))
    return replace(whole, edges=tuple(edges))


def in_engine(held: ScopeImage, prompts: list[str], room: int | None) -> list[float]:
    """Seconds of each decision, with all that it asks for and none of it applied."""
    from milkd import wordlists
    from milkd.engine.commands import Inject, Now
    from milkd.engine.engine import Engine
    from milkd.engine.params import DEFAULT

    engine = Engine(DEFAULT, wordlists.load())
    engine.load(held)

    def inject(prompt: str) -> Any:
        return engine.decide(Inject(prompt=prompt, repeat=True, max_bytes=room), Now(NOW)).result

    return timed(inject, prompts, lambda answer: len(answer.ids))


def through_socket(
    held: ScopeImage, prompts: list[str], room: int | None, *, pure: bool
) -> list[float]:
    """Seconds that a client waits for each block."""
    import milkd
    from bench.hot.daemons import Daemon
    from milkd.store.encoder import image_to_bytes

    with tempfile.TemporaryDirectory(prefix="mk-") as directory:
        daemon = Daemon(Path(directory), {}, pure=pure)
        Path(daemon.store).mkdir()
        (Path(daemon.store) / "global.json").write_bytes(image_to_bytes(held))
        with daemon.running(), milkd.Client(daemon.socket, store=daemon.store) as memory:
            time.sleep(1.0)  # until its first files are written

            def inject(prompt: str) -> Any:
                return memory.inject(prompt, repeat=True, max_bytes=room)

            return timed(inject, prompts, lambda answer: len(answer["ids"]))


def timed(
    inject: Callable[[str], Any], prompts: list[str], count: Callable[[Any], int]
) -> list[float]:
    """Seconds of each call, after some that warm up; how many facts came is printed."""
    for prompt in prompts[:20]:
        inject(prompt)
    taken, came = [], []
    for prompt in prompts:
        began = time.perf_counter()
        answer = inject(prompt)
        taken.append(time.perf_counter() - began)
        came.append(count(answer))
    print(f"{quantile([float(each) for each in came], 0.5):.0f} facts in a block (median)")
    return taken


def tell(where: str, room: int | None, taken: list[float]) -> None:
    p50, p99 = quantile(taken, 0.5) * 1e3, quantile(taken, 0.99) * 1e3
    size = f"{room:,} bytes" if room else "the usual 2,048 bytes"
    print(f"{where}, {size}: p50 {p50:.2f} ms, p99 {p99:.2f} ms")


if __name__ == "__main__":
    main()
