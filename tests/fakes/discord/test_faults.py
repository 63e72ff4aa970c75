"""Rate limits, faults on order, and a life that does not depend on the client's."""

import asyncio
import json
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import discord
import pytest

from tests.fakes.discord import (
    Channel,
    DiscordServer,
    GatewayRules,
    ManualClock,
    RateLimits,
    ThreadedDiscordServer,
    User,
)
from tests.fakes.discord.raw import Raw
from tests.fakes.discord.redirected import Bot, running

# --- limits


@pytest.fixture
async def limited(server: DiscordServer) -> AsyncIterator[DiscordServer]:
    server.set_limits(RateLimits())
    yield server


async def test_a_bucket_empties_and_fills(
    raw: Raw, clock: ManualClock, limited: DiscordServer, channel: Channel
) -> None:
    path = f"/channels/{channel.id}/messages"
    answers = [await raw.call("POST", path, {"content": "x"}) for _ in range(5)]
    assert [one.headers["X-RateLimit-Remaining"] for one in answers] == ["4", "3", "2", "1", "0"]
    assert {one.headers["X-RateLimit-Limit"] for one in answers} == {"5"}
    clock.advance(2)
    refused = await raw.call("POST", path, {"content": "x"})
    assert (refused.status, refused.headers["Retry-After"], refused.headers["X-RateLimit-Scope"]) == (429, "3", "user")
    assert refused.body == {"message": "You are being rate limited.", "retry_after": 3.0, "global": False}
    assert refused.headers["X-RateLimit-Bucket"] == answers[0].headers["X-RateLimit-Bucket"]
    other = limited.channel(await _guild(limited, channel), "other")
    elsewhere = await raw.call("POST", f"/channels/{other.id}/messages", {"content": "x"})
    assert elsewhere.headers["X-RateLimit-Bucket"] == answers[0].headers["X-RateLimit-Bucket"]
    clock.advance(3)
    assert (await raw.call("POST", path, {"content": "x"})).status == 200
    assert [problem.rule for problem in limited.problems] == ["rate"]


async def _guild(server: DiscordServer, channel: Channel) -> Any:
    return server.platform.guilds[channel.guild_id or 0]


async def test_fifty_calls_a_second_in_all(
    raw: Raw, clock: ManualClock, limited: DiscordServer, channel: Channel
) -> None:
    limited.set_limits(RateLimits(usual=(1000, 1.0), routes={}))
    path = f"/channels/{channel.id}"
    assert {(await raw.call("GET", path)).status for _ in range(50)} == {200}
    refused = await raw.call("GET", path)
    assert (refused.body["global"], refused.headers["X-RateLimit-Global"]) == (True, "true")
    assert "X-RateLimit-Bucket" not in refused.headers
    clock.advance(1)
    assert (await raw.call("GET", path)).status == 200


@pytest.mark.parametrize(
    ("scope", "code", "words"),
    [
        ("user", 0, "You are being rate limited."),
        ("shared", 0, "The resource is being rate limited."),
        ("shared", 20028, "The write action you are performing on the channel has hit the write rate limit."),
        ("global", 0, "You are being rate limited."),
    ],
)
async def test_a_429_can_be_ordered(
    raw: Raw, clock: ManualClock, channel: Channel, scope: str, code: int, words: str
) -> None:
    path = f"/channels/{channel.id}/messages"
    raw.server.limit("create_message", 9, scope=scope, code=code, channel_id=channel.id, after=1)
    assert (await raw.call("POST", path, {"content": "x"})).status == 200
    refused = await raw.call("POST", path, {"content": "x"})
    assert (refused.status, refused.body["message"], refused.body["retry_after"]) == (429, words, 9.0)
    assert (refused.body.get("code", 0), refused.headers["X-RateLimit-Scope"]) == (code, scope)
    assert raw.server.problems == ()
    elsewhere = await raw.call("GET", f"/channels/{channel.id}")
    assert elsewhere.status == (429 if scope == "global" else 200)
    raw.server.platform.journal.problems.clear()
    clock.advance(8)
    assert (await raw.call("POST", path, {"content": "x"})).body["retry_after"] == 1.0
    assert len(raw.server.problems_of("retry_early")) == 1
    clock.advance(1)
    assert (await raw.call("POST", path, {"content": "x"})).status == 200


async def test_discord_py_waits_as_it_is_told(channel: Channel, ada: User) -> None:
    async with DiscordServer() as real:
        place = real.channel(real.guild("Team", [real.person("ada")]))
        async with running(real) as bot:
            real.limit("create_message", 0.05)
            await bot.get_partial_messageable(place.id).send("x")
        assert [call.status for call in real.calls_of("create_message")] == [429, 200]
        assert real.problems == ()


# --- faults


async def test_any_answer_can_be_ordered(bot: Bot, server: DiscordServer, channel: Channel) -> None:
    place = bot.get_partial_messageable(channel.id)
    server.answer("create_message", 503, b"<html>oops</html>")
    server.answer_error("create_message", 403, 50013, "Missing Permissions", channel_id=channel.id)
    with pytest.raises(discord.DiscordServerError):
        await place.send("x")
    with pytest.raises(discord.Forbidden) as refused:
        await place.send("x")
    assert refused.value.code == 50013
    await place.send("x")
    assert [(call.status, call.applied) for call in server.calls_of("create_message")] == [
        (503, False),
        (403, False),
        (200, True),
    ]


@pytest.mark.parametrize("applied", [False, True])
async def test_a_connection_can_be_lost_before_or_after_the_call_took_effect(
    bot: Bot, server: DiscordServer, channel: Channel, applied: bool
) -> None:
    server.drop("create_message", applied=applied)
    place = bot.get_partial_messageable(channel.id)
    with pytest.raises(aiohttp.ClientError):
        await place.send("x", nonce="n1")
    assert server.texts(channel) == ("x",) * applied
    await place.send("x", nonce="n1")
    assert server.texts(channel) == ("x",)
    assert [call.status for call in server.calls_of("create_message")] == [None, 200]


async def test_an_answer_can_be_late(bot: Bot, server: DiscordServer, clock: ManualClock, channel: Channel) -> None:
    place = bot.get_partial_messageable(channel.id)
    server.delay("create_message", 10)
    gate = server.delay("edit_message", applied=False)
    sending = asyncio.create_task(place.send("x"))
    await server.until(lambda: server.texts(channel) == ("x",))
    assert not sending.done()
    clock.advance(10)
    sent = await sending
    editing = asyncio.create_task(sent.edit(content="y"))
    await server.until(lambda: gate.hits == 1)
    assert server.texts(channel) == ("x",)
    gate.release()
    await editing
    assert server.texts(channel) == ("y",)


async def test_a_hanging_call_is_cut_in_the_end(bot: Bot, server: DiscordServer, channel: Channel) -> None:
    hung = server.hang("create_message", applied=True)
    sending = asyncio.create_task(bot.get_partial_messageable(channel.id).send("x"))
    await server.until(lambda: server.texts(channel) == ("x",))
    assert not sending.done()
    hung.release()
    with pytest.raises(aiohttp.ClientError):
        await sending


async def test_a_paused_server_refuses_connections_and_the_bot_comes_back(
    bot: Bot, server: DiscordServer, ada: User, channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discord.client.ExponentialBackoff.delay", lambda _self: 0.01)
    url = server.url
    await server.pause()
    with pytest.raises(aiohttp.ClientConnectorError):
        await bot.get_partial_messageable(channel.id).send("x")
    server.say(channel, ada, "while you were out")
    await server.resume()
    assert server.url == url
    assert [message.content for message in await bot.hears(1)] == ["while you were out"]


# --- a life of its own


CLIENT = """
import sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
request = urllib.request.Request(f"{sys.argv[1]}/users/@me", headers={"Authorization": f"Bot {sys.argv[2]}"})
while True:
    opener.open(request, timeout=60).read()
"""


ECHO = """
import asyncio, sys
from tests.fakes.discord.redirected import Address, Bot

class Echo(Bot):
    async def on_message(self, message):
        if message.author.id != self.user.id:
            await message.channel.send(f"{message.content}!")

async def main():
    bot = Echo(Address(*sys.argv[1:3]))
    await bot.start(sys.argv[3])

asyncio.run(main())
"""


def test_a_killed_bot_starts_again_and_what_was_said_meanwhile_is_only_in_the_history() -> None:
    with ThreadedDiscordServer(gateway=GatewayRules(identify_every_s=0)) as server:
        ada = server.person("ada")
        channel = server.channel(server.guild("Team", [ada]))
        command = [sys.executable, "-c", ECHO, server.api_base, server.gateway_url, server.token]
        with subprocess.Popen(command) as bot:
            server.until(server.connected)
            server.say(channel, ada, "one")
            server.until(lambda: server.texts(channel) == ("one!",))
            bot.kill()
        server.until(lambda: len(server.notes_of("closed")) == 1)
        server.say(channel, ada, "two")
        with subprocess.Popen(command) as bot:
            server.until(server.connected)
            server.say(channel, ada, "three")
            server.until(lambda: server.texts(channel) == ("one!", "three!"))
            bot.kill()
        assert [message.content for message in server.messages(channel)] == ["one", "one!", "two", "three", "three!"]
        assert server.problems == ()


def test_the_server_in_a_thread_outlives_a_killed_client() -> None:
    with ThreadedDiscordServer(limits=None) as server:
        server.hang("get_me", after=1)
        with subprocess.Popen([sys.executable, "-c", CLIENT, server.api_base, server.token]) as client:
            server.until(lambda: len(server.calls) == 2)
            client.kill()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{server.api_base}/gateway", timeout=10) as answer:
            assert json.load(answer) == {"url": server.gateway_url}
        server.pause()
        with pytest.raises(OSError, match="refused"):
            opener.open(f"{server.api_base}/gateway", timeout=10)
        server.resume()
        assert server.problems == ()
