"""The fair limit on turns at once: first come, first served, one place per conversation."""

from __future__ import annotations

import asyncio
from collections import deque


class Slots:
    """Lives on one loop."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0
        self._line: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        return len(self._line)

    def take_now(self) -> bool:
        """A slot without waiting, if one is free and nobody is before us."""
        if self.taken < self.most and not self._line:
            self.taken += 1
            return True
        return False

    def queue(self) -> asyncio.Future[None]:
        """A place in the line; done when a slot is ours. Whoever no longer wants it calls `leave`."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(place)
        return place

    def place(self, place: asyncio.Future[None]) -> int:
        """Which one in the line this is, from 1."""
        return self._line.index(place) + 1

    def leave(self, place: asyncio.Future[None]) -> None:
        """Give back a place, or the slot that it became."""
        if place in self._line:
            self._line.remove(place)
        elif place.done() and not place.cancelled():
            self.give_back()

    def allow(self, most: int) -> None:
        """Another limit from now on; turns that run go on."""
        self.most = most
        self._let_in()

    def give_back(self) -> None:
        self.taken -= 1
        self._let_in()

    def _let_in(self) -> None:
        while self._line and self.taken < self.most:
            place = self._line.popleft()
            if not place.done():
                self.taken += 1
                place.set_result(None)
