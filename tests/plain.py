"""What both the engine and the textbook can show and answer, in plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from milkd.engine import results

if TYPE_CHECKING:
    from collections.abc import Mapping

    from milkd.engine.percept import Edge, Percept
    from textbook_shelf import Fact


class Row(NamedTuple):
    """A percept as both sides can show it; all but `w` and `idle` must be equal."""

    id: str
    content: str
    producer: str
    consumer: str | None
    core: bool
    evidence: int
    created_at: float
    updated_at: float
    last_used_at: float | None
    roles: Mapping[str, object]
    archived_at: float | None
    archived_reason: str | None
    importance: float | None
    recalls: tuple[int, int, float | None]
    wordings: list[tuple[str, float]]
    w: float
    idle: float


def ends(edge: Edge) -> tuple[str, str, str]:
    return (edge.source, edge.target, str(edge.relation))


def row_of_percept(p: Percept) -> Row:
    return Row(p.id, p.content, p.producer, p.consumer, p.core, p.evidence, p.created_at,
               p.updated_at, p.last_used_at, p.roles, p.archived_at, p.archived_reason,
               p.importance, (p.recall_count, p.bad_recall_count, p.last_confirmed_use_at),
               [(wording.content, wording.at) for wording in p.wordings],
               p.w, p.idle_seconds)  # fmt: skip


def row_of_fact(f: Fact) -> Row:
    return Row(f.id, f.content, f.producer, f.consumer, f.core, f.evidence, f.created_at,
               f.updated_at, f.used_at, f.roles, f.archived_at, f.reason, f.importance,
               (f.recalls, f.bad_recalls, f.confirmed_at), f.wordings, f.w, f.idle)  # fmt: skip


def plain(result: results.Result) -> Any:
    """An engine's answer as the textbook would give it."""
    match result:
        case results.Outcome():
            return plain_outcome(result)
        case results.View():
            return result.percept.id
        case results.Forgotten():
            return result.id, result.others
        case results.Related():
            return ends(result.edge), result.changed
        case results.Report():
            return plain_report(result)
        case results.Dropped():
            return result.percepts
        case results.Recalled():
            return plain_recollection(result)
        case results.Injection():
            assert result.bytes == len(result.text.encode())
            shown = [*result.ids, *(each.id for each in result.neighbours)]
            assert explained(result.candidates) in (None, shown)
            return list(result.ids), result.text
        case results.Page():
            return [view.percept.id for view in result.views], result.total
        case results.Alike():
            return plain_alike(result)
        case results.Detail():
            return result.view.percept.id, [ends(edge) for edge in result.edges]
        case results.Explanation():
            return result.view.percept.id, result.w_now
        case tuple():
            return [view.percept.id for view in result if isinstance(view, results.View)]
    return result


def plain_recollection(result: results.Recalled) -> list[tuple[Any, ...]]:
    found = [(hit.view.percept.id, hit.hits, hit.superseded_by) for hit in result.hits]
    near = [(each.view.percept.id, each.of, each.via) for each in result.neighbours]
    assert explained(result.candidates) in (None, [one for one, *_ in [*found, *near]])
    return [*found, *near]


def explained(candidates: tuple[results.Candidate, ...] | None) -> list[str] | None:
    """The ids that the reasons say are in the answer."""
    return None if candidates is None else [c.id for c in candidates if c.included]


def plain_alike(result: results.Alike) -> tuple[Any, ...]:
    other = result.look_alike
    assert other is None or other.reason
    found = [(one.view.percept.id, one.similarity) for one in result.likenesses]
    return found, result.duplicate, other and other.id


def plain_outcome(o: results.Outcome) -> dict[str, Any]:
    known, other, edge = o.existing, o.look_alike, None if o.edge is None else ends(o.edge)
    assert other is None or other.reason
    return {
        "id": o.id,
        "status": o.status,
        "similarity": o.similarity,
        "w": o.w,
        "evidence": o.evidence,
        "scope": o.scope,
        "existing": known and (known.id, known.content, known.w, known.similarity),
        "look_alike": other and (other.id, other.content, other.w, other.similarity),
        "edge": edge,
        "edge_error": o.edge_error is not None,
    }


TOTALS = ("global_decayed", "archived", "evicted", "global_total")
EVERYWHERE = (
    "decayed", "pruned", "promoted", "promotion_deferred", "merged", "edges_applied",
    "running_seconds",
)  # fmt: skip


def plain_report(report: results.Report) -> dict[str, Any]:
    found = {name: getattr(report, name) for name in (*EVERYWHERE, *TOTALS)}
    return found | {
        "sessions": {
            name: {key: getattr(own, key) for key in EVERYWHERE}
            for name, own in report.sessions.items()
        }
    }
