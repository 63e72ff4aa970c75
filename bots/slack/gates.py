"""Asking Slack for what must be had, however long it takes: one gate for each method, shared by all who ask.

A gate lets so many calls through that others find room beside them, and keeps some of them for what a person waits
for. Once Slack refuses or does not answer, it is shut for all, for as long as Slack says or for a growing while, and
then one call tries first. While the connection is lost nobody waits here by the clock: that is for the sockets to sit
out, and a call goes on when they are back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from bots.slack.faults import Silence, Unreached
from bots.slack.line import Line
from core.backoff import Backoff
from core.errors import BotError, ChatDead, FloodWait, Rejected
from core.fields import Json
from core.ports import Clock, Random

_AT_ONCE: Final = 40
_EVERY_S: Final = 60.0 / 45
"""Slack lets a method of tier 3 be called some 50 times in a minute, all at once if need be
(https://docs.slack.dev/apis/web-api/rate-limits): less than that, so that what people wait for is let through too."""
_RESERVE: Final = 15
"""So many of those at once are for calls that somebody waits for."""
_SOON_S: Final = 1e-6


def at_leisure() -> bool:
    """Nobody waits for it."""
    return False


class Presence:
    """Whether Slack is connected, as the way in is told. Without sockets it always is."""

    def __init__(self, notice_s: float) -> None:
        """`notice_s`, of real time: a lost connection shows within it."""
        self._notice_s = notice_s
        self._there = asyncio.Event()
        self._gone = asyncio.Event()

    def came(self) -> None:
        self._gone.clear()
        self._there.set()

    def went(self) -> None:
        self._there.clear()
        self._gone.set()

    async def there(self) -> None:
        """Once it is."""
        await self._there.wait()

    async def was_lost(self) -> bool:
        """A call got no answer: was the connection lost with it? Then it is back on return."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._notice_s):
                await self._gone.wait()
        lost = self._gone.is_set()
        await self._there.wait()
        return lost


class Gates:
    """For one `run`."""

    def __init__(self, line: Line, random: Random, presence: Presence) -> None:
        self._line = line
        self._random = random
        self._presence = presence
        self._gates: dict[str, _Gate] = {}

    async def call(
        self, method: str, arguments: Json, *, telling: bool = False, urgent: Callable[[], bool] = at_leisure
    ) -> dict[str, Any]:
        """As `Line.call`. Sits out what Slack calls too much; raises every other `BotError`, and the next call of that
        method waits then. `urgent`: does somebody wait for it by now?"""
        gate = self._gates.get(method)
        if gate is None:
            clock = self._line.clock
            gate = self._gates[method] = _Gate(clock, Backoff(clock, self._random), self._presence)
        return await gate.through(lambda: self._line.tried(method, arguments, telling=telling), urgent)


class _Gate:
    def __init__(self, clock: Clock, waits: Backoff, presence: Presence) -> None:
        self._clock = clock
        self._waits = waits
        self._presence = presence
        self._first = asyncio.Lock()
        self._shut = False
        self._silent = False
        self._until_s = 0.0
        self._paced_s = 0.0

    async def through(
        self, call: Callable[[], Awaitable[dict[str, Any]]], urgent: Callable[[], bool]
    ) -> dict[str, Any]:
        while True:
            await self._presence.there()
            await self._pace(urgent)
            with suppress(FloodWait):
                return await (self._reopened(call) if self._shut else self._watched(call))

    async def _reopened(self, call: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """The others wait for the first call, and make theirs then."""
        async with self._first:
            if self._shut:
                return await self._tried_first(call)
        return await self._watched(call)

    async def _tried_first(self, call: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """A refusal is a clear answer, too."""
        await self._sit_out()
        try:
            done = await self._watched(call, first=True)
        except (Rejected, ChatDead):
            self._shut = False
            raise
        self._shut = False
        return done

    async def _sit_out(self) -> None:
        if self._silent and await self._presence.was_lost():
            return
        await self._clock.sleep(self._until_s - self._clock.monotonic())

    async def _watched(self, call: Callable[[], Awaitable[dict[str, Any]]], *, first: bool = False) -> dict[str, Any]:
        """What fails together with another is one trouble."""
        try:
            done = await call()
        except FloodWait as wait:
            self._shut_for(wait.wait_s, silent=False)
            raise
        except (Rejected, ChatDead):
            self._waits.worked()
            raise
        except BotError as trouble:
            if first or not self._shut:
                self._shut_for(self._waits.next_s(), silent=isinstance(trouble, Silence | Unreached))
            raise
        self._waits.worked()
        return done

    def _shut_for(self, wait_s: float, *, silent: bool) -> None:
        self._until_s = max(self._until_s, self._clock.monotonic() + wait_s)
        self._shut, self._silent = True, silent

    async def _pace(self, urgent: Callable[[], bool]) -> None:
        """What waits here may become urgent."""
        while (wait_s := self._wait_s(_AT_ONCE if urgent() else _AT_ONCE - _RESERVE)) > _SOON_S:
            await self._clock.sleep(min(wait_s, _EVERY_S))
        self._paced_s = max(self._paced_s, self._clock.monotonic()) + _EVERY_S

    def _wait_s(self, at_once: int) -> float:
        """Until there is room for one more."""
        now_s = self._clock.monotonic()
        return max(self._paced_s, now_s) - now_s - (at_once - 1) * _EVERY_S
