"""The same on PostgreSQL, where another process holds the store: the points that depend on it most."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.nursery import Nursery
from tests.crash.scene import Scene
from tests.crash.test_kill_points import POINTS, VARIANTS, killed_at
from tests.fakes.telegram import ThreadedTelegramServer

pytestmark = pytest.mark.crash


@pytest.fixture
def scene(server: ThreadedTelegramServer, nursery: Nursery, postgres_url: str, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(server, tmp_path, nursery, url=postgres_url)
    with made.daemon:
        yield made


@pytest.mark.parametrize(
    "point", ["inbox.committed", "turn.admitted", "tool_call.returned", "record.written", "turn.recorded"]
)
def test_killed_at_on_postgres(scene: Scene, point: str) -> None:
    killed_at(scene, point, VARIANTS.get(point, POINTS[point]), rounds=1)
