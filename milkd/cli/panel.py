"""What `milkctl watch` shows, as lines for a screen of a size.

Pure: an outlook of the daemon and what happened lately go in, lines come out.
"""

from __future__ import annotations

from itertools import zip_longest

from milkd.cli.output import counted, duration, short, visible
from milkd.cli.strokes import Line, Palette, bar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from milkd.shapes import Due, Outlook, Percept, Shelf

__all__ = ["Happening", "panel"]

WIDE = 120  # columns from which the lists stand side by side
GAP = "  "
LEAST = 2  # lines of a list that has anything, however low the screen
NOTES = 5  # lines of what is ahead, and of what happened
WEAK, STRONG = "31", "32"  # red and green: legible on a dark ground and on a light one
FADING = 0.4  # below it a fact is neither recalled nor injected by default


class Happening:
    """Something that happened.

    Args:
        at: The time of day, as people read it.
        what: In a word or two.
        ident: Of the fact that it happened to.
        content: What that says, if known.
    """

    __slots__ = ("at", "content", "ident", "what")

    def __init__(self, at: str, what: str, ident: str | None = None, content: str = "") -> None:
        self.at = at
        self.what = what
        self.ident = ident
        self.content = content


def panel(
    outlook: Outlook | None,
    happenings: Sequence[Happening],
    fresh: Collection[str],
    *,
    title: str,
    size: tuple[int, int],
    palette: Palette,
) -> list[tuple[str, int]]:
    """The lines, each with the columns that it takes.

    Args:
        outlook: What the daemon says; None if there is none.
        happenings: What happened in the last minute, the latest first.
        fresh: Ids of facts that changed in the last minute; they are bold.
        title: What stands above all.
        size: Columns and lines of the screen.
        palette: How it may look.
    """
    columns, rows = size
    head = Line(columns, palette).add("milkd", "1").add("  q quits  ", "2").add(title)
    if outlook is None:
        lost = Line(columns, palette).add("no daemon is running; waiting for one", WEAK)
        return [(line.text, line.taken) for line in (head, lost)][:rows]
    drawn = _Drawing(columns, palette, fresh)
    body = drawn.wide(outlook, happenings, rows - 1)
    if columns < WIDE:
        body = drawn.narrow(outlook, happenings, rows - 1)
    return [(line.text, line.taken) for line in (head, *body)][:rows]


class _Drawing:
    """The parts of a panel, in the looks that they have in common."""

    def __init__(self, columns: int, palette: Palette, fresh: Collection[str]) -> None:
        self._columns = columns
        self._palette = palette
        self._fresh = fresh

    def narrow(
        self, outlook: Outlook, happenings: Sequence[Happening], rows: int
    ) -> Iterator[Line]:
        """All below each other: what is ahead and what happened get their lines first."""
        notes = [*self._ahead(outlook, self._columns), *self._lately(happenings, self._columns)]
        lists = _lists(outlook)
        notes = notes[: max(0, rows - (1 + LEAST) * len(lists))]
        rooms = _shared([len(facts) for _, _, facts in lists], rows - len(notes) - len(lists))
        for (name, total, facts), room in zip(lists, rooms, strict=True):
            yield from self._list(name, total, facts, room, self._columns)
        yield from notes

    def wide(self, outlook: Outlook, happenings: Sequence[Happening], rows: int) -> Iterator[Line]:
        """The lists side by side, and below them what is ahead beside what happened."""
        lists = _lists(outlook)
        half = (self._columns - len(GAP)) // 2
        notes = self._beside([self._ahead(outlook, half), self._lately(happenings, half)], half)
        notes = notes[: max(0, rows - 1 - LEAST)]
        room = (self._columns - len(GAP) * (len(lists) - 1)) // len(lists)
        drawn = [
            list(self._list(name, total, facts, rows - len(notes) - 1, room))
            for name, total, facts in lists
        ]
        yield from self._beside(drawn, room)
        yield from notes

    def _beside(self, parts: Sequence[Sequence[Line]], room: int) -> list[Line]:
        lines = []
        for row in zip_longest(*parts):
            line = Line(self._columns, self._palette)
            cells = [Line(room, self._palette) if cell is None else cell for cell in row]
            line.text = GAP.join(cell.padded() for cell in cells[:-1])
            line.text += (GAP if line.text else "") + cells[-1].text
            line.taken = (room + len(GAP)) * (len(cells) - 1) + cells[-1].taken
            lines.append(line)
        return lines

    def _list(
        self, name: str, total: int, facts: Sequence[Percept], rows: int, room: int
    ) -> Iterator[Line]:
        """A heading, and the facts that there is room for."""
        shown = facts[: max(0, rows)]
        head = self._line(room).add(f"{name} ", "1").add(counted(total, "fact"))
        if len(shown) < total:
            head.add(f", {len(shown)} shown")
        yield head
        for percept in shown:
            yield self._fact(percept, room)

    def _fact(self, percept: Percept, room: int) -> Line:
        w = percept["w"]
        shape = bar(w, 5 if room < 60 else 10, blocks=self._palette.blocks)
        changed = percept["id"] in self._fresh
        line = self._line(room).add(shape, WEAK if w < FADING else STRONG)
        line.add(f" {w:.2f} ", "1" if changed else "")
        if room >= 60:
            line.add(f"{short(percept['id'])} ", "2")
        return line.add(visible(percept["content"]), "1" if changed else "")

    def _ahead(self, outlook: Outlook, room: int) -> list[Line]:
        due = outlook["due"][:NOTES]
        if not due:
            return []
        more = outlook["total_due"] - len(due)
        head = self._line(room).add("AHEAD", "1").add(f" and {more} more" if more > 0 else "")
        return [head, *(self._due(each, room) for each in due)]

    def _due(self, due: Due, room: int) -> Line:
        when = _when(due)
        style = WEAK if due["what"] in ("pruned", "archived") else ""
        return self._line(room).add(f"{when}  ", style).add(visible(due["content"]))

    def _lately(self, happenings: Sequence[Happening], room: int) -> list[Line]:
        if not happenings:
            return []
        lines = [self._line(room).add("LAST MINUTE", "1")]
        for each in happenings[:NOTES]:
            line = self._line(room).add(f"{each.at} {each.what}  ")
            if each.ident is not None:
                line.add(f"{short(each.ident)} ", "2").add(visible(each.content))
            lines.append(line)
        return lines

    def _line(self, room: int) -> Line:
        return Line(room, self._palette)


def _lists(outlook: Outlook) -> list[tuple[str, int, list[Percept]]]:
    """Title, number and facts of each list; core facts are in one of their own."""
    shared = outlook["scopes"][0]
    lists = [_list_of(shelf) for shelf in outlook["scopes"][1:]]
    faithful = [percept for percept in shared["percepts"] if percept.get("core")]
    others = [percept for percept in shared["percepts"] if not percept.get("core")]
    lists.append(("GLOBAL", shared["total"] - shared["core"], others))
    lists.append(("CORE", shared["core"], faithful))
    return lists


def _list_of(shelf: Shelf) -> tuple[str, int, list[Percept]]:
    return f"SESSION {shelf.get('session', '')}", shelf["total"], shelf["percepts"]


def _when(due: Due) -> str:
    """What comes, and when."""
    seconds = due.get("in_seconds")
    what = due["what"].replace("_", " ")
    if seconds is None:
        return what
    return f"{what} next pass" if seconds == 0 else f"{what} in {duration(seconds)}"


def _shared(wanted: Sequence[int], room: int) -> list[int]:
    """The room shared out: nobody gets more than wanted, and nobody less than others want."""
    rooms = [0] * len(wanted)
    left = room
    while left > 0 and (hungry := [i for i, want in enumerate(wanted) if rooms[i] < want]):
        for index in hungry[:left]:
            rooms[index] += 1
        left -= min(left, len(hungry))
    return rooms
