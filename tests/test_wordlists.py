from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

from milkd import wordlists
from milkd.engine.polarity import polarity

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

LISTS = sorted(files("milkd").joinpath("words").iterdir(), key=lambda entry: entry.name)

every_list = pytest.mark.parametrize("entry", LISTS, ids=lambda entry: entry.name)


def test_these_languages_have_a_list() -> None:
    languages = {entry.name.removesuffix(".txt") for entry in LISTS}
    assert languages >= {"de", "en", "es", "fr", "it", "nl", "pt", "ru", "zh"}


@every_list
def test_every_entry_says_where_it_applies(entry: Traversable) -> None:
    section = ""
    for line in entry.read_text(encoding="utf-8").splitlines():
        section = line if line.startswith("[") else section
        if line and not line.startswith(("[", "#")) and section != "[numbers]":
            comment = line.partition("#")[2]
            assert comment.strip(), f"{entry.name}: {line}"


@every_list
def test_a_list_begins_with_the_name_of_its_language(entry: Traversable) -> None:
    assert entry.read_text(encoding="utf-8").startswith("# ")


@pytest.mark.parametrize(
    ("text", "denials"),
    [
        ("the cache is not shared", ("not",)),
        ("der Cache wird nicht geteilt", ("nicht",)),
        ("le cache n'est pas partagé", ("n'",)),
        ("la caché no se comparte", ("no",)),
        ("o cache não é partilhado", ("não",)),
        ("la cache non è condivisa", ("non",)),
        ("de cache wordt niet gedeeld", ("niet",)),
        ("cachen delas inte", ("inte",)),
        ("cachen deles ikke", ("ikke",)),
        ("bufor nie jest wspólny", ("nie",)),
        ("кэш не общий", ("не",)),
        ("кеш не спільний", ("не",)),
        ("缓存没有共享", ("没有",)),
        ("キャッシュは共有されません", ("ません",)),
        ("캐시는 공유되지 않는다", ("않",)),
    ],
)
def test_all_languages_are_read_together(text: str, denials: tuple[str, ...]) -> None:
    assert polarity(text, wordlists.load()).denials == denials


@pytest.mark.parametrize(
    "text",
    [
        "It's said to be due in a week",
        "Die Frist endet im Mai",
        "Ce ne sono tre in totale",
        "The NIC and the car were paid on time",
        "Der Dienst ist noch aktiv",
        "Pas op met de sleutel",
        "I see men and women as equals of a kind",
        "我们不断改进，不仅更快",
        "少ないほど良い",
    ],
)
def test_no_word_of_one_language_denies_in_another(text: str) -> None:
    assert polarity(text, wordlists.load()).denials == ()
