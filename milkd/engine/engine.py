"""The engine: decides what a command changes, and applies what was decided.

`decide` touches nothing; `apply` consults no rule.  Whoever owns the engine
applies the changes of a decision in order, keeps them somewhere durable, and
answers with the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from milkd.engine import (
    commands,
    consolidation,
    duplicates,
    explaining,
    feedback,
    importing,
    injection,
    looking,
    moving,
    outlook,
    recall,
    relating,
    stating,
    whys,
)
from milkd.engine.analysis import Analyzer
from milkd.engine.guarding import guarded, with_masked
from milkd.engine.lexicon import EMPTY
from milkd.engine.memory import Memory
from milkd.engine.percept import ARCHIVE, GLOBAL, ScopeImage

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from milkd.engine.capture import Capture
    from milkd.engine.changes import Change
    from milkd.engine.commands import Command, Now
    from milkd.engine.lexicon import Lexicon
    from milkd.engine.params import Params
    from milkd.engine.results import Decision

_RULES: dict[type, Callable[[Memory, Any, Now], Decision]] = {
    commands.Record: stating.record,
    commands.Learn: stating.learn,
    commands.Edit: stating.edit,
    commands.Forget: moving.forget,
    commands.Restore: moving.restore,
    commands.Relate: relating.relate,
    commands.Unrelate: relating.unrelate,
    commands.Consolidate: consolidation.consolidate,
    commands.TurnEnd: feedback.turn_end,
    commands.Confirm: feedback.confirm,
    commands.Reject: feedback.reject,
    commands.DropSession: moving.drop_session,
    commands.Import: importing.take_in,
    commands.Query: recall.query,
    commands.Inject: injection.inject,
    commands.List: looking.list_page,
    commands.Show: looking.show,
    commands.Resolve: looking.resolve_all,
    commands.Explain: explaining.explain,
    commands.LookAhead: outlook.look_ahead,
    commands.Why: whys.why,
    commands.Similar: duplicates.similar,
}


class Engine:
    """The memory model over the loaded scopes; one owner, one thread."""

    def __init__(self, params: Params, lexicon: Lexicon = EMPTY) -> None:
        self._memory = Memory(Analyzer(params, lexicon))
        for name in (GLOBAL, ARCHIVE):
            self._memory.load(ScopeImage(name=name), 0.0)

    @property
    def params(self) -> Params:
        """The knobs in force."""
        return self._memory.params

    def configure(self, params: Params) -> None:
        """Put other knobs in force, from the next decision on."""
        analyzer = self._memory.analyzer.under(params)
        self._memory.analyzer = analyzer
        for scope in self._memory.scopes.values():
            scope.configure(analyzer)

    def load(self, image: ScopeImage, running: float = 0.0) -> None:
        """Take a scope in, instead of what was loaded under its name.

        Args:
            image: Global, the archive, or a session, which is open from then on.
            running: The scope's total running seconds at which its strengths are current.
        """
        self._memory.load(image, running)

    def preparing(self, image: ScopeImage) -> Iterator[None]:
        """Do what takes long in loading a scope, a few milliseconds at a time.

        Whoever runs through it may do anything in between, and loads the image right after.
        """
        return self._memory.preparing(image)

    def put_back(self, image: ScopeImage) -> None:
        """Take a scope in as it was when its image was made, whatever else is loaded."""
        self._memory.put_back(image, image.running_seconds)

    def without_known(self, image: ScopeImage) -> ScopeImage:
        """A session's or the archive's image without what global holds too, if it does."""
        return self._memory.without_known(image)

    def without(self, image: ScopeImage, ids: Collection[str]) -> ScopeImage:
        """An image without some percepts and all that hangs on them; itself if it has none."""
        return self._memory.without(image, ids)

    def content(self, percept_id: str) -> str | None:
        """The words of a percept in global or in a loaded session."""
        found = (scope.get(percept_id) for scope in self._memory.live())
        return next((percept.content for percept in found if percept is not None), None)

    def texts(self, percept_id: str) -> set[str]:
        """All that a percept of a loaded scope says or said, by whatever words it is kept."""
        found = (scope.get(percept_id) for scope in self._memory.scopes.values())
        return {
            text
            for percept in found
            if percept is not None
            for text in (percept.content, *(wording.content for wording in percept.wordings))
        }

    def exists(self, percept_id: str, *, beside: str | None = None) -> bool:
        """Whether any scope, but for one, has the percept: loaded, archived or closed."""
        return self._memory.exists(percept_id, beside)

    def ids(self) -> frozenset[str]:
        """All percepts of all scopes: loaded, archived or closed."""
        loaded = (scope.slots for scope in self._memory.scopes.values())
        return frozenset().union(*loaded, *self._memory.dormant.values())

    def unload(self, session: str) -> None:
        """Let a session go; its ids and contents are remembered, its rows are not."""
        scope = self._memory.scopes.pop(session)
        self._memory.audiences.pop(session, None)
        self.set_dormant(session, {p.id: p.content for p in scope.percepts()})

    def set_dormant(self, session: str, contents: Mapping[str, str]) -> None:
        """Tell what a closed session holds: content by id.  An empty one is forgotten."""
        if contents:
            self._memory.dormant[session] = contents
        else:
            self._memory.dormant.pop(session, None)

    def dormant_with(self, content: str) -> tuple[str, ...]:
        """The closed sessions that hold a percept of exactly this content."""
        dormant = self._memory.dormant.items()
        return tuple(name for name, contents in dormant if content in contents.values())

    def sessions(self) -> tuple[str, ...]:
        """The open sessions, in order of opening."""
        return self._memory.sessions()

    def is_loaded(self, scope: str) -> bool:
        """Whether the scope is loaded; global and the archive always are."""
        return scope in self._memory.scopes

    def image(self, scope: str) -> ScopeImage:
        """A loaded scope as a value; untouched percepts are the same objects each time."""
        return self._memory.scopes[scope].image()

    def capture(self, scope: str) -> Capture:
        """A loaded scope as it is now, to be made a value of later, in any thread."""
        return self._memory.scopes[scope].capture()

    def freshen(self, capture: Capture, image: ScopeImage, rows: range) -> None:
        """Remember percepts that were made of a capture, so that they need not be made again.

        Args:
            capture: Of a scope that may have changed since, and been let go.
            image: The value made of it.
            rows: Which of its percepts; a few thousand take some milliseconds.
        """
        scope = self._memory.scopes.get(capture.name)
        if scope is not None:
            scope.freshen(capture, image, rows)

    def compacting(self) -> Iterator[None]:
        """Use up no more room than what is loaded takes, a few milliseconds at a time.

        Whoever runs through it may do anything in between.  Nothing that is asked comes out
        differently for it.
        """
        return self._memory.compacting()

    def read_at(self, scope: str) -> float:
        """The latest reading of a loaded scope's running clock that left a trace."""
        return self._memory.scopes[scope].read_at

    def count(self, scope: str) -> int:
        """Percepts in a loaded scope."""
        return len(self._memory.scopes[scope])

    def unreadable(self, scope: str) -> int:
        """Entries of a loaded scope that ought to be percepts, but cannot be read as such."""
        return self._memory.scopes[scope].count_unread()

    def new_run(self) -> None:
        """Begin a run: percepts may earn evidence and importance, and edges act, again."""
        self._memory.awarded.clear()
        self._memory.acted.clear()
        self._memory.stepped.clear()

    def leave(self, caller: str) -> None:
        """Forget what a connection without a session was shown."""
        self._memory.audiences.pop(caller, None)

    def decide(self, command: Command, now: Now) -> Decision:
        """What a command changes and answers, without changing it.

        Args:
            command: Its session, if any, must be loaded.
            now: Wall time and running times of the moment.

        Raises:
            WireError: The command can't be granted; nothing is to be done.
        """
        command, kinds = guarded(command, self.params)
        decision = _RULES[type(command)](self._memory, command, now)
        return with_masked(decision, kinds) if kinds else decision

    def apply(self, change: Change) -> None:
        """Make one change of a decision so."""
        self._memory.apply(change)

    def revoke(self, change: Change) -> None:
        """Take back what this run alone remembers of a change that the disk refused.

        All else about it goes when its scope is loaded again.
        """
        self._memory.revoke(change)

    def apply_all(self, changes: Iterable[Change]) -> None:
        """Make the changes of a decision so, in order."""
        for change in changes:
            self._memory.apply(change)
