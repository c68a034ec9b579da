"""Whether a short reply says yes or no."""

from __future__ import annotations

import pytest

from milkd.engine.replies import consent

YES = """
yes | Yes! | yes, that's it | correct | Correct. | that's right | That’s right. | exactly | yep |
it is correct | this is right | yes exactly | Right, thanks |
ja, genau | oui, exact | sí, correcto | да, верно | 对 | 没错
"""
NO = """
no | No. | no, use port 5433 | wrong | that's wrong | not right | that's not right | isn't correct |
No, that is not it | incorrect | nope | nein, falsch | non, c'est faux | нет | 不对 |
no it isn't
"""
NEITHER = """
no problem | no worries | no tests failed | right now | right away | yes please | yes? |
is it right? | correct the typo | exactly one test fails | not now | thanks | go on |
now run the tests |  | ... | yes and then we should also look into the other file | no need | right
after lunch
"""


def phrases(block: str) -> list[str]:
    return [phrase.strip() for phrase in block.replace("\n", " ").split("|")]


@pytest.mark.parametrize("reply", phrases(YES))
def test_this_is_a_yes(reply: str) -> None:
    assert consent(reply, 6) is True


@pytest.mark.parametrize("reply", phrases(NO))
def test_this_is_a_no(reply: str) -> None:
    assert consent(reply, 6) is False


@pytest.mark.parametrize("reply", phrases(NEITHER))
def test_this_is_neither(reply: str) -> None:
    assert consent(reply, 6) is None


def test_how_short_a_reply_has_to_be_is_a_knob() -> None:
    assert consent("yes, that is it", 3) is None
    assert consent("yes, that is it", 4) is True
    assert consent("yes", 0) is None
