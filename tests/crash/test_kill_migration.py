"""kill -9 while a first start makes the schema: the next start makes what is left of it and works."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import column, select, table
from sqlalchemy import text as verbatim

from core.store import migrations
from core.store.sql import Sql
from core.store.tables import MIGRATIONS
from tests.conftest import POSTGRES
from tests.crash.nursery import Nursery
from tests.crash.scene import Scene
from tests.fakes.telegram import ThreadedTelegramServer

pytestmark = pytest.mark.crash

_TABLES = {
    "sqlite": Sql(verbatim("SELECT count(*) FROM sqlite_master WHERE type = 'table'")),
    "postgresql": Sql(verbatim("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()")),
}
_VERSION = Sql(select(column("version_num")).select_from(table(MIGRATIONS)))
VERSIONS = sorted(one.name[1:5] for one in Path(migrations.__file__).parent.glob("versions/v[0-9]*.py"))


def killed_inside(scene: Scene, number: int, point: str = "migration.written") -> None:
    """Inside the migration of that number: it leaves nothing, those before it are whole."""
    talk = scene.talk()
    mark = talk.say("fast")
    scene.arm()
    scene.start(point, number)
    scene.wait_death()
    with scene.daemon.reading() as tx:
        if number == 1:
            assert tx.number(_TABLES[tx.dialect]) == 0
        else:
            assert [row.text("version_num") for row in tx.all(_VERSION)] == [VERSIONS[number - 2]]
    scene.start()
    scene.settle()
    assert talk.answers(mark) == 1
    scene.audit()


def test_killed_inside_the_schema_of_a_new_sqlite_store(
    server: ThreadedTelegramServer, nursery: Nursery, tmp_path: Path
) -> None:
    scene = Scene(server, tmp_path, nursery)
    with scene.daemon:
        killed_inside(scene, 1, "schema.written")


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
        killed_inside(scene, 1)
