"""A Discord account looked at from outside: against the double, by the real SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta

import pytest

from bots.discord.probe import DiscordProbe
from core.errors import BotError, BotRejected
from core.ports import Finding
from tests.clock import PATIENCE_S, ShiftedClock
from tests.drivers.discord import NAME, settings_for
from tests.fakes.discord import DiscordServer

MESSAGE_CONTENT = 1 << 15


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer(limits=None) as made:
        yield made
        assert made.problems == ()


def probe(server: DiscordServer, *, skew_s: float = 0.0, listen_s: float = 5.0, **settings: object) -> DiscordProbe:
    clock = ShiftedClock(timedelta(seconds=skew_s))
    return DiscordProbe(NAME, settings=settings_for(server, **settings), clock=clock, listen_s=listen_s)


async def found(looked: DiscordProbe) -> Mapping[str, Finding]:
    """By what was looked at, below the bot's table."""
    return {one.what.removeprefix("[bots.discord] "): one for one in await looked.findings(alone=True)}


async def test_all_is_well_with_a_good_account_and_nothing_is_changed(server: DiscordServer) -> None:
    findings = await found(probe(server))
    assert list(findings) == ["token", "clock", "intent", "gateway"]
    assert {one.state for one in findings.values()} == {"ok"}
    assert await probe(server).introduce() == "@frontdesk"
    assert {call.method for call in server.calls} == {"GET"}
    assert not server.notes_of("connected")


async def test_a_refused_token_is_a_fault_of_the_config(server: DiscordServer) -> None:
    old = probe(server)
    server.revoke(server.bot)
    [finding] = await old.findings(alone=True)
    assert (finding.state, finding.blames) == ("fault", "config")
    assert "Reset Token" in finding.do
    with pytest.raises(BotRejected):
        await old.introduce()


async def test_a_discord_that_can_not_be_reached_is_no_fault_of_the_config(server: DiscordServer) -> None:
    looked = probe(server)
    await server.pause()
    [finding] = await looked.findings(alone=True)
    assert (finding.state, finding.blames) == ("fault", "world")
    assert "api_base" in finding.do
    with pytest.raises(BotError):
        await looked.introduce()


async def test_a_missing_intent_names_its_switch(server: DiscordServer) -> None:
    server.enable(server.bot, 0)
    intent = (await found(probe(server)))["intent"]
    assert intent.state == "fault"
    assert "Message Content Intent" in intent.do


@pytest.mark.parametrize(("skew_s", "state"), [(5.0, "ok"), (-3600.0, "fault"), (86_400.0, "fault")])
async def test_a_wrong_clock_is_told(server: DiscordServer, skew_s: float, state: str) -> None:
    assert (await found(probe(server, skew_s=skew_s)))["clock"].state == state


async def test_each_server_and_channel_of_the_config_is_looked_at(server: DiscordServer) -> None:
    guild = server.guild("Team")
    good, closed = server.channel(guild, "general"), server.channel(guild, "closed")
    server.overwrite(closed, guild, deny=1 << 11)
    ids = [str(one.id) for one in (guild, good, closed)]
    findings = await found(probe(server, groups=[*ids, "123456789012345678"], auto_thread=True))
    whole, open_one, shut, strange = [findings[f"group {one}"] for one in [*ids, "123456789012345678"]]
    assert [one.state for one in (whole, open_one, shut, strange)] == ["ok", "ok", "fault", "fault"]
    assert "#general" in open_one.detail
    assert "Send Messages" in shut.detail
    assert "invite" in strange.do


async def test_few_sessions_left_are_a_warning(server: DiscordServer) -> None:
    server.rules.starts_left = 3
    assert (await found(probe(server)))["gateway"].state == "warning"


async def test_whoever_writes_while_it_listens_is_told(server: DiscordServer) -> None:
    ada, bob = server.person("ada"), server.person("bob")
    guild = server.guild("Team", [ada, bob])
    looking = asyncio.create_task(probe(server).writers())
    await server.until(server.connected, timeout_s=PATIENCE_S)
    server.say(server.channel(guild), bob, "not in private")
    server.say(server.dm(ada), ada, "it's me")
    [writer] = await asyncio.wait_for(looking, PATIENCE_S)
    assert (writer.identity, writer.name, writer.text) == (f"discord:{ada.id}", "Ada", "it's me")


async def test_if_nobody_writes_there_is_nobody(server: DiscordServer) -> None:
    assert await probe(server, listen_s=0.2).writers() == []


async def test_a_listener_that_is_refused_says_why(server: DiscordServer) -> None:
    server.enable(server.bot, 0)
    with pytest.raises(BotRejected, match="Message Content Intent"):
        await probe(server).writers()
    assert server.problems_of("gateway")
    server.platform.journal.problems.clear()
