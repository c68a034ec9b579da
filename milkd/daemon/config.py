"""milk's config file, watched: a change is taken as a whole or not at all.

A file that cannot be used leaves the last good settings in force; at the start
those are the defaults.  A missing file is an empty one.
"""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import trio

from milkd.engine.knobs import KNOBS
from milkd.engine.params import PROFILES, Params
from milkd.engine.settings import Settings, read
from milkd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from milkd.daemon.health import Health
    from milkd.daemon.limits import Limits

HEALTH_KEY = "config"
MAX_BYTES = 1 << 20  # of the file; milk's own is a few KiB

Stamp = tuple[int, int, int, int] | None

_log = logging.getLogger(__name__)


class Config:
    """The settings in force.

    Args:
        path: The file; it need not exist.
        apply: Called with the knobs whenever they become others.
    """

    def __init__(self, path: str, health: Health, apply: Callable[[Params], None]) -> None:
        self.path = path
        self.settings = read({})
        self._health = health
        self._apply = apply
        self._seen: Stamp = None
        self._problem: str | None = None  # why the file as it is now is not taken

    def start(self) -> None:
        """Read the file for the first time; a bad one is told in health, not raised."""
        self._seen = stamp(self.path)
        try:
            self._take(load(self.path))
        except ConfigError as error:
            self._complain(error)

    async def reload(self) -> list[str]:
        """Read the file again; the names of the knobs that have other values now.

        Raises:
            ConfigError: Names the key that is wrong; nothing was taken.
        """
        # The stamp first: a change between the two is then seen at the next look.
        self._seen = await trio.to_thread.run_sync(stamp, self.path)
        try:
            return self._take(await trio.to_thread.run_sync(load, self.path))
        except ConfigError as error:
            self._complain(error)
            raise

    async def watch(self, interval_s: float) -> NoReturn:
        """Look at the file every so often, for ever."""
        while True:
            await trio.sleep(interval_s)
            if await trio.to_thread.run_sync(stamp, self.path) != self._seen:
                await self.refresh()

    async def refresh(self) -> None:
        """Read the file again because somebody changed it; a bad one is told in health."""
        try:
            changed = await self.reload()
        except ConfigError:
            return
        _log.info("config read again; changed: %s", ", ".join(changed) or "nothing")

    def to_wire(self) -> dict[str, object]:
        """Every knob with its value, origin, unit, and what its profile gives it."""
        settings = self.settings
        defaults = PROFILES[settings.params.profile]
        values = {
            knob.name: {
                "value": getattr(settings.params, knob.name),
                "origin": settings.origins[knob.name],
                "default": getattr(defaults, knob.name),
                "unit": knob.unit,
            }
            for knob in KNOBS
        }
        warnings = [*filter(None, [self._problem]), *settings.warnings]
        return {"values": values, "path": self.path, "warnings": warnings}

    def _take(self, settings: Settings) -> list[str]:
        before, self.settings = self.settings, settings
        self._problem = None
        self._health.clear(HEALTH_KEY)
        if settings.warnings != before.warnings:
            for warning in settings.warnings:
                _log.warning("config: %s", warning)
        changed = [
            knob.name
            for knob in KNOBS
            if getattr(settings.params, knob.name) != getattr(before.params, knob.name)
        ]
        if changed:
            self._apply(settings.params)
        return changed

    def _complain(self, error: ConfigError) -> None:
        set_before = "config" in self.settings.origins.values()
        held = "the last good settings stay" if set_before else "the defaults are"
        reason = f"the config file is not taken, {held} in force: {error}"
        _log.error("%s", reason)
        self._problem = reason
        self._health.note(HEALTH_KEY, reason)


def stamp(path: str) -> Stamp:
    """What tells one state of the file from another; None when it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def load(path: str) -> Settings:
    """The settings of the file as it is now.

    Raises:
        ConfigError: The file cannot be read, is not JSON, or sets something wrongly.
    """
    try:
        document, twice = read_document(path)
        settings = read(document)
        return replace(settings, warnings=(*twice, *settings.warnings))
    except ConfigError:
        raise
    except Exception as error:  # a config file must not be able to end the daemon
        raise ConfigError(f"{path}: cannot be understood ({type(error).__name__})") from error


def limits(path: str, usual: Limits) -> tuple[Limits, str | None]:
    """The limits that hold with the file as it is, and what is wrong with those in it.

    A file that cannot be read at all is `Config`'s to complain about.
    """
    try:
        document, _ = read_document(path)
    except ConfigError:
        return usual, None
    try:
        return usual.lowered(document.get("milkd")), None
    except ConfigError as error:
        return usual, f"the limits in the config file are not taken: {error}"


def read_document(path: str) -> tuple[dict[str, object], list[str]]:
    """The file's object, and a warning for each key that is there twice; without file empty.

    Raises:
        ConfigError: The file cannot be read, or is not JSON.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return {}, []
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path}: more than {MAX_BYTES} bytes, which no config file needs")
    return _parse(path, data)


def _parse(path: str, data: bytes) -> tuple[dict[str, object], list[str]]:
    """The file as JSON, and a warning for each key that an object has twice."""
    twice: list[str] = []

    def gather(pairs: list[tuple[str, object]]) -> dict[str, object]:
        members = dict(pairs)
        if len(members) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            twice.extend(_doubled(key) for key, count in counts.items() if count > 1)
        return members

    if not data:
        # What a crash or a full disk leaves of a file; that of somebody who wants the defaults
        # would be missing, or be an empty object.
        raise ConfigError(f"{path}: is empty, expected an object such as {{}}")
    try:
        document = json.loads(data.decode("utf-8-sig"), object_pairs_hook=gather)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not JSON: {error}") from error
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: expected an object at the top, such as {{}}")
    return document, twice


def _doubled(key: str) -> str:
    return f"{key[:64]!a} is there more than once in one object; the last one counts"
