"""A server on a manual clock, the real SDK's clients, and a small cast, for the tests of the double that live here."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import aiohttp
import pytest
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import Channel, ManualClock, Person, RateLimits, SlackServer


@dataclass
class Listener:
    """What the real Socket Mode client brought. It acknowledges each request unless `deaf`."""

    client: SocketModeClient
    requests: list[SocketModeRequest] = field(default_factory=list)
    deaf: bool = False
    payload: dict[str, object] | None = None

    async def __call__(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        self.requests.append(request)
        if self.deaf:
            return
        payload = self.payload if request.accepts_response_payload else None
        await client.send_socket_mode_response(SocketModeResponse(request.envelope_id, payload))

    @property
    def events(self) -> list[dict[str, object]]:
        return [one.payload["event"] for one in self.requests if one.type == "events_api"]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime.now(UTC))


@pytest.fixture
async def server(clock: ManualClock) -> AsyncIterator[SlackServer]:
    async with SlackServer(clock=clock, limits=RateLimits()) as running:
        yield running


@pytest.fixture
async def web(server: SlackServer) -> AsyncWebClient:
    return AsyncWebClient(server.bot.token, base_url=server.api_base, retry_handlers=[])


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(trust_env=False) as session:
        yield session


@pytest.fixture
async def listener(server: SlackServer, web: AsyncWebClient) -> AsyncIterator[Listener]:
    """A connected Socket Mode client."""
    client = SocketModeClient(server.bot.app_token, web_client=web, ping_interval=1)
    heard = Listener(client)
    client.socket_mode_request_listeners.append(heard)
    await client.connect()  # type: ignore[no-untyped-call]
    await server.until(server.connected)
    yield heard
    await client.close()  # type: ignore[no-untyped-call]


@pytest.fixture
def ada(server: SlackServer) -> Person:
    return server.person("Ada")


@pytest.fixture
def general(server: SlackServer, ada: Person) -> Channel:
    return server.channel("general", members=[ada])
