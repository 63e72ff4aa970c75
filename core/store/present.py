"""The present schema in an empty SQLite database, in one transaction.

Without Alembic, whose import takes a quarter of a second of a first start. It is what the migrations lead to, held by
`tests/contract/test_present_schema.py`.
"""

from __future__ import annotations

import contextlib
from importlib.resources import files

from core.faultpoints import faultpoint
from core.store.sqlite import SqliteDatabase
from core.store.sqlite_driver import sqlite
from core.store.tables import MIGRATIONS, SCHEMA

SCRIPT = "present.sql"
BETWEEN = ";\n\n"
"""What stands after each statement: a trigger has semicolons of its own."""


def create(database: SqliteDatabase) -> None:
    """Blocking. Raises `StoreError` or a subclass; then it left nothing."""
    script = files("core.store.migrations").joinpath(SCRIPT).read_text(encoding="utf-8")
    try:
        with contextlib.closing(database.connect(readonly=False)) as connection:
            cursor = connection.cursor()
            cursor.execute("BEGIN IMMEDIATE", {})
            for statement in script.removesuffix(";\n").split(BETWEEN):
                cursor.execute(statement, {})
            cursor.execute(f"INSERT INTO {MIGRATIONS} VALUES (:schema)", {"schema": SCHEMA})  # noqa: S608  # a constant of ours
            faultpoint("schema.written")
            cursor.execute("COMMIT", {})
    except sqlite.Error as error:
        raise database.translate(error) or error from error
