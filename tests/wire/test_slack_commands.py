"""Which conversation a slash command is about: the real SDK against the strict double."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from core.desk.commands.table import COMMANDS
from core.errors import StoreError
from core.ports import CommandHelp, Haunt
from core.vocabulary import BotName, ChatKind
from tests.contract.doubles import running
from tests.fakes.slack.model import Channel, Said, View, objects_of, text_of
from tests.wire.slack_world import SlackDesk, World, opened


class WholeDesk(SlackDesk):
    """With all the commands that there are."""

    def __init__(self) -> None:
        super().__init__()
        self.table = tuple(
            CommandHelp(name=one.name, summary="", aliases=one.aliases, private=one.private) for one in COMMANDS
        )


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


def talk(world: World, text: str, channel: Channel | None = None) -> Said:
    """Ada begins a conversation with us there."""
    channel = channel or world.chat
    said = world.say(text if channel.kind == "im" else f"{world.server.bot} {text}", channel)
    world.haunt(channel, said)
    return said


def talk_of_bob(world: World, count: int) -> None:
    """Threads in the channel that are none of hers."""
    bob = world.server.person("Bob")
    for number in range(count):
        world.haunt(world.general, world.server.say(world.general, bob, f"{world.server.bot} of Bob's, {number}"))


async def typed(world: World, command: str, channel: Channel | None = None) -> None:
    slash = world.server.slash(channel or world.chat, world.ada, "/frontdesk", command)
    await world.server.until(lambda: world.server.acked(slash))


def form(world: World) -> View:
    """What asks her for more."""
    (shown,) = world.server.modals(world.ada)
    return shown


def topics(shown: View) -> dict[str, str]:
    """What is to choose from, with the value of each."""
    element = objects_of(shown.body["blocks"])[0]["element"]
    assert isinstance(element, dict)
    return {text_of(one, "text", "text"): text_of(one, "value") for one in objects_of(element["options"])}


async def choose(world: World, shown: View, label: str) -> None:
    """The form is gone after that."""
    sent = world.server.send(shown, {"frontdesk_which": topics(shown)[label]})
    await world.server.until(lambda: world.server.acked(sent))
    assert world.server.modals(world.ada) == ()


# -- a direct chat -----------------------------------------------------------------------------------------------------


async def test_a_command_is_about_the_only_conversation_of_a_direct_chat(world: World) -> None:
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        said = talk(world, "cats")
        await world.heard(1)
        await typed(world, "reset")
    assert (world.words[-1], world.messages[-1].address.thread) == ("/reset", said.ts)
    assert world.sent("conversations.replies") == 0


@pytest.mark.parametrize("chosen", ["about cats", "about fish", "This chat, outside of threads"])
async def test_among_several_conversations_of_a_direct_chat_the_person_is_asked_which(
    world: World, chosen: str
) -> None:
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        threads = {"about cats": talk(world, "about cats").ts, "about fish": talk(world, "about fish").ts}
        world.haunt(world.chat)
        await world.heard(2)
        await typed(world, "reset now")
        asked = form(world)
        assert list(topics(asked)) == ["This chat, outside of threads", "about fish", "about cats"]
        assert len(world.desk.heard) == 2
        await choose(world, asked, chosen)
        await world.heard(3)
    message = world.messages[-1]
    assert (message.text, message.kind) == ("/reset now", ChatKind.DIRECT)
    assert message.address == world.address(world.chat, threads.get(chosen))


async def test_what_is_chosen_among_two_other_people_is_done_in_our_own_chat(world: World) -> None:
    bob = world.server.person("Bob")
    with world.server.platform.lock:
        other = world.server.platform.im(world.ada.id, bob.id).channel
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        cats, _ = talk(world, "cats"), talk(world, "fish")
        await typed(world, "reset", other)
        asked = form(world)
        await choose(world, asked, "cats")
        await world.heard(3)
    assert world.messages[-1].address == world.address(world.chat, cats)


@pytest.mark.parametrize("command", ["help", "start", "sessions", "whoami", "usage", "version", "forget"])
async def test_for_what_is_about_no_one_conversation_nobody_is_asked_which(world: World, command: str) -> None:
    world.desk = WholeDesk()
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        _, fish = talk(world, "cats"), talk(world, "fish")
        for text in ("birds", "bees"):
            talk(world, text, world.general)
        await typed(world, command)
        await typed(world, command, world.general)
        await world.heard(6)
    assert world.server.ephemerals(world.ada) == () == world.server.modals(world.ada)
    there, among_others = (message.address for message in world.messages if message.text == f"/{command}")
    assert (there.chat, there.thread) == (world.chat.id, fish.ts)
    assert (among_others.chat, among_others.thread) == (world.general.id, None)


async def test_a_thread_that_slack_does_not_tell_of_is_offered_by_its_time(world: World) -> None:
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        _, fish = talk(world, "cats"), talk(world, "fish")
        await world.heard(2)
        world.server.error("conversations.replies", "internal_error", count=None)
        await typed(world, "reset")
        asked = form(world)
        assert list(topics(asked)) == [f"The thread of {world.clock.now():%Y-%m-%d %H:%M} UTC"]
        world.server.send(asked, {"frontdesk_which": fish.ts})
        await world.heard(3)
    assert world.messages[-1].address.thread == fish.ts


async def test_what_the_store_does_not_tell_is_not_guessed(world: World) -> None:
    class Forgetful(SlackDesk):
        async def haunts(self, bot: BotName, most: int) -> Sequence[Haunt]:
            raise StoreError("not now")

    world.desk = Forgetful()
    async with running(world.another(catch_up=0), world.desk):
        await world.server.until(lambda: world.server.connected(2))
        await typed(world, "reset")
        await typed(world, "help")
        await world.heard(1)
    assert ["at the moment" in one.text for one in world.server.ephemerals(world.ada)] == [True]
    assert world.words == ["/help"]


# -- a channel ---------------------------------------------------------------------------------------------------------


async def test_a_thread_in_a_busy_channel_is_found(world: World) -> None:
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        mine = talk(world, "mine", world.general)
        talk_of_bob(world, 19)
        await world.heard(20)
        await typed(world, "reset", world.general)
        await typed(world, "stop", world.general)
        await world.heard(22)
    assert [(one.text, one.address.thread) for one in world.messages[20:]] == [("/reset", mine.ts), ("/stop", mine.ts)]
    assert world.sent("conversations.replies") == 20, "each is read once, as long as nothing more is said there"


async def test_in_a_channel_too_busy_to_be_looked_through_that_is_said(world: World) -> None:
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        talk(world, "mine", world.general)
        talk_of_bob(world, 20)
        await world.heard(21)
        for command in ("reset", "status"):
            await typed(world, command, world.general)
        await typed(world, "help", world.general)
        await world.heard(22)
    said = [one.text for one in world.server.ephemerals(world.ada)]
    assert ["can't look through all" in one for one in said] == [True, True]
    assert world.words[21:] == ["/help"]


async def test_where_not_all_could_be_looked_at_the_person_is_asked_even_about_the_one_that_was_found(
    world: World,
) -> None:
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        talk(world, "out of sight", world.general)
        talk_of_bob(world, 19)
        found = talk(world, "in sight", world.general)
        await world.heard(21)
        await typed(world, "reset", world.general)
        asked = form(world)
        assert list(topics(asked)) == ["@frontdesk in sight"]
        assert "can't look through all" in str(asked.body["blocks"])
        assert len(world.desk.heard) == 21
        await choose(world, asked, "@frontdesk in sight")
        await world.heard(22)
    assert world.messages[-1].address.thread == found.ts


async def test_a_thread_too_long_to_be_read_may_be_the_one(world: World) -> None:
    bob = world.server.person("Bob")
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        root = world.server.say(world.general, bob, f"{world.server.bot} about birds")
        world.haunt(world.general, root)
        for number in range(199):
            world.server.say(world.general, bob, f"{number}", thread=root)
        world.say("and I", world.general, root)
        talk(world, "in sight", world.general)
        await world.heard(202)
        await typed(world, "reset", world.general)
        asked = form(world)
    assert list(topics(asked)) == ["@frontdesk in sight"]
    assert "can't look through all" in str(asked.body["blocks"])
    assert "/reset" not in world.words


async def test_a_thread_that_slack_does_not_give_may_be_the_one(world: World) -> None:
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        talk(world, "in sight", world.general)
        await world.heard(1)
        await typed(world, "reset", world.general)
        await world.heard(2)
        talk(world, "also mine", world.general)
        await world.heard(3)
        world.server.error("conversations.replies", "internal_error", count=None)
        await typed(world, "stop", world.general)
        asked = form(world)
    assert list(topics(asked)) == ["@frontdesk in sight"]
    assert "can't look through all" in str(asked.body["blocks"])
    assert "/stop" not in world.words


async def test_a_thread_that_is_gone_is_no_conversation(world: World) -> None:
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        mine = talk(world, "mine", world.general)
        gone = talk(world, "deleted", world.general)
        await world.heard(2)
        world.server.delete(world.general, gone)
        await world.acked()
        await typed(world, "reset", world.general)
        await world.desk.until(lambda: "/reset" in world.words)
    assert world.messages[-1].address.thread == mine.ts
    assert world.server.ephemerals(world.ada) == ()


async def test_where_more_is_known_than_the_desk_tells_of_nothing_is_done_unasked(world: World) -> None:
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        bob = world.server.im(world.server.person("Bob"))
        for number in range(10_000):
            world.desk.haunted.append(
                Haunt(address=world.address(bob, f"{number}.000100"), kind=ChatKind.DIRECT, heard_at=world.clock.now())
            )
        await typed(world, "reset")
        asked = form(world)
        assert list(topics(asked)) == ["This chat, outside of threads"]
        await choose(world, asked, "This chat, outside of threads")
        await world.heard(1)
    assert world.messages[-1].address == world.address()
