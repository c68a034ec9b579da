"""What an agent did with what it was shown, judged on each percept's own words."""

from __future__ import annotations

import pytest

from milkd.engine.judging import Jury
from milkd.engine.params import DEFAULT
from sitting import Sitting, percept

PNPM = percept("run the tests with pnpm_test", 1)
PORT = percept("postgres listens on port 5433 of birch", 2)
STYLE = percept("the user prefers short answers without bullet points", 3)
OTHERS = [percept(f"fact {n} about gadget{n} from vendor{n}", 100 + n) for n in range(50)]
IDLE = "I had a look at the colours of the sky and found them pleasing."


def verdicts(response: str, prompt: str = "", **knobs: object) -> list[str]:
    sitting = Sitting(base=DEFAULT, **knobs)
    sitting.hold("global", PNPM, PORT, STYLE, *OTHERS)
    memory, shown = sitting.engine._memory, [PNPM, PORT, STYLE]
    jury = Jury(memory, shown, prompt, response, memory.visible(None))
    return [jury.verdict(each).value for each in shown]


def test_each_is_judged_on_its_own_words() -> None:
    response = "I connect to postgres, which listens on port 5433 of birch."
    assert verdicts(response) == ["unused", "used", "unused"]


def test_an_identifier_of_its_own_is_enough() -> None:
    assert verdicts(f"{IDLE}\n$ pnpm_test --watch")[0] == "used"
    assert verdicts(f"{IDLE}\n$ xpnpm_testy")[0] == "unused"


def test_an_identifier_of_the_prompt_is_not() -> None:
    assert verdicts(f"{IDLE}\n$ pnpm_test", prompt="what is pnpm_test?")[0] != "used"


def test_so_is_its_id_as_it_is_printed() -> None:
    assert verdicts(f"{IDLE} (see #{STYLE.id[:8]})")[2] == "used"
    assert verdicts(f"{IDLE} (see {STYLE.id})")[2] == "used"
    assert verdicts(f"{IDLE} (see {STYLE.id[:7]})")[2] == "unused"
    assert verdicts(f"{IDLE} (see a{STYLE.id[:8]})")[2] == "unused"


def test_words_of_the_prompt_tell_nothing() -> None:
    prompt = "what port does postgres on birch listen on? is it 5433"
    assert verdicts("It listens on port 5433 of birch, postgres.", prompt)[1] == "unknown"


def test_other_forms_of_the_words_count() -> None:
    assert verdicts("Preferring a short answer without any bullet, the user nods.")[2] == "used"


def test_a_short_response_shows_no_neglect() -> None:
    assert verdicts("Done, all is green now.") == ["unknown"] * 3
    assert verdicts("Done, all is green now.", feedback_min_response=5) == ["unused"] * 3


def test_some_of_the_words_say_neither() -> None:
    response = "I keep it short, as the user would wish, and go on from there."
    assert verdicts(response)[2] == "unknown"


@pytest.mark.parametrize("share", [0.15, 1.0])
def test_the_shares_are_knobs(share: float) -> None:
    response = "I keep it short, as the user would wish, and go on from there."
    found = verdicts(response, feedback_used_share=share, feedback_unused_share=share)
    assert found[2] == ("used" if share == 0.15 else "unused")


def test_what_two_of_them_share_tells_nothing_of_either() -> None:
    sitting = Sitting(base=DEFAULT)
    one, other = percept("deploys wait for anna", 1), percept("deploys wait for boris", 2)
    sitting.hold("global", one, other, *OTHERS)
    memory = sitting.engine._memory
    jury = Jury(
        memory, [one, other], "", "Deploys wait, so I asked boris first.", memory.visible(None)
    )
    assert [jury.verdict(each).value for each in (one, other)] == ["unused", "used"]
