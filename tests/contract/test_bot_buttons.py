"""What every bot promises of buttons, on each platform that has them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.ports import AnswersPresses, CanEdit
from core.vocabulary import Button, ChatKind, Message, Press
from tests.contract.doubles import RecordingDesk, eventually, running, up
from tests.contract.harness import Harness, Shown, anew, out

YES = Button(label="Yes", data="Y" * 32, style="good")
NO = Button(label="No, thank you", data="n0", style="bad")
LATER = Button(label="Later", data="L8r")


@pytest.fixture(autouse=True)
def _with_buttons(harness: Harness) -> None:
    if not harness.bot.capabilities.buttons:
        pytest.skip(f"{harness.bot.platform} has no buttons")


async def pressed(harness: Harness, desk: RecordingDesk, button: Button = YES) -> Press:
    """What is heard when the person presses a button that is to be seen."""
    before = len(desk.presses)
    harness.press(button.data)
    await desk.until(lambda: len(desk.presses) > before)
    return desk.presses[-1]


async def answer(harness: Harness, press: Press, text: str, *, over: bool) -> None:
    assert isinstance(harness.bot, AnswersPresses)
    await harness.bot.answer(press, text, over=over)


async def test_buttons_stand_under_their_message_in_their_order(harness: Harness, desk: RecordingDesk) -> None:
    async with running(harness.bot, desk):
        await up(desk)
        await harness.bot.send(harness.delivery("Sure?", buttons=[YES, NO, LATER]))
        await harness.bot.send(harness.delivery("No question"))
    asked = Shown(text="Sure?", buttons=("Yes", "No, thank you", "Later"))
    assert harness.shown() == (asked, Shown(text="No question"))


async def test_an_edit_keeps_changes_and_takes_away_buttons(harness: Harness, desk: RecordingDesk) -> None:
    bot = harness.bot
    if not isinstance(bot, CanEdit):
        pytest.skip(f"{bot.platform} has no edits")
    delivery = harness.delivery("Sure?", buttons=[YES])
    seen: list[Shown] = []
    async with running(bot, desk):
        await up(desk)
        message = await bot.send(delivery)
        for text, buttons in (("Really?", (YES,)), ("Really?", (NO, LATER)), ("Really?", ()), ("Again?", (YES,))):
            await bot.edit(replace(delivery, text=text, buttons=buttons), message)
            seen += harness.shown()
    assert seen == [
        Shown(text="Really?", buttons=("Yes",)),
        Shown(text="Really?", buttons=("No, thank you", "Later")),
        Shown(text="Really?"),
        Shown(text="Again?", buttons=("Yes",)),
    ]


async def test_files_and_buttons_come_together_and_an_edit_leaves_the_files(
    harness: Harness, desk: RecordingDesk, tmp_path: Path
) -> None:
    bot = harness.bot
    if not bot.capabilities.upload_limit_bytes or not isinstance(bot, CanEdit):
        pytest.skip(f"no files go out on {bot.platform}, or nothing is edited there")
    delivery = harness.delivery("This one?", files=[out(tmp_path, "notes.txt", b"notes")], buttons=[YES, NO])
    async with running(bot, desk):
        await up(desk)
        message = await bot.send(delivery)
        asked = harness.shown()
        await bot.edit(replace(delivery, text="This one.", buttons=()), message)
        told = harness.shown()
    for shown, text, buttons in ((asked, "This one?", ("Yes", "No, thank you")), (told, "This one.", ())):
        assert "".join(one.text for one in shown) == text
        assert [file for one in shown for file in one.files] == [("notes.txt", b"notes")]
        assert shown[-1].buttons == buttons


async def test_a_press_tells_what_was_pressed_where_and_by_whom(harness: Harness, desk: RecordingDesk) -> None:
    async with running(harness.bot, desk):
        await up(desk)
        harness.say("ask me")
        await desk.until(lambda: bool(desk.heard))
        (asked,) = desk.heard
        await harness.bot.send(harness.delivery("Sure?", buttons=[YES, NO]))
        press = await pressed(harness, desk, NO)
    assert isinstance(asked, Message)
    assert (press.data, press.kind, press.sender.user) == (NO.data, ChatKind.DIRECT, harness.person)
    assert replace(press.address, reply_to=None) == harness.address
    assert (press.sender.realm, press.within) == (asked.sender.realm, asked.within)
    assert press.pressed_at.utcoffset() == timedelta(0)
    assert not any(secret in f"{press.event}{press.data}" for secret in harness.secrets)


async def test_each_press_is_an_event_of_its_own(harness: Harness, desk: RecordingDesk) -> None:
    async with running(harness.bot, desk):
        await up(desk)
        await harness.bot.send(harness.delivery("Sure?", buttons=[YES, NO]))
        for button in (YES, YES, NO):
            await answer(harness, await pressed(harness, desk, button), "", over=False)
    assert [press.data for press in desk.presses] == [YES.data, YES.data, NO.data]
    assert len({press.event for press in desk.presses}) == 3


async def test_a_press_is_waited_for_until_it_is_durable_and_answered(harness: Harness, desk: RecordingDesk) -> None:
    async with running(harness.bot, desk):
        await up(desk)
        await harness.bot.send(harness.delivery("Sure?", buttons=[YES]))
        desk.open.clear()
        harness.press(YES.data)
        await desk.until(lambda: desk.waiting == 1)
        await harness.bot.send(harness.delivery("there and back"))  # meanwhile what was acknowledged has arrived
        assert harness.waiting_signs() == 1
        desk.open.set()
        await desk.until(lambda: len(desk.presses) == 1)
        await answer(harness, desk.presses[0], "", over=False)
        await eventually(lambda: harness.waiting_signs() == 0)


@pytest.mark.parametrize("over", [True, False])
@pytest.mark.parametrize("text", ["allowed", ""])
async def test_an_answer_says_its_word_to_that_person_and_ends_what_is_over(
    harness: Harness, desk: RecordingDesk, text: str, over: bool
) -> None:
    async with running(harness.bot, desk):
        await up(desk)
        await harness.bot.send(harness.delivery("Really?", buttons=[NO]))
        await harness.bot.send(harness.delivery("Sure?", buttons=[YES, NO]))
        await answer(harness, await pressed(harness, desk), text, over=over)
    assert harness.whispers() == ((text,) if text else ())
    other, asked = harness.shown()
    assert other == Shown(text="Really?", buttons=("No, thank you",))
    assert asked == Shown(text="Sure?", buttons=() if over else ("Yes", "No, thank you"))


async def test_buttons_of_before_a_restart_work(harness: Harness, desk: RecordingDesk) -> None:
    async with running(harness.bot, desk):
        await up(desk)
        await harness.bot.send(harness.delivery("Sure?", buttons=[YES, NO]))
    anew(harness, desk)
    async with running(harness.bot, desk):
        await up(desk)
        press = await pressed(harness, desk)
        await answer(harness, press, "expired", over=True)
    assert press.data == YES.data
    assert harness.whispers() == ("expired",)
    assert harness.shown() == (Shown(text="Sure?"),)


async def test_the_buttons_under_a_file_are_taken_away_and_the_file_is_not(
    harness: Harness, desk: RecordingDesk, tmp_path: Path
) -> None:
    if not harness.bot.capabilities.upload_limit_bytes:
        pytest.skip(f"no files go out on {harness.bot.platform}")
    async with running(harness.bot, desk):
        await up(desk)
        files = [out(tmp_path, "notes.txt", b"notes")]
        await harness.bot.send(harness.delivery("This one?", files=files, buttons=[YES]))
        await answer(harness, await pressed(harness, desk), "", over=True)
    shown = harness.shown()
    assert "".join(one.text for one in shown) == "This one?"
    assert [file for one in shown for file in one.files] == [("notes.txt", b"notes")]
    assert all(one.buttons == () for one in shown)


async def test_a_press_while_the_bot_is_down_is_kept_where_the_platform_keeps_it(
    harness: Harness, desk: RecordingDesk
) -> None:
    async with running(harness.bot, desk):
        await up(desk)
        await harness.bot.send(harness.delivery("Sure?", buttons=[YES]))
    anew(harness, desk)
    harness.press(YES.data)
    await eventually(lambda: harness.waiting_signs() == harness.keeps_presses)
    harness.say("after")
    async with running(harness.bot, desk):
        await desk.until(lambda: desk.words == ["after"])
        await pressed(harness, desk)
    assert [press.data for press in desk.presses] == [YES.data] * (1 + harness.keeps_presses)
    assert len({press.event for press in desk.presses}) == len(desk.presses)
