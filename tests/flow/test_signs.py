"""Small signs: a reaction on what is being answered, and what an answer waits for."""

from __future__ import annotations

import asyncio

import pytest

from core.errors import NotSent, StoreFull
from core.vocabulary import ChatId, MessageId, Verdict
from tests.flow.bot import AdminBot
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, House
from tests.flow.pressing_bot import ButtonBot, button_bot
from tests.flow.reloading import Reloaded

EYES: dict[str, object] = {"bots": {"main": {"reaction": "\U0001f440"}}}


def reacted(house: House) -> list[MessageId]:
    assert {(chat, emoji) for chat, _, emoji in button_bot(house).reactions} <= {(ChatId(GROUP), "\U0001f440")}
    return [message for _, message, _ in button_bot(house).reactions]


async def test_what_is_being_answered_in_a_group_gets_a_reaction(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **EYES)
    said = await house.say_in_group("hello")
    assert reacted(house) == [said.message.message]
    thread = await house.say_in_group("hello", thread="5")
    assert reacted(house) == [said.message.message, thread.message.message]


async def test_nothing_else_does(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), **EYES)
    said = await house.say_in_group("hello")
    await house.redeliver(said)
    await house.say("in private")
    await house.say_in_group("among yourselves", addressed=False)
    await house.say_in_group("hello", chat="-999")
    await house.say_in_group("beep", is_bot=True)
    for command in ("/help", "/stop", "/steer x", "/approve"):
        await house.say_in_group(command)
    await house.edit(said, "hello again")
    await house.restart()
    assert reacted(house) == [said.message.message]


async def test_none_unless_it_is_configured(furnish: Furnish) -> None:
    house = await furnish(ButtonBot())
    await house.say_in_group("hello")
    assert reacted(house) == []
    reloaded = Reloaded(house)
    await reloaded.to(**EYES)
    said = await house.say_in_group("hello")
    await reloaded.to(bots={"main": {"reaction": None}})
    await house.say_in_group("hello")
    assert reacted(house) == [said.message.message]


async def test_what_is_full_or_not_stored_gets_none(furnish: Furnish) -> None:
    house = await furnish(ButtonBot(), mailbox={"limit": 1}, **EYES)
    house.stage.on("slow", house.stage.waits())
    slow = await house.say_in_group("slow")
    waits = await house.say_in_group("waits")
    full = await house.say_in_group("too many")
    assert full.receipt.verdict is Verdict.REFUSED
    house.store.full = True
    with pytest.raises(StoreFull):
        await house.receive(house.group_message("lost"))
    assert reacted(house) == [slow.message.message, waits.message.message]


async def test_a_platform_without_reactions_answers_all_the_same(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **EYES)
    await house.say_in_group("hello")
    assert house.seen(GROUP) == ["re: hello"]


@pytest.mark.parametrize("fault", [NotSent("x"), ValueError("a fault in the bot")])
async def test_a_reaction_that_fails_harms_nothing_and_is_not_tried_again(furnish: Furnish, fault: Exception) -> None:
    house = await furnish(ButtonBot(), **EYES)
    button_bot(house).answer_faults.append(fault)
    await house.say_in_group("hello")
    await house.advance(120)
    assert house.seen(GROUP) == ["re: hello"]
    assert reacted(house) == []


async def test_a_process_that_ends_waits_for_no_sign(furnish: Furnish) -> None:
    class Hanging(ButtonBot):
        async def react(self, address: object, message: MessageId, emoji: str) -> None:
            await asyncio.Event().wait()

    house = await furnish(Hanging(), **EYES)
    await house.say_in_group("hello")
    assert house.seen(GROUP) == ["re: hello"]
    await house.restart()
    await house.say_in_group("and now?")
    assert house.seen(GROUP)[-1] == "re: and now?"
