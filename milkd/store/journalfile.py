"""One generation of the journal as a file: appending so that it can be relied on.

What an append that failed has left is cut off again, so that the file always ends
after a record that is durable.  Where that is not certain any more, nothing is
ever written to the file again.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from milkd.store.entries import entry_to_payload
from milkd.store.files import (
    MAX_FILE,
    Poisoned,
    close_quietly,
    open_directory,
    read_file,
    sync,
    unlink_quietly,
    write_all,
)
from milkd.store.journal import Header, frame, header_frame, scan, seed_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from milkd.store.entries import Entry
    from milkd.store.files import Files
    from milkd.store.journal import Scan

NAME = re.compile(r"journal\.(([0-9]{8,})-[0-9a-f]{8})")


class Journal:
    """A generation that is being written.

    Attributes:
        gen: Its name.
        path: Its file.
        base: The sequence number before its first entry.
        last: The sequence number of its newest entry.
        size: Bytes up to the end of that entry.
    """

    def __init__(self, files: Files, fd: int, path: str, header: Header) -> None:
        """Take over an open file that holds its header and nothing else; see `create`."""
        self.gen = header.gen
        self.path = path
        self.base = self.last = header.base
        self.size = len(header_frame(header))
        self._files = files
        self._fd: int | None = fd
        self._seed = seed_of(header.store, header.gen)
        self._sound = True

    @classmethod
    def create(
        cls,
        files: Files,
        directory: str,
        *,
        store: str,
        number: int,
        base: int,
        writer: str,
        after: int | None = None,
    ) -> Journal:
        """Begin a generation, in a new file that survives a power cut.

        Args:
            files: The calls to go through.
            directory: Where; it must exist.
            store: Id of the store.
            number: One more than that of the generation before.
            base: The newest sequence number so far.
            writer: The program, for people.
            after: See `Header`.

        Raises:
            OSError: It cannot be done; of the file nothing is left.
        """
        gen = f"{number:08d}-{os.urandom(4).hex()}"
        header = Header(store, gen, base, writer=writer, after=after)
        path = os.path.join(directory, f"journal.{gen}")
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with open_directory(files, directory) as directory_fd:
            fd = files.open(path, flags, 0o600)
            try:
                write_all(files, fd, header_frame(header))
                files.fsync(fd)
                files.fsync_directory(directory_fd)
            except BaseException:
                close_quietly(files, fd)
                unlink_quietly(files, path)
                raise
        return cls(files, fd, path, header)

    def append(self, entries: Sequence[Entry], durable: int) -> None:
        """Write entries and wait until they are on the medium.

        Args:
            entries: Numbered on from `last`.
            durable: The newest sequence number that was durable when they were made.

        Raises:
            ValueError: The numbers are not the next ones, or an entry is too long for a record
                (`RecordTooLong`); nothing was written.
            OSError: The disk refused; the file is as it was before.
            Poisoned: What the file holds now is not known; this and every later append failed.
        """
        if self._fd is None:
            raise ValueError(f"{self.path} is closed")
        if not self._sound:
            raise Poisoned(f"an earlier append to {self.path} failed; outcome unknown")
        for number, entry in enumerate(entries, self.last + 1):
            if entry.seq != number:
                raise ValueError(f"found entry {entry.seq}, expected {number}")
        if entries:
            records = [frame(entry_to_payload(entry, durable), self._seed) for entry in entries]
            self._write(self._fd, b"".join(records))
            self.last = entries[-1].seq

    def close(self) -> None:
        """Let go of the file; what was appended is on the medium."""
        if self._fd is not None:
            close_quietly(self._files, self._fd)
            self._fd = None

    def _write(self, fd: int, data: bytes) -> None:
        self._sound = False  # until it is certain what the file holds, whatever is raised
        try:
            write_all(self._files, fd, data)
        except OSError:
            self._cut(fd)
            self._sound = True
            raise
        sync(self._files.fdatasync, fd, self.path)
        self.size += len(data)
        self._sound = True

    def _cut(self, fd: int) -> None:
        """Take back what a failed append has written, for good: it must not come back later."""
        try:
            self._files.ftruncate(fd, self.size)
        except OSError as error:
            why = error.strerror or error
            raise Poisoned(f"cannot shorten {self.path}: {why}; outcome unknown") from error
        sync(self._files.fdatasync, fd, self.path)


def journals(files: Files, directory: str) -> list[tuple[int, str, str]]:
    """Number, generation and path of every journal in a directory, the oldest first.

    Raises:
        OSError: It cannot be listed.
    """
    try:
        names = files.listdir(directory)
    except FileNotFoundError:
        return []
    found = [(match, name) for name in names if (match := NAME.fullmatch(name))]
    return sorted((int(m[2]), m[1], os.path.join(directory, name)) for m, name in found)


def read_journal(files: Files, path: str, *, store: str | None, gen: str) -> Scan:
    """What is in a journal's file.

    Raises:
        OSError: The disk did not give it, or it is no file that a journal could be.
    """
    data, _ = read_file(files, path, MAX_FILE)
    return scan(data, store=store, gen=gen)
