"""The two halves of a checkpoint: new files beside the old ones, then in their places."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from milkd.engine.capture import Capture
from milkd.store.checkpoint import Checkpoint, NewFile, Unpublished, is_void, publish
from milkd.store.encoder import Encoder
from milkd.store.files import storage_error
from milkd.store.interface import Published
from milkd.store.operations import FILE, operations_to_bytes
from milkd.store.replace import ANY, Overtaken, Replacement
from milkd.store.unsaved import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from milkd.engine.percept import ScopeImage
    from milkd.store.backups import Backups
    from milkd.store.directory import Directory
    from milkd.store.entries import Done
    from milkd.store.files import Files
    from milkd.store.presence import Presence
    from milkd.store.seal import Sealing
    from milkd.store.unsaved import Unsaved

MAX_ENCODERS = 16  # scopes whose texts are remembered
Lend = Callable[[Callable[[], object]], object]
"""Makes a call that may take the spare descriptors."""


class Saving:
    """Writes the files of a store.

    Attributes:
        useless: Scopes whose old file nobody can understand; it was set aside, and would be of no
            use among the backups.
        left: As of which entry the file of each scope was left.
    """

    def __init__(
        self,
        files: Files,
        directory: Directory,
        own: str,
        presence: Presence,
        backups: Backups,
        unsaved: Unsaved,
    ) -> None:
        self.useless: set[str] = set()
        self.left: dict[str, int] = {}
        self._files = files
        self._directory = directory
        self._operations = os.path.join(own, FILE)
        self._presence = presence
        self._backups = backups
        self._unsaved = unsaved
        self._encoders: dict[str, Encoder] = {}

    def write(
        self,
        parts: Sequence[Capture | ScopeImage],
        sealing: Sealing,
        operations: Sequence[Done],
        pause: Callable[[], None],
    ) -> Checkpoint:
        """Write scopes into new files beside the old ones.

        Raises:
            OSError: The disk refused; nothing is left of them.
        """
        checkpoint = Checkpoint(sealing.seq)
        try:
            for part in parts:
                pause()
                image = part.image() if isinstance(part, Capture) else part
                checkpoint.files.append(self._new(image, sealing, pause))
            # With no operation either: no scope's file may be left that tells the newest number.
            if parts or OPERATIONS in self._unsaved:
                checkpoint.operations = Replacement(self._files, self._operations)
                left = self._left_by(checkpoint)
                text = operations_to_bytes(sealing.store, sealing.seq, operations, left)
                checkpoint.operations.write([text])
        except BaseException:
            checkpoint.discard()
            raise
        return checkpoint

    def publish(self, written: Checkpoint, lend: Lend) -> Published:
        """Put the new files in the old ones' places."""
        published = Published()
        with self._presence.busy:
            try:
                for new in written.files:
                    lend(partial(self._publish, new, written.seq, published))
                # Of a file that others have written since it would say what is not so; they
                # are all written again when that is taken in.
                if written.operations is not None and not published.overtaken:
                    lend(partial(written.operations.publish, ANY))
                    self._unsaved.saved(OPERATIONS, written.seq)
            except OSError as error:
                published.error = storage_error(f"cannot save to {self._directory.path}", error)
            finally:
                written.discard()
        for scope in published.images:
            self._backups.thin(scope)
        self._backups.expire()
        return published

    def _left_by(self, written: Checkpoint) -> dict[str, int]:
        """As of which entry the files are left when the checkpoint is published."""
        left = self.left | {new.image.name: written.seq for new in written.files}
        gone = {new.image.name for new in written.files if new.replacement is None}
        return {scope: seq for scope, seq in left.items() if scope not in gone}

    def _new(self, image: ScopeImage, sealing: Sealing, pause: Callable[[], None]) -> NewFile:
        path = self._directory.file(image.name)
        if is_void(image):
            return NewFile(image, path)
        replacement = Replacement(self._files, path)
        try:
            replacement.write(self._encoder(image.name).encode(image, sealing, pause))
        except BaseException:
            replacement.discard()
            raise
        return NewFile(image, path, replacement)

    def _publish(self, new: NewFile, seq: int, published: Published) -> None:
        scope = new.image.name
        backup = None if scope in self.useless else self._backups.name(scope)
        try:
            stamp = publish(self._files, new, self._presence.stamp(scope), backup)
        except Overtaken:
            published.overtaken.append(scope)
            return
        except Unpublished as refused:
            self._presence.know(scope, refused.stamp)
            raise refused.error from refused
        self._presence.know(scope, stamp)
        self.useless.discard(scope)
        self._unsaved.saved(scope, seq)
        if new.replacement is None:
            self.left.pop(scope, None)
        else:
            self.left[scope] = seq
        published.images[scope] = new.image

    def _encoder(self, scope: str) -> Encoder:
        encoder = self._encoders.pop(scope, None) or Encoder()
        self._encoders[scope] = encoder
        if len(self._encoders) > MAX_ENCODERS:
            del self._encoders[next(iter(self._encoders))]
        return encoder
