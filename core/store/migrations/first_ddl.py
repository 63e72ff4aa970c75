"""What the first schema has beside its tables: the triggers that keep transcripts growing, and the search index."""

from __future__ import annotations

from alembic import op
from sqlalchemy.exc import DBAPIError

_SQLITE_TRIGGERS = (
    """
    CREATE TRIGGER entries_not_changed BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END
    """,
    """
    CREATE TRIGGER entries_not_deleted BEFORE DELETE ON entries
    WHEN NOT EXISTS (SELECT 1 FROM deletions WHERE session_id = OLD.session_id)
    BEGIN SELECT RAISE(ABORT, 'entries are deleted with their session only'); END
    """,
    """
    CREATE TRIGGER entries_not_replaced BEFORE INSERT ON entries
    WHEN EXISTS (SELECT 1 FROM entries WHERE session_id = NEW.session_id AND seq = NEW.seq)
        OR EXISTS (SELECT 1 FROM entries WHERE id = NEW.id)
    BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END
    """,
)
"""The third: REPLACE deletes without the second on a connection that has recursive_triggers off."""

_POSTGRES_TRIGGERS = (
    """
    CREATE FUNCTION entries_only_grow() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'DELETE' THEN
            IF EXISTS (SELECT 1 FROM deletions WHERE session_id = OLD.session_id) THEN
                RETURN OLD;
            END IF;
            RAISE EXCEPTION 'entries are deleted with their session only' USING ERRCODE = 'FD001';
        END IF;
        RAISE EXCEPTION 'entries are never changed' USING ERRCODE = 'FD001';
    END $$
    """,
    """
    CREATE TRIGGER entries_not_changed BEFORE UPDATE OR DELETE ON entries
    FOR EACH ROW EXECUTE FUNCTION entries_only_grow()
    """,
    """
    CREATE TRIGGER entries_not_truncated BEFORE TRUNCATE ON entries
    FOR EACH STATEMENT EXECUTE FUNCTION entries_only_grow()
    """,
)

_SQLITE_SEARCH = """
    CREATE VIRTUAL TABLE entries_search USING fts5(text, content='', contentless_delete=1, tokenize='trigram')
    """

_POSTGRES_SEARCH = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    "CREATE INDEX entries_by_text ON entries USING gin (text gin_trgm_ops) WHERE kind IN ('user', 'assistant')",
)


def forbid_changes() -> None:
    """Entries are appended; they go only while their session stands in `deletions`."""
    for statement in _SQLITE_TRIGGERS if _on_sqlite() else _POSTGRES_TRIGGERS:
        op.execute(statement)


def index_texts() -> None:
    """Where the role may not create pg_trgm there is no index, and searching reads a bounded number of entries."""
    if _on_sqlite():
        op.execute(_SQLITE_SEARCH)
        return
    try:
        with op.get_bind().begin_nested():
            for statement in _POSTGRES_SEARCH:
                op.execute(statement)
    except DBAPIError:
        return


def _on_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"
