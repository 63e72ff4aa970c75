"""Commands, buttons, suggestions and the menu of a message, answered within Discord's seconds and minutes."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.errors import Rejected, Unknown
from core.ports import Choice
from core.vocabulary import (
    Address,
    Button,
    ChatId,
    ChatKind,
    Delivery,
    DeliveryId,
    Earlier,
    EventId,
    FileKind,
    Message,
    OutFile,
    Press,
    Quote,
    Sender,
)
from tests.contract.doubles import running
from tests.drivers.discord import NAME
from tests.fakes.discord import Interaction
from tests.wire.discord_world import DiscordDesk, World, serving


async def offered(discord: World) -> None:
    await discord.wait(lambda: bool(discord.server.commands()))


async def command(discord: World, desk: DiscordDesk, name: str, **options: str) -> tuple[Interaction, Message]:
    await offered(discord)
    before = len(desk.messages)
    used = discord.server.command(discord.ada, discord.channel, name, dict(options))
    await desk.until(lambda: len(desk.messages) > before)
    return used, desk.messages[-1]


async def test_the_command_table_is_registered_once_and_again_when_it_changes(discord: World) -> None:
    server = discord.server
    async with serving(discord):
        await offered(discord)
    async with serving(discord):
        await discord.wait(lambda: len(server.calls_of("get_commands")) == 2)
    assert server.command_writes == 1
    [account] = server.platform.accounts
    del account.global_commands[0]
    async with serving(discord):
        await discord.wait(lambda: server.command_writes == 2)
    assert {str(one["name"]) for one in server.commands()} == {"status", "reset", "resume", "Ask about this"}


async def test_a_command_is_a_message_that_is_answered_where_it_was_used(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        used, message = await command(discord, desk, "reset", text="do this")
        assert (message.text, message.kind, message.addressed) == ("/reset do this", ChatKind.GROUP, True)
        assert message.message == message.address.reply_to == str(used.id)
        await bot.send(discord.delivery(message, "a new beginning"))
        await bot.send(second := discord.delivery(message, "and a second word"))
        rest = replace(second, id=DeliveryId(second.id + 1), address=replace(second.address, reply_to=None))
        await bot.send(replace(rest, text="with a later part"))
    assert used.acknowledged
    assert server.texts(discord.channel) == ("a new beginning", "and a second word", "with a later part")
    assert [one.interaction_id for one in server.sent(discord.channel)] == [used.id, used.id, None]
    assert not server.whispers()


async def test_what_is_for_the_asker_only_is_seen_by_nobody_else_part_by_part(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        _, message = await command(discord, desk, "status")
        first = discord.delivery(message, "all is well")
        sent = await bot.send(first)
        rest = replace(first, id=DeliveryId(first.id + 7), address=replace(first.address, reply_to=None), text="quite")
        await bot.send(replace(rest, id=DeliveryId(first.id + 1), answers=None, text="meanwhile"))
        await bot.send(rest)
        await bot.edit(replace(first, text="all is very well"), sent)
    assert [one.content for one in server.whispers(discord.ada)] == ["all is very well", "quite"]
    assert server.texts(discord.channel) == ("meanwhile",)


async def test_what_is_for_the_asker_only_is_never_said_aloud(discord: World) -> None:
    """Too late to acknowledge, too late to answer, and long after a restart: then it goes to the direct chat."""
    server = discord.server
    async with serving(discord) as (bot, desk):
        await offered(discord)
        server.answer_error("callback", 404, 10062, "Unknown interaction")
        _, message = await command(discord, desk, "status")
        await bot.send(discord.delivery(message, "unacknowledged"))
        _, message = await command(discord, desk, "status")
        discord.clock.advance(15 * 60.0)
        sent = await bot.send(late := discord.delivery(message, "late"))
        await bot.edit(replace(late, text="late, and more"), sent)
        used, message = await command(discord, desk, "status")
        await discord.wait(lambda: used.acknowledged)
    async with serving(discord) as (bot, _):
        discord.clock.advance(15 * 60.0)
        await bot.send(discord.delivery(message, "after a restart"))
    assert server.texts(discord.channel) == ()
    assert server.texts(discord.dm) == ("unacknowledged", "late, and more", "after a restart")


async def test_who_takes_no_direct_messages_hears_it_from_nobody_else(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        _, message = await command(discord, desk, "status")
        discord.clock.advance(15 * 60.0)
        server.close_door(discord.ada)
        with pytest.raises(Rejected, match="one person only"):
            await bot.send(discord.delivery(message, "late"))
        here = Address(bot=NAME, chat=message.address.chat)
        await bot.send(Delivery(id=DeliveryId(99), address=here, kind=message.kind, text="aloud"))
    assert server.texts(discord.channel) == ("aloud",)


async def test_in_a_direct_chat_nothing_needs_to_be_hidden(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        await offered(discord)
        server.command(discord.ada, discord.dm, "status")
        await desk.until(lambda: bool(desk.messages))
        await bot.send(discord.delivery(desk.messages[0], "all is well"))
    assert server.texts(discord.dm) == ("all is well",)


async def test_a_command_is_acknowledged_only_after_it_is_stored(discord: World) -> None:
    async with serving(discord) as (_, desk):
        await offered(discord)
        desk.open.clear()
        used = discord.server.command(discord.ada, discord.channel, "status")
        await desk.until(lambda: desk.waiting == 1)
        assert not used.acknowledged
        desk.open.set()
        await discord.wait(lambda: used.acknowledged)


async def test_an_answer_after_a_quarter_of_an_hour_is_a_plain_message(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        _, message = await command(discord, desk, "reset")
        discord.clock.advance(15 * 60.0)
        await bot.send(discord.delivery(message, "late"))
    assert [call.body["content"] for call in server.calls_of("create_message")] == ["late"]


async def test_an_interaction_that_discord_has_forgotten_is_answered_plainly(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        await offered(discord)
        server.answer_error("callback", 404, 10062, "Unknown interaction")
        server.command(discord.ada, discord.channel, "reset")
        await desk.until(lambda: bool(desk.messages))
        await bot.send(discord.delivery(desk.messages[0], "here all the same"))
    assert server.texts(discord.channel) == ("here all the same",)
    assert server.calls_of("create_message")


async def test_the_first_answer_can_be_repeated_and_a_later_one_is_never_doubled(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        _, message = await command(discord, desk, "status")
        first = discord.delivery(message, "first")
        server.drop("edit_response", applied=True)
        with pytest.raises(Unknown):
            await bot.send(first)
        await bot.send(replace(first, earlier=Earlier(since=discord.clock.now(), others=frozenset())))
        second = discord.delivery(message, "second")
        server.drop("followup", applied=True)
        for one in (second, replace(second, earlier=Earlier(since=discord.clock.now(), others=frozenset()))):
            with pytest.raises(Unknown):
                await bot.send(one)
    assert [one.content for one in server.whispers(discord.ada)] == ["first", "second"]


async def test_an_answer_that_may_have_arrived_before_a_restart_is_looked_for(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        _, message = await command(discord, desk, "reset")
        answer = discord.delivery(message, "a **new** beginning")
        server.drop("edit_response", applied=True)
        with pytest.raises(Unknown):
            await bot.send(answer)
    async with serving(discord) as (bot, _):
        sent = await bot.send(replace(answer, earlier=Earlier(since=discord.clock.now(), others=frozenset())))
    [shown] = server.sent(discord.channel)
    assert str(shown.id) == sent


async def test_a_command_may_be_answered_with_a_file_and_with_buttons(discord: World, tmp_path: Path) -> None:
    server = discord.server
    path = tmp_path / "plan.txt"
    path.write_text("the plan")
    file = OutFile(kind=FileKind.FILE, path=path, name="plan.txt", media_type="text/plain", size=8)
    buttons = (Button(label="Good", data="G1", style="good"),)
    async with serving(discord) as (bot, desk):
        _, message = await command(discord, desk, "reset")
        await bot.send(discord.delivery(message, "here", files=(file,), buttons=buttons))
        await bot.send(discord.delivery(message, "and again", files=(file,)))
    first, second = server.sent(discord.channel)
    assert [one.content for one in (*first.now.attachments, *second.now.attachments)] == [b"the plan"] * 2
    assert first.buttons == {"fd:G1": "Good"}


async def test_suggestions_come_from_the_desk(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (_, desk):
        await offered(discord)
        desk.choices = [Choice(value="1", label="Plans"), Choice(value="x" * 101, label="too long"), *_many()]
        asked = server.autocomplete(discord.ada, discord.channel, "resume", "n-title-id", "pl")
        await discord.wait(lambda: asked.acknowledged)
        [(principal, name, typed)] = desk.asked
    assert asked.choices[0] == {"name": "Plans", "value": "1"}
    assert len(asked.choices) == 25
    assert (name, typed) == ("resume", "pl")
    assert (principal.sender.user, principal.address.chat) == (str(discord.ada.id), str(discord.channel.id))
    assert principal.within == str(discord.guild.id)
    assert not desk.heard


def _many() -> list[Choice]:
    return [Choice(value=str(number), label=f"Session {number}") for number in range(2, 40)]


async def test_a_button_is_pressed_stored_and_answered_also_after_a_restart(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        server.say(discord.channel, discord.ada, f"{discord.us} may I?")
        await desk.until(lambda: bool(desk.messages))
        buttons = (Button(label="Yes", data="Y1"), Button(label="No", data="N1"))
        question = discord.delivery(desk.messages[0], "sure?", buttons=buttons)
        await bot.send(question)
        [shown] = server.sent(discord.channel)
    async with serving(discord) as (bot, desk):
        desk.open.clear()
        pressed = server.press(discord.bob, shown, "fd:Y1")
        await desk.until(lambda: desk.waiting == 1)
        assert not pressed.acknowledged
        desk.open.set()
        await desk.until(lambda: bool(desk.heard))
        [press] = desk.heard
        assert isinstance(press, Press)
        await bot.answer(press, "Only Ada may", over=False)
        assert server.message(shown).buttons
        await bot.answer(press, "", over=True)
    assert (press.data, press.kind, press.sender.user) == ("Y1", ChatKind.GROUP, str(discord.bob.id))
    assert (press.address.chat, press.address.reply_to) == (str(discord.channel.id), None)
    assert [one.content for one in server.whispers(discord.bob)] == ["Only Ada may"]
    assert server.message(shown).buttons == {}
    assert server.message(shown).content == "sure?"


async def test_a_press_of_long_ago_can_not_be_answered(discord: World) -> None:
    async with serving(discord) as (bot, _):
        press = Press(
            event=EventId("1"),
            address=Address(bot=NAME, chat=ChatId(str(discord.channel.id))),
            kind=ChatKind.GROUP,
            sender=Sender(user=None, name=""),
            data="Y1",
            pressed_at=discord.clock.now(),
            handle="1/token",
        )
        with pytest.raises(Rejected):
            await bot.answer(press, "late", over=True)


async def test_the_menu_of_a_message_asks_for_the_question(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        await offered(discord)
        text = server.say(discord.channel, discord.bob, "E = mc²", files=[("board.png", b"png")])
        picked = server.use_message_menu(discord.ada, text, "Ask about this")
        await discord.wait(lambda: picked.modal is not None)
        filled = server.submit(picked, {"question": "what is c?"})
        await desk.until(lambda: len(desk.messages) == 2)
        message = desk.messages[-1]
        await bot.send(discord.delivery(message, "the speed of light"))
    assert message.text == "what is c?"
    assert message.quote == Quote(name="Bob", text="E = mc²\n[File: board.png]")
    assert [one.name for one in message.attachments] == ["board.png"]
    assert message.message == str(filled.id)
    assert server.texts(discord.channel) == ("the speed of light",)


async def test_a_form_that_was_opened_before_a_restart_still_finds_its_message(discord: World) -> None:
    server = discord.server
    async with serving(discord):
        await offered(discord)
        text = server.say(discord.channel, discord.bob, "E = mc²")
        picked = server.use_message_menu(discord.ada, text, "Ask about this")
        await discord.wait(lambda: picked.modal is not None)
    async with serving(discord) as (_, desk):
        server.submit(picked, {"question": "what is c?"})
        await desk.until(lambda: bool(desk.messages))
    assert desk.messages[0].quote == Quote(name="Bob", text="E = mc²")


async def test_a_message_that_discord_does_not_tell_soon_holds_up_no_form_and_no_command(discord: World) -> None:
    server = discord.server
    async with serving(discord):
        await offered(discord)
        text = server.say(discord.channel, discord.bob, "E = mc²")
        picked = server.use_message_menu(discord.ada, text, "Ask about this")
        await discord.wait(lambda: picked.modal is not None)
    server.hang("get_message")
    bot, desk = discord.patient(), DiscordDesk(discord.memory)
    async with running(bot, desk):
        await desk.until(lambda: desk.health.last == "up")
        form = server.submit(picked, {"question": "what is c?"})
        used = server.command(discord.bob, discord.channel, "status")
        await discord.wait(lambda: form.acknowledged and used.acknowledged)
        assert [(one.text, one.quote) for one in desk.messages] == [("what is c?", None), ("/status", None)]
        server.clear_faults()


async def test_who_gets_no_answer_sees_no_waiting_sign(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        desk.ignoring = True
        await offered(discord)
        used = server.command(discord.ada, discord.channel, "reset")
        await discord.wait(lambda: bool(server.calls_of("delete_response")))
        await bot.send(discord.delivery(desk.messages[0], "not here"))
    assert used.acknowledged
    assert [(one.content, one.deleted) for one in server.whispers(discord.ada)] == [("", True), ("not here", False)]
    assert not server.texts(discord.channel)


async def test_commands_that_discord_refuses_stop_nothing(discord: World) -> None:
    server = discord.server
    server.answer_error("overwrite_commands", 400, 50035, "Invalid Form Body")
    async with serving(discord) as (_, desk):
        server.say(discord.dm, discord.ada, "hello")
        await desk.until(lambda: bool(desk.messages))
    assert server.command_writes == 0


async def test_who_is_not_heard_is_asked_for_no_question(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (_, desk):
        desk.unheard = {str(discord.ada.id)}
        await offered(discord)
        text = server.say(discord.channel, discord.bob, "E = mc²")
        picked = server.use_message_menu(discord.ada, text, "Ask about this")
        await discord.wait(lambda: bool(server.calls_of("delete_response")))
        other = server.use_message_menu(discord.bob, text, "Ask about this")
        await discord.wait(lambda: other.modal is not None)
    assert picked.modal is None
