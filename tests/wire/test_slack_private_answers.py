"""What one person alone sees of Slack's commands: the real SDK against the strict double."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.errors import Rejected, Unknown
from core.vocabulary import Address, Delivery, FileKind, OutFile, UserId
from tests.contract.doubles import running
from tests.drivers.slack import shown
from tests.fakes.slack.model import Interaction
from tests.wire.slack_world import World, opened


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


async def acked(world: World, what: Interaction) -> None:
    await world.server.until(lambda: world.server.acked(what))


async def test_what_answers_a_private_command_is_seen_by_one_person_and_the_rest_by_all(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        root = world.say(f"{world.server.bot} mine", world.general)
        world.haunt(world.general, root)
        await world.heard(1)
        await acked(world, world.server.slash(world.general, world.ada, "/frontdesk", "status"))
        await world.heard(2)
        asked = world.messages[-1]
        private = await world.bot.send(first := world.delivery("**fine**", asked.address))
        await world.bot.send(replace(first, address=replace(first.address, reply_to=None), text="and more of it"))
        await world.bot.send(world.delivery("another answer", world.address(world.general, root)))
        await acked(world, world.server.slash(world.general, world.ada, "/frontdesk", "reset"))
        await world.heard(3)
        await world.bot.send(world.delivery("begun anew", world.messages[-1].address))
    assert [shown(message) for message in world.shown(world.general)] == ["another answer", "begun anew"]
    words = world.server.ephemerals(world.ada)
    assert [(one.via, [block["type"] for block in one.blocks]) for one in words] == [("response_url", ["markdown"])] * 2
    assert private.startswith("ephemeral:")
    quiet = [
        call.params["unfurl_links"] is call.params["unfurl_media"] is False
        for call in world.server.calls_of("response_url")
    ]
    assert quiet == [True, True]


@pytest.mark.parametrize("applied", [True, False])
async def test_a_private_answer_whose_arrival_nobody_can_tell_is_not_shown_twice(world: World, applied: bool) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        await acked(world, world.server.slash(world.general, world.ada, "/frontdesk", "help"))
        await world.heard(1)
        delivery = world.delivery("fine", world.messages[-1].address)
        world.server.drop("response_url", applied=applied)
        with pytest.raises(Unknown):
            await world.bot.send(delivery)
        with pytest.raises(Unknown) as caught:
            await world.bot.send(world.again(delivery))
    assert caught.value.for_good
    assert len(world.server.ephemerals(world.ada)) == applied


async def test_a_private_answer_that_slack_takes_no_more_goes_to_the_direct_chat(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        await acked(world, world.server.slash(world.general, world.ada, "/frontdesk", "help"))
        await world.heard(1)
        delivery = world.delivery("fine", world.messages[-1].address)
        world.server.answer("response_url", 404, b"expired_url")
        await world.bot.send(delivery)
    assert [shown(message) for message in world.shown(world.chat)] == ["fine"]


async def test_a_private_answer_that_comes_late_goes_to_the_direct_chat(world: World) -> None:
    """After half an hour, after more than five, and after a restart: never to all."""
    async with running(world.bot, world.desk):
        await world.up()
        await acked(world, world.server.slash(world.general, world.ada, "/frontdesk", "help"))
        await world.heard(1)
        asked = world.messages[-1].address
        for number in range(6):
            await world.bot.send(world.delivery(f"part {number}", asked))
        world.later(31)
        await world.bot.send(world.delivery("late", asked))
    async with running(later := world.another(), world.desk):
        await world.up()
        sent = await later.send(made := world.delivery("after a restart", asked))
        await later.edit(replace(made, text="after a restart, and more"), sent)
    assert list(world.shown(world.general)) == []
    assert len(world.server.ephemerals(world.ada)) == 5
    assert [shown(message) for message in world.shown(world.chat)] == ["part 5", "late", "after a restart, and more"]


# -- what is for one person though it was said among others ------------------------------------------------------------


def alone(world: World, said: str, address: Address) -> Delivery:
    return replace(world.delivery(said, address), alone=UserId(world.ada.id), answers=address.reply_to)


async def test_what_one_person_alone_is_to_see_is_shown_to_them_where_they_asked(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        root = world.say(f"{world.server.bot} mine", world.general)
        await world.heard(1)
        await world.bot.send(world.delivery("yours", world.messages[0].address))
        await world.bot.send(alone(world, "at the top", world.messages[0].address))
        world.say(f"{world.server.bot} /sessions", world.general, root)
        await world.heard(2)
        sent = await world.bot.send(delivery := alone(world, "in the thread", world.messages[-1].address))
        with pytest.raises(Rejected):
            await world.bot.edit(replace(delivery, text="more"), sent)
    assert [(one.text, one.thread_ts, one.via) for one in world.server.ephemerals(world.ada)] == [
        ("at the top", None, "chat.postEphemeral"), ("in the thread", root.ts, "chat.postEphemeral"),
    ]  # fmt: skip
    assert [shown(message) for message in world.shown(world.general, root)] == ["yours"]
    assert [shown(message) for message in world.shown(world.general)] == ["yours"]
    assert list(world.shown(world.chat)) == []


async def test_where_slack_can_not_show_it_to_one_person_it_goes_to_the_direct_chat(
    world: World, tmp_path: Path
) -> None:
    path = tmp_path / "talk.txt"
    path.write_text("all of it")
    file = OutFile(kind=FileKind.FILE, path=path, name="talk.txt", media_type="text/plain", size=9)
    elsewhere = world.server.channel("elsewhere")
    async with running(world.bot, world.desk):
        await world.up()
        refused = alone(world, "she is not there", world.address(elsewhere))
        world.server.drop("chat.postMessage", applied=True)
        with pytest.raises(Unknown):
            await world.bot.send(refused)
        await world.bot.send(world.again(refused))
        await world.bot.send(replace(alone(world, "a file", world.address(world.general)), files=(file,)))
        here = await world.bot.send(alone(world, "in direct", world.address()))
        await world.bot.edit(alone(world, "in direct, and more", world.address()), here)
    assert [shown(message) for message in world.shown(world.chat)] == [
        "she is not there", "a file", "in direct, and more",
    ]  # fmt: skip
    assert not world.shown(world.general)
    assert not world.shown(elsewhere)
    assert not world.server.ephemerals(world.ada)


async def test_nobody_is_shown_twice_what_they_alone_may_have_seen(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        delivery = alone(world, "fine", world.address(world.general))
        world.server.drop("chat.postEphemeral", applied=True)
        with pytest.raises(Unknown):
            await world.bot.send(delivery)
        with pytest.raises(Unknown) as caught:
            await world.bot.send(world.again(delivery))
    assert caught.value.for_good
    assert len(world.server.ephemerals(world.ada)) == 1


# -- commands as people here can type them -----------------------------------------------------------------------------


async def test_the_desk_names_commands_as_people_here_can_type_them(world: World) -> None:
    says = "Type `/reset`, /reset a or/help, but https://a.example/reset and /resets and ./reset stay."
    stays = "a or/help, but https://a.example/reset and /resets and ./reset stay."
    typed = {"top": f"Type `/frontdesk reset`, /frontdesk reset {stays}"}
    typed["thread"] = f"Type `@frontdesk /reset`, @frontdesk /reset {stays}"
    async with running(world.bot, world.desk):
        await world.up()
        root = world.say(f"{world.server.bot} mine", world.general)
        await world.heard(1)
        for address, words in ((world.address(), "top"), (world.address(world.general, root), "thread")):
            sent = await world.bot.send(notice := replace(world.delivery(says, address), notice=True))
            assert shown(world.server.message(address.chat, sent)) == typed[words]
            await world.bot.edit(replace(notice, text=f"{says} "), sent)
            assert shown(world.server.message(address.chat, sent)).strip() == typed[words]
        by_the_agent = await world.bot.send(world.delivery(says))
        await world.bot.send(replace(alone(world, "/help", world.messages[0].address), notice=True))
    assert shown(world.server.message(world.chat, by_the_agent)) == says
    assert [one.text for one in world.server.ephemerals(world.ada)] == ["/frontdesk help"]


async def test_what_is_typed_in_a_thread_as_the_desk_names_it_is_that_command(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        for chat in (world.chat, world.general):
            root = world.say("mine", chat)
            world.say(f"{world.server.bot} /reset", chat, root)
        await world.desk.until(lambda: world.words.count("/reset") == 2)


async def test_a_slash_command_that_is_none_is_said_to_us(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        for typed in ("what is this?", "reset", "new leaf"):
            await acked(world, world.server.slash(world.chat, world.ada, "/frontdesk", typed))
        await world.heard(3)
    assert world.words == ["what is this?", "/reset", "/new leaf"]
