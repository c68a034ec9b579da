"""What another program did to a file, and what becomes of it here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from milkd.engine.changes import Annotated, Change, EdgePut, PerceptDropped, PerceptPut
from milkd.engine.engine import Engine
from milkd.engine.params import DEFAULT
from milkd.engine.percept import ARCHIVE, GLOBAL, Edge, Engram, Percept, ScopeImage, Wording
from milkd.store.merging import Merged, merge
from milkd.store.snapshot import image_from_bytes, image_to_bytes

NOW = 1_000.0


def percept(number: int, **values: Any) -> Percept:
    fields: dict[str, Any] = {"content": f"fact {number}", "producer": "user", "w": 0.5}
    times = {"created_at": 10.0, "updated_at": 20.0}
    return Percept(**{"id": f"p{number}", **fields, **times, **values})


def engram(number: int, *members: int, **values: Any) -> Engram:
    fields: dict[str, Any] = {"subject_label": f"label {number}", "composite_w": 0.5}
    times = {"created_at": 10.0, "updated_at": 20.0}
    ids = tuple(f"p{member}" for member in members)
    return Engram(**{"id": f"e{number}", "percept_ids": ids, **fields, **times, **values})


def edge(source: int, target: int, relation: str = "extends", **extra: object) -> Edge:
    return Edge(f"p{source}", f"p{target}", relation, extra)


def scope(*percepts: Percept, **values: Any) -> ScopeImage:
    return ScopeImage(**{"name": GLOBAL, "percepts": percepts, **values})


def applied(changes: tuple[Change, ...], ours: ScopeImage) -> ScopeImage:
    """Ours with changes, by the engine's own way of making them so."""
    engine = Engine(DEFAULT)
    engine.load(ours)
    engine.apply_all(changes)
    return engine.image(ours.name)


def after(
    base: ScopeImage | None, theirs: ScopeImage, ours: ScopeImage, **values: Any
) -> tuple[ScopeImage, Merged]:
    merged = merge(base, theirs, ours, **{"wall": NOW, **values})
    return applied(merged.changes, ours), merged


def only(image: ScopeImage) -> Percept:
    (found,) = image.percepts
    return found


BASE = scope(
    percept(1, engram_id="e1"),
    percept(2, engram_id="e1", evidence=2, idle_seconds=5.0),
    percept(3, roles={"theme": "x"}, extra={"mood": "calm"}),
    engrams=(engram(1, 1, 2),),
    edges=(edge(1, 2), edge(3, 1, "updates")),
    extra={"theme": "dark"},
)


def edited(number: int, **values: Any) -> ScopeImage:
    """BASE with other values in one percept."""
    changed = (replace(p, **values) if p.id == f"p{number}" else p for p in BASE.percepts)
    return replace(BASE, percepts=tuple(changed))


def without(*numbers: int) -> ScopeImage:
    """BASE, some of whose percepts were cut out, and nothing else."""
    ids = {f"p{number}" for number in numbers}
    return replace(BASE, percepts=tuple(p for p in BASE.percepts if p.id not in ids))


# An editor, while nothing happened here.


def test_a_file_that_nobody_changed_changes_nothing() -> None:
    assert merge(BASE, BASE, BASE, wall=NOW) == Merged(summary="nothing changed by another program")


@pytest.mark.parametrize("base", [BASE, None])
def test_order_alone_is_no_change(base: ScopeImage | None) -> None:
    theirs = replace(
        BASE,
        percepts=BASE.percepts[::-1],
        edges=BASE.edges[::-1],
        engrams=(engram(1, 2, 1),),
    )
    assert merge(base, theirs, BASE, wall=NOW).changes == ()


@pytest.mark.parametrize("base", [BASE, None])
def test_a_moment_spelled_otherwise_is_no_change(base: ScopeImage | None) -> None:
    respelled = {"updated_at": "1970-01-01T01:00:20.000+01:00"}
    theirs = edited(1, stamps=respelled, updated_at=20.0000005)
    assert merge(base, theirs, BASE, wall=NOW).changes == ()


def test_an_edited_strength_is_current_as_of_the_reading() -> None:
    merged = merge(BASE, edited(1, w=0.25), BASE, wall=NOW, running=7.0)
    expected = replace(BASE.percepts[0], w=0.25)
    assert merged.changes == (PerceptPut(GLOBAL, expected, 7.0),)
    assert merged.summary == "1 fact changed by another program"


def test_in_the_archive_nothing_decays_and_nothing_is_current() -> None:
    base = replace(BASE, name=ARCHIVE)
    theirs = replace(edited(1, w=0.25), name=ARCHIVE)
    (change,) = merge(base, theirs, base, wall=NOW, running=7.0).changes
    assert isinstance(change, PerceptPut)
    assert change.running is None


def test_edited_content_is_dated_like_any_edit_and_the_rest_stays() -> None:
    image, merged = after(BASE, edited(2, content="other words"), BASE, running=7.0)
    old = BASE.percepts[1]
    expected = replace(old, content="other words", content_at=NOW, updated_at=NOW)
    assert merged.changes == (PerceptPut(GLOBAL, expected, None),)
    assert image.percepts[1] == expected


def test_times_that_came_with_edited_content_are_kept_as_written() -> None:
    spelled = {"updated_at": "1970-01-01T00:15:00.000Z", "content_at": "1970-01-01T00:01:10.0Z"}
    values = {"content": "other words", "updated_at": 900.0, "content_at": 70.0}
    image, _ = after(BASE, edited(1, **values, stamps=spelled), BASE)
    assert image.percepts[0].updated_at == 900.0
    assert image.percepts[0].content_at == 70.0
    assert image.percepts[0].stamps == spelled


def test_a_stamp_in_the_far_future_is_mended_by_an_edit() -> None:
    base = scope(percept(1, updated_at=NOW + 100_000.0))
    image, _ = after(base, scope(replace(base.percepts[0], content="new")), base)
    assert only(image).updated_at == NOW


def test_a_clock_that_was_set_back_moves_no_stamp_back() -> None:
    image, _ = after(BASE, edited(1, content="new"), BASE, wall=15.0)
    assert image.percepts[0].updated_at == 20.0
    assert image.percepts[0].content_at == 15.0


def test_keys_that_were_taken_out_are_gone() -> None:
    theirs = replace(edited(3, roles={}, extra={}), extra={})
    image, merged = after(BASE, theirs, BASE)
    assert image.percepts[2].roles == image.percepts[2].extra == image.extra == {}
    assert merged.conflicts == ()


def test_true_is_not_one() -> None:
    base, theirs = scope(percept(1, extra={"on": 1})), scope(percept(1, extra={"on": True}))
    image, _ = after(base, theirs, base)
    assert only(image).extra["on"] is True


def test_a_value_deep_inside_an_unknown_key_is_seen() -> None:
    base, theirs = scope(percept(1, extra={"a": [{"b": 1}, 2]})), {"a": [{"b": 1}, 3]}
    image, _ = after(base, scope(percept(1, extra=theirs)), base)
    assert only(image).extra == theirs


def test_a_text_that_was_edited_in_the_file_is_all_that_changes() -> None:
    written = image_to_bytes(BASE)
    saved = written.replace(b'"fact 2"', b'"fact two"').replace(
        b'"evidence": 2,', b'"evidence": 7,'
    )
    base, theirs = (image_from_bytes(GLOBAL, data).image for data in (written, saved))
    (change,) = merge(base, theirs, BASE, wall=NOW).changes
    dates: dict[str, Any] = {"content_at": NOW, "updated_at": NOW}
    expected = replace(BASE.percepts[1], content="fact two", evidence=7, **dates)
    assert change == PerceptPut(GLOBAL, expected)


def test_what_is_cut_out_takes_its_edges_and_its_place_in_a_group_along() -> None:
    image, merged = after(BASE, without(1), BASE)
    assert [each.id for each in image.percepts] == ["p2", "p3"]
    assert image.edges == ()
    assert image.engrams == (engram(1, 2),)
    assert merged.summary == "1 fact removed by another program"


def test_a_group_of_which_nothing_is_left_goes() -> None:
    image, merged = after(BASE, without(1, 2), BASE)
    assert image.engrams == ()
    assert merged.summary == "2 facts removed by another program"


def test_everything_cut_out_leaves_nothing() -> None:
    image, _ = after(BASE, scope(), BASE)
    assert image == scope()


def test_what_is_added_comes_last_with_its_group_and_edges() -> None:
    new = percept(9, engram_id="e9")
    theirs = replace(
        BASE,
        percepts=(new, *BASE.percepts),
        engrams=(*BASE.engrams, engram(9, 9)),
        edges=(*BASE.edges, edge(9, 1)),
    )
    image, merged = after(BASE, theirs, BASE, running=7.0)
    assert image == replace(theirs, percepts=(*BASE.percepts, new), touched={"p9": 7.0})
    assert merged.summary == "1 fact added by another program"


def test_a_percept_that_names_another_group_is_moved_to_it() -> None:
    base = replace(BASE, engrams=(engram(1, 1, 2), engram(2, 3)))
    theirs = replace(edited(1, engram_id="e2"), engrams=base.engrams)
    image, _ = after(base, theirs, replace(BASE, engrams=base.engrams))
    assert image.engrams == (engram(1, 2), engram(2, 3, 1))


def test_a_new_group_of_a_known_label_is_the_known_one() -> None:
    new = percept(9, engram_id="e9")
    twin = engram(9, 9, subject_label=" LABEL 1")
    theirs = replace(BASE, percepts=(*BASE.percepts, new), engrams=(*BASE.engrams, twin))
    image, _ = after(BASE, theirs, BASE)
    assert image.engrams == (engram(1, 1, 2, 9),)
    assert image.percepts[-1].engram_id == "e1"
    made_anew = replace(theirs, engrams=(twin,))
    image, _ = after(None, made_anew, BASE)
    assert image.engrams == (engram(1, 1, 2, 9),)


def test_an_edge_says_what_it_says_now() -> None:
    theirs = replace(BASE, edges=(edge(1, 2, since=1), edge(1, 3, "updates")))
    image, merged = after(BASE, theirs, BASE)
    assert image.edges == theirs.edges
    assert image.edges[0].extra == {"since": 1}
    assert merged.summary == "groups, edges or other keys changed by another program"


def test_what_is_said_to_update_now_takes_the_place_of_the_opposite() -> None:
    theirs = replace(BASE, edges=(*BASE.edges, edge(1, 3, "updates")))
    image, merged = after(BASE, theirs, BASE)
    assert image.edges == (edge(1, 2), edge(1, 3, "updates"))
    assert merged.conflicts == ()


def test_what_was_said_here_since_is_not_turned_round() -> None:
    base = replace(BASE, edges=())
    theirs = replace(BASE, edges=(edge(1, 3, "updates"),))
    ours = replace(BASE, edges=(edge(3, 1, "updates"),))
    image, merged = after(base, theirs, ours)
    assert image.edges == ours.edges
    assert merged.conflicts == ("p1",)


# An editor, while things went on here.


def test_what_only_time_did_here_meets_no_edit() -> None:
    ours = edited(1, w=0.375, idle_seconds=60.0)
    image, merged = after(BASE, edited(1, w=0.75, idle_seconds=1.0), ours)
    assert image.percepts[0].w == 0.75
    assert image.percepts[0].idle_seconds == 1.0
    assert merged.conflicts == ()


def test_a_strength_that_both_changed_stays_ours_and_is_named() -> None:
    ours = edited(1, w=0.75, updated_at=500.0)
    image, merged = after(BASE, edited(1, w=0.25), ours)
    assert image == ours
    assert merged.conflicts == ("p1",)
    assert "1 changed on both sides" in merged.summary


def test_different_fields_of_one_percept_are_both_taken() -> None:
    ours = edited(1, w=0.75, evidence=1, updated_at=500.0, roles={"agent": "me"}, extra={"a": 1})
    theirs = edited(1, content="other words", roles={"theme": "y"}, extra={"b": 2})
    image, merged = after(BASE, theirs, ours)
    assert image.percepts[0] == replace(
        ours.percepts[0],
        content="other words",
        content_at=NOW,
        updated_at=NOW,
        roles={"agent": "me", "theme": "y"},
        extra={"a": 1, "b": 2},
    )
    assert merged.conflicts == ()


def test_content_that_both_changed_stays_ours() -> None:
    ours = edited(1, content="ours", content_at=500.0, updated_at=500.0)
    image, merged = after(BASE, edited(1, content="theirs"), ours)
    assert (image, merged.conflicts) == (ours, ("p1",))


def test_the_same_edit_on_both_sides_is_no_conflict() -> None:
    ours = edited(1, content="new", content_at=500.0, updated_at=500.0)
    assert merge(BASE, edited(1, content="new"), ours, wall=NOW).changes == ()


def test_the_later_of_two_stamps_is_kept_as_its_side_spelled_it() -> None:
    spelled = {"updated_at": "1970-01-01T00:11:40.0Z"}
    ours = edited(1, updated_at=500.0, stamps={"updated_at": "1970-01-01T00:08:20.0Z"})
    image, merged = after(BASE, edited(1, updated_at=700.0, stamps=spelled), ours)
    assert image.percepts[0].stamps == spelled
    assert merged.conflicts == ()
    assert merge(BASE, ours, edited(1, updated_at=700.0), wall=NOW).changes == ()


def test_wordings_bring_the_spelling_of_their_times() -> None:
    spelled = {"wordings[0].at": "1970-01-01T00:00:15.0Z"}
    theirs = edited(1, wordings=(Wording("said so", 15.0),), stamps=spelled)
    image, _ = after(BASE, theirs, BASE)
    assert image.percepts[0] == theirs.percepts[0]


def test_what_they_cut_out_goes_though_it_decayed_and_was_used_here() -> None:
    ours = edited(3, w=0.25, idle_seconds=9.0, last_used_at=400.0)
    image, merged = after(BASE, without(3), ours)
    assert [each.id for each in image.percepts] == ["p1", "p2"]
    assert merged.conflicts == ()


def test_what_they_cut_out_stays_if_it_was_restated_here() -> None:
    ours = edited(1, w=0.75, updated_at=500.0)
    assert after(BASE, without(1), ours)[0] == ours
    assert merge(BASE, without(1), ours, wall=NOW).conflicts == ("p1",)


def test_what_stays_though_they_cut_it_out_keeps_its_edges_and_its_group() -> None:
    ours = edited(1, w=0.75, updated_at=500.0)
    theirs = replace(without(1), edges=(), engrams=(engram(1, 2),))
    assert after(BASE, theirs, ours)[0] == ours


def test_a_percept_stays_in_the_group_that_it_names_if_that_is_ours() -> None:
    groups = (engram(1, 1, 2), engram(2), engram(3))
    base = replace(BASE, engrams=groups)
    ours = replace(edited(1, engram_id="e2"), engrams=(engram(1, 2), engram(2, 1), engram(3)))
    theirs = replace(edited(1, engram_id="e3"), engrams=(engram(1, 2), engram(2), engram(3, 1)))
    image, merged = after(base, theirs, ours)
    assert image == ours
    assert merged.conflicts == ("p1",)


def test_what_left_here_is_not_called_back_by_an_edit() -> None:
    ours = without(3)
    image, merged = after(BASE, edited(3, content="still wanted"), ours)
    assert image == ours
    assert merged.conflicts == ("p3",)


def test_what_left_here_stays_away_from_a_file_that_still_has_it() -> None:
    ours = scope(BASE.percepts[1], engrams=(engram(1, 2),), extra=BASE.extra)
    assert merge(BASE, BASE, ours, wall=NOW).changes == ()


def test_a_new_edge_to_what_left_here_is_left_out() -> None:
    theirs = replace(BASE, edges=(*BASE.edges, edge(2, 3), edge(3, 2)))
    ours = replace(without(3), edges=(edge(1, 2),))
    assert merge(BASE, theirs, ours, wall=NOW).changes == ()
    moved = merge(BASE, theirs, ours, wall=NOW, elsewhere=lambda each: each == "p3")
    assert moved.changes == (EdgePut(GLOBAL, edge(2, 3)),)


def test_members_of_a_group_are_merged_as_a_set() -> None:
    one, two, three = BASE.percepts
    base = scope(one, two, three, engrams=(engram(1, 1, 2),))
    ours = scope(replace(one, engram_id=None), two, three, engrams=(engram(1, 2),))
    theirs = scope(one, two, replace(three, engram_id="e1"), engrams=(engram(1, 1, 2, 3),))
    image, _ = after(base, theirs, ours)
    assert image.engrams == (engram(1, 2, 3),)


def test_a_group_that_emptied_here_comes_back_for_who_joined_it_there() -> None:
    theirs = replace(edited(3, engram_id="e1"), engrams=(engram(1, 1, 2, 3),))
    ours = replace(edited(1, engram_id=None), engrams=())
    ours = replace(ours, percepts=(ours.percepts[0], ours.percepts[2]))
    image, _ = after(BASE, theirs, ours)
    assert image.engrams == (engram(1, 3),)


def test_a_label_that_both_changed_stays_ours() -> None:
    def labelled(label: str, weight: float) -> ScopeImage:
        group = engram(1, 1, 2, subject_label=label, composite_w=weight)
        return replace(BASE, engrams=(group,))

    image, merged = after(BASE, labelled("theirs", 0.25), labelled("ours", 0.75))
    assert image.engrams[0].subject_label == "ours"
    assert image.engrams[0].composite_w == 0.25
    assert merged.conflicts == ("e1",)


def test_keys_of_an_edge_and_of_the_file_that_both_changed_stay_ours() -> None:
    theirs = replace(BASE, edges=(edge(1, 2, a=1), edge(3, 1, "updates")), extra={"theme": "red"})
    ours = replace(BASE, edges=(edge(1, 2, a=2), edge(3, 1, "updates")), extra={"theme": "blue"})
    merged = merge(BASE, theirs, ours, wall=NOW)
    assert merged.changes == ()
    assert merged.conflicts == ("p1", "theme")


def test_what_both_added_under_one_id_is_the_newer_one() -> None:
    old, new = percept(9), percept(9, w=0.75, updated_at=30.0)
    assert only(after(scope(), scope(new), scope(old))[0]).w == 0.75
    assert only(after(scope(), scope(old), scope(new))[0]).w == 0.75


# An editor that saves again and again.


def test_the_second_save_is_merged_with_the_first() -> None:
    first = edited(1, content="first")
    ours, _ = after(BASE, first, BASE)
    again, merged = after(first, edited(1, content="second", w=0.25), ours, wall=2_000.0)
    assert (again.percepts[0].content, again.percepts[0].w) == ("second", 0.25)
    assert merged.conflicts == ()
    undone, _ = after(first, BASE, ours, wall=2_000.0)
    assert undone.percepts[0].content == "fact 1"
    gone, merged = after(first, without(1), ours)
    assert [each.id for each in gone.percepts] == ["p2", "p3"]
    assert merged.conflicts == ()


# Entries that cannot be read.

RAW = {"id": "p1", "content": "fact 1", "w": "high"}


def unread(*entries: tuple[str, int, object], of: ScopeImage = BASE) -> ScopeImage:
    return replace(of, unreadable=entries)


@pytest.mark.parametrize("base", [BASE, None])
def test_a_slip_of_the_hand_costs_no_fact(base: ScopeImage | None) -> None:
    theirs = unread(("percepts", 0, RAW), of=without(1))
    merged = merge(base, theirs, BASE, wall=NOW)
    assert merged.changes == ()
    assert merged.conflicts == ("p1",)
    assert "not readable" in merged.summary


def test_nor_a_group_nor_an_edge() -> None:
    slips = (
        ("engrams", 0, {"ID": "e1", "percept_ids": 1}),
        ("edges", 0, {"from": "p1", "to": "p2", "relation": "extends", "FROM": "p1"}),
        ("edges", 1, {"from": 1}),
        ("percepts", 2, ["?"]),
    )
    merged = merge(
        BASE,
        unread(*slips, of=replace(without(), engrams=(), edges=BASE.edges[1:])),
        BASE,
        wall=NOW,
    )
    assert merged.conflicts == ("e1", "p1")
    assert merged.changes == (Annotated(GLOBAL, BASE.extra, slips[2:]),)


@pytest.mark.parametrize("known", [True, False])
def test_an_entry_that_was_mended_is_a_percept_again(known: bool) -> None:
    before = unread(("percepts", 0, RAW), of=without(1))
    image, _ = after(before if known else None, BASE, before)
    assert image.unreadable == ()
    assert {each.id for each in image.percepts} == {"p1", "p2", "p3"}


def test_an_entry_that_is_refused_does_not_displace_the_unreadable_one() -> None:
    before = unread(("percepts", 0, RAW), of=replace(without(1), edges=(), engrams=()))
    merged = merge(None, BASE, before, wall=NOW, elsewhere=lambda _: True)
    assert not any(isinstance(change, Annotated) for change in merged.changes)
    assert merged.refused == ("p1",)


def test_unreadable_entries_are_merged_like_any_other() -> None:
    a, b, c, d = (("percepts", n, {"n": n}) for n in range(4))
    moved = ("percepts", 7, {"n": 0})
    image, _ = after(unread(a, b), unread(moved, c), unread(a, b, d))
    assert image.unreadable == (a, d, c)


def test_a_second_entry_of_one_id_is_kept_beside_the_first() -> None:
    twin = ("percepts", 3, {"id": "p1", "content": "copied", "producer": "user", "w": 0.5})
    image, merged = after(BASE, unread(twin), BASE)
    assert image.unreadable == (twin,)
    assert merged.conflicts == ()


# A file of which nobody knows what it came from: milk saved it.


def test_without_a_base_nothing_is_deleted() -> None:
    assert merge(None, scope(), BASE, wall=NOW).changes == ()


def test_without_a_base_what_is_new_is_added_unless_another_scope_has_it() -> None:
    theirs = scope(percept(8), percept(9), edges=(edge(8, 1), edge(9, 1), edge(1, 9)))
    image, merged = after(None, theirs, BASE, elsewhere=lambda each: each == "p9")
    assert image.percepts == (*BASE.percepts, percept(8))
    assert image.edges == (*BASE.edges, edge(8, 1), edge(1, 9))
    assert merged.refused == ("p9",)
    assert "1 not taken" in merged.summary


def test_the_newer_version_wins_and_silence_about_other_keys_says_nothing() -> None:
    ours = scope(
        percept(1, evidence=3, idle_seconds=9.0, wordings=(Wording("so", 1.0),), extra={"a": 1}),
    )
    theirs = scope(percept(1, w=0.75, updated_at=30.0, producer="primary", consumer="primary"))
    image, merged = after(None, theirs, ours, running=7.0)
    assert only(image) == replace(
        only(ours), w=0.75, updated_at=30.0, producer="primary", consumer="primary"
    )
    assert merged.changes == (PerceptPut(GLOBAL, only(image), 7.0),)
    assert merged.conflicts == ()


def test_the_newer_version_wins_with_other_keys_that_it_has() -> None:
    ours = scope(percept(1, evidence=3, extra={"a": 1, "b": 2}, roles={"theme": "x"}))
    values: dict[str, Any] = {"evidence": 4, "extra": {"b": 3}, "roles": {"agent": "me"}}
    image, merged = after(None, scope(percept(1, updated_at=30.0, **values)), ours)
    assert only(image).evidence == 4
    assert only(image).extra == {"a": 1, "b": 3}
    assert only(image).roles == {"theme": "x", "agent": "me"}
    assert merged.conflicts == ()


def test_an_older_version_changes_nothing_but_is_named_if_it_says_something_else() -> None:
    ours = scope(percept(1, w=0.75, updated_at=30.0, core=True, extra={"a": 1}))
    decayed = merge(None, scope(percept(1, w=0.25, core=True)), ours, wall=NOW)
    assert (decayed.changes, decayed.conflicts) == ((), ())
    assert merge(None, scope(percept(1)), ours, wall=NOW).conflicts == ("p1",)
    other = scope(percept(1, core=True, extra={"a": 2}))
    assert merge(None, other, ours, wall=NOW).conflicts == ("p1",)


def test_content_that_was_never_replaced_here_was_replaced_there() -> None:
    ours = scope(percept(1, w=0.75, evidence=1, updated_at=30.0))
    image, merged = after(None, scope(percept(1, content="by hand")), ours)
    assert only(image) == replace(only(ours), content="by hand", content_at=NOW, updated_at=NOW)
    assert merged.conflicts == ()


def test_content_that_was_replaced_here_later_stays_and_is_named() -> None:
    ours = scope(percept(1, content="ours", content_at=30.0, updated_at=30.0))
    assert after(None, scope(percept(1)), ours)[0] == ours
    assert merge(None, scope(percept(1)), ours, wall=NOW).conflicts == ("p1",)


def test_a_newer_group_gives_its_label_and_nobody_leaves_it() -> None:
    theirs = replace(
        BASE, engrams=(engram(1, 1, subject_label="new", updated_at=30.0, extra={"b": 2}),)
    )
    ours = replace(BASE, engrams=(engram(1, 1, 2, extra={"a": 1}),))
    image, merged = after(None, theirs, ours)
    assert image.engrams == (
        engram(1, 1, 2, subject_label="new", updated_at=30.0, extra={"a": 1, "b": 2}),
    )
    assert merged.conflicts == ("e1",)


def test_what_milk_saves_from_our_own_file_changes_nothing() -> None:
    ours = replace(
        BASE,
        percepts=tuple(replace(p, updated_at=p.updated_at + 1e-7) for p in BASE.percepts),
        running_seconds=60.0,
        shown=("p1",),
    )
    reread = image_from_bytes(GLOBAL, image_to_bytes(ours)).image
    gone: dict[str, Any] = {"evidence": 0, "idle_seconds": 0.0, "extra": {}}
    stamps = {"updated_at": "1970-01-01T01:00:20+01:00"}
    theirs = scope(
        *(replace(p, **gone, stamps=stamps) for p in reread.percepts),
        engrams=reread.engrams,
        edges=reread.edges,
    )
    merged = merge(None, theirs, ours, wall=NOW)
    assert (merged.changes, merged.conflicts) == ((), ())


def test_a_removal_is_a_change_for_the_caller_to_see() -> None:
    assert merge(BASE, without(3), BASE, wall=NOW).changes[0] == PerceptDropped(GLOBAL, "p3")
