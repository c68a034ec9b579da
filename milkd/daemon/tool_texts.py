"""What a tool's result says to a model, in milk's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milkd.daemon.render import scope_name
from milkd.engine.references import short
from milkd.engine.rendering import neutralised

if TYPE_CHECKING:
    from milkd.engine import results

NOTHING_FOUND = "(no relevant memories found)"
NOTHING_LISTED = "(no percepts found)"
_KNOWN = {
    "reinforced": "already known — reinforced",
    "echoed": "already known — repeated, nothing strengthened",
    "revived": "already known — brought back from the archive",
}


def recorded(outcome: results.Outcome) -> str:
    """What became of a stated fact."""
    where = f"{scope_name(outcome.scope)}, w {outcome.w:.2f}"
    if outcome.existing is None:
        lines = [f"recorded {short(outcome.id)} ({where})"]
    else:
        known = neutralised(outcome.existing.content)
        how = f"{_KNOWN[outcome.status]} ({outcome.similarity:.0%} similar)"
        lines = [f"{how}: {short(outcome.id)} {known} ({where})"]
    if other := outcome.look_alike:
        stored = "stored beside" if outcome.existing is None else "not held for"
        lines.append(f"{stored} {short(other.id)} {neutralised(other.content)}: {other.reason}")
    if outcome.doubted:
        lines.append("recorded as the agent's own: the user's prompt of this turn does not say it")
    if outcome.masked:
        lines.append(f"not stored: {', '.join(outcome.masked)}")
    if edge := outcome.edge:
        lines.append(f"{short(edge.source)} {edge.relation} {short(edge.target)}")
    if outcome.edge_error:
        lines.append(f"recorded without its relation: {outcome.edge_error}")
    return "\n".join(lines)


def recalled(value: results.Recalled) -> str:
    """A line a fact; what an edge joins to one stands below it."""
    beside: dict[str, list[results.Near]] = {}
    for near in value.neighbours:
        beside.setdefault(near.of, []).append(near)
    lines = []
    for hit in value.hits:
        percept = hit.view.percept
        newer = f" (superseded by {short(hit.superseded_by)})" if hit.superseded_by else ""
        lines.append(f"[{percept.w:.2f}] {neutralised(percept.content)}{newer}")
        for near in beside.get(percept.id, ()):
            other = near.view.percept
            lines.append(f"  {near.via}: [{other.w:.2f}] {neutralised(other.content)}")
    return "\n".join(lines) or NOTHING_FOUND


def listed(page: results.Page) -> str:
    """A table, as milk prints it."""
    if not page.views:
        return NOTHING_LISTED
    rows = [("ID", "SCOPE", "W", "CORE", "PRODUCER", "FOR", "CONTENT")]
    for view in page.views:
        each = view.percept
        core, consumer = "core" if each.core else "", each.consumer or "all"
        what = (short(each.id), scope_name(view.scope), f"{each.w:.2f}", core, each.producer)
        rows.append((*what, consumer, neutralised(each.content)))
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    lines = ["  ".join([*map(str.ljust, row[:6], widths), row[6]]).rstrip() for row in rows]
    if page.next_offset is not None:
        lines.append(f"({len(page.views)} of {page.total}; narrow it down by pattern or min_w)")
    return "\n".join(lines)


def forgotten(value: results.Forgotten) -> str:
    """What is gone, and what is not."""
    told = f"deleted {short(value.id)} {neutralised(value.content)}"
    return f"{told}\n{value.others} more of the same text elsewhere" if value.others else told


def related(value: results.Related) -> str:
    """The edge."""
    known = "" if value.changed else " (already)"
    edge = value.edge
    return f"{short(edge.source)} {edge.relation} {short(edge.target)}{known}"


def explained(value: results.Explanation) -> str:
    """What holds and what comes next."""
    percept = value.view.percept
    lines = [f"{short(percept.id)} {neutralised(percept.content)}", *value.holds, *value.next]
    return "\n".join(lines)
