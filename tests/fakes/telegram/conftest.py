"""A server on a manual clock and the real SDK's bot, for the tests of the double that live here."""

from collections.abc import AsyncIterator

import pytest
from telegram import Bot
from telegram.request import HTTPXRequest

from tests.fakes.telegram import Chat, ManualClock, TelegramServer, User


@pytest.fixture(autouse=True)
def retry_after_in_timedeltas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this, every `RetryAfter` of PTB 22.8 comes with a deprecation warning."""
    monkeypatch.setenv("PTB_TIMEDELTA", "1")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def server(clock: ManualClock) -> AsyncIterator[TelegramServer]:
    async with TelegramServer(clock=clock) as running:
        yield running


@pytest.fixture
async def bot(server: TelegramServer) -> AsyncIterator[Bot]:
    requests = [HTTPXRequest(httpx_kwargs={"trust_env": False}) for _ in range(2)]
    yield Bot(server.token, base_url=f"{server.url}/bot", request=requests[0], get_updates_request=requests[1])
    for request in requests:
        await request.shutdown()


@pytest.fixture
def ada(server: TelegramServer) -> User:
    return server.user("Ada")


@pytest.fixture
def private(server: TelegramServer, ada: User) -> Chat:
    return server.private(ada)
