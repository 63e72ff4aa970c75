"""How long to wait between two tries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from core.errors import BotError, BotRejected, FloodWait, StoreError
from core.ports import Clock, Random

_T = TypeVar("_T")
_STEADY_S: Final = 60.0


class Waits:
    """Doubled with each failure, the upper half of it left to chance; anew after a steady minute."""

    def __init__(self, clock: Clock, random: Random, first_s: float = 2.0, most_s: float = 60.0) -> None:
        self._clock = clock
        self._random = random
        self._first_s = first_s
        self._most_s = most_s
        self._failures = 0

    def worked_since(self, began_s: float) -> bool:
        """It worked from that moment (`Clock.monotonic`) until now: for long enough to begin anew?"""
        steady = self._clock.monotonic() - began_s >= _STEADY_S
        self._failures = 0 if steady else self._failures
        return steady

    def worked(self) -> None:
        self._failures = 0

    def next_s(self) -> float:
        longest_s = min(self._most_s, self._first_s * 2 ** min(self._failures, 16))
        self._failures += 1
        return self._random.uniform(longest_s / 2, longest_s)


async def patiently(step: Callable[[], Awaitable[_T]], clock: Clock, waits: Waits, tell: Callable[[str], None]) -> _T:
    """Repeat a step until it succeeds, with growing waits; `tell` hears of each trouble. Raises `BotRejected`."""
    while True:
        try:
            return await step()
        except BotRejected:
            raise
        except (BotError, StoreError) as trouble:
            wait_s = trouble.wait_s if isinstance(trouble, FloodWait) else waits.next_s()
            tell("the store can't be read" if isinstance(trouble, StoreError) else str(trouble))
        await clock.sleep(wait_s)
