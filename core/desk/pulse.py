"""One heartbeat for all running turns: previews, typing signs and time-outs, in place of timers per turn."""

from __future__ import annotations

import asyncio
from typing import Protocol

from core.ports import Clock

BEAT_S = 0.02
"""Also the span over which deltas are gathered before a preview shows them."""


class Beating(Protocol):
    def beat(self, now: float) -> None:
        """Called every `BEAT_S` while the turn runs; `now` is monotonic. Does not wait."""


class Pulse:
    """Beats only while something runs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._turns: dict[int, Beating] = {}
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._turns)

    def add(self, turn: Beating) -> None:
        self._turns[id(turn)] = turn
        if self._task is None:
            self._task = asyncio.create_task(self._beat(), name="pulse")

    def remove(self, turn: Beating) -> None:
        self._turns.pop(id(turn), None)

    async def _beat(self) -> None:
        while self._turns:
            await self._clock.sleep(BEAT_S)
            now = self._clock.monotonic()
            for turn in list(self._turns.values()):
                turn.beat(now)
        self._task = None

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
