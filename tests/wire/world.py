"""A bot in the test's own process, and what every platform's test of one has."""

from __future__ import annotations

import asyncio

from core.vocabulary import Message, Press
from tests.clock import PATIENCE_S, ManualClock
from tests.contract.doubles import RecordingDesk


class BotWorld:
    """A desk that keeps what the bot tells it, and a clock that stands still until a test moves it."""

    clock: ManualClock
    desk: RecordingDesk

    async def up(self) -> None:
        await self.desk.until(lambda: self.desk.health.last == "up")

    async def heard(self, count: int) -> None:
        await self.desk.until(lambda: len(self.desk.heard) >= count)

    async def wake(self, nap: int) -> float:
        """Let the bot's n-th wait pass; tells how long it was."""
        seconds = await self.clock.asleep(nap)
        self.clock.advance(seconds)
        return seconds

    @property
    def messages(self) -> list[Message]:
        return self.desk.messages

    @property
    def presses(self) -> list[Press]:
        return self.desk.presses

    @property
    def words(self) -> list[str]:
        return self.desk.words


async def ended(task: asyncio.Task[None]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.wait([task])
