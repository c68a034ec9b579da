"""A file system in memory that remembers what a power cut could take back.

`CrashFiles` answers the calls of `Files` and logs what each of them changed, so that
`torture.cuts` can tell from the log what a disk may hold afterwards.  A file is a node
with a number; the names that lead to it lie in directories, which are nodes as well.
Symlinks, permissions and the time of day are not modelled.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from milkd.store.files import Files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = 1
EPOCH = 1_767_225_600 * 10**9  # ns; the time at which every file system begins
TICK = 1_000  # ns that a change takes
DEVICE = 77


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes came into a file, which grew if they reached beyond its end."""

    node: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncate:
    """A file has this size now."""

    node: int
    size: int


@dataclass(frozen=True, slots=True)
class Names:
    """Names lead elsewhere, all at once: (directory, name, node or None)."""

    changes: tuple[tuple[int, str, int | None], ...]


@dataclass(frozen=True, slots=True)
class Sync:
    """What was done to a file, or to the names in a directory, is durable."""

    node: int


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that the test wants to know the place of, such as an answer that left."""

    label: object


Event = Write | Truncate | Names | Sync | Mark


@dataclass(slots=True)
class Node:
    """A file or a directory."""

    number: int
    mode: int
    data: bytearray = field(default_factory=bytearray)
    names: dict[str, int] = field(default_factory=dict)
    changed: int = EPOCH
    written: int = EPOCH

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.mode)

    def copy(self) -> Node:
        return replace(self, data=bytearray(self.data), names=dict(self.names))


@dataclass(slots=True)
class Tree:
    """Files and directories as they are at one moment."""

    nodes: dict[int, Node]

    @classmethod
    def of(cls, files: Mapping[str, bytes] | None = None) -> Tree:
        """A tree with these files, by absolute path, and the directories that lead to them."""
        tree = cls({ROOT: Node(ROOT, stat.S_IFDIR | 0o700)})
        for path, data in (files or {}).items():
            *way, name = path.strip("/").split("/")
            at = tree.nodes[ROOT]
            for step in way:
                if step not in at.names:
                    at.names[step] = tree.add(stat.S_IFDIR | 0o700).number
                at = tree.nodes[at.names[step]]
            made = tree.add(stat.S_IFREG | 0o600)
            made.data += data
            at.names[name] = made.number
        return tree

    def add(self, mode: int) -> Node:
        number = max(self.nodes) + 1
        self.nodes[number] = Node(number, mode)
        return self.nodes[number]

    def copy(self) -> Tree:
        return Tree({number: node.copy() for number, node in self.nodes.items()})

    def walk(self, number: int = ROOT, path: str = "") -> Iterator[tuple[str, Node]]:
        """Every name in the tree with what it leads to, a directory before what is in it."""
        for name, inner in sorted(self.nodes[number].names.items()):
            node = self.nodes[inner]
            yield f"{path}/{name}", node
            if node.is_directory:
                yield from self.walk(inner, f"{path}/{name}")

    def texts(self) -> dict[str, bytes]:
        """The files by path."""
        return {path: bytes(node.data) for path, node in self.walk() if not node.is_directory}

    def lay_out(self, place: str) -> None:
        """Make all of it on a real disk, in an existing directory, hard links included."""
        made: dict[int, str] = {}
        for path, node in self.walk():
            real = place + path
            if node.is_directory:
                os.mkdir(real, 0o700)
            elif node.number in made:
                os.link(made[node.number], real)
            else:
                fd = os.open(real, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IMODE(node.mode))
                with open(fd, "wb") as file:
                    file.write(node.data)
                made[node.number] = real


@dataclass(slots=True)
class _Opened:
    node: Node
    flags: int
    offset: int = 0


class CrashFiles(Files):
    """`Files` on a tree in memory.

    Attributes:
        start: The tree as it was at first, all of it durable.
        log: What happened since.
    """

    def __init__(self, tree: Tree | None = None) -> None:
        self.start = (tree or Tree.of()).copy()
        self.tree = self.start.copy()
        self.log: list[Event] = []
        self._time = max(node.changed for node in self.tree.nodes.values())
        # Never reused, as the number of a node on a real disk is: a stamp must not rely on that,
        # and the log would take two files for one.
        self._numbers = count(max(self.tree.nodes) + 1)
        self._opened: dict[int, _Opened] = {}
        self._descriptors = count(10_000)

    def mark(self, label: object) -> None:
        """Note something in the log."""
        self.log.append(Mark(label))

    def left_open(self) -> int:
        """How many descriptors are open."""
        return len(self._opened)

    # The calls of `Files`

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        directory, name = self._parent(path)
        number = directory.names.get(name) if name else directory.number
        if number is None:
            if not flags & os.O_CREAT:
                raise _error(errno.ENOENT, path)
            node = self._make(stat.S_IFREG | mode)
            self._name((directory.number, name, node.number))
        elif flags & os.O_CREAT and flags & os.O_EXCL:
            raise _error(errno.EEXIST, path)
        else:
            node = self._existing(number, path, flags)
        descriptor = next(self._descriptors)
        self._opened[descriptor] = _Opened(node, flags)
        return descriptor

    def close(self, fd: int) -> None:
        self._of(fd)
        del self._opened[fd]

    def read(self, fd: int, size: int) -> bytes:
        opened = self._of(fd)
        data = bytes(opened.node.data[opened.offset : opened.offset + size])
        opened.offset += len(data)
        return data

    def write(self, fd: int, data: bytes | memoryview) -> int:
        opened = self._of(fd)
        if opened.flags & (os.O_WRONLY | os.O_RDWR) == 0:
            raise _error(errno.EBADF)
        node = opened.node
        if opened.flags & os.O_APPEND:
            opened.offset = len(node.data)
        self.log.append(Write(node.number, opened.offset, bytes(data)))
        put(node.data, opened.offset, data)
        opened.offset += len(data)
        self._touch(node)
        node.written = node.changed
        return len(data)

    def fsync(self, fd: int) -> None:
        self.log.append(Sync(self._of(fd).node.number))

    def fdatasync(self, fd: int) -> None:
        self.fsync(fd)

    def ftruncate(self, fd: int, size: int) -> None:
        node = self._of(fd).node
        self._cut(node, size)

    def fstat(self, fd: int) -> os.stat_result:
        return self._stat(self._of(fd).node)

    def stat(self, path: str) -> os.stat_result:
        return self._stat(self._found(path))

    def rename(self, old: str, new: str) -> None:
        node = self._found(old)
        (source, name), (target, other) = self._parent(old), self._parent(new)
        replaced = target.names.get(other)
        if replaced == node.number:
            return
        if replaced is not None and self.tree.nodes[replaced].is_directory:
            raise _error(errno.EISDIR, old, new)
        self._name((source.number, name, None), (target.number, other, node.number))
        self._touch(node)

    def link(self, old: str, new: str) -> None:
        node = self._found(old)
        directory, name = self._parent(new)
        if name in directory.names:
            raise _error(errno.EEXIST, old, new)
        self._name((directory.number, name, node.number))
        self._touch(node)

    def unlink(self, path: str) -> None:
        node = self._found(path)
        if node.is_directory:
            raise _error(errno.EISDIR, path)
        directory, name = self._parent(path)
        self._name((directory.number, name, None))
        self._touch(node)

    def mkdir(self, path: str, mode: int = 0o700) -> None:
        directory, name = self._parent(path)
        if not name or name in directory.names:
            raise _error(errno.EEXIST, path)
        self._name((directory.number, name, self._make(stat.S_IFDIR | mode).number))

    def listdir(self, path: str) -> list[str]:
        node = self._found(path)
        if not node.is_directory:
            raise _error(errno.ENOTDIR, path)
        return list(node.names)

    def resolve(self, path: str) -> str:
        return os.path.normpath(path)

    # What they are made of

    def _parent(self, path: str) -> tuple[Node, str]:
        """The directory that a path's last name is in; no name for the root."""
        *way, name = os.path.normpath(path).strip("/").split("/")
        node = self.tree.nodes[ROOT]
        for step in way:
            if step not in node.names:
                raise _error(errno.ENOENT, path)
            node = self.tree.nodes[node.names[step]]
            if not node.is_directory:
                raise _error(errno.ENOTDIR, path)
        return node, name

    def _found(self, path: str) -> Node:
        directory, name = self._parent(path)
        if not name:
            return directory
        if name not in directory.names:
            raise _error(errno.ENOENT, path)
        return self.tree.nodes[directory.names[name]]

    def _existing(self, number: int, path: str, flags: int) -> Node:
        node = self.tree.nodes[number]
        if node.is_directory and flags & (os.O_WRONLY | os.O_RDWR):
            raise _error(errno.EISDIR, path)
        if flags & os.O_DIRECTORY and not node.is_directory:
            raise _error(errno.ENOTDIR, path)
        if flags & os.O_TRUNC and node.data:
            self._cut(node, 0)
        return node

    def _of(self, fd: int) -> _Opened:
        if fd not in self._opened:
            raise _error(errno.EBADF)
        return self._opened[fd]

    def _make(self, mode: int) -> Node:
        node = Node(next(self._numbers), mode)
        self.tree.nodes[node.number] = node
        self._touch(node)
        return node

    def _name(self, *changes: tuple[int, str, int | None]) -> None:
        self.log.append(Names(changes))
        rename_in({number: node.names for number, node in self.tree.nodes.items()}, changes)

    def _cut(self, node: Node, size: int) -> None:
        self.log.append(Truncate(node.number, size))
        cut(node.data, size)
        self._touch(node)

    def _touch(self, node: Node) -> None:
        self._time += TICK
        node.changed = self._time

    def _stat(self, node: Node) -> os.stat_result:
        links = sum(
            number == node.number
            for each in self.tree.nodes.values()
            for number in each.names.values()
        )
        seconds = (node.written // 10**9,) * 2 + (node.changed // 10**9,)
        exact = {"st_mtime_ns": node.written, "st_ctime_ns": node.changed}
        values = (node.mode, node.number, DEVICE, links, 0, 0, len(node.data), *seconds)
        return os.stat_result(values, exact)


def put(data: bytearray, offset: int, new: bytes | memoryview) -> None:
    """Write into a file's bytes; what lies between its end and the offset is zeros."""
    if offset > len(data):
        data += bytes(offset - len(data))
    data[offset : offset + len(new)] = new


def cut(data: bytearray, size: int) -> None:
    """Give a file this size, by zeros if it grows."""
    del data[size:]
    data += bytes(size - len(data))


def rename_in(
    names: Mapping[int, dict[str, int]], changes: tuple[tuple[int, str, int | None], ...]
) -> None:
    """Let names lead elsewhere.  A directory that is not there any more takes none."""
    for directory, name, node in changes:
        if directory in names:
            if node is None:
                names[directory].pop(name, None)
            else:
                names[directory][name] = node


def _error(number: int, *paths: str) -> OSError:
    words = os.strerror(number)
    if len(paths) == 2:
        return OSError(number, words, paths[0], None, paths[1])
    return OSError(number, words, *paths)
