"""The transcript: entries are appended, and nothing else happens to them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace
from sqlalchemy import select

from core.faultpoints import faultpoint
from core.people.names import plain_line
from core.store import sessions
from core.store.conversations import SessionId
from core.store.sessions import Session
from core.store.sql import Row, Sql, Tx, count, insert, integer, text, to_us
from core.store.tables import entries
from core.vocabulary import TurnId

TITLE_LIMIT = 60
"""Characters of the first message that serve as a title until somebody gives one."""


class Kind(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    NOTICE = "notice"
    REWIND = "rewind"
    COMPACTION = "compaction"
    CLEAR = "clear"


Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


class Draft(Struct, frozen=True, kw_only=True):
    """An entry before it has its place in the log."""

    kind: Kind
    text: str
    data: Mapping[str, Json] = field(default_factory=dict)
    turn: TurnId | None = None
    sender: str | None = None


class Entry(Struct, frozen=True, kw_only=True):
    """One row of a transcript. `seq` counts from 1 without a gap within its session."""

    session: SessionId
    seq: int
    kind: Kind
    text: str
    data: Mapping[str, Json]
    turn: TurnId | None
    sender: str | None
    at: datetime


_e = entries.c
_INSERT = insert(entries, "session_id", "seq", "kind", "text", "data", "turn_id", "sender", "at")
_OF = Sql(
    select(entries)
    .where(_e.session_id == text("session"), _e.seq > integer("after"))
    .order_by(_e.seq)
    .limit(count("most"))
)
_LAST = Sql(
    select(entries)
    .where(_e.session_id == text("session"), _e.seq < integer("before"))
    .order_by(_e.seq.desc())
    .limit(count("most"))
)
_OF_TURN = Sql(select(entries).where(_e.session_id == text("session"), _e.turn_id == text("turn")).order_by(_e.seq))
ALL = 1 << 30


def _from_row(row: Row) -> Entry:
    data, turn = row.text_or_none("data"), row.text_or_none("turn_id")
    return Entry(
        session=SessionId(row.text("session_id")),
        seq=row.integer("seq"),
        kind=Kind(row.text("kind")),
        text=row.text("text"),
        data=json.loads(data) if data else {},
        turn=None if turn is None else TurnId(turn),
        sender=row.text_or_none("sender"),
        at=row.time("at"),
    )


def append(tx: Tx, session: Session, drafts: Sequence[Draft], at: datetime) -> tuple[Session, list[Entry]]:
    """Add entries to the end of a session that the caller's conversation holds locked; the session as it is then."""
    if not drafts:
        return session, []
    added = [_place(session, i, draft, at) for i, draft in enumerate(drafts, start=session.head + 1)]
    tx.many(_INSERT, [_to_row(entry) for entry in added])
    seen = [entry.seq for entry in added if entry.kind is not Kind.NOTICE]
    spoken = [entry for entry in added if entry.kind is Kind.USER]
    grown = replace(
        session,
        head=added[-1].seq,
        model_head=seen[-1] if seen else session.model_head,
        messages=session.messages + len(spoken),
        touched_at=at,
    )
    title = _title(spoken[0].text) if spoken and session.title is None else None
    sessions.grow(tx, grown, at, messages=len(spoken), title=title)
    faultpoint("entries.written", drafts)
    return replace(grown, title=session.title or title), added


def _place(session: Session, seq: int, draft: Draft, at: datetime) -> Entry:
    return Entry(
        session=session.id, seq=seq, kind=draft.kind, text=draft.text, data=draft.data, turn=draft.turn,
        sender=draft.sender, at=at,
    )  # fmt: skip


def _to_row(entry: Entry) -> dict[str, str | int | None]:
    return {
        "session_id": entry.session,
        "seq": entry.seq,
        "kind": entry.kind,
        "text": entry.text,
        "data": json.dumps(entry.data, ensure_ascii=False) if entry.data else None,
        "turn_id": entry.turn,
        "sender": entry.sender,
        "at": to_us(entry.at),
    }


def _title(said: str) -> str | None:
    return plain_line(said, TITLE_LIMIT) or None


def of_session(tx: Tx, session: SessionId, after: int = 0, most: int = ALL) -> list[Entry]:
    """Entries with a seq above `after`, in order."""
    return [_from_row(row) for row in tx.all(_OF, session=session, after=after, most=most)]


def last(tx: Tx, session: SessionId, most: int, before: int = ALL) -> list[Entry]:
    """The last entries below `before`, in order."""
    return [_from_row(row) for row in tx.all(_LAST, session=session, before=before, most=most)][::-1]


def of_turn(tx: Tx, session: SessionId, turn: TurnId) -> list[Entry]:
    return [_from_row(row) for row in tx.all(_OF_TURN, session=session, turn=turn)]
