"""Stores to be backed up and restored, and every bot over its strict double."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contract.backups import Place
from tests.contract.doubles import RecordingDesk
from tests.contract.harness import Harness
from tests.contract.platforms import HARNESSES


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return Place(None, request.getfixturevalue("sqlite_state"))
    url: str = request.getfixturevalue("postgres_url")
    return Place(url, tmp_path / "state")


@pytest.fixture
def here(sqlite_state: Path) -> Place:
    return Place(None, sqlite_state)


@pytest.fixture(params=HARNESSES)
async def harness(request: pytest.FixtureRequest) -> AsyncIterator[Harness]:
    """At the end no rule of the platform was broken."""
    async with HARNESSES[request.param]() as opened:
        yield opened
        assert not opened.broken_rules()


@pytest.fixture
def desk() -> RecordingDesk:
    return RecordingDesk()
