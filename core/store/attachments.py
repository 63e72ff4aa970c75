"""Which session has which files."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select

from core.store.conversations import SessionId
from core.store.files import Digest
from core.store.sql import Sql, Tx, insert, text, to_us
from core.store.tables import attachments

_a = attachments.c
_INSERT = insert(attachments, "session_id", "digest", "name", "media_type", "size", "created_at")
_HAS = Sql(select(_a.id).where(_a.digest == text("digest")).limit(1))
_OF = Sql(select(_a.digest).where(_a.session_id == text("session")).distinct())


def add(tx: Tx, session: SessionId, digest: Digest, media_type: str, size: int, at: datetime) -> None:
    """A session has this file; `size` in bytes."""
    tx.run(
        _INSERT, session_id=session, digest=digest, name="", media_type=media_type, size=size, created_at=to_us(at)
    )  # fmt: skip


def is_needed(tx: Tx, digest: Digest) -> bool:
    """Does any session have it?"""
    return tx.maybe_number(_HAS, digest=digest) is not None


def of_session(tx: Tx, session: SessionId) -> list[Digest]:
    """The files that it refers to."""
    return [Digest(row.text("digest")) for row in tx.all(_OF, session=session)]
