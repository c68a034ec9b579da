"""What a command of `milkctl` is made of, and the options it was given."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable
    from typing import Any

    from milkd.cli.output import Output
    from milkd.client import Client

__all__ = ["Command", "Declined", "Options", "WrongUsage", "always", "done", "never"]


class WrongUsage(Exception):
    """The arguments are not right, as it turned out after they were parsed."""


class Declined(Exception):
    """The user was asked, and said no."""


class Options:
    """The options of one call, by name: what `argparse` would give, without it."""

    def __init__(self, **values: object) -> None:
        self.__dict__.update(values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Options) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # equal by value, and mutable

    def __repr__(self) -> str:
        return f"Options({self.__dict__})"

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: object) -> None: ...


def done(_answer: Any) -> int:
    """The exit code of a command that was granted."""
    return 0


def always(_options: Options) -> bool:
    """Of a command that changes something whatever its options are."""
    return True


def never(_options: Options) -> bool:
    """Of a command that changes nothing."""
    return False


class Command:
    """One verb.

    Attributes:
        ask: Gets the answer, which `--json` prints as it is.
        say: Prints the answer for people.
        arguments: Adds the verb's own arguments to a parser.
        about: What `--help` says besides the arguments.
        autostart: Whether a daemon is started if none runs.
        verdict: The exit code for an answer.
        changes: Whether it leaves something changed behind, with these options.
        refs: Options that refer to percepts, for which candidates are shown if ambiguous.
    """

    __slots__ = ("about", "arguments", "ask", "autostart", "changes", "refs", "say", "verdict")

    def __init__(
        self,
        ask: Callable[[Client, Options], Any],
        say: Callable[[Any, Output, Options], None],
        arguments: Callable[[ArgumentParser], None],
        *,
        about: str = "",
        autostart: bool = True,
        verdict: Callable[[Any], int] = done,
        changes: Callable[[Options], bool] = never,
        refs: tuple[str, ...] = (),
    ) -> None:
        self.ask = ask
        self.say = say
        self.arguments = arguments
        self.about = about
        self.autostart = autostart
        self.verdict = verdict
        self.changes = changes
        self.refs = refs
