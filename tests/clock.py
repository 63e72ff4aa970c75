"""Time as tests make it pass: every clock that stands still until a test moves it, and the machine's, shifted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from core.clock import SystemClock

PATIENCE_S = 30.0
"""Real seconds after which a barrier gives up, on a busy machine."""
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


class Barrier:
    """Lets a test wait until something holds, without looking at a clock."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def changed(self) -> None:
        self._changed.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                self._changed.clear()
                await self._changed.wait()


class _StandingClock(Barrier):
    """`ports.Clock`. Called, it is a test server's clock, in seconds since 1970. The wall clock and the monotonic one
    run together until a test makes the wall clock jump."""

    resolution_s = 0.0
    """No timer is finer."""

    def __init__(self, start: datetime, monotonic_s: float) -> None:
        super().__init__()
        self._wall = start
        self._mono_s = monotonic_s
        self._sleepers: dict[asyncio.Future[None], float] = {}
        """When each is due, in the order in which they went to sleep."""

    def __call__(self) -> float:
        return self._wall.timestamp()

    def now(self) -> datetime:
        return self._wall

    def monotonic(self) -> float:
        return self._mono_s

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        alarm: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers[alarm] = self._mono_s + max(seconds, self.resolution_s)
        self._fell_asleep(seconds)
        try:
            await alarm
        finally:
            self._sleepers.pop(alarm, None)

    def _fell_asleep(self, seconds: float) -> None:
        """Somebody is about to wait."""

    def _go_to(self, mono_s: float) -> None:
        self._wall += timedelta(seconds=mono_s - self._mono_s)
        self._mono_s = mono_s


class ManualClock(_StandingClock):
    """For one bot or one server: whoever is due wakes at once, and a test waits for who goes to sleep."""

    def __init__(self, start: datetime = NEW_YEAR) -> None:
        super().__init__(start, 0.0)
        self.naps: list[float] = []
        """Every wait that was asked for, in order."""
        self.moved: Callable[[float], None] = lambda _: None
        """Told of each advance."""

    def advance(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError("this clock does not go back")
        self._go_to(self._mono_s + seconds)
        for alarm, due in self._sleepers.items():
            if due <= self._mono_s and not alarm.done():
                alarm.set_result(None)
        self.moved(seconds)

    async def asleep(self, times: int) -> float:
        """Wait until somebody has gone to sleep for the n-th time and sleeps; tells for how long."""
        await self.until(lambda: len(self.naps) >= times and bool(self._sleepers))
        return self.naps[times - 1]

    def _fell_asleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.changed()


class DeskClock(_StandingClock):
    """For a whole desk: sleepers wake in order, each at its time, and what one sets in motion is done before the next
    wakes."""

    resolution_s = 0.001

    def __init__(self, start: datetime) -> None:
        super().__init__(start, 1000.0)
        self.settle: Callable[[], Awaitable[None]] | None = None
        """Awaited after each waking, so that what it sets in motion happens at its own time."""

    @property
    def asleep(self) -> int:
        """How many wait for time to pass."""
        return sum(not alarm.done() for alarm in self._sleepers)

    async def advance(self, seconds: float) -> None:
        end = self._mono_s + seconds
        await self._settled()
        while (first := self._first_until(end)) is not None:
            self._go_to(max(self._sleepers.pop(first), self._mono_s))
            first.set_result(None)
            await self._settled()
        self._go_to(end)
        await self._settled()

    def _first_until(self, end: float) -> asyncio.Future[None] | None:
        due = [alarm for alarm, at in self._sleepers.items() if at <= end and not alarm.done()]
        return min(due, key=lambda alarm: self._sleepers[alarm], default=None)

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

    async def _settled(self) -> None:
        if self.settle is not None:
            await self.settle()


class LeapingLoop:
    """The clock of the running loop, for timeouts that are of real time: whatever waits on the loop wakes as if the
    seconds had passed. Undone at the end of the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ahead_s = 0.0
        loop = asyncio.get_running_loop()
        time = loop.time
        monkeypatch.setattr(loop, "time", lambda: time() + self._ahead_s)

    def leap(self, seconds: float) -> None:
        self._ahead_s += seconds


class ShiftedClock(SystemClock):
    """The machine's, some time ahead or behind. Called, it is a test server's clock, in seconds since 1970."""

    def __init__(self, ahead: timedelta = timedelta(0)) -> None:
        self.ahead = ahead

    def now(self) -> datetime:
        return super().now() + self.ahead

    def __call__(self) -> float:
        return self.now().timestamp()
