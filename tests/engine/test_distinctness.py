from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkd import wordlists
from milkd.engine.distinctness import LEVELS, OFF, VALUES, WORDS, apart, distinct, marks
from milkd.engine.lexicon import EMPTY
from milkd.engine.text import jaccard

LEXICON = wordlists.load()

NIGHTLY = "the linter and the tests run on every branch at night"

levels = st.sampled_from(LEVELS)
BRICKS = """
the nightly build is not never enabled disabled , . and over instead of tabs spaces 3.10 v2
ubuntu-22.04 src/a src/b --force GitHub github two six 不是 用户 8 GB no nunca не before after
doesn't C++ C#
"""
facts = st.lists(st.sampled_from(BRICKS.split()), max_size=9).map(" ".join)


def why(new: str, known: str, level: str = VALUES) -> str | None:
    return distinct(marks(new, LEXICON), marks(known, LEXICON), level)


def kind(new: str, known: str) -> str | None:
    reason = why(new, known)
    return reason and reason.partition(":")[0]


@pytest.mark.parametrize(
    ("new", "known", "reason"),
    [
        (
            "Deploying to production on Friday is not allowed",
            "Deploying to production on Friday is allowed",
            "negated: not",
        ),
        (
            "Lab router is 192.168.9.1",
            "Lab router is 192.168.7.1",
            "numbers differ: 192.168.9.1 / 192.168.7.1",
        ),
        (
            "CI runs on ubuntu-24.04 runners",
            "CI runs on ubuntu-22.04 runners",
            "numbers differ: ubuntu-24.04 / ubuntu-22.04",
        ),
        ("Python 3.12", "Python 3.11", "numbers differ: 3.12 / 3.11"),
        (
            "Sensor log SR-2023-053 was reviewed",
            "Sensor log SR-2023-052 was reviewed",
            "numbers differ: SR-2023-053 / SR-2023-052",
        ),
        (
            "Disable JWT auth for the public API",
            "Enable JWT auth for the public API",
            "opposites: disable / enable",
        ),
        ("C# parser lives in src/a", "C++ parser lives in src/a", "identifiers differ: C# / C++"),
        ("src/b/config", "src/a/config", "identifiers differ: src/b/config / src/a/config"),
        (
            "User stopped running before work every morning",
            "User runs before work every morning",
            "negated: stopped",
        ),
        (
            "Benchmark run 15 p95 398 ms",
            "Benchmark run 14 p95 212 ms",
            "numbers differ: 15, 398 ms / 14, 212 ms",
        ),
        (
            "User prefers spaces over tabs",
            "User prefers tabs over spaces",
            "the other way round: not tabs / not spaces",
        ),
        (
            "Ports 1, 2, 3 and 4 are open",
            "Ports 5 and 6 are open",
            "numbers differ: 1, 2, 3, … / 5, 6",
        ),
    ],
)
def test_two_facts_are_told_apart_and_the_reason_names_the_words(
    new: str, known: str, reason: str
) -> None:
    assert why(new, known) == reason


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("data_api", "data-api"),
        ("Ｃｌｏｕｄｆｌａｒｅ", "Cloudflare"),
        ("always use tabs not spaces", "always use tabs not spaces for indentation"),
        ("flat output not JSON", "flat output over JSON"),
        ("flat output, not JSON", "flat output rather than JSON"),
        ("best practices and conventions of Laravel", "Laravel conventions and best practices"),
        ("我们不断改进代码质量和测试", "我们持续改进代码质量和测试"),
        ("Сервис работает стабильно", "Стабильно работает сервис"),
        ("ระบบทำงานได้ดี", "ระบบทำงานได้ดีมาก"),
    ],
)
def test_restatements_are_one_fact(new: str, known: str) -> None:
    assert why(new, known) is None
    assert why(known, new) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The cache holds 8 GB", "The cache holds 8 MB"),
        ("Tokens expire after 30 minutes", "Tokens expire after 30 seconds"),
        ("The log is kept for 4 weeks", "The log is kept for six weeks"),
        ("The rack has seven slots", "The rack has twelve slots"),
        ("Images are built on node-20", "Images are built on python-20"),
        ("Standup is at 9:30", "Standup is at 10:30"),
    ],
)
def test_each_side_has_a_number_of_its_own(one: str, other: str) -> None:
    assert kind(one, other) == kind(other, one) == "numbers differ"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The cache holds 8 GB", "The cache holds 8GB"),
        ("The cache holds entries", "The cache holds 500 entries"),
        ("The rack has 7 slots", "The rack has seven slots"),
        ("The rack has slots", "The rack has seven slots"),
        ("Images are built on node-20", "Images are built on Node 20"),
        ("Release v2.1 is out", "Release 2.1 is out"),
        ("It listens on :5433", "It listens on port 5433."),
        ("The queue lives at localhost:5433", "The queue lives at localhost, port 5433"),
        ("Twenty-five people were asked", "25 people were asked"),
    ],
)
def test_a_number_more_or_in_another_spelling_is_no_other_fact(one: str, other: str) -> None:
    assert kind(one, other) is kind(other, one) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Alerts go to ann@example.org", "Alerts go to bob@example.org"),
        ("Call it with --force", "Call it with --dry-run"),
        ("The helper is parse_date", "The helper is parse_time"),
        ("Docs are at https://example.org/a", "Docs are at https://example.org/b"),
        ("We chose plan B for the move", "We chose plan C for the move"),
        ("Import os.path here", "Import os.environ here"),
    ],
)
def test_each_side_has_an_identifier_of_its_own(one: str, other: str) -> None:
    assert kind(one, other) == kind(other, one) == "identifiers differ"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Actions on GitHub use Typescript", "Actions on Github use TypeScript"),
        ("Settings are in src/app/config.py", "Settings are in config.py"),
        ("Settings are read at start", "Settings in src/a are read at start"),
        ("Name flags well (e.g. isReady)", "Name flags well (e.g. hasFailed)"),
    ],
)
def test_an_identifier_more_or_in_another_spelling_is_no_other_fact(one: str, other: str) -> None:
    assert kind(one, other) is kind(other, one) is None


@pytest.mark.parametrize(
    ("stated", "denied"),
    [
        ("The job runs on weekends", "The job doesn't run on weekends"),
        ("The job runs on weekends", "The job doesn’t run on weekends"),
        ("The job runs on weekends", "The job never runs on weekends"),
        ("The job runs on weekends", "The job no longer runs on weekends"),
        ("The container starts with a volume", "The container starts without a volume"),
        ("Guests can edit pages", "Guests cannot edit pages"),
        ("Die Gäste dürfen Seiten ändern", "Die Gäste dürfen keine Seiten ändern"),
        ("Der Dienst startet nachts", "Der Dienst startet nachts nicht"),
        ("Les invités modifient les pages", "Les invités ne modifient plus les pages"),
        ("La página está abierta hoy", "La página no está abierta hoy"),
        ("A página está aberta hoje", "A página não está aberta hoje"),
        ("La pagina funziona oggi", "La pagina non funziona oggi"),
        ("De pagina werkt vandaag", "De pagina werkt vandaag niet"),
        ("Sidan fungerar idag", "Sidan fungerar inte idag"),
        ("Strona działa dzisiaj", "Strona nie działa dzisiaj"),
        ("Страница работает сегодня", "Страница не работает сегодня"),
        ("Сторінка працює сьогодні", "Сторінка не працює сьогодні"),
        ("访客可以编辑页面", "访客不可以编辑页面"),
        ("访客有权限", "访客没有权限"),
        ("ゲストは編集できる", "ゲストは編集できない"),
        ("게스트가 편집한다", "게스트가 편집하지 않는다"),
    ],
)
def test_one_side_is_negated(stated: str, denied: str) -> None:
    assert kind(denied, stated) == kind(stated, denied) == "negated"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It is not true that guests may not edit", "It is true that guests may edit"),
        ("Not only guests but also bots may edit", "Guests and bots may edit"),
        ("Use tabs in makefiles", "Use tabs in makefiles, not spaces"),
        ("Ann likes tea", "Ann likes tea but not milk"),
        ("Avoid globals in tests", "No globals in tests"),
        ("Guests never edit nor delete", "Guests never edit or delete"),
        ("The page n'est pas", "The page n'est plus"),
        ("是不是可以编辑", "可以编辑"),
        ("No hay nada en la cola", "En la cola no hay nada de nada"),
        ("Никто никогда не входит", "Никто не входит"),
    ],
)
def test_what_is_no_negation_after_all_is_no_other_fact(one: str, other: str) -> None:
    assert kind(one, other) is kind(other, one) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use tabs in makefiles", "Use spaces in makefiles, not tabs"),
        ("Never push to main, never force", "Push to main, force"),
        ("Guests may edit over VPN", "Guests may not edit over VPN"),
    ],
)
def test_a_contrast_or_an_addition_excuses_nothing_else(one: str, other: str) -> None:
    assert kind(one, other) == kind(other, one) == "negated"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The linter runs before the tests", "The linter runs after the tests"),
        ("The gate is open in summer", "The gate is closed in summer"),
        ("The audit flag is on", "The audit flag is off"),
        ("Accept requests of unknown size", "Reject requests of unknown size"),
        ("The tool needs Python >= 3", "The tool needs Python < 3"),
        ("Merge if checks pass", "Merge unless checks pass"),
        ("Der Cache ist aktiviert", "Der Cache ist deaktiviert"),
        ("Le cache est activé", "Le cache est désactivé"),
        ("缓存已启用", "缓存已禁用"),
        ("キャッシュは有効", "キャッシュは無効"),
    ],
)
def test_opposites_stand_in_each_others_place(one: str, other: str) -> None:
    assert kind(one, other) == kind(other, one)
    assert kind(one, other) in {"opposites", "negated"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The audit flag is enabled", "The audit flag is not disabled"),
        ("Guests may not pass", "Guests may not pass, before or after noon"),
        ("It runs before lunch", "It runs before lunch and after dinner"),
        ("禁止访客编辑", "不允许访客编辑"),
    ],
)
def test_an_opposite_that_is_turned_or_added_is_no_other_fact(one: str, other: str) -> None:
    assert kind(one, other) is kind(other, one) is None


def test_a_negation_elsewhere_does_not_turn_an_opposite() -> None:
    assert kind("Enable the cache and do not purge it", "Disable the cache and purge it")


def test_words_that_merely_differ_matter_at_the_level_words_only() -> None:
    one, other = "Müller leads the team", "Möller leads the team"
    assert why(one, other) is None
    assert why(one, other, WORDS) == "words differ: müller / möller"
    assert why(one, "Müller leads", WORDS) is None


def test_forms_of_a_word_are_one_at_the_level_words() -> None:
    one, other = (marks(text, EMPTY) for text in ("Ann edits pages", "Ann edited the page"))
    assert distinct(one, other, WORDS) == "words differ: edits, pages / edited, page"
    assert distinct(one, other, WORDS, lambda word: word[:4]) is None


def test_the_level_off_has_no_objection() -> None:
    assert why("Python 3.11", "Python 3.12", OFF) is None


def test_without_word_lists_numbers_and_identifiers_still_tell() -> None:
    one, other = (marks(text, EMPTY) for text in ("port 1 is not open", "port 2 is open"))
    assert distinct(one, other, VALUES) == "numbers differ: 1 / 2"
    one, other = (marks(text, EMPTY) for text in ("port 1 is not open", "port 1 is open"))
    assert distinct(one, other, VALUES) is None


def test_the_tokens_of_marks_are_those_of_the_alphabet_in_use() -> None:
    text = "naïve plan"
    whole, plain = marks(text, EMPTY), marks(text, EMPTY, ascii_only=True)
    assert whole.tokens == {"naïve", "plan"}
    assert whole.tokens is whole.tokens
    assert plain.tokens == {"na", "ve", "plan"}


@given(facts | st.text(), facts | st.text(), levels)
def test_the_outcome_is_the_same_either_way_round(one: str, other: str, level: str) -> None:
    first, second = marks(one, LEXICON), marks(other, LEXICON)
    assert apart(first, second, level) == apart(second, first, level)
    assert (distinct(first, second, level) is None) == (not apart(first, second, level))


@given(facts | st.text(), levels)
def test_a_text_is_never_distinct_from_itself(text: str, level: str) -> None:
    assert distinct(marks(text, LEXICON), marks(text, LEXICON), level) is None


@given(facts, st.lists(st.sampled_from("9.1 p50 lib_x /tmp fooBar three -z")).map(" ".join))
def test_added_words_give_no_reason_of_numbers_or_identifiers(text: str, added: str) -> None:
    assert kind(f"{text} ; {added}", text) not in {"numbers differ", "identifiers differ"}


@given(facts, facts)
def test_a_reason_names_words_on_every_side_that_it_has(one: str, other: str) -> None:
    reason = why(one, other)
    if reason is not None:
        assert all(side.strip() for side in reason.partition(": ")[2].split(" / "))


@given(st.permutations(NIGHTLY.split()))
def test_word_order_alone_makes_no_other_fact(words: list[str]) -> None:
    assert why(" ".join(words), NIGHTLY) is None


def test_many_look_alikes_of_one_template_are_told_apart_in_no_time() -> None:
    template = "Benchmark run {} of the two nightly ones took p95 {} ms on the big machine"
    known = [marks(template.format(n, n * 7), LEXICON) for n in range(1, 10_001)]
    new = marks(template.format(0, 3), LEXICON)
    assert jaccard(new.tokens, known[0].tokens) >= 0.6
    start = time.perf_counter()
    assert all(apart(new, old, VALUES) for old in known)
    assert time.perf_counter() - start < 0.5  # about 3 ms on an idle machine


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the server room is kept at -5 degrees", "the server room is kept at 5 degrees"),
        ("the offset of the sensor is -3", "the offset of the sensor is +3"),
        ("the parser module is written in C", "the parser module is written in C++"),
        ("the parser module is written in C#", "the parser module is written in C"),
        ("这个页面无需登录就能打开", "这个页面需登录就能打开"),
        ("我们别在周五发布新版本", "我们在周五发布新版本"),
    ],
)
def test_signs_letters_and_chinese_prohibitions_tell_facts_apart(one: str, other: str) -> None:
    lexicon = wordlists.load()
    new, known = marks(one, lexicon), marks(other, lexicon)
    assert apart(new, known, VALUES)
    assert apart(known, new, VALUES)
    assert not apart(new, marks(one + "!", lexicon), VALUES)
