"""Houses for flow tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import structlog

from tests.flow.bot import FakeBot
from tests.flow.files import FilingBot, bot_of
from tests.flow.house import House, opened


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """What is logged is not printed: it would be most of the output of a test that makes things fail."""
    with structlog.testing.capture_logs():
        yield


Furnish = Callable[..., Awaitable[House]]


@pytest.fixture
async def furnish(sqlite_state: Path) -> AsyncIterator[Furnish]:
    """Makes a house with options as in the config file and with other bots; it is sound at the test's end."""
    async with AsyncExitStack() as stack:

        async def made(*bots: FakeBot, **options: object) -> House:
            return await stack.enter_async_context(opened(sqlite_state, options, *bots))

        yield made


@pytest.fixture
async def house(furnish: Furnish) -> House:
    return await furnish()


@pytest.fixture
async def filing(furnish: Furnish) -> House:
    house = await furnish(FilingBot())
    bot_of(house).clock = house.clock
    return house
