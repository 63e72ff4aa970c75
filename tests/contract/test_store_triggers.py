"""The transcript only grows: the database refuses anything else, whoever asks."""

from __future__ import annotations

import pytest
from sqlalchemy import text as verbatim

from core.errors import StoreError
from core.store import chores, entries, sessions
from core.store.conversations import SessionId
from core.store.engine import Store
from core.store.sql import Sql, Tx
from tests.contract.scenes import begin, converse, say

_BOTH = (
    "UPDATE entries SET text = 'forged'",
    "UPDATE entries SET seq = seq + 1000",
    "DELETE FROM entries",
    "DELETE FROM entries WHERE seq = 2",
    "INSERT INTO entries (id, session_id, seq, kind, text, at) SELECT id, session_id, seq, kind, 'forged', at"
    " FROM entries WHERE seq = 1",
    "INSERT INTO entries (session_id, seq, kind, text, at) SELECT session_id, seq, kind, 'forged', at"
    " FROM entries WHERE seq = 1 ON CONFLICT (session_id, seq) DO UPDATE SET text = excluded.text",
    "DELETE FROM sessions",
    "INSERT INTO never (id) VALUES (0)",
)
_SQLITE = (
    "UPDATE OR REPLACE entries SET text = 'forged'",
    "UPDATE OR IGNORE entries SET text = 'forged'",
    "REPLACE INTO entries (id, session_id, seq, kind, text, at)"
    " SELECT id, session_id, seq, kind, 'forged', at FROM entries WHERE seq = 1",
    "INSERT OR REPLACE INTO entries (session_id, seq, kind, text, at)"
    " SELECT session_id, seq, kind, 'forged', at FROM entries WHERE seq = 1",
)
_REFUSED = "entries are|FOREIGN KEY constraint|foreign key constraint|duplicate key|never_any"
_POSTGRES = ("TRUNCATE entries", "TRUNCATE entries CASCADE", "TRUNCATE sessions CASCADE")


async def _one_session(store: Store) -> SessionId:
    def unit(tx: Tx) -> SessionId:
        session = begin(tx, converse(tx), "s1")
        say(tx, session.id, "one", "two", "three")
        return session.id

    return await store.write(unit)


async def _texts(store: Store, session: SessionId) -> list[str]:
    return [entry.text for entry in await store.read(lambda tx: entries.of_session(tx, session))]


async def test_entries_are_never_changed(store: Store) -> None:
    session = await _one_session(store)
    special = _SQLITE if store.database.dialect == "sqlite" else _POSTGRES
    for words in (*_BOTH, *special):
        sql = Sql(verbatim(words))
        with pytest.raises(StoreError, match=_REFUSED):
            await store.write(lambda tx, sql=sql: tx.run(sql))  # type: ignore[misc]
        assert await _texts(store, session) == ["one", "two", "three"], words


async def test_replace_is_refused_on_a_foreign_connection_too(sqlite_store: Store) -> None:
    """REPLACE passes by the trigger on DELETE where recursive_triggers is off, as it is by default."""
    store = sqlite_store
    session = await _one_session(store)
    connection = store.database.connect(readonly=False)
    cursor = connection.cursor()
    cursor.execute("PRAGMA recursive_triggers=OFF", {})
    for words in _SQLITE:
        with pytest.raises(Exception, match="entries are"):
            cursor.execute(words, {})
    connection.close()
    assert await _texts(store, session) == ["one", "two", "three"]


_OPEN = Sql(verbatim("INSERT INTO deletions (session_id) VALUES (:session)"))
_DELETE = Sql(verbatim("DELETE FROM entries WHERE session_id = :session"))
_CLOSE = Sql(verbatim("DELETE FROM deletions"))


async def test_a_gate_that_is_left_open_fails_the_commit(store: Store) -> None:
    session = await _one_session(store)

    def forget(tx: Tx) -> None:
        tx.run(_OPEN, session=session)
        tx.run(_DELETE, session=session)

    with pytest.raises(StoreError):
        await store.write(forget)
    assert await _texts(store, session) == ["one", "two", "three"]


async def test_the_gate_opens_for_its_own_session_only(store: Store) -> None:
    session = await _one_session(store)

    def through_anothers(tx: Tx) -> None:
        tx.run(_OPEN, session="another")
        tx.run(_DELETE, session=session)
        tx.run(_CLOSE)

    with pytest.raises(StoreError):
        await store.write(through_anothers)
    assert await _texts(store, session) == ["one", "two", "three"]


async def test_a_whole_session_goes_through_the_gate(store: Store) -> None:
    session = await _one_session(store)
    assert await store.write(lambda tx: chores.delete_session(tx, session)) is True
    assert await store.read(lambda tx: sessions.find(tx, session)) is None
    assert await _texts(store, session) == []
