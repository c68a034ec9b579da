"""New files for some scopes: written beside the old ones, then put in their places."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from milkd.engine.percept import ARCHIVE, GLOBAL, ScopeImage
from milkd.store.files import (
    current_stamp,
    ensure_directory,
    open_directory,
    restamped,
    settle,
    unlink_quietly,
)
from milkd.store.own import OWN_KEY
from milkd.store.replace import Overtaken, Replacement, keep

if TYPE_CHECKING:
    from milkd.store.files import Files, Stamp


@dataclass(slots=True)
class NewFile:
    """A scope's new file.

    Attributes:
        image: The scope as it is in the file.
        path: The file to replace.
        replacement: None if the file is to go.
    """

    image: ScopeImage
    path: str
    replacement: Replacement | None = None


@dataclass(slots=True)
class Checkpoint:
    """The new files of one checkpoint.

    Attributes:
        seq: They hold all entries up to this one, of their scopes.
        operations: The new file of operations.
    """

    seq: int
    files: list[NewFile] = field(default_factory=list)
    operations: Replacement | None = None

    def discard(self) -> None:
        """Remove what has not been published."""
        for new in self.files:
            if new.replacement is not None:
                new.replacement.discard()
        if self.operations is not None:
            self.operations.discard()


def is_void(image: ScopeImage) -> bool:
    """Whether a session's image holds nothing worth a file."""
    if image.name in (GLOBAL, ARCHIVE):
        return False
    held = image.percepts or image.engrams or image.edges or image.unreadable or image.shown
    return not held and not image.extra.keys() - {OWN_KEY}


def publish(files: Files, new: NewFile, expected: Stamp | None, backup: str | None) -> Stamp | None:
    """Put a new file in its place, or take the old one away; the stamp of what is there now.

    The old one is kept as `backup`, if that is given.

    Raises:
        Overtaken: Something else is there than what was expected; nothing was changed.
        Unpublished: The disk refused; tells the stamp of what is there now.
    """
    if new.replacement is None:
        return _remove(files, new.path, expected, backup)
    try:
        new.replacement.publish(expected, backup)
    except OSError as error:
        raise Unpublished(error, new.replacement.stamp) from error
    return new.replacement.stamp


class Unpublished(Exception):
    """The disk refused a new file its place, or an old one its end."""

    def __init__(self, error: OSError, stamp: Stamp | None) -> None:
        super().__init__(str(error))
        self.error = error
        self.stamp = stamp


def _remove(files: Files, path: str, expected: Stamp | None, backup: str | None) -> Stamp | None:
    """Delete a scope's file, of a symlink both ends, and keep it as a backup."""
    found = current_stamp(files, path)
    if found is None:
        return None
    if found != expected:
        raise Overtaken(path)
    target = files.resolve(path)
    try:
        if backup is not None:
            ensure_directory(files, os.path.dirname(backup))
            keep(files, target, backup)
        for name in dict.fromkeys([target, path]):
            directory = os.path.dirname(name)
            with open_directory(files, directory) as fd:
                files.unlink(name)
                settle(files.fsync_directory, fd, directory)
    except OSError as error:
        # To be kept as a backup changes a file's stamp, though nobody wrote it.
        if current_stamp(files, path) is None:
            raise Unpublished(error, None) from error
        if backup is not None:
            unlink_quietly(files, backup)
        raise Unpublished(error, restamped(files, path, found)) from error
    return None
