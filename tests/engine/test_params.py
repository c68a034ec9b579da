from __future__ import annotations

from dataclasses import fields, replace

import pytest

from milkd.engine.knobs import BY_NAME, KNOBS
from milkd.engine.params import DEFAULT, STRICT, Params
from milkd.engine.settings import read
from milkd.errors import ConfigError

ADR_90 = {
    "session_half_life_days": 3,
    "global_half_life_days": 60,
    "reconfirm_boost": 0.05,
    "reconfirm_cap": 0.90,
    "promote_threshold": 0.80,
    "prune_threshold": 0.20,
    "recency_boost": 0.10,
    "recency_half_life_days": 30,
    "global_archive_after_days": 14,
}


def test_every_knob_has_a_field_and_every_field_a_knob() -> None:
    assert [knob.name for knob in KNOBS] == [field.name for field in fields(Params)]


def test_nothing_set_means_the_defaults() -> None:
    settings = read({})
    assert settings.params == Params()
    assert set(settings.origins.values()) == {"default"}
    assert settings.warnings == ()


@pytest.mark.parametrize("profile", [DEFAULT, STRICT])
def test_the_nine_knobs_of_adr_90_have_its_values(profile: Params) -> None:
    assert {name: getattr(profile, name) for name in ADR_90} == ADR_90


def test_a_profile_gives_the_defaults_and_an_explicit_knob_beats_it() -> None:
    settings = read({"memory": {"profile": "strict", "echo_guard": True}})
    assert settings.params == replace(STRICT, echo_guard=True)
    assert settings.origins["profile"] == settings.origins["echo_guard"] == "config"
    assert settings.origins["stemmer"] == "profile strict"
    assert read({"memory": {"profile": "default"}}).params == DEFAULT


@pytest.mark.parametrize("name", ADR_90)
@pytest.mark.parametrize("nothing", [0, 0.0, None])
def test_zero_or_null_stands_for_the_default_of_adr_90s_knobs(
    name: str, nothing: float | None
) -> None:
    settings = read({"memory": {name: nothing}})
    assert settings.params == Params()
    assert settings.origins[name] == "default"


def test_zero_and_false_count_for_all_other_knobs() -> None:
    params = read({"memory": {"percept_inject_max": 0, "percept_relevance_gate": False}}).params
    assert params.percept_inject_max == 0
    assert params.percept_relevance_gate is False


def test_a_whole_number_does_for_a_fraction() -> None:
    params = read({"memory": {"session_half_life_days": 7}}).params
    assert params.session_half_life_days == 7.0
    assert type(params.session_half_life_days) is float


def test_milks_root_keys_are_read_and_the_memory_block_wins() -> None:
    document = {"percept_inject_max": 3, "percept_store_max": 9, "memory": {"percept_store_max": 4}}
    params = read(document).params
    assert (params.percept_inject_max, params.percept_store_max) == (3, 4)


def test_other_keys_at_the_root_are_milks_own_business() -> None:
    assert read({"model": "large", "rules": []}).warnings == ()


def test_an_unknown_knob_is_ignored_with_a_hint() -> None:
    settings = read({"memory": {"prune_treshold": 0.5}})
    assert settings.params == Params()
    (warning,) = settings.warnings
    assert "did you mean prune_threshold?" in warning


@pytest.mark.parametrize("name", ["decay_per_session", "global_decay_per_session"])
def test_the_retired_decay_keys_are_ignored_with_one_warning(name: str) -> None:
    (warning,) = read({"memory": {name: 0.5}}).warnings
    assert warning.startswith(f"{name} is ignored")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("session_half_life_days", "3"),
        ("session_half_life_days", True),
        ("session_half_life_days", -1),
        ("session_half_life_days", float("nan")),
        ("session_half_life_days", float("inf")),
        ("session_half_life_days", 10**400),
        ("prune_threshold", 1.5),
        ("reconfirm_boost", [0.05]),
        ("percept_inject_max", 2.5),
        ("percept_inject_max", -1),
        ("percept_store_max", 2**40),
        ("percept_store_max", 10**400),
        ("percept_relevance_gate", 1),
        ("percept_max_bytes", 0),
        ("duplicate_threshold", 0),
        ("profile", "lenient"),
        ("stemmer", "klingon"),
        ("distinctness_guard", True),
        ("profile", 1),
    ],
)
def test_a_bad_value_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=rf"^{name}: found .*, expected "):
        read({"memory": {name: value, "percept_inject_max_bytes": 1}})


@pytest.mark.parametrize(
    ("knobs", "says"),
    [
        ({"prune_threshold": 0.95}, "found 0.95, expected less than reconfirm_cap, which is 0.9"),
        ({"prune_threshold": 0.8}, "found 0.8, expected less than promote_threshold, which is 0.8"),
        ({"reconfirm_cap": 0.125}, "found 0.2, expected less than reconfirm_cap, which is 0.125"),
        (
            {"prune_threshold": 0.5, "promote_threshold": 0.25},
            "found 0.5, expected less than promote_threshold, which is 0.25",
        ),
        (
            {"promote_corroborated_threshold": 0},
            "found 0.2, expected less than promote_corroborated_threshold, which is 0",
        ),
    ],
)
def test_knobs_that_only_together_destroy_facts_are_refused(
    knobs: dict[str, float], says: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read({"memory": knobs})
    assert str(caught.value) == f"prune_threshold: {says}"


def test_knobs_that_are_moved_together_are_taken() -> None:
    knobs = {"prune_threshold": 0.9, "reconfirm_cap": 1.0, "promote_threshold": 0.95}
    params = read({"memory": {**knobs, "promote_corroborated_threshold": 0.95}}).params
    assert params.prune_threshold == 0.9


def test_a_number_too_long_to_be_written_out_is_refused_by_name_too() -> None:
    with pytest.raises(ConfigError, match=r"^percept_inject_max: found a number of very many"):
        read({"percept_inject_max": 10**5_000})


def test_a_memory_block_that_is_no_object_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^memory: found .*, expected an object"):
        read({"memory": [1]})


@pytest.mark.parametrize("name", BY_NAME)
def test_every_knob_says_what_it_is_for_and_where_it_comes_from(name: str) -> None:
    knob = BY_NAME[name]
    assert knob.doc
    assert knob.source
    assert knob.choices or knob.kind is bool or knob.unit
