"""What the bot sends, and what becomes of it."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from bots.discord.bot import DiscordBot
from core.errors import ChatDead, FloodWait, NotSent, Rejected, SendError, Unknown
from core.vocabulary import (
    Address,
    Button,
    ChatId,
    ChatKind,
    Delivery,
    DeliveryId,
    Message,
    ThreadId,
    UserId,
)
from tests.drivers.discord import NAME
from tests.wire.discord_world import DiscordDesk, World, serving
from tests.wire.world import ended

PERMISSIONS = 1 << 10 | 1 << 11 | 1 << 16 | 1 << 38
"""View, send, read the history, send in threads."""


async def asked(discord: World, desk: DiscordDesk, text: str = "question") -> Message:
    """Ada asks in the channel."""
    before = len(desk.messages)
    discord.server.say(discord.channel, discord.ada, f"{discord.us} {text}")
    await desk.until(lambda: len(desk.messages) > before)
    return desk.messages[-1]


async def test_an_answer_points_at_its_question_and_pings_nobody_else(discord: World) -> None:
    server = discord.server
    role = server.role(discord.guild, "all", mentionable=True)
    server.give(discord.guild, discord.bob, role)
    server.make_administrator(discord.guild, server.bot)
    text = f"Hello @everyone @here <@&{role.id}> <@{discord.bob.id}>"
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        sent = await bot.send(discord.delivery(question, text))
        await bot.edit(discord.delivery(question, f"{text}!"), sent)
    [answer] = server.sent(discord.channel)
    assert answer.texts == (text, f"{text}!")
    assert answer.reply_to == int(question.message)
    assert answer.pinged == {discord.ada.id}
    assert answer.mentions.users == (discord.ada.id,)
    assert not server.pings(discord.bob)


async def test_links_bring_no_previews(discord: World) -> None:
    async with serving(discord) as (bot, desk):
        await bot.send(discord.delivery(await asked(discord, desk), "see https://example.com"))
    [answer] = discord.server.sent(discord.channel)
    assert answer.flags & 1 << 2


async def test_an_answer_survives_a_deleted_question(discord: World) -> None:
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        discord.server.delete(discord.server.message(int(question.message)))
        await bot.send(discord.delivery(question, "here you are"))
    assert discord.server.texts(discord.channel) == ("here you are",)


async def test_where_nobody_may_read_back_an_answer_is_no_reply(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        server.overwrite(discord.channel, discord.guild, deny=1 << 16)
        await bot.send(discord.delivery(question, "here you are"))
    [answer] = server.sent(discord.channel)
    assert (answer.content, answer.reply_to) == ("here you are", None)


@pytest.mark.parametrize("applied", [True, False])
async def test_a_send_without_an_answer_may_be_repeated_within_its_minutes(discord: World, applied: bool) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        delivery = discord.delivery(await asked(discord, desk), "once")
        server.drop("create_message", applied=applied)
        with pytest.raises(Unknown):
            await bot.send(delivery)
        sent = await bot.send(delivery)
        assert bot.capabilities.idempotent_for_s > 0
    assert [(one.content, str(one.id)) for one in server.sent(discord.channel)] == [("once", sent)]


async def test_a_restart_repeats_with_the_same_nonce(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        delivery = discord.delivery(await asked(discord, desk), "once")
        first = await bot.send(delivery)
    async with serving(discord) as (bot, _):
        assert await bot.send(delivery) == first
    assert len(server.sent(discord.channel)) == 1
    first_nonce, second_nonce = [str(call.body["nonce"]) for call in server.calls_of("create_message")]
    assert first_nonce == second_nonce
    assert len(first_nonce) <= 25


async def test_another_desk_with_the_same_account_takes_nothing_for_its_own(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        delivery = discord.delivery(await asked(discord, desk), "of the first desk")
        await bot.send(delivery)
    discord.memory.notes["nonce"] = "another desk drew another"
    async with serving(discord) as (bot, _):
        await bot.send(replace(delivery, text="of the second desk"))
    assert server.texts(discord.channel) == ("of the first desk", "of the second desk")


async def test_a_long_wait_is_the_callers_and_closes_its_route_only(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        server.limit("create_message", 9.0, scope="shared", channel_id=discord.channel.id)
        for _ in range(2):
            with pytest.raises(FloodWait) as caught:
                await bot.send(discord.delivery(question, "no"))
            assert (caught.value.wait_s, caught.value.account) == (9.0, False)
        await bot.typing(question.address)
        discord.clock.advance(9.0)
        server.clear_faults()
        await bot.send(discord.delivery(question, "yes"))
    assert server.texts(discord.channel) == ("yes",)
    assert len(server.calls_of("create_message")) == 2


async def test_the_account_makes_no_more_calls_in_a_second_than_it_may(discord: World) -> None:
    server = discord.server
    channels = [server.channel(discord.guild, f"room{number}") for number in range(60)]
    async with serving(discord) as (bot, _):
        slept = len(discord.clock.naps)
        addresses = [Address(bot=NAME, chat=ChatId(str(channel.id))) for channel in channels]
        typing = asyncio.gather(*(bot.typing(address) for address in addresses))
        await discord.clock.asleep(slept + 1)
        await discord.wait(lambda: len(server.calls) == 44)  # the way to the gateway is one too
        assert not typing.done()
        discord.clock.advance(1.25)
        await typing
    assert len(server.calls_of("typing")) == 60


async def test_a_global_limit_holds_every_call(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        server.limit("*", 30.0, scope="global")
        with pytest.raises(FloodWait) as sending:
            await bot.send(discord.delivery(question, "no"))
        with pytest.raises(FloodWait) as caught:
            await bot.typing(question.address)
        assert caught.value.wait_s == 30.0
        assert sending.value.account
        assert caught.value.account
        assert not server.calls_of("typing")


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (403, 50007, ChatDead),
        (404, 10003, ChatDead),
        (403, 50001, ChatDead),
        (400, 50035, Rejected),
        (400, 200000, Rejected),
        (503, 0, Unknown),
    ],
)
async def test_each_refusal_has_its_error(discord: World, status: int, code: int, error: type[SendError]) -> None:
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        discord.server.answer_error("create_message", status, code, "no", count=None)
        with pytest.raises(error) as caught:
            await bot.send(discord.delivery(question, "hello"))
    assert type(caught.value) is error


@pytest.mark.parametrize("body", [b"<html>busy</html>", b'{"id": 7}', b"[]", b"null"])
async def test_an_answer_that_is_not_discords_is_no_success(discord: World, body: bytes) -> None:
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        discord.server.answer("create_message", 200, body, content_type="application/json")
        with pytest.raises(Unknown):
            await bot.send(discord.delivery(question, "hello"))


async def test_what_stands_before_discord_may_refuse_for_a_while(discord: World) -> None:
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        discord.server.answer("create_message", 429, b"error code: 1015", content_type="text/plain")
        with pytest.raises(FloodWait):
            await bot.send(discord.delivery(question, "hello"))
        discord.server.answer("create_message", 403, b"<html>blocked</html>")
        with pytest.raises(NotSent):
            await bot.send(discord.delivery(question, "hello"))


async def test_what_is_too_large_for_what_stands_before_discord_is_not_tried_again(discord: World) -> None:
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        discord.server.answer("create_message", 413, b"<html>too large</html>")
        with pytest.raises(Rejected):
            await bot.send(discord.delivery(question, "hello"))


async def test_what_an_answer_hides_is_hidden_while_it_grows(discord: World) -> None:
    async with serving(discord) as (bot, desk):
        begun = replace(discord.delivery(await asked(discord, desk), "it is ||forty"), beginning=True)
        sent = await bot.send(begun)
        await bot.edit(replace(begun, text="it is ||forty-two|"), sent)
        await bot.edit(replace(begun, text="it is ||forty-two|| || all", beginning=False), sent)
    [answer] = discord.server.sent(discord.channel)
    assert answer.texts == ("it is ||forty||", "it is ||forty-two||", r"it is ||forty-two|| \|\| all")


async def test_an_answer_whose_beginning_can_not_grow_on_is_another_message(discord: World) -> None:
    """The nonce of the beginning would bring that back in its place."""
    server = discord.server
    thread = server.thread(discord.channel, discord.ada, "aside")
    address = Address(bot=NAME, chat=ChatId(str(discord.channel.id)), thread=ThreadId(str(thread.id)))
    whole = Delivery(id=DeliveryId(7), address=address, kind=ChatKind.THREAD, text="begun, and ended")
    async with serving(discord) as (bot, _):
        begun = await bot.send(replace(whole, text="begun", beginning=True))
        server.archive(thread)
        with pytest.raises(Rejected):
            await bot.edit(whole, begun)
        sent = await bot.send(whole)
        assert await bot.send(whole) == sent
    assert sent != begun
    assert server.texts(thread) == ("begun", "begun, and ended")


async def test_buttons_stand_side_by_side_and_an_edit_takes_them_away(discord: World) -> None:
    server = discord.server
    buttons = (Button(label="Yes", data="y1", style="good"), Button(label="No", data="n1", style="bad"))
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        sent = await bot.send(discord.delivery(question, "sure?", buttons=buttons))
        assert server.sent()[0].buttons == {"fd:y1": "Yes", "fd:n1": "No"}
        await bot.edit(discord.delivery(question, "sure."), sent)
    assert server.sent()[0].buttons == {}


async def test_an_edit_of_a_message_that_is_gone_is_refused_for_good(discord: World) -> None:
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        sent = await bot.send(discord.delivery(question, "draft"))
        discord.server.delete(discord.server.message(int(sent)))
        with pytest.raises(Rejected):
            await bot.edit(discord.delivery(question, "final"), sent)


async def test_signs_are_put_where_the_message_is(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        await bot.typing(question.address)
        await bot.react(question.address, question.message, "👀")
    assert [one.channel_id for one in server.typings] == [discord.channel.id]
    assert server.message(int(question.message)).reactions == (("👀", server.bot.id),)


async def test_who_runs_a_channel(discord: World) -> None:
    server = discord.server
    manager, keeper, chief = (server.person(name) for name in ("mia", "ken", "olga"))
    for one in (manager, keeper, chief):
        server.join(discord.guild, one)
    server.give(discord.guild, manager, server.role(discord.guild, "managers", 1 << 5))
    server.overwrite(discord.channel, keeper, allow=1 << 4)
    server.make_administrator(discord.guild, chief)
    async with serving(discord) as (bot, desk):
        question = await asked(discord, desk)
        chat = question.address.chat
        runs = {
            one.username: await bot.is_admin(chat, UserId(str(one.id)))
            for one in (discord.bob, manager, keeper, chief, server.person("stranger"))
        }
        owner = await bot.is_admin(chat, UserId(str(discord.guild.owner_id)))
    assert runs == {"bob": False, "mia": True, "ken": True, "olga": True, "stranger": False}
    assert owner


async def test_a_thread_for_each_question_begins_with_the_first_answer(discord: World) -> None:
    server = discord.server
    async with serving(discord, auto_thread=True) as (bot, desk):
        question = await asked(discord, desk, "how does it work?")
        assert (question.kind, str(question.address.thread)) == (ChatKind.THREAD, str(question.message))
        await bot.typing(question.address)
        assert not server.calls_of("start_thread_from_message")
        await bot.send(discord.delivery(question, "first"))
        await bot.send(discord.delivery(question, "second"))
        await bot.react(question.address, question.message, "👀")
        thread = server.platform.rooms[int(question.message)]
        assert thread.name == "how does it work?"
        server.say(server._handle(thread), discord.ada, "and then?")
        await desk.until(lambda: len(desk.messages) == 2)
        assert str(desk.messages[1].address.thread) == str(question.message)
    assert server.texts(thread.id) == ("first", "second")
    assert server.texts(discord.channel) == ()
    assert [one.channel_id for one in server.typings] == [discord.channel.id]


async def test_after_a_restart_a_thread_gets_its_questions_name(discord: World) -> None:
    server = discord.server
    async with serving(discord, auto_thread=True) as (_, desk):
        question = await asked(discord, desk, "what was it?")
    async with serving(discord) as (bot, _):
        await bot.send(discord.delivery(question, "this"))
    thread = server.platform.rooms[int(question.message)]
    assert (thread.name or "").endswith("what was it?")
    assert server.texts(thread.id) == ("this",)


async def test_a_thread_that_may_not_be_begun_leaves_the_answer_in_the_channel(discord: World) -> None:
    server = discord.server
    async with serving(discord, auto_thread=True) as (bot, desk):
        question = await asked(discord, desk)
        server.overwrite(discord.channel, discord.guild, deny=1 << 35)
        sent = await bot.send(discord.delivery(question, "draft"))
        await bot.edit(discord.delivery(question, "final"), sent)
    [answer] = server.sent(discord.channel)
    assert (answer.content, answer.reply_to) == ("final", int(question.message))


async def test_a_bot_that_stops_ends_even_if_discord_is_silent(discord: World) -> None:
    bot, desk = discord.bot(), DiscordDesk()
    run = asyncio.create_task(bot.run(desk))
    await desk.until(lambda: desk.health.last == "up")
    discord.server.hang("create_message")
    question = await asked(discord, desk)
    sending = asyncio.create_task(bot.send(discord.delivery(question, "hello")))
    await discord.wait(lambda: bool(discord.server.calls_of("create_message")))
    run.cancel()
    await ended(run)
    with pytest.raises(SendError):
        await sending
    with pytest.raises(NotSent):
        await bot.send(discord.delivery(question, "hello"))


def test_a_growing_answer_can_be_switched_off(discord: World) -> None:
    made = discord.bot(stream=False)
    assert isinstance(made, DiscordBot)
    assert made.capabilities.edit_interval_s is None
