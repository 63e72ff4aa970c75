"""What the desk itself says in several parts."""

from __future__ import annotations

import pytest

from core.vocabulary import ChatId
from tests.flow.house import GROUP, House


@pytest.mark.parametrize(("command", "chat"), [("/help", GROUP), ("/sessions", "7")])
async def test_only_the_first_part_of_a_reply_points_at_the_command(house: House, command: str, chat: str) -> None:
    """`/help` is answered at once, `/sessions` too; each part says which command it answers."""
    for number in range(8):
        await house.say_in_group(f"conversation {number} {'x' * 50}")
        await house.say_in_group("/reset")
    before = len(house.seen(chat))
    asked = await house.say_in_group(command)
    parts = house.bot.chats[ChatId(chat)][before:]
    assert len(parts) > 1
    assert [part.reply_to for part in parts] == [asked.message.message, *[None] * (len(parts) - 1)]
    assert {part.answers for part in parts} == {asked.message.message}
