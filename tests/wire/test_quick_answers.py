"""Whole desks on three platforms: for an answer that is there at once the strict servers count one call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from core.desk.pulse import BEAT_S
from core.desk.signs import NOTHING_SHOWN_S
from tests.clock import PATIENCE_S
from tests.contract.harness import Harness
from tests.contract.platforms import discord, slack, telegram
from tests.fakes.agents import STAGES
from tests.flow.bot import FakeBot
from tests.flow.house import House

PLATFORMS: dict[str, Callable[[], AbstractAsyncContextManager[Harness]]] = {
    "discord": discord,
    "slack": slack,
    "telegram": telegram,
}
POLLS = ("getUpdates",)
"""Calls that have nothing to do with an answer."""


class Staged:
    """A desk on a clock of the test's, and a bot that reaches its platform."""

    def __init__(self, house: House, harness: Harness) -> None:
        self.house = house
        self.harness = harness
        self._before = 0

    @property
    def calls(self) -> list[str]:
        """What the platform was asked since `listen`."""
        made: Sequence[Any] = self.harness.driver.server.calls  # type: ignore[attr-defined]  # each has its own
        names = [getattr(call, "route", "") or call.method for call in made]
        return [name for name in names if name not in POLLS][self._before :]

    def listen(self) -> None:
        self._before += len(self.calls)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():  # noqa: ASYNC110  # three doubles tell of changes in three ways
                await asyncio.sleep(0.002)
        await self.house.idle()

    async def asked(self) -> None:
        """The person has written, and the agent has the turn."""
        self.harness.say("go")
        await self.until(lambda: bool(self.house.stage.asked))


@pytest.fixture(params=PLATFORMS)
async def staged(request: pytest.FixtureRequest, sqlite_state: Path) -> AsyncIterator[Staged]:
    async with PLATFORMS[request.param]() as harness, opened(sqlite_state, harness) as house:
        yield Staged(house, harness)
        assert not harness.broken_rules()


@asynccontextmanager
async def opened(state: Path, harness: Harness) -> AsyncIterator[House]:
    house = House(state, {}, [cast(FakeBot, harness.bot)])
    await house.open()
    heard = asyncio.create_task(harness.bot.run(house.desk))
    house.stage.on("go", house.stage.waits(before=("one",), after=(" two",)))
    try:
        yield house
    finally:
        heard.cancel()
        await asyncio.wait([heard])
        house.bots.clear()  # real ones, which no process of a test brings back
        await house.die()
        del STAGES[house.stage_name]


async def settled(staged: Staged) -> None:
    """What a bot says of itself at its start has been said."""
    calls: list[str] = []
    while len(staged.calls) != len(calls) or not calls:
        calls = staged.calls
        await asyncio.sleep(0.05)


Act = Callable[[Staged], Awaitable[None]]


async def test_a_quick_answer_costs_one_call(staged: Staged) -> None:
    await settled(staged)
    await staged.asked()
    staged.listen()
    await staged.house.advance(NOTHING_SHOWN_S - BEAT_S / 2)
    staged.house.stage.gate().set()
    await staged.until(lambda: staged.harness.seen() == ("one two",))
    await staged.house.advance(60)
    assert len(staged.calls) == 1


async def test_a_slow_one_shows_that_it_is_on_its_way(staged: Staged) -> None:
    await settled(staged)
    await staged.asked()
    staged.listen()
    await staged.house.advance(NOTHING_SHOWN_S + BEAT_S)
    await staged.until(lambda: bool(staged.calls))
    assert staged.harness.seen() in ((), ("one",))
    staged.house.stage.gate().set()
    await staged.house.advance(5)
    await staged.until(lambda: staged.harness.seen() == ("one two",))
    assert len(staged.calls) > 1
