"""What a socket of Slack's may be trusted for, and how soon what came over it is acknowledged."""

from __future__ import annotations

import gc
import time
from collections.abc import AsyncIterator
from typing import Final

import pytest
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.web.async_client import AsyncWebClient

from bots.slack.line import Patience
from tests.contract.doubles import eventually, running
from tests.wire.slack_world import World, opened

PING_S: Final = 15.0
SOON_S: Final = 1.0
"""Slack wants an answer within three: https://docs.slack.dev/apis/events-api/#responding."""


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


def clients() -> list[SocketModeClient]:
    """The SDK's, one for each socket that is open."""
    return [one for one in gc.get_objects() if isinstance(one, SocketModeClient) and not one.closed]


async def given_up(client: SocketModeClient, silent_s: float) -> bool:
    """Whether the SDK would, after so long without an answer to a ping."""
    client.last_ping_pong_time = time.time() - silent_s
    return bool(await client.is_ping_pong_failing())


async def test_a_socket_without_answers_to_pings_is_given_up_after_a_quarter_of_a_minute(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        found = clients()
        assert len(found) == 2
        for client in found:
            assert not await given_up(client, PING_S - 1.0)
            assert await given_up(client, PING_S + 1.0)
            assert client.ping_interval < PING_S / 2
            client.last_ping_pong_time = time.time()


async def test_c38_sockets_whose_sessions_are_closed_under_them_are_rebuilt_at_once(world: World) -> None:
    """Whenever it would be looked for dead ones."""
    async with running(world.another(Patience(ping_s=3_600.0)), world.desk):
        await world.up()
        dead = {socket.id for socket in world.server.sockets()}
        for client in clients():
            await client.aiohttp_client_session.close()
        await world.server.until(lambda: not dead & {socket.id for socket in world.server.sockets()})
        await world.server.until(lambda: world.server.connected(2))
        world.say("hello")
        await world.heard(1)
        await world.acked()
    assert world.words == ["hello"]


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_that_another_process_hears_part_of_what_is_said_is_logged(
    world: World, elsewhere: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """And not that the bot has several sockets, one after the other and at once."""
    other = SocketModeClient(world.server.bot.app_token, web_client=AsyncWebClient(base_url=world.server.api_base))
    if elsewhere:
        await other.connect()  # type: ignore[no-untyped-call]
        await world.server.until(world.server.connected)
    for ran in range(2):
        async with running(world.bot, world.desk):
            await world.server.until(lambda: world.server.connected(2 + elsewhere))
            if elsewhere:
                await eventually(lambda: "hears part of what is said" in caplog.text)
                caplog.clear()
            else:
                world.say("to one socket")
                world.say("to the other")
                await world.heard(2 + 2 * ran)
        await world.server.until(lambda: world.server.connected(0 + elsewhere))
    await other.close()  # type: ignore[no-untyped-call]
    assert "hears part of what is said" not in caplog.text
