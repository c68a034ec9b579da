"""What `make torture` can do, and how much of each makes the whole."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trial:
    """A test in its long form, cut into rounds that are run one by one.

    Attributes:
        told: What it does, in a few words.
        targets: What pytest is to run.
        rounds: After so many it is done; each draws something else, or takes its share.
    """

    told: str
    targets: tuple[str, ...]
    rounds: int


TRIALS = {
    "T2": Trial("power cuts, any part of what is not synced", ("tests/torture/test_cuts.py",), 25),
    "T4": Trial("the daemon killed while 16 clients write", ("tests/torture/test_kills.py",), 50),
    "T5": Trial(
        "each file call fails, in process and in a daemon",
        ("tests/torture/test_every_call.py", "tests/torture/test_every_step.py"),
        20,
    ),
    "T6": Trial("the disk is full", ("tests/torture/test_full_disk.py",), 3),
    "T7": Trial("the order of writes, syncs and answers", ("tests/torture/test_order.py",), 1),
    "T8": Trial(
        "rubbish on the wire, and a fuzzer between bytes and answers",
        ("tests/torture/test_wire.py", "tests/rpc/test_fuzz.py"),
        6,
    ),
    "T11": Trial("random lives against a dictionary", ("tests/torture/test_model.py",), 3),
    "T12": Trial(
        "whole daemons in virtual time, by the seed",
        ("tests/torture/test_durable.py", "tests/torture/test_whole.py"),
        100,
    ),
    "T13": Trial("several daemons start at once", ("tests/torture/test_races.py",), 5),
    "T14": Trial(
        "slow and hostile clients",
        ("tests/torture/test_hostile.py", "tests/torture/test_exchange.py"),
        3,
    ),
    "T15": Trial("one asks much, another waits", ("tests/torture/test_fairness.py",), 3),
    "T16": Trial("clocks that jump", ("tests/torture/test_clocks.py",), 3),
    "T17": Trial("files edited by hand", ("tests/torture/test_edits.py",), 3),
    "T18": Trial("from milk and back", ("tests/torture/test_migration.py",), 3),
    "T19": Trial("clients in other languages", ("tests/interop",), 1),
    "T21": Trial("eight clients for two hours", ("tests/torture/test_soak.py",), 1),
    "T22": Trial("how fast it is at least", ("tests/torture/test_floors.py",), 3),
    "T23": Trial(
        "the compiled kernels under sanitizers or valgrind",
        ("tests/torture/test_sanitizers.py",),
        1,
    ),
    "T24": Trial(
        "how many instructions a search takes", ("tests/torture/test_instructions.py",), 1
    ),
    "T20": Trial(
        "under systemd, and told to stop twice",
        ("tests/torture/test_systemd.py", "tests/torture/test_stopping.py"),
        3,
    ),
    "rest": Trial(
        "all other tests, with many more random examples",
        ("tests", "--ignore=tests/torture"),
        1,
    ),
}
