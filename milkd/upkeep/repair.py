"""Making a store sound again, without a daemon.

What needs no choice is done: journals that are damaged give what can be had of them,
and the files are written anew.  Which version of a damaged file is to count is for its
owner to say.  Nothing is thrown away: what was replaced is kept in `.milkd/quarantine`.

A repair that breaks off anywhere is repeated from the beginning: what is damaged goes
only once all that could be had of it is in new files.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from milkd.engine.changes import scope_of
from milkd.errors import NotFound
from milkd.paths import OWN_DIRECTORY
from milkd.store.files import Files, current_stamp
from milkd.store.identity import store_id
from milkd.store.salvage import Salvaged, salvage
from milkd.upkeep.journals import none_began
from milkd.upkeep.marks import forget_failures, name_store
from milkd.upkeep.mistaken import mistaken
from milkd.upkeep.onlooking import Onlooker
from milkd.upkeep.outcome import Outcome, Problem, Way, numbers
from milkd.upkeep.refusing import broken_off, check_scope
from milkd.upkeep.report import counted
from milkd.upkeep.sharing import exclusive, looking
from milkd.upkeep.steady import steadily
from milkd.upkeep.taking import Taking
from milkd.upkeep.versions import from_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from milkd.store.snapshot import Loaded
    from milkd.upkeep.taking import Held

QUARANTINE = f"{OWN_DIRECTORY}/quarantine"


@dataclass(frozen=True, slots=True)
class Choice:
    """What somebody chose for a scope whose file is damaged.

    Attributes:
        scope: Which one.
        path: A file to take instead; None takes what stands in for it.
    """

    scope: str
    path: str | None = None


def repair(
    store: str,
    choice: Choice | None = None,
    *,
    dry_run: bool = False,
    files: Files | None = None,
    now: Callable[[], float] = time.time,
) -> Outcome:
    """Repair a store on which no milkd works.

    Args:
        store: The directory.
        choice: For one damaged file; without one only that is done which leaves no choice.
        dry_run: Only tell; a milkd may work on the store meanwhile.
        files: The calls to go through.
        now: The wall clock.

    Raises:
        AlreadyRunning: A milkd works on it.
        InvalidParams: There can be no such scope.
        StoreDamaged: The file of the choice is of no use.
        NotFound: There is no store, or nothing that could be chosen.
        VersionMismatch: A newer milkd wrote something of it; nothing was touched.
        Failure: The disk did not give or take something.
    """
    files = files or Files()
    check_scope(None if choice is None else choice.scope)
    try:
        with looking(store, beside=dry_run) as holder:
            look = partial(_look, store, Onlooker(files), now, choice)
            seen = steadily(store, files, holder, look)
        seen.dry_run, seen.running = dry_run, holder
        if dry_run or not seen.done:
            return seen
        with exclusive(store):
            return _Repair(store, files, now, choice).run(act=True)
    except OSError as error:
        raise broken_off("repair", error) from error


def _look(store: str, files: Files, now: Callable[[], float], choice: Choice | None) -> Outcome:
    return _Repair(store, files, now, choice).run(act=False)


class _Repair:
    """One run through a store."""

    def __init__(
        self, store: str, files: Files, now: Callable[[], float], choice: Choice | None
    ) -> None:
        self._outcome = Outcome(store, dry_run=False)
        self._files = files
        self._now = now
        self._choice = choice
        self._taking = Taking(store, files, now)
        self._salvaged = Salvaged()
        self._aside: list[str] = []  # scopes whose damaged files make room for new ones
        self._chosen: dict[str, Loaded] = {}
        self._all = False  # whether every file is to be written anew

    def run(self, *, act: bool) -> Outcome:
        """Find out what is wrong and what there is to do about it, and perhaps do it."""
        own, outcome = self._taking.own, self._outcome
        forget_failures(self._files, own, outcome, act=act)
        name_store(self._files, outcome.store, outcome, act=act, at=self._now())
        self._take_in()
        if self._choice is not None:
            self._choose(self._choice)
        for scope, held in self._taking.scopes.items():
            if held.problem:
                self._look_at_scope(scope, held)
        self._look_at_journals()
        if act and (self._aside or self._all):
            self._write()
        return outcome

    def _take_in(self) -> None:
        own, choice = self._taking.own, self._choice
        store = store_id(self._files, own)
        if choice is not None and choice.path is not None:
            self._chosen[choice.scope] = from_file(self._files, choice.scope, choice.path, store)
        self._salvaged = salvage(self._files, own, store)
        self._taking.open(self._salvaged if self._salvaged.problems else None, self._chosen)

    def _choose(self, choice: Choice) -> None:
        """Have a damaged scope be what was chosen for it."""
        scope, outcome = choice.scope, self._outcome
        held = self._taking.scopes.get(scope)
        if held is None:
            raise NotFound(f"there is nothing of {scope}: neither a file nor an entry of a journal")
        if not held.problem:
            said = f"{scope}.json is not damaged, so there is nothing to choose"
            if choice.path is not None:
                said += f"; `milkctl backup restore {scope} {choice.path}` replaces it all the same"
            outcome.declined = said
            return
        found = held.found
        if found is None or (choice.path is None and not held.has_standin):
            raise NotFound(
                f"{held.problem}; there is no good backup of it: mend it by hand, or name a file "
                f"with --use FILE --scope {scope}"
            )
        held.found = replace(found, frozen=None, dirty=True)
        self._aside.append(scope)

    def _look_at_scope(self, scope: str, held: Held) -> None:
        """What is wrong with a scope's file, and what becomes of it."""
        outcome, name = self._outcome, f"{scope}.json"
        said = held.problem.removeprefix(name).lstrip(": ")
        outcome.problems.append(Problem(name, said, _ways(scope, held) if held.waits else ()))
        if held.waits or held.found is None:
            return
        later = len({seq for seq, _ in held.found.replay})
        source, warnings = held.found.standin or "it counts as empty", tuple[str, ...]()
        if self._choice is not None and scope in self._chosen:
            source = f"{self._choice.path} becomes it"
            warnings = (*self._chosen[scope].warnings, *self._mistaken(scope))
            source += f", with {counted(later, 'later entry')} of the journal" if later else ""
        outcome.done.append(f"{name}: {source}: {_facts(held)}")
        outcome.done += [f"mind: {warning}" for warning in warnings]
        if scope not in self._aside:
            self._aside.append(scope)

    def _mistaken(self, scope: str) -> Iterator[str]:
        """Why the file that was chosen may be the wrong one."""
        path = "" if self._choice is None else self._choice.path or ""
        store = store_id(self._files, self._taking.own)
        return mistaken(self._taking, scope, path, self._chosen[scope], store)

    def _look_at_journals(self) -> None:
        """What is wrong with the journals, and what becomes of them."""
        outcome, salvaged = self._outcome, self._salvaged
        for name, said in salvaged.problems:
            outcome.problems.append(Problem(f"{OWN_DIRECTORY}/{name}", said))
        lost = salvaged.missing
        newest = self._taking.store.newest
        if newest > salvaged.recovered.newest and not self._none_began():
            ahead = self._knowing(newest)
            said = f"holds entry {newest}, but the journal ends with {salvaged.recovered.newest}"
            outcome.problems.append(Problem(f"{ahead[0]}.json" if ahead else OWN_DIRECTORY, said))
            lost += ((salvaged.recovered.newest + 1, newest),)
        if not salvaged.problems and not lost:
            return
        self._all = True
        outcome.saved, outcome.lost = len(salvaged.recovered.entries), lost
        outcome.done.append(self._told(outcome.saved))

    def _none_began(self) -> bool:
        """Whether there is no journal that could have held what is missing."""
        own = self._taking.own
        return none_began(self._files, own, store_id(self._files, own))

    def _told(self, saved: int) -> str:
        """What becomes of the journals, in words."""
        lost = self._outcome.lost
        waiting = self._blocking()
        some = any(held.waits for held in self._taking.scopes.values())
        files = "the other files" if some else "all files"
        told = f"the journals give {counted(saved, 'entry')}; {files} are written anew"
        if lost:
            told += f"; {numbers(lost)} lost"
            if holding := self._knowing(lost[-1][1]):
                told += ", but for what " + ", ".join(f"{each}.json" for each in holding)
                told += f" {'holds' if len(holding) == 1 else 'hold'} of that already"
        if waiting:
            names = ", ".join(f"{scope}.json" for scope in waiting)
            told += f"; the journals stay until it is chosen what becomes of {names}"
        return told

    def _knowing(self, seq: int) -> list[str]:
        """The scopes whose own files hold all entries up to this one."""
        return [
            scope
            for scope, held in self._taking.scopes.items()
            if held.found is not None and not held.problem and held.found.loaded.seq >= seq
        ]

    def _blocking(self) -> list[str]:
        """The scopes of which the journals hold something, and whose files cannot be written."""
        entries = self._salvaged.recovered.entries
        named = {scope_of(change) for entry in entries for change in entry.changes}
        return [
            scope for scope, held in self._taking.scopes.items() if held.waits and scope in named
        ]

    def _write(self) -> None:
        taking, outcome = self._taking, self._outcome
        taking.store.keep_damaged()
        kept = [taking.set_aside(scope) for scope in self._aside]
        taking.save(taking.images(all_of_them=self._all), taking.store.newest)
        names = [os.path.basename(path) for path in (*self._salvaged.damaged, *filter(None, kept))]
        for name in names:
            path = os.path.join(taking.own, "quarantine", name)
            if current_stamp(self._files, path) is not None:  # unless it held what was forgotten
                outcome.kept.append(f"{QUARANTINE}/{name}")


def _ways(scope: str, held: Held) -> tuple[Way, ...]:
    """What can be done about a damaged file."""
    ways = []
    if held.found is not None and held.has_standin:
        effect = f"{held.found.standin}: {_facts(held)}"
        ways.append(Way(f"milkctl repair --accept-backup {scope}", effect))
    use = "FILE becomes it, with what the journal holds that came later"
    ways.append(Way(f"milkctl repair --use FILE --scope {scope}", use))
    restore = f"an earlier version becomes it; `milkctl backup list {scope}` shows them"
    ways.append(Way(f"milkctl backup restore {scope} WHICH", restore))
    return tuple(ways)


def _facts(held: Held) -> str:
    return counted(0 if held.image is None else len(held.image.percepts), "fact")
