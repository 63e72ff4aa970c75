"""Work that the process may have died of is done again one piece after the other, so that what kills it is found."""

from __future__ import annotations

import asyncio
from bisect import insort
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from operator import attrgetter


@dataclass(kw_only=True, eq=False, slots=True)
class Place:
    """One piece of work in the queue, known by `name`. `rank`: the lowest is called first. `exclusive`: it is called
    once nothing else of the queue runs, and nothing else is called until it has left. `call` is called once, when the
    work may begin."""

    name: str
    rank: tuple[int, ...]
    exclusive: bool
    call: Callable[[], None]
    called: bool = False


class RetryQueue:
    """Calls one place after the other: the next one once the last one has passed or left. Lives on one loop."""

    def __init__(self) -> None:
        self._waiting: list[Place] = []
        self._running: list[Place] = []
        self._last: Place | None = None
        """Called, and neither passed nor left."""

    @property
    def waiting(self) -> int:
        """Places that were not called yet."""
        return len(self._waiting)

    def join(self, place: Place) -> None:
        """Wait from now on."""
        insort(self._waiting, place, key=attrgetter("rank"))

    def beside(self, place: Place) -> list[str]:
        """What runs while this place does."""
        return [one.name for one in self._running if one is not place]

    def passed(self, place: Place) -> None:
        """It did not kill the process so far: unless it is exclusive, the next one may begin beside it."""
        if place is self._last and not place.exclusive:
            self._last = None

    def leave(self, place: Place) -> None:
        """Its work has ended, or is not wanted any more."""
        for places in (self._waiting, self._running):
            if place in places:
                places.remove(place)
        if place is self._last:
            self._last = None

    def call_next(self) -> None:
        """Call the first that waits, if it may begin."""
        if self._last is not None or not self._waiting or (self._waiting[0].exclusive and self._running):
            return
        self._last = first = self._waiting.pop(0)
        self._running.append(first)
        first.called = True
        first.call()

    @asynccontextmanager
    async def exclusive(self, *rank: int) -> AsyncIterator[None]:
        """Wait for an exclusive place, and keep it meanwhile."""
        called = asyncio.Event()
        place = Place(name="", rank=rank, exclusive=True, call=called.set)
        self.join(place)
        self.call_next()
        try:
            await called.wait()
            yield
        finally:
            self.leave(place)
            self.call_next()
