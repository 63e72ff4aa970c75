"""A clock that a test moves."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
"""A Monday at noon."""


RESOLUTION_S = 0.001
"""No timer is finer."""


class FakeClock:
    """`ports.Clock`. The wall clock and the monotonic one run together until a test makes the wall clock jump."""

    def __init__(self, start: datetime = START) -> None:
        self._wall = start
        self._mono_s = 1000.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self.settle: Callable[[], Awaitable[None]] | None = None
        """Awaited after each waking, so that what it sets in motion happens at its own time."""

    def now(self) -> datetime:
        return self._wall

    def monotonic(self) -> float:
        return self._mono_s

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        alarm: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._mono_s + max(seconds, RESOLUTION_S), next(self._order), alarm))
        await alarm

    @property
    def asleep(self) -> int:
        """How many wait for time to pass."""
        return sum(1 for _, _, alarm in self._sleepers if not alarm.done())

    async def advance(self, seconds: float) -> None:
        """Let time pass, and wake sleepers in order, each at its time."""
        end = self._mono_s + seconds
        await self._settled()
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, alarm = heapq.heappop(self._sleepers)
            if not alarm.done():
                self._go_to(max(due, self._mono_s))
                alarm.set_result(None)
                await self._settled()
        self._go_to(end)
        await self._settled()

    async def leap(self, seconds: float) -> None:
        """Let a long time pass at once: who slept less than that wakes at its end."""
        self._go_to(self._mono_s + seconds)
        await self.advance(0)

    def jump(self, span: timedelta) -> None:
        """Somebody sets the wall clock, forward or back; no time passes."""
        self._wall += span

    def set_to(self, at: datetime) -> None:
        self._wall = at

    def forget_sleepers(self) -> None:
        """Their process is gone."""
        self._sleepers.clear()

    def _go_to(self, mono_s: float) -> None:
        self._wall += timedelta(seconds=mono_s - self._mono_s)
        self._mono_s = mono_s

    async def _settled(self) -> None:
        if self.settle is not None:
            await self.settle()


class FakeRandom:
    """`ports.Random` without chance: ids ascend, codes count, jitter is none."""

    def __init__(self) -> None:
        self._made = itertools.count(1)

    def uuid7(self) -> str:
        number = next(self._made)
        return f"019c0000-{number >> 28 & 0xFFFF:04x}-7000-8000-{number & 0xFFFFFFFFFFF:012x}"

    def token(self, characters: int) -> str:
        return f"{next(self._made)}".rjust(characters, "K")[:characters]

    def uniform(self, low: float, high: float) -> float:
        return (low + high) / 2
