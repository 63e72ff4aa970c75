"""S20: an answer that grows beyond what a message shows costs nothing more for each edit."""

from __future__ import annotations

from collections.abc import AsyncIterator

from core.agents.agent import AgentEvent, TurnContext
from core.vocabulary import TextDelta
from tests.flow.bot import GROWING, GrowingBot
from tests.flow.conftest import Furnish

ROWS = 30


class SplittingBot(GrowingBot):
    """Counts what it is asked to split."""

    def __init__(self) -> None:
        super().__init__()
        self.split: list[str] = []

    def parts(self, text: str) -> tuple[str, ...]:
        self.split.append(text)
        return super().parts(text)


async def test_s20_the_beginning_that_is_shown_is_found_once(furnish: Furnish) -> None:
    bot = SplittingBot()
    house = await furnish(bot)
    row = "| a | b |\n" * 10

    async def grows(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        for _ in range(ROWS):
            yield TextDelta(text=row)
            await house.clock.sleep(2)

    house.stage.on("table", grows)
    said = await house.offer(house.message("table"))
    for _ in range(ROWS + 2):
        await house.advance(2)
    await house.ended(said)
    edits = [text for text in bot.split if len(text) == 2 * GROWING.text_limit]
    assert len(set(edits)) == len(edits) == 1
    assert sum(len(text) < 2 * GROWING.text_limit for text in bot.split) > 2
