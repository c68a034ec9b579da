"""Events for those who subscribed: what happened to which id, never what it says.

Each subscriber has a short queue.  One that does not keep up loses the oldest
events and is told how many; nobody waits for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping

TOPICS = ("percepts", "passes", "sessions", "health")

Event = Mapping[str, object]


class Subscription:
    """The events of one connection on their way to it.

    Args:
        capacity: So many events may wait.
        filled: Called when there is one to take.
    """

    def __init__(self, capacity: int, filled: Callable[[], None]) -> None:
        self.topics: set[str] = set()
        self._queue: deque[Event] = deque(maxlen=capacity)
        self._lost = 0
        self._filled = filled

    def offer(self, event: Event) -> None:
        """Queue an event; the oldest one makes room."""
        if len(self._queue) == self._queue.maxlen:
            self._lost += 1
        self._queue.append(event)
        self._filled()

    def take(self) -> Event | None:
        """The next event, or how many were lost before it; None if none waits."""
        if not self._queue:
            return None
        if self._lost:
            lost, self._lost = self._lost, 0
            return {"lost": lost}
        return self._queue.popleft()


class Hub:
    """Everybody who subscribed."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._subscriptions: set[Subscription] = set()

    def subscribe(
        self,
        subscription: Subscription | None,
        topics: Iterable[str],
        filled: Callable[[], None] = lambda: None,
    ) -> Subscription:
        """Add topics to a connection's subscription, which is made when it has none."""
        if subscription is None:
            subscription = Subscription(self._capacity, filled)
        subscription.topics.update(topics)
        self._subscriptions.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription, topics: Iterable[str]) -> None:
        """Take topics away; without any left nothing more is queued."""
        subscription.topics.difference_update(topics)
        if not subscription.topics:
            self._subscriptions.discard(subscription)

    def end(self, subscription: Subscription) -> None:
        """The connection is gone."""
        self._subscriptions.discard(subscription)

    def publish(self, topic: str, event: str, **details: object) -> None:
        """Tell the subscribers of a topic; details that are None are left out."""
        if not self._subscriptions:
            return
        message: dict[str, object] = {"topic": topic, "event": event}
        message |= {key: value for key, value in details.items() if value is not None}
        for subscription in self._subscriptions:
            if topic in subscription.topics:
                subscription.offer(message)
