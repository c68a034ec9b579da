"""Commands that work on a store itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from places import Place, Ran

    Milkctl = Callable[..., Ran]


def test_a_store_is_checked_without_a_daemon(place: Place, milkctl: Milkctl) -> None:
    place.store.mkdir(parents=True, mode=0o700)
    file = place.store / "global.json"
    file.write_text('{"percepts": []}')
    file.chmod(0o600)
    where = ("--store", str(place.store))
    assert milkctl("check", *where) == (
        0,
        f"store {place.store}\n"
        "note     .: milkd has not written here yet\n"
        "ok       global.json: 0 percepts, 0 engrams, 0 edges\n"
        "sound: 1 note\n",
        "",
    )
    file.write_text('{"percepts": [}')
    ran = milkctl("check", *where)
    assert ran.code == 1
    assert "\nerror    global.json: is not valid JSON: " in ran.out
    assert ran.out.endswith("not sound: 1 error, 1 note\n")
    answer = json.loads(milkctl("check", "--json", *where).out)
    assert (answer["sound"], answer["running"]) == (False, None)
    assert answer["findings"][1]["offset"] == 14
    assert not (place.store / ".milkd").exists()


def test_a_store_that_is_not_there_is_not_sound(place: Place, milkctl: Milkctl) -> None:
    ran = milkctl("check", "--store", str(place.home / "typo"))
    assert ran.code == 1
    assert "error    .: there is no such directory" in ran.out
    assert not (place.home / "typo").exists()


def test_a_store_is_checked_beside_its_daemon(place: Place, milkctl: Milkctl) -> None:
    place.start()
    milkctl("learn", "the user prefers tabs")
    ran = milkctl("check")
    assert ran.code == 0, ran.out
    assert "in the hands of milkd with pid " in ran.out
    assert "global.json: 1 percept, " in ran.out
