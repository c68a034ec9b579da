"""The memory model as a textbook would write it: lists and loops, straight from the rules.

The referee of the real engine, with which it shares no rule.  Each method is a command;
answers are dicts, lists and tuples of plain values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.errors import InvalidParams
from textbook_pass import Passing
from textbook_recall import Recalling
from textbook_shelf import Edge, touched
from textbook_text import meant, only

if TYPE_CHECKING:
    from milkd.engine import commands as ask


class Textbook(Passing, Recalling):
    """Global, archive and the open sessions, by the rules that the knobs choose."""

    def edit(self, c: ask.Edit, now: ask.Now) -> str:
        self.check(c.content)
        _, fact = self.one(c.ref, c.session)
        fact.content, fact.updated_at = c.content, touched(fact.updated_at, now.wall)
        fact.content_at = now.wall
        return fact.id

    def forget(self, c: ask.Forget) -> tuple[str, int]:
        scope, fact = self.one(c.ref, c.session)
        held = [(name, other) for name, s in self.scopes.items() for other in s.facts]
        same = [(n, f) for n, f in held if f is not fact and f.content == fact.content]
        asleep = [f for s in self.closed.values() for f in s.facts if f.content == fact.content]
        for name, gone in [(scope, fact), *(same if c.everywhere else ())]:
            self.delete(name, gone)
        return fact.id, len(same) + len(asleep)

    def restore(self, c: ask.Restore, now: ask.Now) -> str:
        _, fact = only(c.ref, meant(c.ref, self.archived()))
        self.bring_back(fact, now)
        fact.used_at, fact.busy = now.wall, True
        return fact.id

    def relate(self, c: ask.Relate) -> tuple[Edge, bool]:
        edge = self.edge(c)
        return edge, self.add_edge(edge)

    def unrelate(self, c: ask.Unrelate) -> tuple[Edge, bool]:
        edge = self.edge(c)
        holding = [scope for scope in self.scopes.values() if edge in scope.edges]
        for scope in holding:
            scope.edges.remove(edge)
        return edge, bool(holding)

    def edge(self, c: ask.Relate | ask.Unrelate) -> Edge:
        source, target = self.one(c.source, c.session)[1], self.one(c.target, c.session)[1]
        if source is target:
            raise InvalidParams("target", "is the source itself")
        return (source.id, target.id, c.relation)

    def drop_session(self, c: ask.DropSession) -> int:
        gone = self.scopes.pop(c.session).facts
        self.audiences.pop(c.session, None)
        for fact in gone:
            self.drop_edges(fact.id)
        return len(gone)

    def resolve(self, c: ask.Resolve) -> list[str]:
        return [fact.id for _, fact in self.candidates(c.ref, c.session)]

    def show(self, c: ask.Show) -> tuple[str, list[Edge]]:
        _, fact = self.one(c.ref, c.session)
        edges = [edge for scope in self.scopes.values() for edge in scope.edges]
        return fact.id, [edge for edge in edges if fact.id in edge[:2]]

    def explain(self, c: ask.Explain, now: ask.Now) -> tuple[str, float]:
        scope, fact = self.one(c.ref, c.session)
        return fact.id, self.strength(scope, fact, now)
