"""A scene per test, on SQLite with the schema in place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.crash.scene", "tests.crash.daemon", "tests.crash.models_scene")

from tests.crash.nursery import Nursery  # noqa: E402
from tests.crash.scene import Scene  # noqa: E402  # after the line above
from tests.fakes.telegram import ThreadedTelegramServer  # noqa: E402


@pytest.fixture
def server() -> Iterator[ThreadedTelegramServer]:
    with ThreadedTelegramServer() as made:
        yield made


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as made:
        yield made


@pytest.fixture
def scene(server: ThreadedTelegramServer, nursery: Nursery, sqlite_template: Path, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(server, tmp_path, nursery)
    made.put_store(sqlite_template)
    with made.daemon:
        yield made
