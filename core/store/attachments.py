"""Which session has which files."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from sqlalchemy import delete, literal, select, union_all

from core.store.conversations import SessionId
from core.store.files import Digest
from core.store.sql import Sql, Tx, count, insert, integer, text, to_us
from core.store.tables import attachments, deliveries, entries, inbox, participants, sessions
from core.vocabulary import BotName

_a = attachments.c
_INSERT = insert(attachments, "session_id", "entry_id", "digest", "name", "media_type", "size", "created_at")
_NEEDED = union_all(
    select(literal(1).label("n")).select_from(attachments).where(_a.digest == text("digest")),
    select(literal(1)).select_from(inbox).where(inbox.c.state != "done", inbox.c.enclosed.contains(text("digest"))),
    select(literal(1))
    .select_from(deliveries)
    .where(deliveries.c.state.in_(("queued", "sending")), deliveries.c.files.contains(text("digest"))),
).subquery()
_ENTRY = Sql(
    select(entries.c.id).where(entries.c.session_id == text("session"), entries.c.seq == integer("seq"))
)  # fmt: skip
_HAS = Sql(select(_NEEDED.c.n).limit(1))
_OF = Sql(select(_a.digest).where(_a.session_id == text("session")).distinct())


_PAGE = Sql(
    select(_a.id, _a.session_id, _a.created_at, sessions.c.bot)
    .join(sessions, sessions.c.id == _a.session_id)
    .where(_a.id > integer("after"))
    .order_by(_a.id)
    .limit(count("most"))
)
_TOOK_PART = Sql(select(participants.c.identity).where(participants.c.session_id == text("session")))
_REMOVE = Sql(delete(attachments).where(_a.id == integer("id")))


class Kept(Struct, frozen=True, kw_only=True):
    """That a session has a file, since when."""

    id: int
    session: SessionId
    bot: BotName
    at: datetime


class File(Struct, frozen=True, kw_only=True):
    """A file that is kept; `size` in bytes, `name` "" where it has none."""

    digest: Digest
    name: str
    media_type: str
    size: int


def add(tx: Tx, session: SessionId, file: File, at: datetime, seq: int | None = None) -> None:
    """A session has this file; `seq` is that of the entry that it came with, if it came with one."""
    entry = None if seq is None else tx.number(_ENTRY, session=session, seq=seq)
    tx.run(
        _INSERT, session_id=session, entry_id=entry, digest=file.digest, name=file.name, media_type=file.media_type,
        size=file.size, created_at=to_us(at),
    )  # fmt: skip


def page(tx: Tx, after: int, most: int) -> list[Kept]:
    """Which sessions have files, in the order in which they got them."""
    return [
        Kept(
            id=row.integer("id"),
            session=SessionId(row.text("session_id")),
            bot=BotName(row.text("bot")),
            at=row.time("created_at"),
        )
        for row in tx.all(_PAGE, after=after, most=most)
    ]


def took_part(tx: Tx, session: SessionId) -> list[str]:
    """The identities that wrote in a session."""
    return [row.text("identity") for row in tx.all(_TOOK_PART, session=session)]


def remove(tx: Tx, id_: int) -> None:
    """A session does not have this file any more."""
    tx.run(_REMOVE, id=id_)


def is_needed(tx: Tx, digest: Digest) -> bool:
    """Does any session have it, or a message that waits, or a delivery that is not sent?"""
    return tx.maybe_number(_HAS, digest=digest) is not None


def of_session(tx: Tx, session: SessionId) -> list[Digest]:
    """The files that it refers to."""
    return [Digest(row.text("digest")) for row in tx.all(_OF, session=session)]
