"""How much is done at the same time, shared out fairly among those for whom it is done."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

Whose = tuple[Hashable, ...]
Line = deque[asyncio.Future[None]]


class Hands:
    """`limits`: pieces of work at a time, first of all together, then of each that they are for, from the outer (a bot)
    to the inner (one of its conversations). A hand that is free goes to whoever has the fewest; among those to whoever
    waits longest. Lives on one loop."""

    def __init__(self, *limits: int) -> None:
        self._limits = limits
        self._busy: Counter[Whose] = Counter()
        self._waiting: dict[Whose, dict[Whose, Line]] = {}
        """By the outer, then by the inner, so that few are looked at. Whoever waits here may not have a hand now."""

    @asynccontextmanager
    async def free(self, *whose: Hashable) -> AsyncIterator[None]:
        """Wait for a hand, and keep it meanwhile. `whose`: one name for each limit but the first."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._may(whose):
            self._give(whose, place)
        else:
            self._waiting.setdefault(whose[:-1], {}).setdefault(whose, deque()).append(place)
        try:
            await place
            yield
        finally:
            self._leave(whose, place)

    def _leave(self, whose: Whose, place: asyncio.Future[None]) -> None:
        if place.done() and not place.cancelled():
            self._count(whose, -1)
            self._let_in()
            return
        line = self._waiting.get(whose[:-1], {}).get(whose)
        if line is not None and place in line:
            line.remove(place)
            self._tidy(whose)

    def _let_in(self) -> None:
        while (whose := self._next()) is not None:
            lines = self._waiting[whose[:-1]]
            line = lines.pop(whose)
            place = line.popleft()
            lines[whose] = line  # behind the others
            self._tidy(whose)
            if not place.cancelled():
                self._give(whose, place)

    def _next(self) -> Whose | None:
        """Who gets the hand that is free."""
        for outer in sorted(filter(self._may, self._waiting), key=self._has):
            inner = [whose for whose in self._few(outer) if self._may(whose)]
            if inner:
                return min(inner, key=self._has)  # the first of several
        return None

    def _few(self, outer: Whose) -> list[Whose]:
        """Those who wait, up to the first who has none: nobody behind has fewer."""
        found: list[Whose] = []
        for whose in self._waiting[outer]:
            found.append(whose)
            if not self._busy[whose]:
                break
        return found

    def _tidy(self, whose: Whose) -> None:
        lines = self._waiting[whose[:-1]]
        if not lines[whose]:
            del lines[whose]
        if not lines:
            del self._waiting[whose[:-1]]

    def _give(self, whose: Whose, place: asyncio.Future[None]) -> None:
        self._count(whose, 1)
        place.set_result(None)

    def _may(self, whose: Whose) -> bool:
        return all(busy < limit for busy, limit in zip(self._has(whose), self._limits, strict=False))

    def _has(self, whose: Whose) -> list[int]:
        """What is done of all, for the outer, and so on."""
        return [self._busy[whose[:depth]] for depth in range(len(whose) + 1)]

    def _count(self, whose: Whose, by: int) -> None:
        for depth in range(len(whose) + 1):
            outer = whose[:depth]
            self._busy[outer] += by
            if not self._busy[outer]:
                del self._busy[outer]
