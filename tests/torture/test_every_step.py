"""T5 in process: each file call of a life with a store fails, in each way, once or for ever."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

import pytest

from crashfs import CrashFiles
from milkd.engine.changes import PerceptDropped
from milkd.errors import Failure
from milkd.store.files import Poisoned
from torture.cuts import Choice, Disk
from torture.faulty import Died, Fault, FaultyFiles
from torture.keeper import STORE, Keeper
from torture.size import portion, size
from torture.stories import id_of, milks, put, some, started, steps
from torture.test_cuts import check_tidy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crashfs import Tree
    from torture.keeper import Facts, Step

SECRET = "and by swordfish"
SCOPES = ("global", "s1")
HARMLESS = ("close", "read", "stat", "fstat", "listdir", "look")
ROUNDS = 20  # of the long form, which together do all
EVERY = size(4, 1)  # one of so many calls that change nothing goes wrong
HOWS = ("EIO", "ENOSPC", "EROFS", "short", "crash")

pytestmark = pytest.mark.lasting


@dataclass
class Life:
    """A store in use on a disk that fails, and what may be there afterwards.

    Attributes:
        possible: The facts as they may be: after all that was acknowledged, and where an
            answer is owed, with that as well.
    """

    files: FaultyFiles
    keeper: Keeper | None = None
    possible: list[Facts] = field(default_factory=list)
    over: bool = False
    forgotten: bool = False

    def begin(self) -> None:
        """Start, if the disk lets us."""
        self.possible = [Keeper(CrashFiles(self.files.tree)).facts()]
        try:
            self.keeper = Keeper(self.files)
        except (Failure, Died):
            self.over = True
        self.try_(Keeper.settle)

    def do(self, step: Step, kind: str = "record") -> None:
        """Do something; refused, it has not happened."""
        if self.over or self.keeper is None:
            return
        keeper, before, seq = self.keeper, self.keeper.shelf.copy(), self.keeper.seq
        dirty, scrubbing = set(keeper.dirty), dict(keeper.scrubbing)
        try:
            entry = keeper.entry(step, kind=kind)
        except KeyError:  # it takes something away that was refused
            keeper.shelf = before
            return
        self.possible.append(keeper.facts())
        try:
            keeper.append([entry])
        except Failure:
            keeper.shelf, keeper.seq = before, seq
            keeper.dirty, keeper.scrubbing = dirty, scrubbing
            self.possible.pop()
        except (Poisoned, Died):
            self.over = True
        else:
            self.possible = self.possible[-1:]

    def forget(self) -> None:
        """Forget the secret, if it is there."""
        if self.keeper is not None and id_of(7) in self.keeper.facts().get("s1", {}):
            told = self.possible[-1]
            self.do((PerceptDropped("s1", id_of(7)),), kind="forget")
            self.forgotten = not self.over and self.possible[-1] != told

    def try_(self, call: Callable[[Keeper], None]) -> None:
        """Do something that changes no fact."""
        if self.over or self.keeper is None:
            return
        try:
            call(self.keeper)
        except Failure:
            pass
        except (Poisoned, Died):
            self.over = True


def live(tree: Tree, fault: Fault) -> Life:
    """A short life: entries, checkpoints, something forgotten, a stop."""
    life, doing = Life(FaultyFiles(tree, fault)), steps()
    life.begin()
    for step in some(doing, 3):
        life.do(step)
    life.try_(Keeper.checkpoint)
    life.do((put("s1", 7, SECRET),))
    for step in some(doing, 2):
        life.do(step)
    life.try_(Keeper.checkpoint)
    life.forget()
    life.do(next(doing))
    life.try_(Keeper.checkpoint)
    life.do(next(doing))
    life.try_(Keeper.stop)
    return life


def check(life: Life, tree: Tree) -> None:
    """What is left can be used, holds what it must, and can be brought in order."""
    keeper = Keeper(CrashFiles(tree))
    assert (keeper.refusal, keeper.frozen) == (None, {})
    found = keeper.facts()
    if is_bare(tree):
        # Whether who wrote it had seen the passes is not known: they are not done twice.
        assert texts_of(found) in map(texts_of, life.possible)
    else:
        assert found in life.possible
    keeper.append([keeper.entry((put("s4", 98),))])
    expected = keeper.facts()
    keeper.stop()
    assert Keeper(keeper.files).facts() == expected
    check_tidy(keeper.files.tree)
    if life.forgotten:
        texts = keeper.files.tree.texts()
        assert [path for path, text in texts.items() if SECRET.encode() in text] == []


def is_bare(tree: Tree) -> bool:
    """Whether a file is as milk left it."""
    texts = tree.texts()
    return any(b"_milkd" not in texts.get(f"{STORE}/{name}.json", b"_milkd") for name in SCOPES)


def texts_of(facts: Facts) -> set[tuple[str, str, object]]:
    """What is said where."""
    return {(s, i, said[:1]) for s, inner in facts.items() for i, said in inner.items()}


def all_lost(files: CrashFiles) -> Tree:
    """What a power cut leaves if nothing is on the disk that need not be."""
    disk = Disk(files)
    for event in files.log:
        disk.follow(event)
    return disk.after(Choice((False,) * len(disk.units(512))))


def faults(calls: list[str], how: str) -> Iterator[Fault]:
    """Each of the calls in turn goes wrong; of those that change nothing, some do."""
    for at, always in product(range(1, len(calls) + 1), (False, True)):
        fault = Fault(at, how, always)
        harmless = calls[at - 1] in HARMLESS and (how == "crash" or at % EVERY)
        if fault.befalls(calls[at - 1]) and not harmless and not (always and how == "crash"):
            yield fault


TREES: dict[str, Callable[[], Tree]] = {"ours": started, "milk's": milks}


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("name", TREES)
def test_whatever_step_fails_nothing_acknowledged_is_lost(
    name: str, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = live(TREES[name](), Fault())
    check(whole, whole.files.tree)
    failures: Counter[str] = Counter()
    lives = 0
    every = list(faults(whole.files.fault.calls, how))
    for fault in portion(every, len(every), ROUNDS):
        life = live(TREES[name](), fault)
        lives += 1
        for tree in (life.files.tree, all_lost(life.files)):
            try:
                check(life, tree)
            except Exception as error:
                failures[f"{fault.at} {fault.always}: {type(error).__name__}: {error}"[:500]] += 1
    with capsys.disabled():
        print(f"\n{name}, {how}: {lives} lives, {len(failures)} failed")
    assert not failures, "\n".join(list(failures)[:8])
