"""Buttons, slash commands, shortcuts, the assistant's pane and the Home tab: the real SDK against the strict double."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from core.ports import Choice
from core.vocabulary import Address, Button, ChatId, ChatKind, Receipt, RowId, Verdict
from tests.contract.doubles import running
from tests.drivers.slack import NAME, shown
from tests.fakes.slack.model import Interaction, JsonObject, Said
from tests.wire.slack_world import World, opened

STOP = Button(label="Stop", data="STOPSTOP", style="bad")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


async def acked(world: World, what: Interaction) -> None:
    await world.server.until(lambda: world.server.acked(what))


async def threads_of_ada(world: World, *texts: str) -> list[Said]:
    """Threads in the channel in which we talked with her."""
    made = []
    for text in texts:
        said = world.say(f"{world.server.bot} {text}", world.general)
        world.haunt(world.general, said)
        made.append(said)
    await world.heard(len(texts))
    return made


# -- buttons -----------------------------------------------------------------------------------------------------------


async def test_a_press_is_heard_acknowledged_after_that_and_answered(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        root = world.say("chatter", world.general)
        await world.heard(1)
        address = world.address(world.general, root)
        message = await world.bot.send(world.delivery("working", address, buttons=(STOP,)))
        world.desk.open.clear()
        click = world.server.click(world.general, message, world.ada, "fd:STOPSTOP")
        await world.desk.until(lambda: world.desk.waiting == 1)
        assert not world.server.acked(click)
        world.desk.open.set()
        await acked(world, click)
        (press,) = world.presses
        assert (press.data, press.kind, press.address, press.sender.user) == (
            "STOPSTOP", ChatKind.THREAD, address, world.ada.id,
        )  # fmt: skip
        await world.bot.answer(press, "stopped", over=True)
    (said,) = world.shown(world.general, root)
    assert [block["type"] for block in said.blocks] == ["markdown"]
    (word,) = world.server.ephemerals(world.ada)
    assert (word.text, word.thread_ts) == ("stopped", root.ts)


async def test_what_an_answer_takes_the_buttons_off_says_what_it_last_said(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        message = await world.bot.send(world.delivery("half", buttons=(STOP,)))
        world.server.click(world.chat, message, world.ada, "fd:STOPSTOP")
        await world.desk.until(lambda: bool(world.presses))
        update = world.server.delay("chat.update")
        growing = asyncio.create_task(world.bot.edit(world.delivery("the whole", buttons=(STOP,)), message))
        await world.server.until(lambda: update.hits == 1)
        over = asyncio.create_task(world.bot.answer(world.presses[0], "", over=True))
        update.release()
        await asyncio.gather(growing, over)
        (said,) = world.shown()
        assert [block["type"] for block in said.blocks] == ["markdown"]
        assert shown(said) == "the whole"
        await world.bot.answer(world.presses[0], "", over=True)
        assert shown(world.shown()[0]) == "the whole"


async def test_buttons_from_before_a_restart_work_and_are_taken_away(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        message = await world.bot.send(world.delivery("may I?", buttons=(STOP,)))
    later = world.another()
    async with running(later, world.desk):
        await world.up()
        world.server.click(world.chat, message, world.ada, "fd:STOPSTOP")
        await world.desk.until(lambda: bool(world.presses))
        await later.answer(world.presses[0], "", over=True)
    assert shown(world.shown()[0]) == "may I?"
    assert len(world.shown()[0].blocks) == 1


async def test_two_presses_of_one_button_are_two(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        message = await world.bot.send(world.delivery("may I?", buttons=(STOP,)))
        for _ in range(2):
            await acked(world, world.server.click(world.chat, message, world.ada, "fd:STOPSTOP"))
    assert len({press.event for press in world.presses}) == 2


# -- slash commands ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("", "/help"),
        ("reset foo <b>", "/reset foo <b>"),
        ("/reset  now", "/reset  now"),
        ("STATUS", "/STATUS"),
    ],
)
async def test_a_command_in_a_direct_chat_is_that_chats(world: World, typed: str, text: str) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        await acked(world, world.server.slash(world.chat, world.ada, "/frontdesk", typed))
    (message,) = world.messages
    assert (message.text, message.kind, message.address) == (text, ChatKind.DIRECT, world.address())
    assert (message.addressed, message.sender.user, message.within) == (True, world.ada.id, world.server.team.id)


async def test_among_two_other_people_it_is_about_our_own_chat_with_whoever_typed_it(world: World) -> None:
    other = world.server.im(world.ada, world.server.add_bot("another app"))
    async with running(world.bot, world.desk):
        await world.up()
        await acked(world, world.server.slash(other, world.ada, "/frontdesk", "status"))
    assert world.messages[-1].address.chat == world.chat.id


async def test_in_a_channel_it_is_about_the_persons_only_thread(world: World) -> None:
    bob = world.server.person("Bob")
    async with running(world.bot, world.desk):
        await world.up()
        (mine,) = await threads_of_ada(world, "mine")
        theirs = world.server.say(world.general, bob, f"{world.server.bot} not hers")
        world.haunt(world.general, theirs)
        await acked(world, world.server.slash(world.general, world.ada, "/frontdesk", "reset now"))
        await world.heard(3)
    message = world.messages[-1]
    assert (message.text, message.kind) == ("/reset now", ChatKind.THREAD)
    assert (message.address.thread, message.address.reply_to) == (mine.ts, message.message)


async def test_without_a_conversation_there_the_person_is_told_so(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        await acked(world, world.server.slash(world.general, world.ada, "/frontdesk", "reset"))
    (word,) = world.server.ephemerals(world.ada)
    assert "no conversation" in word.text
    assert world.desk.heard == []


async def test_among_several_threads_the_person_is_asked_which(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        _, second = await threads_of_ada(world, "about cats & dogs", "about fish")
        await acked(world, world.server.slash(world.general, world.ada, "/frontdesk", "reset now"))
        (asked,) = world.server.modals(world.ada)
        assert "@frontdesk about cats & dogs" in str(asked.body["blocks"])
        assert world.server.bot.token not in str(asked.body)
        await acked(world, world.server.send(asked, {"frontdesk_which": second.ts}))
        await world.heard(3)
    message = world.messages[-1]
    assert (message.text, message.address.thread, message.kind) == ("/reset now", second.ts, ChatKind.THREAD)
    assert (message.sender.user, message.sender.name) == (world.ada.id, "ada")
    assert world.server.ephemerals(world.ada) == () == world.server.modals(world.ada)


async def test_where_we_may_not_answer_what_is_chosen_that_is_said_in_the_form(world: World) -> None:
    class Closed(type(world.desk)):  # type: ignore[misc]
        async def receive(self, batch: object) -> tuple[Receipt, ...]:
            receipts = await super().receive(batch)
            ignored = Receipt(verdict=Verdict.IGNORED, row=RowId(1), reason="group_not_listed")
            return (ignored,) if "/reset" in world.words else tuple(receipts)

    world.desk = Closed()
    async with running(world.bot, world.desk):
        await world.up()
        first, _ = await threads_of_ada(world, "cats", "fish")
        await acked(world, world.server.slash(world.general, world.ada, "/frontdesk", "reset"))
        (asked,) = world.server.modals(world.ada)
        await acked(world, world.server.send(asked, {"frontdesk_which": first.ts}))
        await world.server.until(lambda: "may not" in str([one.body for one in world.server.modals(world.ada)]))


async def test_where_we_may_not_answer_the_person_is_told_so(world: World) -> None:
    class Closed(type(world.desk)):  # type: ignore[misc]
        async def receive(self, batch: object) -> tuple[Receipt, ...]:
            await super().receive(batch)
            return (Receipt(verdict=Verdict.IGNORED, row=RowId(1), reason="group_not_listed"),)

    desk = Closed()
    async with running(world.bot, desk):
        await world.server.until(lambda: world.server.connected(2))
        await acked(world, world.server.slash(world.general, world.ada, "/frontdesk", "help"))
    assert ["may not" in word.text for word in world.server.ephemerals(world.ada)] == [True]


# -- shortcut, pane, home ----------------------------------------------------------------------------------------------


async def test_a_message_can_be_handed_on_to_us(world: World) -> None:
    bob = world.server.person("Bob")
    async with running(world.bot, world.desk):
        await world.up()
        said = world.server.say(world.general, bob, f"what does {world.ada} think of a < b?")
        await world.heard(1)
        await acked(world, world.server.shortcut(world.general, said, world.ada, "frontdesk_ask"))
        await world.heard(2)
        await acked(world, world.server.shortcut(world.general, said, world.ada, "of_another_time"))
    message = world.messages[-1]
    assert (message.kind, message.address.chat, message.sender.user) == (ChatKind.DIRECT, world.chat.id, world.ada.id)
    assert message.text == "what does @ada think of a < b?"
    assert message.quote is not None
    assert (message.quote.name, message.quote.forwarded) == ("bob", True)


async def test_what_is_in_a_message_that_is_handed_on_comes_along(world: World) -> None:
    """Also of one that another organization shares, or that an app made of blocks."""
    cat, memo = world.server.file(world.ada, "cat.png", b"PNG"), world.server.file(world.ada, "memo.txt", b"memo")
    unnamed: JsonObject = {"files": [{"id": memo.id, "mode": "file_access", "file_access": "check_file_info"}]}
    section: JsonObject = {"type": "section", "text": {"type": "mrkdwn", "text": "*Build 12* failed"}}
    alert: JsonObject = {"blocks": [section], "attachments": [{"fallback": "at noon", "color": "#f00"}]}
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        handed_on = [
            world.server.say(world.general, world.ada, "", files=[cat]),
            world.server.say(world.general, world.ada, "read", files=[memo], extra=unnamed),
            world.server.say(world.general, world.server.other_bot(), "", subtype="bot_message", extra=alert),
        ]
        await world.heard(3)
        for one in handed_on:
            await acked(world, world.server.shortcut(world.general, one, world.ada, "frontdesk_ask"))
    asked = [(one.text, [file.name for file in one.attachments]) for one in world.messages[3:]]
    assert asked == [("", ["cat.png"]), ("read", ["memo.txt"]), ("*Build 12* failed\nat noon", [])]


@pytest.mark.parametrize("heard", [True, False])
async def test_of_a_message_in_which_there_is_nothing_to_read_that_is_said(world: World, heard: bool) -> None:
    world.desk.unheard = set() if heard else {world.ada.id}
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        divider: JsonObject = {"blocks": [{"type": "divider"}]}
        said = world.server.say(world.general, world.server.other_bot(), "", extra=divider)
        await acked(world, world.server.shortcut(world.general, said, world.ada, "frontdesk_ask"))
        if heard:
            await world.server.until(lambda: bool(world.server.ephemerals(world.ada)))
    assert ["nothing in that message" in one.text for one in world.server.ephemerals(world.ada)] == [True] * heard
    assert world.desk.heard == []


async def test_the_assistants_pane_suggests_and_is_a_conversation_of_its_own(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        thread = world.server.open_assistant(world.ada, viewing=world.general)
        await world.server.until(lambda: bool(world.server.prompts))
        world.server.pick_prompt(world.ada, thread, "What can I ask for?")
        await world.heard(1)
        await world.acked()
    (message,) = world.messages
    assert (message.text, message.kind, message.address.thread) == ("/help", ChatKind.DIRECT, thread.ts)


async def test_home_shows_a_persons_sessions_and_goes_back_to_one(world: World) -> None:
    world.desk.choices = [
        Choice(value="0198-one", label="On cats (2 h)"),
        Choice(value="0198-two", label="On fish (1 d)"),
    ]
    async with running(world.bot, world.desk):
        await world.up()
        world.server.open_home(world.ada)
        await world.server.until(lambda: world.server.home(world.ada) is not None)
        home = world.server.home(world.ada)
        assert home is not None
        assert "On cats (2 h)" in str(home.body)
        await acked(world, world.server.click_view(home, "fdr:1"))
        await world.heard(1)
        await world.acked()
    (message,) = world.messages
    assert message.text == "/resume 0198-two"
    assert message.address == Address(bot=NAME, chat=ChatId(world.chat.id))
    assert message.message.startswith("choice-")


async def test_an_empty_home_says_what_to_do(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.open_home(world.ada)
        await world.server.until(lambda: world.server.home(world.ada) is not None)
    home = world.server.home(world.ada)
    assert home is not None
    assert "mention me" in str(home.body)


# -- whom nobody hears -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("typed", ["stop", "reset", "help", "status", ""])
async def test_what_somebody_types_whom_nobody_hears_is_left_to_the_desk(world: World, typed: str) -> None:
    """Nothing is looked up for them, and nothing is said that the desk does not have said."""
    world.desk.unheard = {world.ada.id}
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        await threads_of_ada(world, "about cats", "about fish")
        asked = len(world.server.calls)
        await acked(world, world.server.slash(world.general, world.ada, "/frontdesk", typed))
        await world.heard(3)
        assert len(world.server.calls) == asked
    assert world.server.ephemerals(world.ada) == ()
    assert world.messages[-1].text == f"/{typed or 'help'}"
    assert world.messages[-1].sender.name == "ada"


async def test_the_blocked_are_told_nothing(world: World) -> None:
    class Blocking(type(world.desk)):  # type: ignore[misc]
        async def receive(self, batch: object) -> tuple[Receipt, ...]:
            await super().receive(batch)
            return (Receipt(verdict=Verdict.IGNORED, row=RowId(1), reason="blocked"),)

    desk = Blocking()
    desk.unheard = {world.ada.id}
    async with running(world.another(catch_up=0), desk):
        await world.server.until(lambda: world.server.connected(2))
        await acked(world, world.server.slash(world.general, world.ada, "/frontdesk", "stop"))
    assert world.server.ephemerals(world.ada) == ()


async def test_who_is_not_heard_is_not_shown_what_to_say(world: World) -> None:
    world.desk.unheard = {world.ada.id}
    world.desk.choices = [Choice(value="0198-one", label="On cats (2 h)")]
    async with running(world.bot, world.desk):
        await world.up()
        world.server.open_assistant(world.ada, viewing=world.general)
        world.server.open_home(world.ada)
        await world.server.until(lambda: world.server.home(world.ada) is not None)
        await world.acked()
    home = world.server.home(world.ada)
    assert home is not None
    assert "cats" not in str(home.body)
    assert "rite to me" not in str(home.body)
    assert world.server.prompts == ()


async def test_what_can_not_be_looked_up_just_now_is_said_to_be_so(world: World) -> None:
    """And not that there is no conversation."""
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        await threads_of_ada(world, "about cats")
        world.server.error("conversations.replies", "internal_error")
        await acked(world, world.server.slash(world.general, world.ada, "/frontdesk", "reset"))
    (word,) = world.server.ephemerals(world.ada)
    assert "at the moment" in word.text
