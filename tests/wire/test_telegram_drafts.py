"""What vanishes or stands beside messages: drafts, reactions, the menu of commands."""

from __future__ import annotations

import pytest

from core.errors import ChatDead, FloodWait, Rejected
from core.ports import CanDraft, CanReact, CommandHelp
from core.vocabulary import MessageId
from tests.contract.doubles import running
from tests.fakes.telegram.model import JsonValue
from tests.wire.telegram_world import World

# -- drafts ------------------------------------------------------------------------------------------------------------


async def test_an_answer_grows_as_one_draft_and_the_next_one_is_another(world: World) -> None:
    assert isinstance(world.bot, CanDraft)
    address = world.delivery().address
    async with running(world.bot, world.desk):
        await world.up()
        for text in ("**Wh", "**Why** not"):
            await world.bot.draft(address, text)
        draft = world.server.chat(world.chat).draft
        assert draft is not None
        assert (draft.text, [entity.type for entity in draft.entities]) == ("Why not", ["bold"])
        await world.bot.send(world.delivery("**Why** not?"))
        assert world.server.chat(world.chat).draft is None
        await world.bot.draft(address, "Because")
    numbers = [draft.draft_id for draft in world.server.chat(world.chat).drafts]
    assert numbers[0] == numbers[1] != numbers[2]
    assert 0 not in numbers
    assert world.bot.capabilities.drafts


async def test_a_draft_is_shown_in_its_topic_as_far_as_one_message_goes(world: World) -> None:
    topic = world.server.topic(world.chat, world.ada)
    async with running(world.bot, world.desk):
        await world.up()
        await world.bot.draft(world.delivery(thread=topic).address, "word " * 2000)
        await world.bot.draft(world.delivery().address, " \n")
    (draft,) = world.server.chat(world.chat).drafts
    assert draft.thread_id == topic
    assert 4000 < len(draft.text) <= 4096


async def test_what_was_for_a_topic_that_is_gone_is_drafted_in_the_chat_itself(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        await world.bot.draft(world.delivery(thread=77).address, "a")
    assert [(draft.text, draft.thread_id) for draft in world.server.chat(world.chat).drafts] == [("a", None)]
    assert world.bot.capabilities.drafts


async def test_what_cannot_be_parsed_is_drafted_plainly(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.answer_error("sendMessageDraft", 400, "Bad Request: can't parse entities: whatever")
        await world.bot.draft(world.delivery().address, "**a")
    assert [draft.text for draft in world.server.chat(world.chat).drafts] == ["**a"]
    assert world.bot.capabilities.drafts


@pytest.mark.parametrize(
    ("status", "words"), [(404, "Not Found"), (400, "Bad Request: TEXTDRAFT_PEER_INVALID"), (400, "Bad Request: no")]
)
async def test_a_server_without_drafts_is_asked_once(world: World, status: int, words: str) -> None:
    address = world.delivery().address
    async with running(world.bot, world.desk):
        await world.up()
        world.server.answer_error("sendMessageDraft", status, words)
        with pytest.raises(Rejected):
            await world.bot.draft(address, "a")
        assert not world.bot.capabilities.drafts
        await world.bot.send(world.delivery("still here"))
    async with running(world.bot, world.desk):
        assert not world.bot.capabilities.drafts
    assert world.server.chat(world.chat).bot_texts == ("still here",)


@pytest.mark.parametrize(
    ("status", "words", "expected"),
    [
        (403, "Forbidden: bot was blocked by the user", ChatDead),
        (429, "Too Many Requests", FloodWait),
        (401, "Unauthorized", Rejected),
    ],
)
async def test_what_says_nothing_of_drafts_leaves_them_on(
    world: World, status: int, words: str, expected: type[Exception]
) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.answer_error("sendMessageDraft", status, words)
        with pytest.raises(expected):
            await world.bot.draft(world.delivery().address, "a")
        assert world.bot.capabilities.drafts
        await world.bot.draft(world.delivery().address, "b")


def test_drafts_can_be_switched_off(world: World) -> None:
    assert not world.another(drafts=False).capabilities.drafts
    assert not world.another(stream=False).capabilities.drafts


# -- reactions ---------------------------------------------------------------------------------------------------------


async def test_a_reaction_is_put_on_a_message(world: World) -> None:
    assert isinstance(world.bot, CanReact)
    group = world.server.group()
    async with running(world.bot, world.desk):
        await world.up()
        said = world.server.say(group, world.ada, "hi")
        for emoji in ("👀", "❤\ufe0f"):
            await world.bot.react(world.delivery(chat=group).address, MessageId(str(said.message_id)), emoji)
            assert world.server.chat(group).messages[-1].reactions == (emoji.strip("\ufe0f"),)
        world.server.answer_error("setMessageReaction", 400, "Bad Request: REACTION_INVALID")
        with pytest.raises(Rejected):
            await world.bot.react(world.delivery(chat=group).address, MessageId(str(said.message_id)), "👍")


# -- the menu ----------------------------------------------------------------------------------------------------------

HELP = CommandHelp(name="help", summary="this list")
TITLE = CommandHelp(name="title", summary="name\nit", argument="text", needs_argument=True)
MODEL = CommandHelp(name="model", summary="choose one", argument="name|default")
SCOPES = ("default", "all_private_chats", "all_group_chats")


def shown(world: World) -> list[JsonValue]:
    return [world.server.commands({"type": scope}) for scope in SCOPES]


async def test_the_menu_is_set_for_everybody_once_and_again_when_it_changes(world: World) -> None:
    world.desk.table = [HELP, TITLE, MODEL]
    async with running(world.bot, world.desk):
        await world.desk.until(lambda: bool(world.desk.notes))
    menu = [
        {"command": "help", "description": "this list"},
        {"command": "title", "description": "name it (text)"},
        {"command": "model", "description": "choose one [name|default]"},
    ]
    assert shown(world) == [menu, menu, menu]
    async with running(world.another(), world.desk):
        await world.server.until(lambda: world.server.polling)
    assert len(world.server.calls_of("setMyCommands")) == len(SCOPES)
    world.desk.table = [HELP]
    async with running(world.another(), world.desk):
        await world.server.until(lambda: shown(world)[2] == menu[:1])


async def test_scopes_that_we_do_not_set_are_left_alone(world: World) -> None:
    slot = '[{"chat_id": 5, "type": "chat"}, ""]'
    world.server.platform.commands[slot] = ["theirs"]
    world.desk.table = [HELP]
    async with running(world.bot, world.desk):
        await world.desk.until(lambda: bool(world.desk.notes))
    assert world.server.platform.commands[slot] == ["theirs"]


async def test_only_what_telegram_can_show_is_in_the_menu(world: World) -> None:
    long = CommandHelp(name="long", summary="x" * 300)
    odd = [CommandHelp(name=name, summary="s") for name in ("New-One", "x" * 33, "größe")]
    many = [CommandHelp(name=f"c{number}", summary=" ") for number in range(150)]
    world.desk.table = [*odd, long, *many]
    async with running(world.bot, world.desk):
        await world.desk.until(lambda: bool(world.desk.notes))
    menu = shown(world)[0]
    assert isinstance(menu, list)
    assert len(menu) == 100
    assert menu[:2] == [{"command": "long", "description": "x" * 256}, {"command": "c0", "description": "c0"}]


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
async def test_a_menu_that_is_refused_is_no_trouble_and_tried_at_the_next_start(world: World, status: int) -> None:
    world.desk.table = [HELP]
    world.server.answer_error("setMyCommands", status, "no")
    async with running(world.bot, world.desk):
        await world.server.until(lambda: bool(world.server.calls_of("setMyCommands")))
        world.say("hello")
        await world.heard(1)
        await world.bot.send(world.delivery("hi"))
    assert world.desk.notes == {}
    async with running(world.another(), world.desk):
        await world.desk.until(lambda: bool(world.desk.notes))


async def test_a_menu_that_hangs_holds_up_nothing(world: World) -> None:
    world.desk.table = [HELP]
    world.server.hang("setMyCommands")
    async with running(world.bot, world.desk):
        world.say("hello")
        await world.heard(1)
