"""The sign that Discord shows until a command is answered, over restarts of the bot."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from core.errors import StoreError, Unknown
from core.vocabulary import BotName, Delivery, DeliveryId, Earlier, Message
from tests.clock import PATIENCE_S, LeapingLoop
from tests.contract.doubles import running
from tests.fakes.discord import Interaction
from tests.wire.discord_world import DiscordDesk, World, serving

QUARTER_S = 15 * 60.0


async def used(discord: World, desk: DiscordDesk, name: str) -> tuple[Interaction, Message]:
    """A command that Discord shows the sign for."""
    await discord.wait(lambda: bool(discord.server.commands()))
    before = len(desk.messages)
    one = discord.server.command(discord.ada, discord.channel, name)
    await desk.until(lambda: len(desk.messages) > before)
    await discord.wait(lambda: one.acknowledged)
    return one, desk.messages[-1]


def later_part(first: Delivery, text: str) -> Delivery:
    return replace(
        first, id=DeliveryId(first.id + 100), address=replace(first.address, reply_to=None), text=text
    )  # fmt: skip


async def test_a_command_that_waits_over_a_restart_is_answered_where_its_sign_stands(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (_, desk):
        one, message = await used(discord, desk, "reset")
        other, _ = await used(discord, desk, "status")
    async with serving(discord) as (bot, _):
        discord.clock.advance(QUARTER_S / 2)
        await bot.send(first := discord.delivery(message, "a new beginning"))
        await bot.send(later_part(first, "and more"))
    shown = [(said.id, said.interaction_id, said.content) for said in server.sent(discord.channel)]
    assert shown[0] == (one.original_id, one.id, "a new beginning")
    assert [(by, text) for _, by, text in shown[1:]] == [(other.id, ""), (None, "and more")]


async def test_what_is_for_the_asker_only_stays_so_over_restarts(discord: World) -> None:
    """In the sign's place first, and then below it, whichever process says it."""
    async with serving(discord) as (_, desk):
        _, message = await used(discord, desk, "status")
    first = discord.delivery(message, "all is well")
    for said in (first, later_part(first, "quite"), later_part(first, "really")):
        async with serving(discord) as (bot, _):
            await bot.send(said)
    assert [one.content for one in discord.server.whispers(discord.ada)] == ["all is well", "quite", "really"]
    assert not discord.server.texts(discord.channel) and not discord.server.texts(discord.dm)


async def test_a_first_answer_in_doubt_is_repeated_in_its_place_after_a_restart(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (bot, desk):
        _, message = await used(discord, desk, "status")
        first = discord.delivery(message, "all is well")
        server.drop("edit_response", applied=True)
        with pytest.raises(Unknown):
            await bot.send(first)
    async with serving(discord) as (bot, _):
        await bot.send(replace(first, earlier=Earlier(since=discord.clock.now(), others=frozenset())))
    assert [one.content for one in server.whispers(discord.ada)] == ["all is well"]


async def test_a_quarter_of_an_hour_goes_on_over_a_restart(discord: World) -> None:
    server = discord.server
    async with serving(discord) as (_, desk):
        _, message = await used(discord, desk, "reset")
        discord.clock.advance(QUARTER_S / 2)
    async with serving(discord) as (bot, _):
        discord.clock.advance(QUARTER_S / 2)
        await bot.send(discord.delivery(message, "late"))
    assert [call.body["content"] for call in server.calls_of("create_message")] == ["late"]
    assert not server.calls_of("edit_response")


async def test_what_waits_is_kept_before_discord_is_told_and_only_as_long_as_it_waits(discord: World) -> None:
    notes = discord.memory.notes
    async with serving(discord) as (bot, desk):
        told: list[str] = []
        discord.server.hang("callback")
        asked = discord.server.command(discord.ada, discord.channel, "reset")
        await discord.wait(lambda: bool(discord.server.calls_of("callback")))
        told.append(notes["waiting"])
        discord.server.clear_faults()
        await discord.wait(lambda: asked.acknowledged)
        await bot.send(discord.delivery(desk.messages[0], "done"))
    assert asked.token in told[0]
    assert notes["waiting"] == "{}"


class Forgetful(DiscordDesk):
    """A desk whose store takes messages, and nothing that the bot writes down."""

    async def note(self, bot: BotName, name: str, value: str) -> None:
        if name == "waiting":
            raise StoreError("refused by the test")
        await super().note(bot, name, value)


async def test_a_store_that_keeps_nothing_keeps_no_command_from_its_answer(discord: World) -> None:
    bot, desk = discord.bot(), Forgetful(discord.memory)
    async with running(bot, desk):
        await desk.until(lambda: desk.health.last == "up")
        one, message = await used(discord, desk, "reset")
        await bot.send(discord.delivery(message, "done"))
    assert [said.interaction_id for said in discord.server.sent(discord.channel)] == [one.id]


async def test_the_sign_of_a_command_that_was_answered_another_way_goes(
    discord: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Discord took the acknowledgement, and told so when the answer had gone already."""
    server = discord.server
    bot, desk = discord.patient(), DiscordDesk(discord.memory)
    loop = LeapingLoop(monkeypatch)
    async with running(bot, desk):
        await desk.until(lambda: desk.health.last == "up")
        await discord.wait(lambda: bool(server.commands()))
        server.delay("callback")
        one = server.command(discord.ada, discord.channel, "reset")
        await discord.wait(lambda: one.acknowledged)
        sending = asyncio.create_task(bot.send(discord.delivery(desk.messages[0], "here all the same")))
        await asyncio.sleep(0)
        loop.leap(6.0)
        async with asyncio.timeout(PATIENCE_S):
            await sending
        server.clear_faults()
        await discord.wait(lambda: bool(server.calls_of("delete_response")))
    assert [said.content for said in server.sent(discord.channel) if not said.deleted] == ["here all the same"]
    assert discord.memory.notes["waiting"] == "{}"


async def test_the_sign_of_a_command_that_nothing_is_said_to_goes(discord: World) -> None:
    """It was closed, or merged into another; one that was answered keeps its answer."""
    server = discord.server
    async with serving(discord) as (bot, desk):
        one, message = await used(discord, desk, "reset")
        other, _ = await used(discord, desk, "reset")
        await bot.send(discord.delivery(message, "done"))
        desk.done.set()
        await discord.wait(lambda: bool(server.calls_of("delete_response")))
    shown = {said.interaction_id: said.deleted for said in server.sent(discord.channel)}
    assert shown == {one.id: False, other.id: True}
    assert discord.memory.notes["waiting"] == "{}"
