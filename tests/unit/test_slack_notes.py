"""What the Slack bot notes of its deliveries, over restarts."""

from __future__ import annotations

import asyncio

import pytest

from bots.slack.notes import Notes
from core.errors import NotSent
from core.vocabulary import Address, BotName, ChatId, ChatKind, Delivery, DeliveryId
from tests.contract.doubles import RecordingDesk

BOT = BotName("slack")


class BusyDesk(RecordingDesk):
    """Others have their turn while something is read."""

    async def recall(self, bot: BotName, name: str) -> str | None:
        found = await super().recall(bot, name)
        await asyncio.sleep(0)
        return found


def delivery(number: int) -> Delivery:
    address = Address(bot=BOT, chat=ChatId("D1"))
    return Delivery(id=DeliveryId(number), address=address, kind=ChatKind.DIRECT, text="here")


async def test_what_is_noted_at_once_is_all_kept() -> None:
    notes = Notes(BusyDesk(), BOT, "uploads")
    await asyncio.gather(*(notes.put(delivery(number), [f"F{number}"]) for number in range(3)))
    assert await notes.all() == {"0": ["F0"], "1": ["F1"], "2": ["F2"]}


async def test_the_newest_are_kept_over_restarts() -> None:
    desk = RecordingDesk()
    for number in range(100):
        await Notes(desk, BOT, "uploads").put(delivery(number), ["F"])
    kept = await Notes(desk, BOT, "uploads").all()
    assert (len(kept), max(map(int, kept)), min(map(int, kept))) == (64, 99, 36)


async def test_what_cannot_be_read_is_not_taken_for_nothing() -> None:
    desk = RecordingDesk()
    await desk.note(BOT, "uploads", "{")
    with pytest.raises(NotSent, match="not known"):
        await Notes(desk, BOT, "uploads").all()
