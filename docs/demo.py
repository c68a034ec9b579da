"""The life of a fact, on one page: two sessions, a restart, an echo, a contradiction.

    make demo

Everything happens in a throw-away directory with a real daemon on it.  The store it starts
from is in milk's own format.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import milkd

if TYPE_CHECKING:
    from collections.abc import Callable

    from milkd.shapes import Outcome

CLUSTER = "Deploys go through the west cluster"
NUMBERED = "The API is versioned by number"
MILKS_STORE = {
    "percepts": [
        {
            "id": "0a5b7a1e-5c0e-4d7a-9b55-0d2f6f6a1c01",
            "content": "The user writes \u003ctests\u003e before the code",
            "producer": "user",
            "w": 1,
            "roles": {},
            "created_at": "2026-05-24T10:11:12.123456789+02:00",
            "updated_at": "2026-05-24T10:11:12.123456789+02:00",
            "core": True,
        },
        {
            "id": "7c1d9e42-8f3b-4f6e-8a21-3b9c5d7e2f02",
            "content": "Releases are tagged on Thursdays",
            "producer": "local",
            "w": 0.62,
            "roles": {"theme": "releases"},
            "created_at": "2026-06-02T09:00:00.5+02:00",
            "updated_at": "2026-06-02T09:00:00.5+02:00",
        },
    ],
    "engrams": None,
    "edges": None,
}


def main() -> None:
    home = Path(tempfile.mkdtemp(prefix="milkd-"))
    store = home / "memory"
    # No config and no daemon of the user's takes part.
    os.environ |= {
        "HOME": str(home),
        "MILK_MEMORY_DIR": str(store),
        "MILKD_SOCKET": str(home / "sock"),
    }
    store.mkdir(mode=0o700)
    (store / "global.json").write_text(json.dumps(MILKS_STORE, indent=2))
    try:
        first_run()
        second_run()
        what_is_left(store)
    finally:
        shutil.rmtree(home)


def first_run() -> None:
    title("Run 1: a daemon starts on a store that milk wrote")
    with milkd.connect() as memory:
        stats = memory.stats()
        say(f"{memory.hello()['server']} ({stats['core']}) holds {stats['global']} global facts")

    title("Two sessions state facts at the same moment")
    together(
        {
            "api": [CLUSTER, "The API is versioned by date"],
            "web": ["Buttons are blue", "The user writes tests before the code"],
        },
    )
    title("Session api says the first one again, and again, and again")
    with milkd.connect(session="api") as memory:
        for _ in range(3):
            state(memory, "deploys go through the WEST cluster")
        passed(memory, "Said often, but in one run only: it stays in the session.")

        title("Two facts that share every word but a small one are two facts")
        tell("web", "Buttons are not blue", memory.record("Buttons are not blue", session="web"))
        memory.shutdown()


def second_run() -> None:
    title("Run 2: the daemon was stopped and starts anew")
    with milkd.connect(session="api") as memory:
        state(memory, CLUSTER)
        passed(memory, "Corroborated in a second run: it is global now.")

        title("Any session recalls it, and a prompt gets what bears on it")
        for percept in memory.query("which cluster takes deploys?", session="web")["percepts"]:
            say(f"[{percept['w']:.2f}] {percept['content']}")
        say(memory.inject("Let us deploy. Are the tests written?", session="web")["text"], "  | ")

        title("An agent that repeats what it was just told proves nothing")
        tell("web", CLUSTER, memory.record(CLUSTER, session="web"))

        title("A contradiction holds both sides back until somebody decides")
        outcome = memory.record(
            NUMBERED,
            producer="user",
            relation="contradicts",
            related_to="versioned by date",
        )
        passed(memory, "The user's word would be global at once, were it not contradicted.")
        title("explain says why")
        explanation = memory.explain(outcome["id"])
        for sentence in (*explanation["holds"], *explanation["next"]):
            say(sentence)
        forgotten = memory.forget("versioned by date")
        say(f"forgotten: {forgotten['content']}", "> ")
        tell("api", "The user says it again", memory.record(NUMBERED, producer="user"))
        passed(memory, "With the other side gone and the loss made good, it is global.")
        memory.shutdown()


def what_is_left(store: Path) -> None:
    title("What is left: JSON that milk reads and you can")
    for path in sorted(store.glob("*.json")):
        say(path.name)
        for percept in json.loads(path.read_text())["percepts"]:
            mark = "core" if percept.get("core") else f"evidence {percept.get('evidence', 0)}"
            say(f"{percept['w']:<5.3g} {mark:<11} {percept['content']}", "    ")


def together(facts: dict[str, list[str]]) -> None:
    """One client a session, all at once; told in order afterwards."""
    told: dict[str, list[Callable[[], None]]] = {session: [] for session in facts}

    def sit(session: str) -> None:
        with milkd.connect(session=session) as memory:
            for fact in facts[session]:
                outcome = memory.record(fact)
                told[session].append(partial(tell, session, fact, outcome))

    threads = [threading.Thread(target=sit, args=(session,)) for session in facts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for lines in told.values():
        for line in lines:
            line()


def state(memory: milkd.Client, fact: str) -> None:
    tell(str(memory.session), fact, memory.record(fact))


def tell(session: str, fact: str, outcome: Outcome) -> None:
    known = f", {outcome['similarity']:.0%} similar" if outcome["status"] != "inserted" else ""
    say(f"{session}: {fact}")
    say(
        f"{outcome['status']}{known}: w {outcome['w']:.2f}, evidence {outcome['evidence']}, "
        f"in {outcome['scope']}",
        "       ",
    )
    if look_alike := outcome.get("look_alike"):
        say(f"beside “{look_alike['content']}”: {look_alike.get('reason')}", "       ")


def passed(memory: milkd.Client, meaning: str) -> None:
    report = memory.consolidate()
    counts = ("decayed", "pruned", "promoted", "promotion_deferred", "edges_applied")
    say("consolidate: " + ", ".join(f"{name} {report[name]}" for name in counts), "> ")  # type: ignore[literal-required]  # the names are the report's own
    say(meaning, "  ")


def title(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def say(text: str, margin: str = "  ") -> None:
    for line in text.rstrip().splitlines():
        print(margin + line)


if __name__ == "__main__":
    main()
