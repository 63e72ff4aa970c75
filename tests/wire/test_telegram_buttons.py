"""Buttons under messages, and what becomes of a press: the real SDK against the strict double."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.errors import Rejected, Unknown
from core.ports import AnswersPresses
from core.vocabulary import Button, ChatKind, Press
from tests.contract.doubles import running
from tests.fakes.telegram.model import JsonValue
from tests.wire.telegram_world import World

YES = Button(label="Yes", data="a" * 32, style="good")
NO = Button(label="No", data="b" * 32, style="bad")
LATER = Button(label="Later", data="c" * 32)


def keyboard(world: World) -> JsonValue:
    markup = world.server.chat(world.chat).messages[-1].reply_markup
    return None if markup is None else markup["inline_keyboard"]


async def pressed(world: World, button: Button = YES) -> Press:
    """Ada presses a button that the bot showed her."""
    sent = await world.bot.send(replace(world.delivery("Sure?"), buttons=(YES, NO, LATER)))
    world.server.press(world.chat, world.ada, int(sent), f"fd:{button.data}")
    await world.heard(1)
    press = world.desk.heard[-1]
    assert isinstance(press, Press)
    return press


async def test_buttons_stand_side_by_side_in_their_styles(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        await world.bot.send(replace(world.delivery("Sure?"), buttons=(YES, NO, LATER)))
    assert world.bot.capabilities.buttons
    assert keyboard(world) == [
        [
            {"text": "Yes", "callback_data": f"fd:{YES.data}", "style": "success"},
            {"text": "No", "callback_data": f"fd:{NO.data}", "style": "danger"},
            {"text": "Later", "callback_data": f"fd:{LATER.data}"},
        ]
    ]


async def test_many_buttons_need_several_rows(world: World) -> None:
    many = tuple(Button(label=str(number), data=str(number)) for number in range(11))
    async with running(world.bot, world.desk):
        await world.up()
        await world.bot.send(replace(world.delivery("Which?"), buttons=many))
    rows = keyboard(world)
    assert isinstance(rows, list)
    assert [len(row) for row in rows if isinstance(row, list)] == [8, 3]


async def test_an_edit_keeps_changes_and_takes_away_buttons(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        sent = await world.bot.send(replace(world.delivery("Sure?"), buttons=(YES,)))
        await world.bot.edit(replace(world.delivery("Really?"), buttons=(YES,)), sent)
        assert keyboard(world) is not None
        await world.bot.edit(replace(world.delivery("Really?"), buttons=(YES,)), sent)
        await world.bot.edit(world.delivery("Really?"), sent)
        assert keyboard(world) is None
    assert world.server.chat(world.chat).bot_texts == ("Really?",)


async def test_a_press_is_heard_and_answered_with_a_word(world: World) -> None:
    assert isinstance(world.bot, AnswersPresses)
    async with running(world.bot, world.desk):
        await world.up()
        press = await pressed(world)
        assert (press.data, press.kind, press.sender.user) == (YES.data, ChatKind.DIRECT, str(world.ada.id))
        assert press.pressed_at == world.clock.now()
        await world.bot.answer(press, "allowed", over=False)
        assert keyboard(world) is not None
    (answered,) = world.server.answered_callbacks
    assert answered["text"] == "allowed"


async def test_what_is_over_has_no_buttons_any_more(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        press = await pressed(world)
        for _ in range(2):  # the second comes too late, and there is nothing to take away
            await world.bot.answer(press, "", over=True)
    assert keyboard(world) is None
    assert world.server.chat(world.chat).bot_texts == ("Sure?",)
    (answered,) = world.server.answered_callbacks
    assert "text" not in answered


async def test_a_press_that_is_too_old_is_no_error_and_loses_its_buttons(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        press = await pressed(world)
        world.server.expire_callbacks()
        await world.bot.answer(press, "expired", over=True)
    assert keyboard(world) is None


async def test_the_buttons_go_even_if_the_word_does_not_arrive(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        press = await pressed(world)
        world.server.answer("answerCallbackQuery", 502, b"")
        with pytest.raises(Unknown):
            await world.bot.answer(press, "allowed", over=True)
    assert keyboard(world) is None


async def test_a_message_that_is_gone_needs_no_buttons_taken_away(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        press = await pressed(world)
        world.server.delete(world.chat, world.server.chat(world.chat).messages[-1].message_id)
        await world.bot.answer(press, "done", over=True)
    assert len(world.server.answered_callbacks) == 1


async def test_a_long_word_is_shortened_to_what_telegram_takes(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        press = await pressed(world)
        await world.bot.answer(press, "🦊" * 300, over=False)
    (answered,) = world.server.answered_callbacks
    text = answered["text"]
    assert isinstance(text, str)
    assert len(text.encode("utf-16-le")) // 2 <= 200
    assert text.endswith("🦊…")


async def test_the_button_of_a_message_out_of_reach_is_heard(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        sent = await world.bot.send(replace(world.delivery("Sure?"), buttons=(YES,)))
        world.server.delete(world.chat, int(sent))
        world.server.press(world.chat, world.ada, int(sent), f"fd:{YES.data}")
        await world.heard(1)
        press = world.desk.heard[0]
        assert isinstance(press, Press)
        await world.bot.answer(press, "late", over=True)


async def test_a_server_that_knows_no_presses_costs_only_the_answer(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        press = await pressed(world)
        world.server.answer_error("answerCallbackQuery", 404, "Not Found")
        with pytest.raises(Rejected):
            await world.bot.answer(press, "done", over=False)
        await world.bot.send(world.delivery("still here"))
