"""Who may read a store, and on what kind of disk it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from milkd.store.files import Files
from milkd.store.mounts import network_type
from milkd.upkeep.report import Level, Report, counted
from milkd.upkeep.surroundings import check

if TYPE_CHECKING:
    from pathlib import Path

    from upkeep.stores import Kept

MOUNTS = """\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw
30 21 0:5 / /proc rw - proc proc rw
40 21 0:40 / /home rw,relatime shared:9 - nfs4 server:/home rw,vers=4.2
41 40 0:41 / /home/me/local\\040disk rw - xfs /dev/sdb1 rw
42 21 0:42 / /mnt/there rw,nosuid - fuse.sshfs me@there:/ rw,user_id=0
nonsense
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/memory", None),
        ("/home", "nfs4"),
        ("/home/me/.milk/memory", "nfs4"),
        ("/homely", None),
        ("/home/me/local disk/memory", None),
        ("/mnt/there/memory", "fuse.sshfs"),
    ],
)
def test_a_file_system_of_a_network_is_known_by_its_mount(path: str, kind: str | None) -> None:
    assert network_type(path, MOUNTS) == kind


def findings(kept: Kept, holder: str | None = None) -> list[str]:
    report = Report(str(kept.path), holder)
    check(report, Files())
    return [f"{each.file}: {each.sentence}" for each in report.findings]


def test_what_others_may_use_is_told(kept: Kept) -> None:
    assert findings(kept) == []
    (kept.path / "global.json").chmod(0o644)
    (kept.path / ".milkd" / "backup").chmod(0o755)
    assert findings(kept) == [
        ".: global.json has mode 644: others may use it (chmod 600 forbids that)",
        ".: .milkd/backup has mode 755: others may use it (chmod 700 forbids that)",
    ]


def test_a_directory_that_cannot_be_written_is_told(kept: Kept) -> None:
    (kept.path / ".milkd").chmod(0o500)
    kept.path.chmod(0o555)
    told = findings(kept)
    kept.path.chmod(0o700)
    assert told == [
        ".: . has mode 555: milkd cannot write to it, and others may use it (chmod 700 mends that)",
        ".: .milkd has mode 500: milkd cannot write to it (chmod 700 mends that)",
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_what_belongs_to_another_user_is_told(kept: Kept) -> None:
    os.chown(kept.path / "global.json", 12_345, -1)
    assert findings(kept) == [".: global.json belongs to user id 12345"]


def test_what_a_save_left_is_told_unless_it_may_be_under_way(kept: Kept) -> None:
    for folder in ("", ".milkd"):
        path = kept.path / folder / ".global.json.milkd-77-0123abcd.tmp"
        path.write_text("")
        path.chmod(0o600)
    said = "left by a save that was cut off; milkd sweeps it away"
    assert findings(kept) == [
        f".global.json.milkd-77-0123abcd.tmp: {said}",
        f".milkd/.global.json.milkd-77-0123abcd.tmp: {said}",
    ]
    assert findings(kept, "milkd with pid 1") == []


def test_a_link_that_leads_nowhere_is_no_file(kept: Kept) -> None:
    (kept.path / "s9.json").symlink_to("/nowhere")
    assert findings(kept) == []


def test_a_report_tells_offsets_and_counts(tmp_path: Path) -> None:
    report = Report(str(tmp_path))
    report.add(Level.ERROR, "global.json", "it breaks off at byte 12 of 40 (byte 13)")
    report.add(Level.OK, "s1.json", "good up to byte 99")
    assert report.to_json() == {
        "store": str(tmp_path),
        "running": None,
        "sound": False,
        "findings": [
            {
                "level": "error",
                "file": "global.json",
                "sentence": "it breaks off at byte 12 of 40 (byte 13)",
                "offset": 12,
            },
            {"level": "ok", "file": "s1.json", "sentence": "good up to byte 99"},
        ],
    }
    assert counted(1, "entry") == "1 entry"
    assert counted(2_000, "entry") == "2,000 entries"
    assert counted(0, "percept") == "0 percepts"
