"""Whole desks on three platforms: for an answer that is there at once the strict servers count one call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from core.desk.pulse import BEAT_S
from core.desk.signs import NOTHING_SHOWN_S
from core.service.supervisor import BotHealth
from tests.clock import PATIENCE_S
from tests.contract.harness import Harness
from tests.contract.platforms import HARNESSES
from tests.fakes.agents import STAGES
from tests.flow.bot import FakeBot
from tests.flow.house import House

PLATFORMS = ("discord", "slack", "telegram")
SHOWN = frozenset(
    {
        "sendMessage", "editMessageText", "sendMessageDraft", "sendChatAction", "setMessageReaction",
        "create_message", "edit_message", "typing", "create_reaction",
        "chat.postMessage", "chat.update", "chat.startStream", "chat.appendStream", "chat.stopStream",
        "assistant.threads.setStatus", "reactions.add",
    }
)  # fmt: skip
"""Calls by which people are shown something, as the doubles call them."""


class Staged:
    """A desk on a clock of the test's, and a bot that reaches its platform."""

    def __init__(self, house: House, harness: Harness) -> None:
        self.house = house
        self.harness = harness

    @property
    def calls(self) -> list[str]:
        """What people were shown, call by call."""
        names = [getattr(call, "route", "") or call.method for call in self.harness.driver.server.calls]
        return [name for name in names if name in SHOWN]

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
    async with HARNESSES[request.param]() as harness, opened(sqlite_state, harness) as house:
        yield Staged(house, harness)
        assert not harness.broken_rules()


@asynccontextmanager
async def opened(state: Path, harness: Harness) -> AsyncIterator[House]:
    house = House(state, {}, [cast(FakeBot, harness.bot)])
    await house.open()
    health = house.desk.health
    assert isinstance(health, BotHealth)
    health.degraded(harness.bot.name, "it has not begun")
    heard = asyncio.create_task(harness.bot.run(house.desk))
    house.stage.on("go", house.stage.waits(before=("one",), after=(" two",)))
    try:
        async with asyncio.timeout(PATIENCE_S):
            while health.states[harness.bot.name].state != "up":  # noqa: ASYNC110  # of this nobody tells
                await asyncio.sleep(0.002)
        yield house
    finally:
        heard.cancel()
        await asyncio.wait([heard])
        assert heard.cancelled() or heard.exception() is None
        house.bots.clear()  # real ones, which no process of a test brings back
        await house.die()
        del STAGES[house.stage_name]


async def test_a_quick_answer_costs_one_call(staged: Staged) -> None:
    await staged.asked()
    await staged.house.advance(NOTHING_SHOWN_S - BEAT_S / 2)
    staged.house.stage.gate().set()
    await staged.until(lambda: staged.harness.seen() == ("one two",))
    await staged.house.advance(60)
    assert len(staged.calls) == 1


async def test_a_slow_one_shows_that_it_is_on_its_way(staged: Staged) -> None:
    await staged.asked()
    await staged.house.advance(NOTHING_SHOWN_S + BEAT_S)
    await staged.until(lambda: bool(staged.calls))
    assert staged.harness.seen() in ((), ("one",))
    staged.house.stage.gate().set()
    await staged.house.advance(5)
    await staged.until(lambda: staged.harness.seen() == ("one two",))
    assert len(staged.calls) > 1
