"""What looks like a secret and what only talks of one."""

from __future__ import annotations

import time
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from milkd.engine import commands as ask
from milkd.engine.guarding import GUARDED
from milkd.engine.params import DEFAULT, STRICT
from milkd.engine.percept import Engram, ScopeImage, Wording
from milkd.engine.secrets import masked, secrets_in
from milkd.errors import InvalidParams
from planted import INNOCENT, planted, value_of
from sitting import NOON, Sitting, percept

if TYPE_CHECKING:
    from milkd.engine.results import Imported

SHAPES = sorted(planted(0))
TOKEN = planted(1)["github"]
SAID = f"deploys use {TOKEN} for the registry"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", SHAPES)
def test_a_secret_is_found_and_masked(shape: str, seed: int) -> None:
    secret = planted(seed)[shape]
    for text in (
        secret,
        f"remember that {secret} is what deploys use",
        f"`{secret}`",
        f"a: {secret}.",
    ):
        found = secrets_in(text)
        assert found
        assert all(text[each.start : each.end] in text for each in found)
        assert value_of(secret) not in masked(text, found)


def test_there_are_forty_shapes_and_forty_look_alikes() -> None:
    assert len(SHAPES) >= 40
    assert len(INNOCENT) >= 40


@pytest.mark.parametrize("text", INNOCENT)
def test_what_only_talks_of_one_passes(text: str) -> None:
    assert secrets_in(text) == []


def test_two_in_a_text_are_two_and_the_rest_stays() -> None:
    text = f"first {TOKEN}, then {planted(2)['npm']} again"
    found = secrets_in(text)
    assert [each.kind for each in found] == ["GitHub token", "npm token"]
    assert masked(text, found) == "first [masked: GitHub token], then [masked: npm token] again"


@pytest.mark.parametrize(
    "text",
    [
        "a" * 8192, "password: " * 800, "-----BEGIN " * 700, "a://b:" * 1300, "eyJ" * 2700,
        "x." * 4000, "sk-" * 2700, "token is " * 900, "-----BEGIN PRIVATE KEY-----" * 300,
        "a://b:c@" * 1000, "A" * 30 + "." * 8000,
    ],
)  # fmt: skip
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    secrets_in(text)
    assert time.process_time() - began < 0.5  # a hundredth of that on a quiet machine


@pytest.mark.parametrize("base", [DEFAULT, STRICT])
def test_it_is_refused_with_its_kind_and_place_and_not_repeated(base: Any) -> None:
    sitting = Sitting("s1", base=base)
    for state in (sitting.record, sitting.learn):
        with pytest.raises(InvalidParams, match="a GitHub token at character 13") as caught:
            state(SAID)
        assert TOKEN not in str(caught.value)
        assert "secret_guard" in str(caught.value)
    assert sitting.contents("global") == []


def test_it_is_refused_wherever_it_would_be_kept() -> None:
    sitting = Sitting(base=DEFAULT)
    ident = sitting.record("deploys use the registry").id
    with pytest.raises(InvalidParams, match=r"^subject: "):
        sitting.record("deploys wait", subject=SAID)
    with pytest.raises(InvalidParams, match=r"^roles\.theme: "):
        sitting.record("deploys wait", roles={"theme": SAID})
    with pytest.raises(InvalidParams, match=r"^content: "):
        sitting.do(ask.Edit(ref=ident, content=SAID))
    assert sitting.contents("global") == ["deploys use the registry"]


def test_every_text_of_a_command_that_is_kept_is_looked_at() -> None:
    # What a percept is made of by these names; the others refer to it or say who speaks.
    kept = {"content", "subject", "roles"}
    for kind in (ask.Record, ask.Learn, ask.Edit):
        names = {each.name for each in fields(kind)}
        assert set(GUARDED[kind]) == names & kept


def test_masked_it_is_stored_without() -> None:
    sitting = Sitting(base=DEFAULT, secret_guard="mask")
    outcome = sitting.record(SAID, roles={"theme": SAID})
    assert outcome.masked == ("GitHub token", "GitHub token")
    assert sitting.contents("global") == ["deploys use [masked: GitHub token] for the registry"]
    again = sitting.record(SAID)
    assert (again.status, again.id) == ("reinforced", outcome.id)
    assert sitting.record("nothing of note").masked == ()


def test_off_it_is_the_users_own_business() -> None:
    sitting = Sitting(base=DEFAULT, secret_guard="off")
    sitting.record(SAID)
    assert sitting.contents("global") == [SAID]


def test_a_text_that_is_too_long_is_refused_for_that() -> None:
    with pytest.raises(InvalidParams, match="percept_max_bytes"):
        Sitting(base=DEFAULT).record(TOKEN + " x" * 5000)


def take(sitting: Sitting, image: ScopeImage) -> dict[str, str]:
    result = cast("Imported", sitting.do(ask.Import(images=(image,))))
    return {where: reason.partition(":")[0] for (_, where, _), reason in result.refused}


def test_what_is_imported_is_looked_at_entry_by_entry() -> None:
    plain = percept("cranes are tall", 1)
    engram = Engram(
        id="e1", subject_label=SAID, composite_w=0.5, percept_ids=(plain.id,),
        created_at=NOON, updated_at=NOON,
    )  # fmt: skip
    held = [
        percept(SAID, 2),
        percept("ports", 3, wordings=(Wording(SAID, NOON),)),
        percept("docks", 4, roles={"theme": SAID}),
        percept("quays", 5, extra={"note": [{"is": SAID}]}),
    ]
    for each, where in zip(
        held, ("content", "wordings[0]", "roles.theme", "extra.note.is"), strict=True
    ):
        sitting = Sitting(base=DEFAULT)
        assert take(sitting, ScopeImage(name="global", percepts=(plain, each))) == {
            "percepts": where
        }
        assert sitting.contents("global") == [plain.content]
    sitting = Sitting(base=DEFAULT)
    image = ScopeImage(name="global", percepts=(plain,), engrams=(engram,), extra={"x": SAID})
    assert take(sitting, image) == {"engrams": "subject_label", "extra": "extra.x"}


def test_masked_imports_are_taken_without() -> None:
    sitting = Sitting(base=DEFAULT, secret_guard="mask")
    worded = percept("ports", 3, wordings=(Wording(SAID, NOON),), extra={"note": SAID})
    assert take(sitting, ScopeImage(name="global", percepts=(worded,))) == {}
    known = sitting.only("global")
    assert TOKEN not in repr(known)
    assert known == replace(known, content="ports")
