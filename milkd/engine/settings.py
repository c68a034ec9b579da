"""From a config file to a set of knobs: taken as a whole, or not at all.

The values live in the `memory` block of milk's config file.  One of the wrong type
or out of range is refused by name.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from milkd.engine.knobs import BY_NAME, RETIRED, ROOT_KEYS, Knob
from milkd.engine.params import DEFAULT, PROFILES, Params
from milkd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping


ABOVE_PRUNING = ("reconfirm_cap", "promote_threshold", "promote_corroborated_threshold")
"""Strengths at which a fact must not be pruned."""
LONG_INT = 128  # bits; Python refuses to write out one that is much longer


@dataclass(frozen=True, slots=True)
class Settings:
    """A whole, valid set of knobs, and where each value came from."""

    params: Params
    origins: Mapping[str, str]
    """By knob: `config`, `default`, or the profile that gives the default."""
    warnings: tuple[str, ...] = ()


def read(document: Mapping[str, object]) -> Settings:
    """The knobs that a parsed config file sets.

    Raises:
        ConfigError: A value is of the wrong type or out of range; names the key, what was
            found and what is accepted.  Nothing is taken from the document then.
    """
    block = document.get("memory")
    if block is None:
        block = {}
    if not isinstance(block, dict):
        raise ConfigError(f"memory: found {_shown(block)}, expected an object of knobs")
    given = {key: document[key] for key in ROOT_KEYS if key in document} | block
    values = {
        name: checked
        for name, value in given.items()
        if name in BY_NAME and (checked := _checked(BY_NAME[name], value)) is not None
    }
    base = PROFILES[values.get("profile", DEFAULT.profile)]
    usual = "default" if base is DEFAULT else f"profile {base.profile}"
    origins = {f.name: "config" if f.name in values else usual for f in fields(Params)}
    params = replace(base, **values)
    _check_order(params)
    return Settings(params, origins, tuple(_warnings(given)))


def _checked(knob: Knob, value: object) -> Any:
    """The value in the knob's type; None where it stands for the default."""
    if value is None or (knob.zero_is_default and type(value) in (int, float) and value == 0):
        return None
    if knob.kind is float and type(value) is int:
        value = _as_float(value)
    if type(value) is not knob.kind or not _in_range(knob, value):
        raise ConfigError(f"{knob.name}: found {_shown(value)}, expected {_expected(knob)}")
    return value


def _check_order(params: Params) -> None:
    """Refuse knobs that only together destroy facts, or contradict each other.

    What a restatement or a promotion makes of a fact must survive the next pass.
    """
    low = params.prune_threshold
    for name in ABOVE_PRUNING:
        high = getattr(params, name)
        if not low < high:
            raise ConfigError(
                f"prune_threshold: found {low:g}, expected less than {name}, which is {high:g}"
            )
    unused, used = params.feedback_unused_share, params.feedback_used_share
    if unused > used:
        raise ConfigError(
            f"feedback_unused_share: found {unused:g}, expected at most feedback_used_share, "
            f"which is {used:g}"
        )


def _as_float(value: int) -> float:
    return float(value) if abs(value) < 2**53 else math.inf


def _in_range(knob: Knob, value: Any) -> bool:
    if isinstance(value, str):
        return value in knob.choices
    # Compared as it is: a whole number of 400 digits fits no float, and is out of range.
    return isinstance(value, bool) or knob.low <= value <= knob.high


def _expected(knob: Knob) -> str:
    if knob.choices:
        return "one of " + ", ".join(knob.choices)
    if knob.kind is bool:
        return "true or false"
    kind = "a whole number" if knob.kind is int else "a number"
    return f"{kind} of {knob.unit} between {knob.low:g} and {knob.high:g}"


def _shown(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > LONG_INT:
        return "a number of very many digits"
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _warnings(given: Mapping[str, object]) -> list[str]:
    found = []
    for name in given:
        if name in RETIRED:
            found.append(f"{name} is ignored; decay now follows {RETIRED[name]}")
        elif name not in BY_NAME:
            near = difflib.get_close_matches(name, BY_NAME, n=1)
            hint = f", did you mean {near[0]}?" if near else ""
            found.append(f"{name} is not a knob of this version{hint}")
    return found
