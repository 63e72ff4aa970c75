"""kill -9 inside the migrations of a first start: the next start begins anew and works."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text as verbatim

from core.store.sql import Sql
from tests.conftest import POSTGRES
from tests.crash.nursery import Nursery
from tests.crash.scene import ROUNDS, Scene
from tests.fakes.telegram import ThreadedTelegramServer

pytestmark = pytest.mark.crash

_TABLES = {
    "sqlite": Sql(verbatim("SELECT count(*) FROM sqlite_master WHERE type = 'table'")),
    "postgresql": Sql(verbatim("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()")),
}


def killed_inside(scene: Scene, table: int) -> None:
    talk = scene.talk()
    mark = talk.say("fast")
    scene.arm()
    scene.start("migration.written", table)
    scene.wait_death()
    with scene.daemon.reading() as tx:
        assert tx.number(_TABLES[tx.dialect]) == 0
    scene.start()
    scene.settle()
    assert talk.answers(mark) == 1
    scene.audit()


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_killed_inside_a_migration(
    server: ThreadedTelegramServer, nursery: Nursery, tmp_path: Path, round_: int
) -> None:
    scene = Scene(server, tmp_path, nursery)
    with scene.daemon:
        killed_inside(scene, 1 + round_ * 5 % 12)


@pytest.fixture
def bare_postgres_url(postgres_template: str) -> Iterator[str]:
    """The URL of a PostgreSQL database with nothing in it."""
    name = f"{postgres_template}_bare"
    with psycopg.connect(POSTGRES, autocommit=True, connect_timeout=5) as admin:
        admin.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield f"{POSTGRES.rpartition('/')[0]}/{name}"
        finally:
            admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())


def test_killed_inside_a_migration_on_postgres(
    server: ThreadedTelegramServer, nursery: Nursery, tmp_path: Path, bare_postgres_url: str
) -> None:
    scene = Scene(server, tmp_path, nursery, url=bare_postgres_url)
    with scene.daemon:
        killed_inside(scene, 6)
