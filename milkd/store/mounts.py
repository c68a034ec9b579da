"""On what kind of file system a path is, as far as the kernel tells.

Where other machines reach the same files, locks may hang, fail, or reach no further than
this machine.  Linux tells in /proc/self/mountinfo (proc(5)); of other systems nothing is
known, and every file system there is taken for a local one.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NETWORK = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "coda", "ncpfs"),
        *("9p", "virtiofs", "vboxsf", "prl_fs", "fuse.vmhgfs-fuse", "fuse.grpcfuse"),
        *("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.davfs", "fuse.glusterfs", "fuse.ceph"),
        *("ceph", "glusterfs", "lustre", "beegfs", "gpfs", "orangefs", "gfs2", "ocfs2"),
    }
)
"""Types of file systems that another machine, a virtual one's host included, may use too."""
TABLE = "/proc/self/mountinfo"
ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """A line of the table: what is mounted where, and on top of which other one."""

    id: str
    parent: str
    point: str
    type: str


def network_type(path: str, mounts: str) -> str | None:
    """The type of the file system of a path, if it is one of a network.

    Args:
        path: Absolute, without symlinks; it need not exist.
        mounts: What `read_mounts` returned.
    """
    found = type_of(path, mounts)
    return found if found in NETWORK else None


def type_of(path: str, mounts: str) -> str | None:
    """The type of the file system of a path; None if it is not known."""
    table = list(_parsed(mounts))
    ids = {mount.id for mount in table}
    here = [mount for mount in table if mount.parent not in ids or mount.parent == mount.id]
    found: Mount | None = None
    # As the kernel walks: what is mounted first on the way hides all that is further down.
    while on_the_way := [mount for mount in here if _leads_to(mount.point, path)]:
        found = step = min(on_the_way, key=lambda mount: len(mount.point))
        here = [mount for mount in table if mount.parent == step.id and mount is not step]
        table.remove(step)
    return None if found is None else found.type


def read_mounts() -> str:
    """The table of what is mounted; empty on a system that has none."""
    try:
        with open(TABLE, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def network_of(path: str) -> str | None:
    """The type of the file system of a path at present, if it is one of a network."""
    return network_type(os.path.realpath(path), read_mounts())


def _parsed(mounts: str) -> Iterator[Mount]:
    for line in mounts.split("\n"):
        before, dash, after = line.partition(" - ")
        fields, (kind, *_) = before.split(" "), after.split(" ")
        if dash and len(fields) > 4:
            yield Mount(fields[0], fields[1], _plain(fields[4]), _plain(kind))


def _plain(text: str) -> str:
    """A field without the escapes that stand for spaces and the like."""
    octal = ESCAPED.sub(lambda match: chr(int(match[1], 8)), text)
    return octal


def _leads_to(point: str, path: str) -> bool:
    return path == point or path.startswith(point.rstrip("/") + "/")
