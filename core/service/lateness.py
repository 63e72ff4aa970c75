"""How late the main loop comes to what is due: a call blocks it somewhere, or the machine has too much to do."""

from __future__ import annotations

from collections import deque

from core.ports import Clock
from core.tally import Tally

EVERY_S = 1.0
KEPT = 10
"""Looks that are remembered: ten seconds of a loop that keeps up."""


class Lateness:
    """Lives on the loop that it looks at. `last_s` and `worst_s` are seconds; `worst_s` is of the last looks."""

    def __init__(self, clock: Clock, tally: Tally) -> None:
        self._clock = clock
        self._tally = tally
        self._seen: deque[float] = deque([0.0], maxlen=KEPT)

    @property
    def last_s(self) -> float:
        return self._seen[-1]

    @property
    def worst_s(self) -> float:
        return max(self._seen)

    async def watch(self) -> None:
        """Until cancelled."""
        while True:
            due = self._clock.monotonic() + EVERY_S
            await self._clock.sleep(EVERY_S)
            late = max(0.0, self._clock.monotonic() - due)
            self._seen.append(late)
            self._tally.woke_late(late)
