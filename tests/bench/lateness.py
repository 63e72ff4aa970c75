"""How long a loop is held up: a tick that is due and does not come."""

from __future__ import annotations

import asyncio

EVERY_S = 0.002


class Ticks:
    """`late_s`: how late each tick of the running loop was. A stall is seen but for `EVERY_S`, which is added."""

    def __init__(self) -> None:
        self.late_s: list[float] = []
        self._loop = asyncio.get_running_loop()
        self._due = 0.0
        self._next: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self.late_s.clear()
        self._arm()

    def stop(self) -> None:
        if self._next is not None:
            self._next.cancel()

    @property
    def worst_s(self) -> float:
        return max(self.late_s, default=0.0)

    def _arm(self) -> None:
        self._due = self._loop.time() + EVERY_S
        self._next = self._loop.call_at(self._due, self._tick)

    def _tick(self) -> None:
        self.late_s.append(self._loop.time() - self._due)
        self._arm()
