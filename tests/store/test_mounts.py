"""Which file systems other machines reach, by what the kernel says is mounted."""

from __future__ import annotations

import os

import pytest

from milkd.store.mounts import network_of, network_type, read_mounts, type_of

# A desk with its home on a server, as /proc/self/mountinfo has it.
DESK = """\
22 27 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:14 - proc proc rw
27 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro
30 27 0:25 / /run rw,nosuid,nodev shared:5 - tmpfs tmpfs rw,size=811420k,mode=755
31 30 0:40 / /run/user/1000 rw,nosuid,nodev,relatime shared:200 - tmpfs tmpfs rw,mode=700
40 27 0:44 / /home rw,relatime shared:30 - nfs4 files.example.org:/home rw,vers=4.2,local_lock=none
41 40 254:2 / /home/ada/local\\040disk rw,relatime shared:31 - xfs /dev/vdb1 rw
42 40 0:50 / /home/ada/far rw,nosuid,nodev,relatime shared:32 - fuse.sshfs ada@far:/ rw,user_id=1000
43 27 0:51 / /mnt/office rw,relatime shared:33 - cifs //office/share rw,vers=3.1.1
44 27 0:52 / /mnt/tab\\011\\134 rw,relatime - smb3 //office/odd rw
45 27 0:53 / /mnt/c rw,noatime - 9p C:\\134 rw,dirsync,aname=drvfs
46 27 0:54 / /mnt/old rw,relatime - nfs files:/old rw,vers=3,nolock
47 27 0:55 / /mnt/fuse rw - fuse portal rw
"""

# Things are mounted on top of each other: what comes first on the way hides the rest.
STACKED = """\
1 0 8:1 / / rw - ext4 /dev/sda1 rw
2 1 0:30 / /data/far rw - nfs files:/far rw
3 1 8:2 / /data rw - xfs /dev/sda2 rw
4 1 0:31 / /both rw - ext4 /dev/sda3 rw
5 4 0:32 / /both rw - nfs4 files:/both rw
6 1 0:33 / /auto rw - autofs auto rw
7 6 0:34 / /auto/far rw - nfs4 files:/far rw
"""

# A container sees its own root, whose parent is none of the lines; others are of another parent.
CONTAINER = """\
900 800 0:60 / / rw,relatime - overlay overlay rw,lowerdir=/a,upperdir=/b
901 900 0:61 / /memory rw,relatime - virtiofs shared rw
902 900 0:62 / /dev rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", None),
        ("/var/lib/memory", None),
        ("/run/user/1000/milkd", None),
        ("/home", "nfs4"),
        ("/home/ada/.milk/memory", "nfs4"),
        ("/homely", None),
        ("/home/ada/local disk/memory", None),
        ("/home/ada/local", "nfs4"),
        ("/home/ada/far/memory", "fuse.sshfs"),
        ("/mnt/office", "cifs"),
        ("/mnt/tab\t\\/memory", "smb3"),
        ("/mnt/c/Users", "9p"),
        ("/mnt/old/memory", "nfs"),
        ("/mnt/fuse/memory", None),
    ],
)
def test_the_mount_that_a_path_leads_to_counts(path: str, kind: str | None) -> None:
    assert network_type(path, DESK) == kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data/far/memory", "xfs"),
        ("/both/memory", "nfs4"),
        ("/auto", "autofs"),
        ("/auto/far/memory", "nfs4"),
    ],
)
def test_what_is_hidden_under_another_mount_does_not(path: str, kind: str) -> None:
    assert type_of(path, STACKED) == kind


@pytest.mark.parametrize(
    ("path", "kind"), [("/root/.milk", "overlay"), ("/memory/x", "virtiofs"), ("/dev/x", "tmpfs")]
)
def test_a_container_has_a_root_of_its_own(path: str, kind: str) -> None:
    assert type_of(path, CONTAINER) == kind


@pytest.mark.parametrize(
    "mounts",
    [
        "",
        "\n\n",
        "nonsense",
        " - ",
        "1 1",
        "1 0 8:1 / / - ",
        "1 0 8:1 / /elsewhere rw - nfs a:/ rw\n",
        "1 0 8:1 / /\\777 rw - nfs a:/ rw\n",
    ],
)
def test_what_cannot_be_understood_tells_of_no_network(mounts: str) -> None:
    assert network_type("/home/ada", mounts) is None


def test_a_mount_that_is_its_own_parent_is_walked_once() -> None:
    assert type_of("/home", "1 1 8:1 / / rw - ext4 /dev/sda rw") == "ext4"
    assert type_of("/home", "1 2 8:1 / / rw - ext4 a rw\n2 1 8:1 / / rw - xfs b rw") is None


def test_the_table_of_this_machine_is_understood() -> None:
    if read_mounts():
        assert type_of(os.path.realpath("/proc/self"), read_mounts()) == "proc"


def test_where_there_is_no_table_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("milkd.store.mounts.TABLE", "/nonexistent/mountinfo")
    assert read_mounts() == ""
    assert network_of("/home/ada") is None
