"""The methods about the store as a whole: snapshot, export, import."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import trio

from milkd.daemon.batches import Answer, at_once
from milkd.daemon.exporting import Export, Position, count, page, unknown_cursor
from milkd.daemon.importing import Intake, Record
from milkd.engine.commands import Import
from milkd.engine.percept import ARCHIVE, GLOBAL, ScopeImage
from milkd.errors import StoreDamaged, VersionMismatch, WireError
from milkd.store.checkpoint import is_void

if TYPE_CHECKING:
    from collections.abc import Sequence

    from milkd.daemon import render
    from milkd.daemon.core import Call, Core
    from milkd.daemon.replays import Operation

PAGE = 100  # records of a page unless told otherwise
SLICE = 100  # records of an import that are checked at one stroke


async def snapshot(core: Core, _: Call) -> Answer:
    """Write every loaded scope now, changed or not."""
    core.commits.check()
    scopes = [name for name in core.engine.sessions() if not is_void(core.engine.image(name))]
    scopes = [GLOBAL, ARCHIVE, *scopes]
    core.commits.kept.want(scopes)
    body: render.Wire = {"files": [f"{scope}.json" for scope in scopes]}
    return Answer(lambda: body, core.checkpoints.ask(), changes=True)


async def export(core: Core, call: Call) -> Answer:
    """A page of the store's records."""
    under_way, position = _continued(core, call)
    name = under_way.scopes[position.scope]
    need = core.commits.newest()
    try:
        image = await _image(core, under_way, name)
    except (StoreDamaged, VersionMismatch) as error:
        damaged: render.Wire = {"scope": name, "kind": "damaged", "reason": str(error)}
        return Answer(lambda: _page(under_way, position, [damaged], 1), need)
    limit = call.arguments.get("limit", PAGE)
    records = page(image, position.record, limit, core.limits.page_bytes)
    return Answer(lambda: _page(under_way, position, records, count(image)), need)


async def import_(core: Core, call: Call) -> Answer:
    """Take records; the final ones apply them all."""
    caller, arguments = call.caller, call.arguments
    try:
        await _take(caller.intake, arguments["records"], core.limits.import_records)
    except WireError:
        caller.intake = Intake()
        raise
    intake = caller.intake
    if not arguments.get("final"):
        return at_once(intake.progress())
    caller.intake = Intake()
    command = Import(images=intake.images())
    async with core.loading.visiting(intake.sessions()):
        if arguments.get("dry_run"):
            return core.preview(command, intake.outcome)
        return core.once(call, partial(_apply_import, core, command, intake, call.operation))


async def _take(intake: Intake, records: Sequence[Record], limit: int) -> None:
    """Check records a few at a time; the other connections get their turns in between."""
    for start in range(0, len(records), SLICE):
        intake.take(records[start : start + SLICE], limit)
        await trio.lowlevel.checkpoint()


def _apply_import(
    core: Core, command: Import, intake: Intake, operation: Operation | None
) -> Answer:
    answer = core.execute(command, intake.outcome, operation)

    def settled(error: WireError | None) -> None:
        if error is None:
            core.sessions.note_imported(intake.sessions())
            core.hub.publish("percepts", "imported", count=answer.body()["accepted"])

    answer.when_settled(settled)
    return answer


def _continued(core: Core, call: Call) -> tuple[Export, Position]:
    """The export of a cursor; a new one without."""
    cursor = call.arguments.get("cursor")
    if cursor is None:
        open_scopes = (GLOBAL, ARCHIVE, *core.sessions.names())
        images = {name: core.engine.image(name) for name in open_scopes}
        number = 1 if call.caller.export is None else call.caller.export.number + 1
        scopes = (*open_scopes, *core.sessions.closed_names())
        call.caller.export = Export(number, scopes, images)
        return call.caller.export, Position()
    if call.caller.export is None:
        raise unknown_cursor()
    return call.caller.export, call.caller.export.position(cursor)


async def _image(core: Core, under_way: Export, name: str) -> ScopeImage:
    """The scope's image: from the beginning of the export, or from its file."""
    if name not in under_way.images:
        if core.engine.is_loaded(name):
            under_way.images[name] = core.engine.image(name)
        else:
            under_way.images[name] = await _closed(core, name)
    return under_way.images[name]


async def _closed(core: Core, name: str) -> ScopeImage:
    """A session that is not loaded."""
    parked = core.commits.kept.parked(name)
    if parked is not None:
        return parked
    found = await core.disk.run(partial(core.store.find, name))
    return core.engine.without_known(found.loaded.image)


def _page(
    under_way: Export, position: Position, records: list[render.Wire], total: int
) -> render.Wire:
    """A page with the cursor of the next one; a scope's last page leads to the next scope."""
    body: render.Wire = {"records": records}
    end = Position(position.scope, position.record + len(records))
    if end.record >= total:
        under_way.images.pop(under_way.scopes[position.scope], None)
        end = Position(position.scope + 1)
    if end.scope < len(under_way.scopes):
        body["next"] = under_way.cursor(end)
    return body
