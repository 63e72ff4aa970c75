"""Run by Alembic; the connection comes from `core.store.upgrade`.

Each migration is one transaction, its DDL included: on SQLite too, where the connection begins by itself and Alembic
has to be told that DDL is rolled back like everything else.
"""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from core.errors import StoreError
from core.faultpoints import faultpoint
from core.store.tables import MIGRATIONS


def _references_hold(*_: object, **__: object) -> None:
    """Before a migration commits. SQLite can't check foreign keys meanwhile, since a table that is rebuilt loses its
    rows for a moment."""
    connection = context.get_bind()
    if connection.dialect.name == "sqlite":
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
        if broken:
            raise StoreError(f"the migration left rows without what they reference: {broken[:5]}")
    faultpoint("migration.written")


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        version_table=MIGRATIONS,
        transactional_ddl=True,
        transaction_per_migration=True,
        on_version_apply=_references_hold,
    )
    with context.begin_transaction():
        context.run_migrations()


_run(context.config.attributes["connection"])
