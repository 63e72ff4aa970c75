"""Stores to be backed up and restored."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.backups import Place


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return Place(None, request.getfixturevalue("sqlite_state"))
    url: str = request.getfixturevalue("postgres_url")
    return Place(url, tmp_path / "state")


@pytest.fixture
def here(sqlite_state: Path) -> Place:
    return Place(None, sqlite_state)
