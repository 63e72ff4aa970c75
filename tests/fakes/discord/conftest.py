"""A server on a manual clock and the real SDK's client, for the tests of the double that live here."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.fakes.discord import Channel, DiscordServer, Guild, ManualClock, User
from tests.fakes.discord.raw import Raw
from tests.fakes.discord.redirected import Bot, running


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def server(clock: ManualClock) -> AsyncIterator[DiscordServer]:
    async with DiscordServer(clock=clock, limits=None) as running_server:
        yield running_server


@pytest.fixture
def ada(server: DiscordServer) -> User:
    return server.person("ada")


@pytest.fixture
def guild(server: DiscordServer, ada: User) -> Guild:
    return server.guild("Team", [ada])


@pytest.fixture
def channel(server: DiscordServer, guild: Guild) -> Channel:
    return server.channel(guild)


@pytest.fixture
async def bot(server: DiscordServer, channel: Channel) -> AsyncIterator[Bot]:
    async with running(server) as started:
        yield started


@pytest.fixture
async def raw(server: DiscordServer) -> AsyncIterator[Raw]:
    async with aiohttp.ClientSession() as session:
        yield Raw(server, session)
