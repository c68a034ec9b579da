"""What happens in the store, as it happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from milkd.link import Link
    from milkd.shapes import Event

__all__ = ["Events"]


class Events:
    """An endless iterator over events, which owns its connection.

    `next()` waits for however long it takes; iteration ends with `close()` or, by
    `ConnectionLost`, with the daemon.  An event `{"lost": n}` stands for n that came faster
    than they were read.
    """

    def __init__(self, link: Link, topics: Sequence[str], *, timeout: float) -> None:
        self._link = link
        try:
            link.ask("subscribe", {"topics": list(topics)}, timeout=timeout)
        except BaseException:
            link.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        while not self._link.closed:
            notice = self._link.notice()
            if notice.method == "event" and notice.params:
                return cast("Event", notice.params[0])
        raise StopIteration

    def fileno(self) -> int:
        """The descriptor that is readable when something arrives; for `select`."""
        return self._link.fileno()

    def has_news(self) -> bool:
        """Whether `next()` would not have to wait for more than the rest of a message."""
        return not self._link.closed and self._link.has_news()

    def close(self) -> None:
        """End the subscription."""
        self._link.close()
