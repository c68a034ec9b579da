"""Snapshot, export and import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from daemon.doubles import House, MemoryStore, Peer, open_house
from milkd.daemon.limits import Limits
from milkd.engine.percept import Edge, Engram, Percept, ScopeImage
from milkd.errors import StoreDamaged

if TYPE_CHECKING:
    from collections.abc import Iterable

TIMES: dict[str, Any] = {"created_at": 1.0, "updated_at": 2.0}
TIME = "2026-01-01T00:00:00Z"


def id_of(number: int) -> str:
    return f"{number:08x}-aaaa-4000-8000-000000000000"


def percept(number: int, content: str, **more: Any) -> Percept:
    return Percept(id=id_of(number), content=content, producer="primary", w=0.5, **(TIMES | more))


def well_filled() -> MemoryStore:
    ids = [id_of(n) for n in range(1, 5)]
    return MemoryStore(
        {
            "global": ScopeImage(
                name="global",
                percepts=(percept(1, "one", extra={"mood": ["fine", 1]}), percept(2, "two")),
                engrams=(
                    Engram(
                        id="00000007-bbbb-4000-8000-000000000000",
                        subject_label="numbers",
                        composite_w=0.5,
                        percept_ids=(ids[0],),
                        **TIMES,
                    ),
                ),
                edges=(Edge(ids[0], ids[1], "extends"),),
                running_seconds=8.0,
            ),
            "archive": ScopeImage(
                name="archive",
                percepts=(percept(3, "three", archived_at=3.0, archived_reason="stale"),),
            ),
            "s1": ScopeImage(name="s1", percepts=(percept(4, "four"),)),
        }
    )


async def exported(peer: Peer, limit: int = 100) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    page = await peer.call("export", limit=limit)
    while True:
        assert len(page["records"]) <= limit
        records += page["records"]
        if "next" not in page:
            return records
        page = await peer.call("export", limit=limit, cursor=page["next"])


async def imported(peer: Peer, records: Iterable[object], **more: object) -> Any:
    return await peer.call("import", records=list(records), final=True, **more)


def without_meta(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for record in records if record["kind"] != "meta"]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
async def test_an_export_holds_everything_whatever_the_size_of_its_pages(limit: int) -> None:
    async with open_house(well_filled()) as house:
        records = await exported(await house.connect(), limit)
        kinds = [(record["scope"], record["kind"]) for record in records]
        assert kinds == [
            ("global", "meta"),
            ("global", "percept"),
            ("global", "percept"),
            ("global", "engram"),
            ("global", "edge"),
            ("archive", "meta"),
            ("archive", "percept"),
            ("s1", "meta"),
            ("s1", "percept"),
        ]
        assert records[0]["running_seconds"] == 8.0
        assert records[1]["mood"] == ["fine", 1]
        assert not house.core.engine.is_loaded("s1")


async def test_an_export_is_of_the_moment_at_which_it_began() -> None:
    async with open_house(well_filled()) as house:
        peer, other = await house.connect(), await house.connect()
        page = await peer.call("export", limit=1)
        await other.call("forget", ref="one")
        await other.call("record", content="a latecomer")
        contents = []
        while "next" in page:
            page = await peer.call("export", limit=1, cursor=page["next"])
            contents += [record.get("content") for record in page["records"]]
        assert [content for content in contents if content] == ["one", "two", "three", "four"]


async def test_long_facts_make_short_pages() -> None:
    percepts = tuple(percept(n, f"{n} " + "x" * 4_000) for n in range(9))
    store = MemoryStore({"global": ScopeImage(name="global", percepts=percepts)})
    async with open_house(store, limits=Limits(page_bytes=20_000)) as house:
        peer = await house.connect()
        assert len((await peer.call("export"))["records"]) == 3
        assert len(without_meta(await exported(peer))) == 9


async def test_only_cursors_of_the_same_export_are_taken() -> None:
    async with open_house(well_filled()) as house:
        peer, other = await house.connect(), await house.connect()
        cursor = (await peer.call("export", limit=1))["next"]
        assert (await other.refusal("export", cursor=cursor)).startswith("invalid_params: cursor")
        await peer.call("export", limit=1)
        for bad in (cursor, "e2.0", "e2.9.0", "e2.-1.0", "nonsense", "e2.0." + "9" * 50):
            assert (await peer.refusal("export", cursor=bad)).startswith("invalid_params: cursor")


async def test_a_damaged_session_is_named_in_the_export() -> None:
    store = well_filled()
    store.damaged["s0"] = StoreDamaged("s0.json: not JSON")
    async with open_house(store) as house:
        records = await exported(await house.connect(), 2)
        (damaged,) = [record for record in records if record["kind"] == "damaged"]
        assert damaged == {"scope": "s0", "kind": "damaged", "reason": "s0.json: not JSON"}
        assert [r["content"] for r in records if r["kind"] == "percept"][-1] == "four"


async def test_an_export_comes_back_whole_by_an_import() -> None:
    async with open_house(well_filled()) as house:
        records = await exported(await house.connect())
    async with open_house() as house:
        peer = await house.connect()
        assert await imported(peer, records) == {"accepted": 6, "refused": []}
        assert without_meta(await exported(peer)) == without_meta(records)
        assert not house.core.engine.is_loaded("s1")
        assert [p.content for p in house.store.files["s1"].percepts] == ["four"]


async def test_an_import_may_come_in_parts() -> None:
    async with open_house(well_filled()) as house:
        records = await exported(await house.connect())
    async with open_house() as house:
        peer = await house.connect()
        parts = [
            await peer.call("import", records=[record], final=False) for record in records[:-1]
        ]
        assert parts[-1]["accepted"] == 5
        assert (await peer.call("list"))["total"] == 0
        assert (await imported(peer, records[-1:]))["accepted"] == 6
        assert (await peer.call("list"))["total"] == 2


def as_record(**more: object) -> dict[str, object]:
    return {
        "scope": "global",
        "kind": "percept",
        "id": "11111111-aaaa-4000-8000-000000000000",
        "content": "comes from elsewhere",
        "producer": "user",
        "w": 0.5,
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
    } | more


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"w": 4}, "w: "),
        ({"w": None}, "w: "),
        ({"created_at": 1_700_000_000}, "created_at: "),
        ({"created_at": None}, "created_at: found nothing"),
        ({"updated_at": "yesterday"}, "updated_at: "),
        ({"last_used_at": 1_700_000_000_000}, "last_used_at: "),
        ({"importance": 4}, "importance: "),
        ({"importance": 0}, "importance: found 0, expected a number, 0.1 to 1"),
        ({"IMPORTANCE": 0.05}, "importance: "),
        ({"evidence": 1.5}, "evidence: "),
        ({"idle_seconds": -1}, "idle_seconds: "),
        ({"content": "x" * 8193}, "content: found 8193 bytes"),
        ({"engram_id": "0000"}, "engram_id: no engram of global has this id"),
        ({"wordings": [{"content": "x" * 8193, "at": TIME}]}, "wordings[0].content: found 8193"),
        ({"wordings": [{"content": "a\0b", "at": TIME}]}, "wordings[0].content: found a NUL"),
        ({"wordings": [{"content": "x"}]}, "wordings[0].at: found nothing"),
        ({"wordings": [{"content": "x", "at": TIME}] * 101}, "wordings: found 101"),
        ({"roles": {"theme": "x" * 1025}}, "roles.theme: found 1,025 bytes"),
        ({"roles": {"theme": "a\0b"}}, "roles.theme: found a NUL"),
        ({"scope": "archive", "archived_reason": "bored"}, 'archived_reason: found "bored"'),
        ({"content": ""}, "content: "),
        ({"content": "   "}, "content: "),
        ({"id": 7}, "id: "),
        ({"scope": "../../etc"}, "scope: "),
        ({"scope": 3}, "scope: "),
        ({"scope": "session"}, "scope: "),
        ({"kind": "wish"}, "kind: "),
        ({"kind": ["percept"]}, "kind: "),
        ({"kind": "edge"}, "from: "),
        ({"kind": "meta", "extra": 3}, "extra: "),
        ({"kind": "meta", "extra": {"Percepts": []}}, "extra: found the key 'Percepts'"),
        ({"kind": "meta", "extra": {"_milkd": {}}}, "extra: found the key '_milkd'"),
        ({"kind": "damaged"}, "the store that it comes from could not read"),
        (
            {"kind": "unreadable", "list": "edges", "value": {"from": "a"}},
            "the store that it comes from could not use it: to: found nothing",
        ),
        (
            {
                "kind": "unreadable",
                "list": "edges",
                "value": {"from": "a", "to": "b", "relation": "c"},
            },
            "the store that it comes from could not use it: it is the same as another",
        ),
        ({"kind": "unreadable", "list": "wishes"}, "the store that it comes from could not use"),
        ({"producer": "martian"}, "producer: "),
        ({"producer": ""}, "producer: "),
        ({"consumer": "martian"}, "consumer: "),
        ({"roles": {"colour": "red"}}, "roles: "),
        ({"roles": {"theme": 3}}, "roles.theme: "),
        ({"id": "abc"}, "id: "),
        ({"id": "with a blank"}, "id: "),
        ({"archived_at": "2026-01-01T00:00:00Z"}, "archived_at: "),
        ({"archived_reason": "stale"}, "archived_reason: "),
    ],
)
async def test_a_wrong_record_is_refused_by_its_index(
    wrong: dict[str, object], reason: str
) -> None:
    async with open_house() as house:
        peer = await house.connect()
        other = as_record(id="22222222-aaaa-4000-8000-000000000000", content="all right")
        answer = await imported(peer, [other, as_record(**wrong)])
        assert answer["accepted"] == 1
        assert answer["refused"][0]["index"] == 1
        assert answer["refused"][0]["reason"].startswith(reason)


def as_engram(*members: int, **more: object) -> dict[str, Any]:
    return {
        "scope": "global",
        "kind": "engram",
        "id": "e-engram",
        "subject_label": "x",
        "percept_ids": [id_of(n) for n in members],
        "created_at": TIME,
        "updated_at": TIME,
    } | more


def as_edge(source: int, target: int, relation: str = "extends", **more: object) -> dict[str, Any]:
    ends = [id_of(n) for n in (source, target)]
    record = {"scope": "global", "kind": "edge", "from": ends[0], "to": ends[1]}
    return record | {"relation": relation} | more


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (as_edge(1, 1), "to: found the percept itself"),
        (as_edge(1, 3, "haunts"), 'relation: found "haunts", expected contradicts, derives, ext'),
        (as_edge(1, 9), "to: no percept has this id"),
        (as_edge(9, 1), "from: no percept has this id"),
        (as_edge(1, 2), "relation: an edge of these ends and this relation exists already"),
        (
            as_engram(),
            "percept_ids: found none",
        ),
        (as_engram(1, id="!"), "id: "),
        (as_engram(1, created_at=None), "created_at: found nothing"),
        (as_engram(1, composite_w=2), "composite_w: "),
        (as_engram(1, subject_label="x" * 1025), "subject_label: found 1,025 bytes"),
        (as_engram(1, subject_label=" NUMBERS"), "subject_label: an engram of global has this"),
        (as_engram(1, id="00000007-bbbb-4000-8000-000000000000"), "id: an engram of this id"),
        (as_engram(1, 9), "percept_ids[1]: no percept of global has this id"),
        (as_engram(1, 4), "percept_ids[1]: no percept of global has this id"),
        (as_engram(1, 1), "percept_ids: found a percept twice"),
    ],
)
async def test_an_edge_or_engram_that_hangs_in_the_air_is_refused(
    wrong: dict[str, object], reason: str
) -> None:
    async with open_house(well_filled()) as house:
        peer = await house.connect()
        answer = await imported(peer, [as_edge(1, 4), wrong])
        assert answer["accepted"] == 1
        assert [refused["index"] for refused in answer["refused"]] == [1]
        assert answer["refused"][0]["reason"].startswith(reason)


async def test_an_edge_may_come_before_its_ends_and_lead_to_another_scope() -> None:
    async with open_house(well_filled()) as house:
        peer = await house.connect()
        far = as_record(scope="s2", id="00000008-aaaa-4000-8000-000000000000")
        assert await imported(peer, [as_edge(2, 8), far]) == {"accepted": 2, "refused": []}


async def test_an_edge_of_a_refused_percept_is_refused() -> None:
    async with open_house(well_filled()) as house:
        peer = await house.connect()
        far = as_record(id="00000008-aaaa-4000-8000-000000000000", content=" ")
        answer = await imported(peer, [as_edge(2, 8), far])
        assert answer["accepted"] == 0
        assert [refused["index"] for refused in answer["refused"]] == [0, 1]


async def test_the_export_of_the_same_store_is_refused_as_a_whole() -> None:
    async with open_house(well_filled()) as house:
        peer = await house.connect()
        records = await exported(peer)
        answer = await imported(peer, records)
        whole = [n for n, record in enumerate(records) if record["kind"] != "meta"]
        assert answer["accepted"] == 0
        assert [refused["index"] for refused in answer["refused"]] == whole
        assert all(refused["reason"].endswith("exists already") for refused in answer["refused"])
        assert not house.store.commits
        assert await exported(peer) == records


@pytest.mark.parametrize(
    "nothing",
    [
        {"scope": "s3", "w": "high"},
        {"scope": "s3", "kind": "meta"},
        {"scope": "s3", "content": " "},
        {"scope": "s1", "id": "00000004-aaaa-4000-8000-000000000000"},
    ],
)
async def test_a_closed_session_in_which_nothing_is_taken_does_no_harm(
    nothing: dict[str, object],
) -> None:
    async with open_house(well_filled()) as house:
        peer = await house.connect()
        other = as_record(id="22222222-aaaa-4000-8000-000000000000", content="all right")
        assert (await imported(peer, [other, as_record(**nothing)]))["accepted"] == 1
        assert (await peer.call("record", content="life goes on"))["status"] == "inserted"
        listed = [session["session"] for session in (await peer.call("session_list"))["sessions"]]
        assert listed == ["s1"]
        assert house.core.engine.sessions() == ()


async def test_a_backup_with_one_new_fact_comes_in_while_its_sessions_are_closed() -> None:
    async with open_house(well_filled()) as house:
        peer = await house.connect()
        records = await exported(peer)
        new = as_record(id="22222222-aaaa-4000-8000-000000000000", content="all right")
        assert (await imported(peer, [*records, new]))["accepted"] == 1
        assert (await imported(peer, records))["accepted"] == 0


async def test_the_export_of_an_empty_session_can_be_imported() -> None:
    async with open_house(well_filled()) as house:
        peer = await house.connect()
        await peer.call("session_open", session="s2")
        records = await exported(peer)
    async with open_house() as house:
        peer = await house.connect()
        assert (await imported(peer, records))["refused"] == []
        listed = [session["session"] for session in (await peer.call("session_list"))["sessions"]]
        assert listed == ["s1"]


async def test_what_is_no_entry_of_milkds_own_comes_along() -> None:
    store = well_filled()
    odd = percept(5, "odd", extra={"scope": "ours?", "kind": 3, "shadowed": {"rank_score": 1}})
    image = ScopeImage(
        name="s1",
        percepts=(odd,),
        extra={"version": [1, 2], "_milkd": {"of": "a newer one"}},
        unreadable=(("percepts", 0, {"id": 7}),),
    )
    store.files["s1"] = image
    async with open_house(store) as house:
        records = await exported(await house.connect())
    (raw,) = [record for record in records if record["kind"] == "unreadable"]
    assert raw == {
        "scope": "s1",
        "kind": "unreadable",
        "list": "percepts",
        "position": 0,
        "value": {"id": 7},
    }
    async with open_house() as house:
        peer = await house.connect()
        answer = await imported(peer, records)
        assert [records[each["index"]] for each in answer["refused"]] == [raw]
        records.remove(raw)
        assert without_meta(await exported(peer)) == without_meta(records)
        assert house.store.files["s1"].percepts == (odd,)
        assert house.store.files["s1"].extra == {"version": [1, 2]}


async def test_keys_of_another_program_are_added_but_never_changed() -> None:
    store = well_filled()
    held = {"mood": {"good": True}, "version": 1}
    store.files["global"] = ScopeImage(name="global", extra=held)
    meta: dict[str, Any] = {"scope": "global", "kind": "meta"}
    async with open_house(store) as house:
        peer = await house.connect()
        same = meta | {"extra": {"version": 1}}
        assert await imported(peer, [same]) == {"accepted": 0, "refused": []}
        assert not house.store.commits
        other = meta | {"extra": {"version": 2, "new": 3}}
        (refused,) = (await imported(peer, [as_record(), other]))["refused"]
        assert refused == {"index": 1, "reason": "extra: the store has another value of 'version'"}
        assert house.store.files["global"].extra == held
        new = [meta | {"extra": {"new": number}} for number in (3, 3, 4)]
        (refused,) = (await imported(peer, new))["refused"]
        assert refused["index"] == 2
        assert house.store.files["global"].extra == held | {"new": 3}


async def test_scopes_are_exported_in_the_order_of_their_names() -> None:
    async with open_house() as house:
        peer = await house.connect()
        for session in ("b", "c", "a"):
            await peer.call("record", content=f"a fact of {session}", session=session)
        await peer.call("session_close", session="b")
        scopes = dict.fromkeys(record["scope"] for record in await exported(peer))
        assert list(scopes) == ["global", "archive", "a", "b", "c"]


async def test_what_is_too_large_for_an_answer_is_named_in_its_place() -> None:
    deep: list[Any] = []
    for _ in range(21):
        deep = [deep]
    percepts = (
        percept(1, "one", extra={"long": "x" * (3 << 20)}),
        percept(2, "two", extra={"deep": deep}),
        percept(3, "three"),
    )
    store = MemoryStore({"global": ScopeImage(name="global", percepts=percepts)})
    async with open_house(store) as house:
        records = without_meta(await exported(await house.connect()))
    long, nested, last = records
    assert long["kind"] == nested["kind"] == "damaged"
    assert long["reason"].startswith(f"percept {id_of(1)}: about ")
    assert nested["reason"].startswith(f"percept {id_of(2)}: nested deeper")
    assert last["content"] == "three"


async def test_percepts_and_engrams_come_in_together_or_not_at_all() -> None:
    async with open_house() as house:
        peer = await house.connect()
        member = as_record(id=id_of(1), engram_id="e-engram")
        for wrong in (as_engram(1, 2), as_engram(1, subject_label="")):
            answer = await imported(peer, [member, wrong], dry_run=True)
            assert answer["accepted"] == 0
        answer = await imported(peer, [as_engram(1), member, as_engram(1, id="another")])
        assert answer["accepted"] == 2
        assert answer["refused"][0]["reason"] == "subject_label: an engram of global has this label"


async def test_what_is_refused_takes_along_what_hangs_on_it() -> None:
    async with open_house(well_filled()) as house:
        peer = await house.connect()
        records = [
            as_record(id=id_of(4), engram_id="e-one"),
            as_engram(4, id="e-one", subject_label="one"),
            as_record(id=id_of(5), engram_id="e-one"),
            as_engram(5, id="e-two", subject_label="two"),
            as_record(id=id_of(6), engram_id="e-two"),
            as_edge(1, 6),
            as_engram(1, 5, id="e-three", subject_label="three"),
        ]
        answer = await imported(peer, records)
        assert {each["index"]: each["reason"] for each in answer["refused"]} == {
            0: "id: a percept of this id exists already",
            1: "percept_ids: none of its percepts can be taken",
            2: "engram_id: no engram of global has this id",
            3: "percept_ids: none of its percepts can be taken",
            4: "engram_id: no engram of global has this id",
            5: "to: no percept has this id",
        }
        (_, new) = house.store.files["global"].engrams
        assert (new.id, new.percept_ids) == ("e-three", (id_of(1),))


async def test_a_percept_joins_the_engram_that_the_store_has() -> None:
    async with open_house(well_filled()) as house:
        peer = await house.connect()
        known = "00000007-bbbb-4000-8000-000000000000"
        await imported(peer, [as_record(id=id_of(5), engram_id=known)])
        (engram,) = house.store.files["global"].engrams
        assert engram.percept_ids == (id_of(1), id_of(5))
        assert engram.updated_at == house.clock.wall


async def test_an_id_that_is_known_is_refused() -> None:
    async with open_house() as house:
        peer = await house.connect()
        twice = [as_record(), as_record(content="the same id again")]
        first = await imported(peer, twice)
        assert (first["accepted"], [r["index"] for r in first["refused"]]) == (1, [1])
        second = await imported(peer, [as_record(scope="s1")])
        assert (second["accepted"], second["refused"][0]["index"]) == (0, 0)


async def test_a_dry_run_changes_nothing() -> None:
    async with open_house() as house:
        peer = await house.connect()
        answer = await imported(peer, [as_record(), as_record(w=2)], dry_run=True)
        assert (answer["accepted"], len(answer["refused"])) == (1, 1)
        assert (await peer.call("list"))["total"] == 0
        assert not house.store.commits
        assert (await imported(peer, [as_record()]))["accepted"] == 1


async def test_percepts_as_they_are_shown_can_be_imported() -> None:
    async with open_house() as house:
        peer = await house.connect()
        await peer.call("record", content="as it is shown", session="s1")
        (shown,) = (await peer.call("list", session="s1"))["percepts"]
    async with open_house() as house:
        peer = await house.connect()
        assert (await imported(peer, [shown]))["accepted"] == 1
        (again,) = (await peer.call("list", session="s1"))["percepts"]
        assert again == shown


async def test_an_import_without_end_is_cut_off() -> None:
    async with open_house(limits=Limits(import_records=2)) as house:
        peer = await house.connect()
        await peer.call("import", records=[as_record()])
        many = [as_record(id=str(n)) for n in range(2)]
        assert (await peer.refusal("import", records=many)).startswith("too_large: records: ")
        assert (await imported(peer, [as_record()]))["accepted"] == 1


async def facts(house: House) -> list[str]:
    return [p.content for p in house.store.files["global"].percepts]


async def test_a_snapshot_writes_everything_that_is_loaded() -> None:
    async with open_house(well_filled()) as house:
        peer = await house.connect()
        await peer.call("session_open", session="s1")
        await peer.call("session_open", session="s2")
        answer = await peer.call("snapshot")
        assert answer == {"files": ["global.json", "archive.json", "s1.json"]}
        (checkpoint,) = house.store.published
        assert [new.image.name for new in checkpoint.files] == ["global", "archive", "s1"]
        assert await facts(house) == ["one", "two"]
