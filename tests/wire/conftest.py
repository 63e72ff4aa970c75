"""What several wire tests start from."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.fakes.telegram.server import TelegramServer
from tests.wire.telegram_world import World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with TelegramServer(limits=None) as server:
        made = World(server)
        yield made
        assert server.violations == ()
