"""One model request is prepared at a time: SDKs work on it in one stretch, in proportion to the history, and several
such stretches in a row would keep every stream that runs waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar


class Place:
    """In the line of those who prepare. Left once, by whoever comes first: the request's start or its end."""

    def __init__(self, lock: asyncio.Lock) -> None:
        self._lock = lock
        self._held = True

    def leave(self) -> None:
        if self._held:
            self._held = False
            self._lock.release()


_PLACE: ContextVar[Place | None] = ContextVar("place", default=None)


class Preparation:
    """Lives on the agents' loop."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for one's turn; it lasts until the request leaves (`sent`), at most until the end of the block."""
        await self._lock.acquire()
        place = Place(self._lock)
        token = _PLACE.set(place)
        try:
            yield
        finally:
            place.leave()
            _PLACE.reset(token)


async def sent(request: object) -> None:
    """The HTTP client's hook: the request is ready, and only waits from here on."""
    place = _PLACE.get()
    if place is not None:
        place.leave()
