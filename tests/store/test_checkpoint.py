"""New files in the old ones' places, and files that go."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from daemon.homes import edge, engram, holding
from faulty import FaultyFiles
from milkd.engine.percept import ScopeImage
from milkd.store.checkpoint import Checkpoint, NewFile, Unpublished, is_void, publish
from milkd.store.files import Files, current_stamp
from milkd.store.replace import Overtaken, Replacement

if TYPE_CHECKING:
    from pathlib import Path


class Scene:
    """A session's file, and where it is kept when it goes."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True)
        self.files = FaultyFiles()
        self.path = directory / "s1.json"
        self.path.write_bytes(b"old")
        self.path.chmod(0o600)
        self.backup = directory / "backup" / "s1.1.json"
        self.expected = current_stamp(Files(), str(self.path))
        self.new = NewFile(ScopeImage(name="s1"), str(self.path))

    def publish(self) -> None:
        """Publish, and tell the stamp."""
        assert publish(self.files, self.new, self.expected, str(self.backup)) is None


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "memory")


@pytest.mark.parametrize(
    ("image", "void"),
    [
        (ScopeImage(name="s1", running_seconds=5.0), True),
        (ScopeImage(name="s1", extra={"_milkd": {"n": 1}}), True),
        (ScopeImage(name="s1", extra={"theme": 1}), False),
        (holding("s1", "a"), False),
        (ScopeImage(name="s1", engrams=(engram("e", "a"),)), False),
        (ScopeImage(name="s1", edges=(edge("a", "b"),)), False),
        (ScopeImage(name="s1", shown=("a",)), False),
        (ScopeImage(name="s1", unreadable=(("percepts", 0, 1),)), False),
        (ScopeImage(name="global"), False),
        (ScopeImage(name="archive"), False),
    ],
)
def test_only_a_session_of_nothing_is_void(image: ScopeImage, *, void: bool) -> None:
    assert is_void(image) is void


def test_a_new_file_is_published_and_known(scene: Scene) -> None:
    scene.new.replacement = Replacement(scene.files, str(scene.path))
    scene.new.replacement.write([b"new"])
    stamp = publish(scene.files, scene.new, scene.expected, str(scene.backup))
    assert scene.path.read_bytes() == b"new"
    assert scene.backup.read_bytes() == b"old"
    assert stamp == current_stamp(Files(), str(scene.path))


def test_a_file_that_goes_is_kept_first(scene: Scene) -> None:
    scene.publish()
    assert not scene.path.exists()
    assert scene.backup.read_bytes() == b"old"
    order = [name for name in scene.files.calls if name in ("link", "fsync", "unlink")]
    assert order == ["fsync", "link", "fsync", "unlink", "fsync"]


def test_what_is_gone_already_may_go(scene: Scene) -> None:
    scene.path.unlink()
    scene.publish()
    assert not scene.backup.exists()


def test_a_file_that_another_program_wrote_does_not_go(scene: Scene) -> None:
    scene.path.write_bytes(b"theirs")
    with pytest.raises(Overtaken):
        scene.publish()
    assert scene.path.read_bytes() == b"theirs"


def test_a_file_that_another_program_made_does_not_go(scene: Scene) -> None:
    scene.expected = None
    with pytest.raises(Overtaken):
        scene.publish()
    assert scene.path.read_bytes() == b"old"


def test_of_a_link_both_ends_go(scene: Scene, tmp_path: Path) -> None:
    real = tmp_path / "elsewhere.json"
    scene.path.rename(real)
    scene.path.symlink_to(real)
    scene.expected = current_stamp(Files(), str(real))
    scene.publish()
    assert not scene.path.is_symlink()
    assert not real.exists()
    assert scene.backup.read_bytes() == b"old"


def refusal(scene: Scene) -> Exception | None:
    try:
        scene.publish()
    except (Unpublished, OSError) as error:
        return error
    return None


def test_whichever_call_fails_the_file_is_there_or_kept_and_known(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "memory")
    scene.publish()
    for number in range(1, len(scene.files.calls) + 1):
        scene = Scene(tmp_path / str(number))
        scene.files.arm(number, errno.EIO)
        refused = refusal(scene)
        if isinstance(refused, Unpublished):
            assert refused.error.errno == errno.EIO
            assert refused.stamp == current_stamp(Files(), str(scene.path))
        assert number > 1 or isinstance(refused, OSError)  # nothing was touched
        assert scene.path.exists() != scene.backup.exists()
        assert scene.files.open_fds == set()


def test_a_new_file_that_is_refused_its_place_leaves_the_old_one_known(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "memory")
    scene.new.replacement = Replacement(scene.files, str(scene.path))
    scene.new.replacement.write([b"new"])

    def refuse(old: str, new: str) -> None:
        raise OSError(errno.EIO, "Input/output error")

    scene.files.rename = refuse  # type: ignore[method-assign]
    with pytest.raises(Unpublished, match="Input/output error") as caught:
        publish(scene.files, scene.new, scene.expected, str(scene.backup))
    assert scene.path.read_bytes() == b"old"
    assert caught.value.stamp == current_stamp(Files(), str(scene.path))


def test_what_is_not_published_is_discarded(tmp_path: Path) -> None:
    checkpoint = Checkpoint(3)
    for name in ("a", "b", "operations"):
        replacement = Replacement(Files(), str(tmp_path / f"{name}.json"))
        replacement.write([b"new"])
        if name == "operations":
            checkpoint.operations = replacement
        else:
            checkpoint.files.append(NewFile(ScopeImage(name=name), "", replacement))
    checkpoint.files.append(NewFile(ScopeImage(name="c"), ""))
    assert len(list(tmp_path.iterdir())) == 3

    checkpoint.discard()
    checkpoint.discard()

    assert list(tmp_path.iterdir()) == []
    Checkpoint(4).discard()
