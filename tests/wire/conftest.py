"""What several wire tests start from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.fakes.models import ThreadedModelServer
from tests.fakes.telegram import ThreadedTelegramServer
from tests.fakes.telegram.server import TelegramServer
from tests.wire import discord_world
from tests.wire.desk_to_be import Home
from tests.wire.telegram_world import World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with TelegramServer(limits=None) as server:
        made = World(server)
        yield made
        assert server.violations == ()


@pytest.fixture
async def discord() -> AsyncIterator[discord_world.World]:
    async with discord_world.world() as made:
        yield made


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def telegram() -> Iterator[ThreadedTelegramServer]:
    with ThreadedTelegramServer() as server:
        yield server
        assert server.violations == ()


@pytest.fixture
def model() -> Iterator[ThreadedModelServer]:
    with ThreadedModelServer(models=("gpt-test",)) as server:
        yield server
