"""Finding texts in transcripts: substrings, whatever their case, newest first.

SQLite: entries are indexed by trigram (FTS5) behind a cursor, by a chore, since indexing costs 1 ms per KiB; what the
cursor has not reached is read. A long text is indexed in pieces that overlap, so that no unit takes long. PostgreSQL
keeps its own index (pg_trgm), whose pending list the chore empties; without the extension, entries are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct
from sqlalchemy import text as verbatim

from core.store import facts
from core.store.conversations import ConversationId, SessionId
from core.store.entries import Kind
from core.store.sql import Row, Sql, Tx, Value

SCAN = 10_000
"""Entries that one search looks at one by one, at most."""
PAGE = 500
SESSIONS = 500
"""Sessions of one person or conversation whose entries are read, at most."""
TRIGRAM = 3
"""Characters that a query needs for the index."""
PIECE, OVERLAP = 8_000, 200
"""Characters of a piece, and of its end that the next one repeats: so much of a query is looked up in the index."""
PIECES = 1024
"""Places that an entry has in the index: its row there is `id * PIECES + piece`."""
UNIT = 16_000
"""Characters that one unit indexes, about 15 ms."""

CURSOR, BEGUN = "search_cursor", "search_begun"
"""Facts: all entries up to this id are indexed; and `ID:N`, of the long entry ID after them N pieces are."""


class Found(Struct, frozen=True, kw_only=True):
    """An entry whose text holds the query."""

    session: SessionId
    conversation: ConversationId
    seq: int
    kind: Kind
    text: str
    at: datetime


class Hits(Struct, frozen=True, kw_only=True):
    """`complete` is False where the search stopped, with fewer than were asked for, before it had seen everything."""

    found: tuple[Found, ...]
    complete: bool


_SPOKEN = "kind IN ('user', 'assistant')"
_MINE = """
    (CAST(:identity AS TEXT) = '' OR EXISTS (
        SELECT 1 FROM participants p WHERE p.session_id = e.session_id AND p.identity = :identity))
    AND (CAST(:conversation AS BIGINT) = 0 OR s.conversation_id = :conversation)
"""
_FOUND = "e.id, e.session_id, s.conversation_id, e.seq, e.kind, e.at"


def _sql(words: str) -> Sql:
    return Sql(verbatim(words))


_NEWEST = _sql(f"""
    SELECT {_FOUND}, CASE WHEN {_MINE} THEN e.text END AS text
    FROM (SELECT * FROM entries WHERE {_SPOKEN} AND id < :before AND id > :after ORDER BY id DESC LIMIT :page) e
    JOIN sessions s ON s.id = e.session_id ORDER BY e.id DESC
""")  # noqa: S608  # constants of ours
_MATCHES = _sql(f"""
    SELECT m.rowid AS place, {_FOUND}, CASE WHEN {_MINE} THEN e.text END AS text
    FROM (
        SELECT rowid FROM entries_search WHERE entries_search MATCH :words AND rowid < :before
        ORDER BY rowid DESC LIMIT :page
    ) m
    JOIN entries e ON e.id = m.rowid / {PIECES} JOIN sessions s ON s.id = e.session_id ORDER BY m.rowid DESC
""")  # noqa: S608  # the same
_LIKE = _sql(f"""
    SELECT {_FOUND}, e.text FROM entries e JOIN sessions s ON s.id = e.session_id
    WHERE e.{_SPOKEN} AND e.id < :before AND e.text ILIKE :pattern AND {_MINE} ORDER BY e.id DESC LIMIT :page
""")  # noqa: S608  # the same
_SESSIONS_OF_PERSON = _sql("""
    SELECT s.id FROM sessions s JOIN participants p ON p.session_id = s.id AND p.identity = :identity
    WHERE CAST(:conversation AS BIGINT) = 0 OR s.conversation_id = :conversation
    ORDER BY s.touched_at DESC LIMIT :page
""")
_SESSIONS_IN = _sql("""
    SELECT s.id FROM sessions s WHERE s.conversation_id = :conversation ORDER BY s.touched_at DESC LIMIT :page
""")
_IN_SESSION = _sql(f"""
    SELECT {_FOUND}, e.text FROM entries e JOIN sessions s ON s.id = e.session_id
    WHERE e.session_id = :session AND e.seq < :before AND e.{_SPOKEN} ORDER BY e.seq DESC LIMIT :page
""")  # noqa: S608  # the same

_AFTER = _sql(f"""
    SELECT id, CASE WHEN {_SPOKEN} THEN text ELSE '' END AS text FROM entries WHERE id > :after ORDER BY id LIMIT :most
""")  # noqa: S608  # the same
_INDEX = _sql("INSERT INTO entries_search (rowid, text) VALUES (:place, :text)")
_UNINDEX = _sql("DELETE FROM entries_search WHERE rowid BETWEEN :first AND :last")
_IDS = _sql(f"SELECT id FROM entries WHERE session_id = :session AND {_SPOKEN}")  # noqa: S608  # the same
_HAS_INDEX = _sql("SELECT count(*) FROM pg_class WHERE oid = to_regclass('entries_by_text')")
_LAST = _sql("SELECT coalesce(max(id), 0) FROM entries")
_EMPTY_PENDING = _sql("SELECT gin_clean_pending_list(to_regclass('entries_by_text'))")

_END = 1 << 62


def index_some(tx: Tx, most: int) -> int:
    """Index up to `most` entries that are not yet; how many steps it made forward, 0 when there is nothing to do.

    A step may be a piece of one long entry: no unit indexes more than `UNIT` characters by much.
    """
    if tx.dialect == "postgresql":
        return _empty_pending_list(tx)
    done, (begun, piece) = _done(tx), _begun(tx)
    steps = room = 0
    for row in tx.all(_AFTER, after=done, most=most):
        entry, pieces = row.integer("id"), list(_pieces(row.text("text")))
        piece = piece if entry == begun else 0
        while piece < len(pieces) and room < UNIT:
            tx.run(_INDEX, place=entry * PIECES + piece, text=pieces[piece])
            room += len(pieces[piece])
            piece += 1
            steps += 1
        if piece < len(pieces):
            begun = entry
            break
        done, piece = entry, 0
        steps += 1
    if steps:
        facts.put(tx, CURSOR, str(done))
        facts.put(tx, BEGUN, f"{begun}:{piece}")
    return steps


def _empty_pending_list(tx: Tx) -> int:
    last = tx.number(_LAST)
    if last == _done(tx) or not tx.number(_HAS_INDEX):
        return 0
    tx.number(_EMPTY_PENDING)
    facts.put(tx, CURSOR, str(last))
    return 1


def _done(tx: Tx) -> int:
    return int(facts.get(tx, CURSOR) or 0)


def _begun(tx: Tx) -> tuple[int, int]:
    entry, _, piece = (facts.get(tx, BEGUN) or "0:0").partition(":")
    return int(entry), int(piece)


def _pieces(said: str) -> Iterator[str]:
    for piece, start in enumerate(range(0, len(said), PIECE - OVERLAP)):
        if piece < PIECES and (start == 0 or start + OVERLAP < len(said)):
            yield said[start : start + PIECE]


def unindex(tx: Tx, session: SessionId) -> None:
    """Forget a session's texts, before its entries go. PostgreSQL does it by itself."""
    if tx.dialect == "sqlite":
        ids = [row.integer("id") for row in tx.all(_IDS, session=session)]
        tx.many(_UNINDEX, [{"first": id_ * PIECES, "last": id_ * PIECES + PIECES - 1} for id_ in ids])


def search(
    tx: Tx, query: str, *, identity: str | None = None, conversation: ConversationId | None = None, most: int = 20
) -> Hits:
    """Entries of people and agents that hold `query` as it is written, save for case; newest first, at most `most`.

    With `identity`, only of sessions in which it took part; with `conversation`, only of sessions of this one.
    """
    if not query or most < 1 or not _storable(query):
        return Hits(found=(), complete=True)
    hunt = _Hunt(tx, query, identity or "", conversation or 0, most)
    if len(query) < TRIGRAM or not _has_index(tx):
        hunt.read_newest(0) if not identity and not conversation else hunt.read_sessions()
    elif tx.dialect == "sqlite":
        hunt.read_newest(_done(tx))
        hunt.look_up()
    else:
        hunt.ask_postgres()
    return hunt.hits()


def _storable(query: str) -> bool:
    """NUL and lone surrogates are in no text, and no database takes them."""
    return "\0" not in query and not any("\ud800" <= character <= "\udfff" for character in query)


def _has_index(tx: Tx) -> bool:
    return tx.dialect == "sqlite" or tx.number(_HAS_INDEX) > 0


class _Hunt:
    """One search; it goes on until it has enough, has seen everything, or has looked at `SCAN` entries."""

    def __init__(self, tx: Tx, query: str, identity: str, conversation: int, most: int) -> None:
        self._tx = tx
        self._query = query
        self._needle = query.casefold()
        self._scope: dict[str, Value] = {"identity": identity, "conversation": conversation}
        self._most = most
        self._found: dict[int, Found] = {}
        self._left = SCAN

    def hits(self) -> Hits:
        newest = sorted(self._found, reverse=True)
        found = tuple(self._found[entry] for entry in newest[: self._most])
        return Hits(found=found, complete=self._left > 0 or len(found) == self._most)

    def read_newest(self, after: int) -> None:
        """Entries above `after`, whosesoever."""
        before = _END
        while self._goes_on():
            rows = self._tx.all(_NEWEST, before=before, after=after, page=min(PAGE, self._left), **self._scope)
            for row in rows:
                self._take(row, self._needle)
            if not rows:
                return
            before = rows[-1].integer("id")

    def read_sessions(self) -> None:
        """Entries of the sessions that are asked about, those that were touched last first."""
        if self._scope["identity"]:
            sessions = self._tx.all(_SESSIONS_OF_PERSON, page=SESSIONS, **self._scope)
        else:
            sessions = self._tx.all(_SESSIONS_IN, page=SESSIONS, conversation=self._scope["conversation"])
        for session in sessions:
            self._read_session(session.text("id"))
        if len(sessions) == SESSIONS:
            self._left = 0

    def _read_session(self, session: str) -> None:
        before = _END
        while self._goes_on():
            rows = self._tx.all(_IN_SESSION, session=session, before=before, page=min(PAGE, self._left))
            for row in rows:
                self._take(row, self._needle)
            if not rows:
                return
            before = rows[-1].integer("seq")

    def look_up(self) -> None:
        """Entries by SQLite's index. A query that is longer than what pieces share is checked in full."""
        words = '"' + self._query[:OVERLAP].replace('"', '""') + '"'
        needle = self._needle if len(self._query) > OVERLAP else ""
        before = _END
        while self._goes_on():
            rows = self._tx.all(_MATCHES, words=words, before=before, page=min(PAGE, self._left), **self._scope)
            for row in rows:
                self._take(row, needle)
            if not rows:
                return
            before = rows[-1].integer("place")

    def ask_postgres(self) -> None:
        escaped = self._query.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        for row in self._tx.all(_LIKE, before=_END, pattern=f"%{escaped}%", page=self._most, **self._scope):
            self._take(row, "")

    def _goes_on(self) -> bool:
        return self._left > 0 and len(self._found) < self._most

    def _take(self, row: Row, needle: str) -> None:
        self._left -= 1
        said = row.text_or_none("text")
        if said is None or (needle and needle not in said.casefold()):
            return
        self._found[row.integer("id")] = Found(
            session=SessionId(row.text("session_id")),
            conversation=ConversationId(row.integer("conversation_id")),
            seq=row.integer("seq"),
            kind=Kind(row.text("kind")),
            text=said,
            at=row.time("at"),
        )
