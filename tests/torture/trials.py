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
    "T11": Trial("random lives against a dictionary", ("tests/torture/test_model.py",), 3),
    "T12": Trial("many clients on a moody disk", ("tests/torture/test_durable.py",), 100),
    "T16": Trial("clocks that jump", ("tests/torture/test_clocks.py",), 3),
    "T17": Trial("files edited by hand", ("tests/torture/test_edits.py",), 3),
    "T18": Trial("from milk and back", ("tests/torture/test_migration.py",), 3),
    "rest": Trial(
        "all other tests, with many more random examples",
        ("tests", "--ignore=tests/torture"),
        1,
    ),
}
