"""How much is done at the same time, shared out fairly among those for whom it is done."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Whose = tuple[Hashable, ...]


@dataclass(frozen=True, eq=False)
class Place:
    """Somebody's place in the line; once `ready` is done it is a hand."""

    whose: Whose
    ready: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def granted(self) -> bool:
        return self.ready.done() and not self.ready.cancelled()


Line = deque[Place]


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
        place = self.ask(*whose)
        try:
            await place.ready
            yield
        finally:
            self.leave(place)

    def ask(self, *whose: Hashable) -> Place:
        """A hand, if one is free, or a place in the line. Whoever no longer wants either calls `leave`."""
        place = Place(whose)
        if self._may(whose):
            self._give(place)
        else:
            self._waiting.setdefault(whose[:-1], {}).setdefault(whose, deque()).append(place)
        return place

    def leave(self, place: Place) -> None:
        """Give back a hand, or a place in the line."""
        if place.granted():
            self._count(place.whose, -1)
            self._let_in()
            return
        line = self._waiting.get(place.whose[:-1], {}).get(place.whose)
        if line is not None and place in line:
            line.remove(place)
            self._tidy(place.whose)

    def allow(self, *limits: int) -> None:
        """Other limits from now on; who has a hand keeps it."""
        self._limits = limits
        self._let_in()

    @property
    def limit(self) -> int:
        """Hands that there are."""
        return self._limits[0]

    @property
    def taken(self) -> int:
        """Hands that are not free."""
        return self._busy[()]

    @property
    def waiting(self) -> int:
        """Places in all lines."""
        return sum(len(line) for lines in self._waiting.values() for line in lines.values())

    def has(self, place: Place) -> int:
        """Hands of the same one, the innermost."""
        return self._busy[place.whose]

    def is_held_back(self, place: Place) -> bool:
        """It waits for a hand of its own to become free, and would wait also if all others were free."""
        return not place.granted() and self.has(place) >= self._limits[len(place.whose)]

    def ahead(self, place: Place) -> int:
        """About how many places get a hand before this one does."""
        lines = self._waiting.get(place.whose[:-1], {})
        order = [
            (self._busy[whose] + number, turn, one)
            for turn, (whose, line) in enumerate(lines.items())
            for number, one in enumerate(line)
        ]
        return [one for _, _, one in sorted(order, key=lambda known: known[:2])].index(place)

    def _let_in(self) -> None:
        while (whose := self._next()) is not None:
            lines = self._waiting[whose[:-1]]
            line = lines.pop(whose)
            place = line.popleft()
            lines[whose] = line  # behind the others
            self._tidy(whose)
            if not place.ready.done():
                self._give(place)

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

    def _give(self, place: Place) -> None:
        self._count(place.whose, 1)
        place.ready.set_result(None)

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
