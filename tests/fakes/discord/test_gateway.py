"""The gateway's protocol, spoken without a library and by discord.py."""

from typing import Any

import aiohttp
import discord
import pytest

from tests.fakes.discord import Channel, DiscordServer, GatewayRules, Guild, ManualClock, User
from tests.fakes.discord import permissions as may
from tests.fakes.discord.raw import Raw, RawGateway
from tests.fakes.discord.redirected import Bot, running

GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT = 1, 1 << 9, 1 << 12, 1 << 15


async def greeted(raw: Raw, query: str = "v=10&encoding=json") -> RawGateway:
    gateway = await raw.connect(query)
    assert (await gateway.take())["op"] == 10
    return gateway


async def ready(raw: Raw, **changes: Any) -> tuple[RawGateway, Any]:
    gateway = await greeted(raw)
    await gateway.identify(**changes)
    return gateway, (await gateway.take_event("READY"))["d"]


# --- coming in


async def test_hello_heartbeat_and_ready_with_guilds_that_become_available(raw: Raw, channel: Channel) -> None:
    gateway = await raw.connect()
    assert (await gateway.take())["d"]["heartbeat_interval"] == 41_250
    await gateway.send(1, None)
    assert (await gateway.take())["op"] == 11
    await gateway.identify()
    hello = await gateway.take()
    assert (hello["t"], hello["s"], hello["d"]["resume_gateway_url"]) == ("READY", 1, raw.server.gateway_url)
    assert hello["d"]["guilds"] == [{"id": str(channel.guild_id), "unavailable": True}]
    guild = await gateway.take()
    assert (guild["t"], guild["s"], guild["d"]["unavailable"]) == ("GUILD_CREATE", 2, False)
    assert [one["id"] for one in guild["d"]["channels"]] == [str(channel.id)]
    assert raw.server.connected()
    assert raw.server.problems == ()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"token": "wrong"}, 4004),
        ({"intents": 1 << 18}, 4013),
        ({"intents": "7"}, 4013),
        ({"intents": GUILDS | 1 << 1}, 4014),
        ({"intents": GUILDS | 1 << 8}, 4014),
        ({"shard": [1, 1]}, 4010),
        ({"shard": [0]}, 4010),
        ({"properties": {}}, 4002),
    ],
)
async def test_a_wrong_identify_is_closed(raw: Raw, change: Any, code: int) -> None:
    gateway = await greeted(raw)
    await gateway.identify(**change)
    assert await gateway.take() == code


async def test_intents_and_shards_are_the_accounts(raw: Raw, guild: Guild) -> None:
    raw.server.enable(raw.server.bot, 0)
    gateway = await greeted(raw)
    await gateway.identify(intents=MESSAGE_CONTENT)
    assert await gateway.take() == 4014
    raw.server.rules.guilds_per_shard = 0
    gateway = await greeted(raw)
    await gateway.identify()
    assert await gateway.take() == 4011


@pytest.mark.parametrize(
    ("op", "data", "code"),
    [(99, None, 4001), (8, {}, 4003), (2, None, 4002), (1, "x", 4002), (2, {"x": "y" * 4096}, 4002)],
)
async def test_what_no_client_should_send(raw: Raw, op: int, data: Any, code: int) -> None:
    gateway = await greeted(raw)
    await gateway.send(op, data)
    assert await gateway.take() == code
    assert [problem.rule for problem in raw.server.problems] == ["gateway"]


async def test_versions_second_identifies_and_floods(raw: Raw) -> None:
    assert await (await raw.connect("v=8&encoding=json")).take() == 4012
    gateway, _ = await ready(raw)
    await gateway.identify()
    assert await gateway.take() == 4005
    gateway = await greeted(raw)
    for _ in range(121):
        await gateway.send(1, None)
    answers = [await gateway.take() for _ in range(121)]
    assert answers[-1] == 4008


async def test_one_identify_in_five_seconds(raw: Raw, clock: ManualClock) -> None:
    await ready(raw)
    gateway = await greeted(raw)
    await gateway.identify()
    assert await gateway.take() == {"op": 9, "d": False, "s": None, "t": None}
    clock.advance(5)
    await ready(raw)
    raw.server.rules.identify_every_s = 0
    await ready(raw)
    assert len(raw.server.notes_of("identified")) == 3
    assert raw.server.problems == ()


async def test_a_silent_client_is_closed_and_a_server_may_be_silent(raw: Raw) -> None:
    server, heartbeats = raw.server, ManualClock()
    server.rules.heartbeat_clock = heartbeats
    gateway, _ = await ready(raw)
    server.rules.acknowledges = False
    await gateway.send(1, 1)
    server.ask_heartbeat()
    assert (await gateway.take())["op"] == 1  # the heartbeat before it had no answer
    heartbeats.advance(62)
    assert await gateway.take() == 4009
    assert [problem.where for problem in server.problems] == ["close 4009"]


# --- what is told


async def test_each_session_hears_what_its_intents_allow(raw: Raw, ada: User, channel: Channel) -> None:
    server = raw.server
    server.rules.identify_every_s = 0
    everything, _ = await ready(raw, intents=GUILDS | GUILD_MESSAGES | DIRECT_MESSAGES | MESSAGE_CONTENT)
    direct, _ = await ready(raw, intents=DIRECT_MESSAGES)
    server.say(channel, ada, "open")
    server.say(server.dm(ada), ada, "psst")
    assert (await everything.take_event("MESSAGE_CREATE"))["d"]["content"] == "open"
    assert (await everything.take_event("MESSAGE_CREATE"))["d"]["content"] == "psst"
    private = (await direct.take_event("MESSAGE_CREATE"))["d"]
    assert (private["content"], "guild_id" in private) == ("psst", False)


async def test_content_is_hidden_without_its_intent(raw: Raw, ada: User, channel: Channel) -> None:
    server = raw.server
    gateway, _ = await ready(raw)

    async def told() -> str:
        return str((await gateway.take_event("MESSAGE_CREATE"))["d"]["content"])

    server.say(channel, ada, "secret", files=[("a.txt", b"x")])
    hidden = (await gateway.take_event("MESSAGE_CREATE"))["d"]
    assert (hidden["content"], hidden["attachments"]) == ("", [])
    server.say(channel, ada, f"<@{server.bot.id}> open")
    assert await told() == f"<@{server.bot.id}> open"
    await raw.call("POST", f"/channels/{channel.id}/messages", {"content": "own"})
    assert await told() == "own"
    server.say(channel, ada, "reply", reply_to=server.sent(channel)[0])
    assert await told() == "reply"
    server.say(channel, ada, "quiet reply", reply_to=server.sent(channel)[0], ping=False)
    assert await told() == ""
    server.say(server.dm(ada), ada, "private")
    assert await told() == "private"
    server.enable(server.bot, 0)
    listed = (await raw.call("GET", f"/channels/{channel.id}/messages")).body
    assert [one["content"] for one in listed] == ["", "reply", "own", f"<@{server.bot.id}> open", ""]


async def test_hidden_channels_are_silent_and_guilds_come_and_go(
    raw: Raw, ada: User, guild: Guild, channel: Channel
) -> None:
    server = raw.server
    gateway, _ = await ready(raw)
    hidden = server.channel(guild, "hidden")
    assert (await gateway.take_event("CHANNEL_CREATE"))["d"]["name"] == "hidden"
    server.overwrite(hidden, guild, deny=may.VIEW_CHANNEL)
    server.say(hidden, ada, "not for you")
    said = server.say(channel, ada, "for you")
    assert (await gateway.take_event("MESSAGE_CREATE"))["d"]["channel_id"] == str(channel.id)
    server.delete(said)
    assert (await gateway.take_event("MESSAGE_DELETE"))["d"]["id"] == str(said.id)
    server.set_outage(guild, True)
    server.say(channel, ada, "lost in the outage")
    assert (await gateway.take_event("GUILD_DELETE"))["d"] == {"id": str(guild.id), "unavailable": True}
    server.set_outage(guild, False)
    assert (await gateway.take())["t"] == "GUILD_CREATE"
    server.remove_bot(guild, server.bot)
    assert (await gateway.take_event("GUILD_DELETE"))["d"] == {"id": str(guild.id)}


async def test_shards_share_the_guilds_and_the_first_has_the_direct_messages(
    raw: Raw, ada: User, guild: Guild, channel: Channel
) -> None:
    raw.server.rules.identify_every_s = 0
    first, one = await ready(raw, shard=[0, 2])
    second, other = await ready(raw, shard=[1, 2])
    assert len(one["guilds"]) + len(other["guilds"]) == 1
    raw.server.say(raw.server.dm(ada), ada, "private")
    assert (await first.take_event("MESSAGE_CREATE"))["d"]["content"] == "private"
    raw.server.say(channel, ada, "open")
    mine = first if one["guilds"] else second
    assert (await mine.take_event("MESSAGE_CREATE"))["d"]["guild_id"] == str(guild.id)


async def test_several_bots_have_sessions_of_their_own(raw: Raw, ada: User, guild: Guild, channel: Channel) -> None:
    other = raw.server.account("helper")
    raw.server.add_bot(guild, other)
    gateway, hello = await ready(raw, token=raw.server.token_of(other))
    assert hello["user"]["id"] == str(other.id)
    raw.server.say(channel, ada, "hi")
    await gateway.take_event("MESSAGE_CREATE")
    assert not raw.server.connected()
    assert raw.server.connected(other)
    assert [note.bot_id for note in raw.server.notes_of("lost")][-1] == raw.server.bot.id


# --- going and coming back


async def test_a_resumed_session_gets_what_it_missed(raw: Raw, ada: User, channel: Channel) -> None:
    server = raw.server
    gateway, hello = await ready(raw)
    seq = (await gateway.take_event("GUILD_CREATE"))["s"]
    server.kick(4000)
    assert await gateway.take() == 4000
    server.say(channel, ada, f"<@{server.bot.id}> one")
    server.say(channel, ada, f"<@{server.bot.id}> two")
    again = await greeted(raw)
    await again.send(6, {"token": server.token, "session_id": hello["session_id"], "seq": seq})
    told = [await again.take() for _ in range(3)]
    assert [one["t"] for one in told] == ["MESSAGE_CREATE", "MESSAGE_CREATE", "RESUMED"]
    assert [one["s"] for one in told] == [seq + 1, seq + 2, seq + 3]
    assert server.notes_of("lost") == ()
    assert server.problems == ()


async def test_a_session_that_waited_too_long_is_gone_and_its_events_are_lost(
    raw: Raw, clock: ManualClock, ada: User, channel: Channel
) -> None:
    server = raw.server
    _, hello = await ready(raw)
    server.kick(None)
    await server.until(lambda: server.notes_of("closed") != ())
    clock.advance(180)
    server.say(channel, ada, "lost")
    assert [note.detail for note in server.notes_of("lost")] == ["MESSAGE_CREATE"]
    again = await greeted(raw)
    await again.send(6, {"token": server.token, "session_id": hello["session_id"], "seq": 2})
    assert await again.take() == {"op": 9, "d": False, "s": None, "t": None}


@pytest.mark.parametrize(("code", "lives"), [(1000, False), (1001, False), (4000, True)])
async def test_a_client_that_says_goodbye_ends_its_session(raw: Raw, code: int, lives: bool) -> None:
    gateway, hello = await ready(raw)
    await gateway.socket.close(code=code)
    await raw.server.until(lambda: raw.server.notes_of("closed") != ())
    again = await greeted(raw)
    await again.send(6, {"token": raw.server.token, "session_id": hello["session_id"], "seq": 1})
    assert ((await again.take())["t"] == "RESUMED") is lives


async def test_wrong_resumes(raw: Raw) -> None:
    server = raw.server
    _, hello = await ready(raw)
    for token, session_id, seq, expected in (
        ("wrong", hello["session_id"], 1, 4004),
        (server.token, "none", 1, {"op": 9, "d": False, "s": None, "t": None}),
        (server.token, hello["session_id"], 99, 4007),
        (server.token, hello["session_id"], 1, {"op": 9, "d": False, "s": None, "t": None}),
    ):
        again = await greeted(raw)
        await again.send(6, {"token": token, "session_id": session_id, "seq": seq})
        assert await again.take() == expected


async def test_reconnect_and_invalid_session_are_sent(raw: Raw, clock: ManualClock) -> None:
    gateway, _ = await ready(raw)
    raw.server.reconnect()
    assert (await gateway.take())["op"] == 7
    raw.server.invalidate(resumable=True)
    assert (await gateway.take())["d"] is True
    raw.server.invalidate()
    assert (await gateway.take())["d"] is False
    raw.server.close_after_hello(4000, times=1)
    again = await greeted(raw)
    assert await again.take() == 4000
    assert (await (await raw.connect()).take())["op"] == 10


async def test_a_gateway_may_be_down_or_mute(raw: Raw) -> None:
    raw.server.rules.upgrade_status = 503
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await raw.connect()
    raw.server.rules.upgrade_status = None
    raw.server.rules.answers_identify = False
    gateway = await greeted(raw)
    await gateway.identify()
    await gateway.send(1)
    assert (await gateway.take())["op"] == 11
    assert not raw.server.connected()


async def test_a_revoked_token_closes_everything(raw: Raw) -> None:
    gateway, _ = await ready(raw)
    old = raw.server.token
    fresh = raw.server.revoke(raw.server.bot)
    assert await gateway.take() == 4004
    assert (await raw.call("GET", "/users/@me", authorization=f"Bot {old}")).status == 401
    assert (await raw.call("GET", "/users/@me", authorization=f"Bot {fresh}")).status == 200


# --- the real library


@pytest.mark.parametrize("way", ["kick", "cut", "reconnect", "invalidate_resumable"])
async def test_discord_py_resumes_and_misses_nothing(
    server: DiscordServer, bot: Bot, ada: User, channel: Channel, way: str
) -> None:
    match way:
        case "kick":
            server.kick(4000)
        case "cut":
            server.kick(None)
        case "reconnect":
            server.reconnect()
        case _:
            server.invalidate(resumable=True)
    server.say(channel, ada, "one")
    server.say(channel, ada, "two")
    assert [message.content for message in await bot.hears(2)] == ["one", "two"]
    await bot.until(lambda: bot.resumes == 1)
    assert server.problems == ()


async def test_discord_py_identifies_anew_when_it_may_not_resume(
    server: DiscordServer, bot: Bot, clock: ManualClock, ada: User, channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(_shard: int | None, *, initial: bool = False) -> None:
        clock.advance(5)  # in place of its five seconds of sleep

    monkeypatch.setattr(bot, "before_identify_hook", at_once)
    server.invalidate()
    await server.until(lambda: len(server.notes_of("identified")) == 2)
    await server.until(server.connected)
    server.say(channel, ada, "back?")
    assert [message.content for message in await bot.hears(1)] == ["back?"]
    assert server.problems == ()


@pytest.mark.parametrize(("enabled", "error"), [(0, discord.PrivilegedIntentsRequired), (None, discord.LoginFailure)])
async def test_discord_py_is_told_what_is_wrong_with_it(
    server: DiscordServer, enabled: int | None, error: type[Exception]
) -> None:
    token = "wrong" if enabled is None else ""
    server.enable(server.bot, enabled or 0)
    with pytest.raises(error):
        async with running(server, token=token):
            raise AssertionError("it came in")


async def test_heartbeats_of_discord_py_keep_it_connected(channel: Channel, server: DiscordServer) -> None:
    heartbeats = ManualClock()
    server.rules.heartbeat_ms, server.rules.heartbeat_clock = 30, heartbeats
    async with running(server):
        (session,) = server.platform.accounts[0].sessions
        link = session.link
        assert link is not None
        for _ in range(4):
            seen = len(link.received)
            heartbeats.advance(0.03)  # its patience is one and a half times as long
            await server.until(lambda seen=seen: len(link.received) > seen)  # type: ignore[misc]
        assert session.link is link
    assert server.problems == ()


async def test_rules_can_be_given_at_the_start(ada: User) -> None:
    async with DiscordServer(gateway=GatewayRules(shards=3, max_concurrency=2), limits=None) as other:
        assert (other.rules.shards, other.rules.max_concurrency) == (3, 2)
