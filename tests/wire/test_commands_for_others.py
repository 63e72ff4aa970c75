"""A command in a group is for the bot that is named in front of it."""

from __future__ import annotations

from core.vocabulary import Message
from tests.contract.doubles import running
from tests.wire.discord_world import serving, world
from tests.wire.slack_world import opened

OURS = ("/reset now", True)


def heard(messages: list[Message]) -> list[tuple[str, bool]]:
    return [(one.text, one.addressed) for one in messages]


async def test_c27_on_discord() -> None:
    async with world() as discord, serving(discord) as (_, desk):
        server = discord.server
        other = server.account("other")
        server.join(discord.guild, other)
        for name in (f"<@{other.id}>", discord.us):
            server.say(discord.channel, discord.ada, f"{name} /reset now")
        await desk.until(lambda: bool(desk.messages) and desk.messages[-1].addressed)
    assert [one for one in heard(desk.messages) if one[1]] == [OURS]
    assert not any(text.startswith("/") for text, addressed in heard(desk.messages) if not addressed)


async def test_c27_on_slack() -> None:
    async with opened() as world:
        other = world.server.add_bot("other")
        async with running(world.bot, world.desk):
            await world.up()
            for name in (other, world.server.bot):
                world.say(f"{name} /reset now", world.general)
            await world.desk.until(lambda: bool(world.messages) and world.messages[-1].addressed)
            await world.acked()
    assert [one for one in heard(world.messages) if one[1]] == [OURS]
    assert not any(text.startswith("/") for text, addressed in heard(world.messages) if not addressed)
