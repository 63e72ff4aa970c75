"""Who is pinged by what."""

from typing import Any

import pytest

from tests.fakes.discord import Channel, DiscordServer, Guild, Role, User
from tests.fakes.discord import permissions as may
from tests.fakes.discord.raw import Raw


@pytest.fixture
def ben(server: DiscordServer, guild: Guild) -> User:
    ben = server.person("ben")
    server.join(guild, ben)
    return ben


@pytest.fixture
def crew(server: DiscordServer, guild: Guild, ben: User) -> Role:
    crew = server.role(guild, "crew")
    server.give(guild, ben, crew)
    return crew


async def test_mentions_ping_unless_they_are_held_back(
    raw: Raw, channel: Channel, guild: Guild, ada: User, ben: User, crew: Role
) -> None:
    server = raw.server

    async def pinged(content: str, **more: Any) -> set[int]:
        await raw.call("POST", f"/channels/{channel.id}/messages", {"content": content, **more})
        return set(server.sent(channel)[-1].pinged)

    everybody = {ada.id, ben.id, guild.owner_id}
    text = f"@everyone <@{ada.id}> <@&{crew.id}>"
    assert await pinged(text) == everybody
    assert await pinged("@here") == everybody
    assert await pinged(text, allowed_mentions={"parse": []}) == set()
    assert await pinged(text, allowed_mentions={"parse": ["users"]}) == {ada.id}
    assert await pinged(text, allowed_mentions={"parse": ["roles"]}) == {ben.id}
    assert await pinged(text, allowed_mentions={"users": [str(ada.id), str(ben.id)]}) == {ada.id}
    assert await pinged(text, allowed_mentions={"roles": [str(crew.id)]}) == {ben.id}
    assert await pinged("nobody", allowed_mentions={"users": [str(ada.id)]}) == set()
    assert await pinged(f"<@{server.bot.id}>") == set()
    assert await pinged(f"`{text}` and ```\n{text}\n```") == set()
    assert len(server.pings(ada)) == 4
    server.set_everyone(guild, may.USUAL & ~may.MENTION_EVERYONE)
    assert await pinged(f"@everyone <@&{crew.id}>") == set()


async def test_replies_ping_the_one_replied_to_unless_told_not_to(raw: Raw, channel: Channel, ada: User) -> None:
    said = raw.server.say(channel, ada, "hi")

    async def pinged(**more: Any) -> set[int]:
        reference: Any = {"message_id": str(said.id)}
        body = {"content": "yes", "message_reference": reference, **more}
        await raw.call("POST", f"/channels/{channel.id}/messages", body)
        return set(raw.server.sent(channel)[-1].pinged)

    assert await pinged() == {ada.id}
    assert await pinged(allowed_mentions={"parse": []}) == set()
    assert await pinged(allowed_mentions={"parse": [], "replied_user": True}) == {ada.id}


async def test_who_does_not_see_the_channel_is_not_pinged_and_edits_ping_nobody(
    raw: Raw, channel: Channel, ada: User, ben: User
) -> None:
    raw.server.overwrite(channel, ben, deny=may.VIEW_CHANNEL)
    path = f"/channels/{channel.id}/messages"
    sent = (await raw.call("POST", path, {"content": f"<@{ben.id}>"})).body["id"]
    await raw.call("PATCH", f"{path}/{sent}", {"content": f"<@{ada.id}>"})
    (message,) = raw.server.sent(channel)
    assert (message.pinged, message.mentions.users) == (frozenset(), (ada.id,))
