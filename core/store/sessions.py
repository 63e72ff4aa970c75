"""Sessions: one life of a conversation each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import structlog
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import and_, func, or_, select, update

from core.errors import ValueDamaged
from core.people.names import plain_line
from core.store.conversations import ConversationId, SessionId
from core.store.sql import Row, Sql, Tx, count, insert, integer, text, to_us
from core.store.tables import conversations, participants, sessions
from core.vocabulary import BotName, ChatKind

log = structlog.get_logger("frontdesk.store")

TITLE_LIMIT = 120
"""Characters of a title."""


class ResetContext(Struct, frozen=True, kw_only=True):
    """Why and from what a session began."""

    reason: str
    parent: SessionId
    parent_last_at: datetime


class Session(Struct, frozen=True, kw_only=True):
    """`started_at` is the daily clock, `last_human_at` the idle clock, `touched_at` orders lists. `head` is the last
    entry's seq, `model_head` that of the last entry that the model sees."""

    id: SessionId
    conversation: ConversationId
    generation: int
    reset: ResetContext | None
    started_at: datetime
    last_human_at: datetime
    touched_at: datetime
    ended_at: datetime | None
    end_reason: str | None
    expires_at: datetime | None
    title: str | None
    bot: BotName
    kind: ChatKind
    head: int
    model_head: int
    messages: int


_s = sessions.c
_COLUMNS = (
    "id", "conversation_id", "generation", "parent_id", "parent_last_at", "reset_reason", "started_at",
    "last_human_at", "touched_at", "expires_at", "bot", "kind", "head", "model_head", "messages",
)  # fmt: skip
_INSERT = insert(sessions, *_COLUMNS)
_GET = Sql(select(sessions).where(_s.id == text("id")))
_GROW = Sql(
    update(sessions)
    .where(_s.id == text("row"))
    .values(
        head=integer("to_head"),
        model_head=integer("to_model_head"),
        messages=_s.messages + integer("more"),
        touched_at=integer("at"),
        title=func.coalesce(_s.title, text("first_title")),
    )
)
_HUMAN = Sql(
    update(sessions).where(_s.id == text("row")).values(last_human_at=integer("at"), expires_at=integer("expires"))
)
_END = Sql(
    update(sessions)
    .where(_s.id == text("row"))
    .values(ended_at=integer("at"), end_reason=text("reason"), expires_at=None)
)
_REOPEN = Sql(
    update(sessions)
    .where(_s.id == text("row"))
    .values(
        conversation_id=integer("conversation"), generation=integer("gen"), ended_at=None, end_reason=None,
        started_at=integer("at"), last_human_at=integer("at"), expires_at=integer("expires"), bot=text("to_bot"),
        kind=text("to_kind"),
    )
)  # fmt: skip
_TITLE = Sql(update(sessions).where(_s.id == text("row")).values(title=text("to_title"), touched_at=integer("at")))
_EXPIRES = Sql(
    update(sessions).where(_s.id == text("row"), _s.ended_at.is_(None)).values(expires_at=integer("expires"))
)
_JOIN = insert(participants, "session_id", "identity", once=["session_id", "identity"])
_DUE = Sql(
    select(_s.conversation_id, _s.id).where(_s.expires_at <= integer("at")).order_by(_s.expires_at).limit(count("most"))
)
_OPEN = Sql(select(sessions).where(_s.id > text("after"), _s.ended_at.is_(None)).order_by(_s.id).limit(count("most")))
_LATEST = Sql(select(sessions).order_by(_s.touched_at.desc(), _s.id.desc()).limit(count("most")))
_p = participants.c
_OF_PERSON = Sql(
    select(sessions)
    .where(_s.id.in_(select(_p.session_id).where(_p.identity == text("identity"))))
    .order_by(_s.touched_at.desc(), _s.id.desc())
    .limit(count("most"))
)
_TOOK_PART = Sql(select(_p.identity).where(_p.session_id == text("session"), _p.identity == text("identity")))
_CURRENT_IN = Sql(
    select(conversations.c.id).where(
        and_(conversations.c.session_id == text("session"), conversations.c.id != integer("but"))
    )
)


_is_last = select(conversations.c.id).where(conversations.c.session_id == _s.id).exists()
_OLD = Sql(
    select(_s.touched_at, _s.id)
    .where(
        _s.touched_at < integer("before"),
        or_(
            _s.touched_at > integer("after_at"),
            and_(_s.touched_at == integer("after_at"), _s.id > text("after_id")),
        ),
        ~_is_last,
    )
    .order_by(_s.touched_at, _s.id)
    .limit(count("most"))
)
_STILL_OLD = Sql(select(_s.id).where(_s.id == text("id"), _s.touched_at < integer("before"), ~_is_last))


def _from_row(row: Row) -> Session:
    try:
        return _read(row)
    except ValueDamaged as fault:
        raise ValueDamaged(f"session {row.text('id')}: {fault}") from None


def _readable(rows: Iterable[Row]) -> Iterator[Session]:
    """Without those that are damaged, so that one of them hides no other."""
    for row in rows:
        try:
            yield _read(row)
        except ValueDamaged as fault:
            log.warning("session_not_readable", session=row.text("id"), why=str(fault))


def _read(row: Row) -> Session:
    reason, parent = row.text_or_none("reset_reason"), row.text_or_none("parent_id")
    reset = None
    if reason is not None and parent is not None:
        reset = ResetContext(reason=reason, parent=SessionId(parent), parent_last_at=row.time("parent_last_at"))
    return Session(
        id=SessionId(row.text("id")),
        conversation=ConversationId(row.integer("conversation_id")),
        generation=row.integer("generation"),
        reset=reset,
        started_at=row.time("started_at"),
        last_human_at=row.time("last_human_at"),
        touched_at=row.time("touched_at"),
        ended_at=row.time_or_none("ended_at"),
        end_reason=row.text_or_none("end_reason"),
        expires_at=row.time_or_none("expires_at"),
        title=_title(row.text_or_none("title")),
        bot=BotName(row.text("bot")),
        kind=ChatKind(row.text("kind")),
        head=row.integer("head"),
        model_head=row.integer("model_head"),
        messages=row.integer("messages"),
    )


def start(tx: Tx, session: Session) -> None:
    """Store a session as it is when it begins: no entries yet."""
    reset = session.reset
    tx.run(
        _INSERT,
        id=session.id,
        conversation_id=session.conversation,
        generation=session.generation,
        parent_id=reset.parent if reset else None,
        parent_last_at=to_us(reset.parent_last_at) if reset else None,
        reset_reason=reset.reason if reset else None,
        started_at=to_us(session.started_at),
        last_human_at=to_us(session.last_human_at),
        touched_at=to_us(session.touched_at),
        expires_at=_us(session.expires_at),
        bot=session.bot,
        kind=session.kind,
        head=session.head,
        model_head=session.model_head,
        messages=session.messages,
    )


def _us(at: datetime | None) -> int | None:
    return None if at is None else to_us(at)


def get(tx: Tx, session: SessionId) -> Session:
    found = find(tx, session)
    if found is None:
        raise LookupError(f"no session {session}")
    return found


def sound(tx: Tx, session: SessionId) -> Session | None:
    """None where its row is damaged."""
    return next(_readable([row] if (row := tx.one(_GET, id=session)) is not None else []), None)


def find(tx: Tx, session: str) -> Session | None:
    row = tx.one(_GET, id=session)
    return None if row is None else _from_row(row)


def grow(tx: Tx, session: Session, at: datetime, *, messages: int, title: str | None) -> None:
    """Write back the heads of a session that got entries. The first title that is given stays."""
    tx.run(
        _GROW, row=session.id, to_head=session.head, to_model_head=session.model_head, more=messages, at=to_us(at),
        first_title=title,
    )  # fmt: skip


def heard(tx: Tx, session: Session, at: datetime, expires_at: datetime | None) -> Session:
    """A person spoke: the idle clock starts anew."""
    tx.run(_HUMAN, row=session.id, at=to_us(at), expires=_us(expires_at))
    return replace(session, last_human_at=at, expires_at=expires_at)


def end(tx: Tx, session: SessionId, reason: str, at: datetime) -> None:
    tx.run(_END, row=session, reason=reason, at=to_us(at))


def reopen(tx: Tx, session: Session) -> None:
    """Let an ended session live again where `session` says, with its clocks started anew."""
    tx.run(
        _REOPEN, row=session.id, conversation=session.conversation, gen=session.generation,
        at=to_us(session.started_at), expires=_us(session.expires_at), to_bot=session.bot, to_kind=session.kind,
    )  # fmt: skip


def entitle(tx: Tx, session: SessionId, title: str, at: datetime) -> None:
    """Give it another title; control and format characters of it are left out."""
    tx.run(_TITLE, row=session, to_title=_title(title), at=to_us(at))


def _title(given: str | None) -> str | None:
    """As it may be shown, also where it was stored by an earlier version."""
    return given and (plain_line(given, TITLE_LIMIT) or None)


def redate(tx: Tx, session: SessionId, expires_at: datetime | None) -> None:
    """A changed policy gives an open session another end."""
    tx.run(_EXPIRES, row=session, expires=_us(expires_at))


def join(tx: Tx, session: SessionId, identity: str) -> None:
    """Who took part in a session may resume it."""
    tx.run(_JOIN, session_id=session, identity=identity)


def took_part(tx: Tx, session: SessionId, identity: str) -> bool:
    return tx.one(_TOOK_PART, session=session, identity=identity) is not None


def due(tx: Tx, at: datetime, most: int) -> list[tuple[ConversationId, SessionId]]:
    """Whose end has come by `at`, the longest overdue first. By index: costs what it finds."""
    rows = tx.all(_DUE, at=to_us(at), most=most)
    return [(ConversationId(row.integer("conversation_id")), SessionId(row.text("id"))) for row in rows]


def open_after(tx: Tx, after: str, most: int) -> list[Session]:
    """Sessions that have not ended, in order of id, for chores that go through all of them in pieces."""
    return list(_readable(tx.all(_OPEN, after=after, most=most)))


def latest(tx: Tx, most: int) -> list[Session]:
    """Those that can be read."""
    return list(_readable(tx.all(_LATEST, most=most)))


def of_person(tx: Tx, conversation: ConversationId | None, identity: str, most: int) -> Sequence[Session]:
    """The sessions that this identity took part in, in any conversation, latest first."""
    return list(_readable(tx.all(_OF_PERSON, identity=identity, most=most)))


def current_elsewhere(tx: Tx, session: SessionId, but: ConversationId) -> ConversationId | None:
    """Another conversation whose last session this is."""
    found = tx.maybe_number(_CURRENT_IN, session=session, but=but)
    return None if found is None else ConversationId(found)


def old(tx: Tx, before: datetime, after: tuple[int, str], most: int) -> list[tuple[int, SessionId]]:
    """Sessions that were touched last before then and are nobody's last one, oldest first, in pieces: `after` is the
    last of the piece before, `(0, "")` at first."""
    at, session = after
    rows = tx.all(_OLD, before=to_us(before), after_at=at, after_id=session, most=most)
    return [(row.integer("touched_at"), SessionId(row.text("id"))) for row in rows]


def still_old(tx: Tx, session: SessionId, before: datetime) -> bool:
    """Is it still one of those?"""
    return tx.one(_STILL_OLD, id=session, before=to_us(before)) is not None
