"""A text in the user's editor, in a file that only the user can read."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from contextlib import contextmanager

from milkd.cli.command import Declined, WrongUsage
from milkd.errors import MilkdError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["edited"]

NO_SECRETS = "keeps no secrets"  # what the daemon says when it refuses what looks like one
USUAL = "vi"  # POSIX has it everywhere


@contextmanager
def edited(text: str) -> Iterator[str]:
    """What the user makes of a text.

    The file goes when the block ends well.  If the daemon refuses what is in it, it stays,
    and the error says where, unless it looks like a secret.

    Raises:
        Declined: The text is as it was, or empty, or the editor failed.
        WrongUsage: There is no such editor.
    """
    descriptor, path = tempfile.mkstemp(prefix="milkctl-", suffix=".txt")
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    keep = False
    try:
        _run(path)
        yield _changed(path, text)
    except (MilkdError, UnicodeDecodeError) as error:
        if NO_SECRETS in f"{error}":  # it must not stay on a disk, for whatever reason
            raise
        keep = True
        error.add_note(f"what you wrote is in {path}")
        raise
    finally:
        if not keep:
            os.unlink(path)


def _run(path: str) -> None:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or USUAL
    try:
        code = subprocess.run([*shlex.split(command), path], check=False).returncode
    except (OSError, ValueError) as error:
        raise WrongUsage(
            f"the editor {command!r} cannot be started: {error}; set VISUAL or EDITOR"
        ) from error
    if code:
        raise Declined(f"nothing was changed: {command} ended with exit code {code}")


def _changed(path: str, before: str) -> str:
    """What is in the file, without the end of its last line, if that is another text."""
    with open(path, encoding="utf-8", newline="") as file:
        after = file.read().removesuffix("\n")
    if not after.strip():
        raise Declined("nothing was changed: the text is empty")
    if after == before:
        raise Declined("nothing was changed: the text is as it was")
    return after
