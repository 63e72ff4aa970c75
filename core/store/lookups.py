"""What is known of a message, a turn or a delivery, for people who ask why something happened. Texts are left out."""

from __future__ import annotations

import json
from datetime import datetime

from msgspec import Struct
from sqlalchemy import and_, func, or_, select

from core.store import remains
from core.store.conversations import ConversationId, SessionId
from core.store.remains import Remains
from core.store.sql import Row, Sql, Tx, count, integer, text
from core.store.tables import deliveries, entries, inbox, turns
from core.store.turns import Retry, retry_of

WINDOW = 20_000
"""Rows that one read looks through for what no index finds."""


class Received(Struct, frozen=True, kw_only=True):
    """An inbox row. `text` is None where it is not kept any more: a row that has its fate keeps none. `gone`: what is
    known of its turn, which went with its session. `event` tells one event of its account from every other."""

    id: int
    event: str
    message: str | None
    conversation: ConversationId | None
    command: str | None
    state: str
    fate: str | None
    detail: str
    turn: str | None
    gone: Remains | None
    bot: str
    chat: str
    identity: str | None
    name: str | None
    text: str | None
    received_at: datetime
    done_at: datetime | None


class Happened(Struct, frozen=True, kw_only=True):
    """A turn. `reference` is what people were told, to find the error in the log by."""

    id: str
    session: SessionId
    conversation: ConversationId
    state: str
    attempt: int
    retry: Retry | None
    agent: str
    reference: str | None
    opened_at: datetime
    closed_at: datetime | None


class Sent(Struct, frozen=True, kw_only=True):
    """A delivery: one part on its way, or arrived."""

    id: int
    turn: str | None
    role: str
    part: int
    bot: str
    chat: str
    state: str
    message: str | None
    attempts: int
    not_before: datetime | None
    error: str | None
    created_at: datetime
    done_at: datetime | None


_i, _t, _d = inbox.c, turns.c, deliveries.c
_ROW = Sql(select(inbox).where(_i.id == integer("id")))
_ROWS_OF_TURN = Sql(select(inbox).where(_i.turn_id == text("turn")).order_by(_i.id))
_WINDOW = and_(_i.id > integer("after"), _i.id <= integer("upto"))
_BY_MESSAGE = Sql(select(inbox).where(_WINDOW, _i.message == text("message")).order_by(_i.id.desc()))
_BY_DETAIL = Sql(
    select(inbox)
    .where(_WINDOW, or_(_i.detail.in_((text("plain"), text("prefixed"))), remains.ENDS_WITH))
    .order_by(_i.id.desc())
)
_IN = Sql(
    select(inbox)
    .where(
        _WINDOW,
        or_(
            _i.conversation_id == integer("conversation"),
            and_(_i.conversation_id.is_(None), _i.bot == text("bot"), _i.chat == text("chat")),
        ),
    )
    .order_by(_i.id.desc())
    .limit(count("most"))
)
_TURN = Sql(select(turns).where(_t.id == text("id")))
_TURNS = select(turns).where(_t.id < text("before")).order_by(_t.id.desc()).limit(count("window")).subquery()
_BY_REFERENCE = Sql(select(_TURNS).where(_TURNS.c.reference == text("reference")).order_by(_TURNS.c.id.desc()))
_NEXT_TURNS = Sql(select(func.min(_TURNS.c.id).label("id")).select_from(_TURNS))
LATEST_TURN = "g"
"""Behind every id of a turn."""
_e = entries.c
_DATA_OF_TURN = Sql(
    select(_e.data)
    .where(_e.session_id == text("session"), _e.turn_id == text("turn"), _e.kind.in_(("user", "notice")))
    .order_by(_e.seq)
)
_PART = Sql(select(deliveries).where(_d.id == integer("id")))
_PARTS_OF_TURN = Sql(select(deliveries).where(_d.turn_id == text("turn")).order_by(_d.id))
_FAILED_OF_TURN = Sql(select(func.count()).select_from(deliveries).where(_d.turn_id == text("turn"), *remains.FAILED))
_PARTS_BY_MESSAGE = Sql(
    select(deliveries)
    .where(_d.id > integer("after"), _d.id <= integer("upto"), _d.message == text("message"))
    .order_by(_d.id.desc())
)
_UNSENT_IN = Sql(
    select(deliveries)
    .where(_d.state.in_(("queued", "sending")), _d.conversation_id == integer("conversation"))
    .order_by(_d.id)
    .limit(count("most"))
)
_LAST_ROW = Sql(select(func.coalesce(func.max(_i.id), 0)))
_LAST_PART = Sql(select(func.coalesce(func.max(_d.id), 0)))


def _received(row: Row) -> Received:
    conversation, done = row.integer_or_none("conversation_id"), row.text("state") == "done"
    detail = row.text_or_none("detail") or ""
    gone = remains.read(detail)
    return Received(
        id=row.integer("id"),
        event=row.text("dedupe"),
        message=row.text_or_none("message"),
        conversation=None if conversation is None else ConversationId(conversation),
        command=row.text_or_none("command"),
        state=row.text("state"),
        fate=row.text_or_none("fate"),
        detail=detail if gone is None else gone.reference,
        turn=row.text_or_none("turn_id"),
        gone=gone,
        bot=row.text("bot"),
        chat=row.text("chat"),
        identity=row.text_or_none("identity"),
        name=row.text_or_none("name"),
        text=None if done else row.text("text"),
        received_at=row.time("received_at"),
        done_at=row.time_or_none("done_at"),
    )


def _happened(row: Row) -> Happened:
    return Happened(
        id=row.text("id"),
        session=SessionId(row.text("session_id")),
        conversation=ConversationId(row.integer("conversation_id")),
        state=row.text("state"),
        attempt=row.integer("attempt"),
        retry=retry_of(row),
        agent=row.text("agent"),
        reference=row.text_or_none("reference"),
        opened_at=row.time("opened_at"),
        closed_at=row.time_or_none("closed_at"),
    )


def _sent(row: Row) -> Sent:
    return Sent(
        id=row.integer("id"),
        turn=row.text_or_none("turn_id"),
        role=row.text("role"),
        part=row.integer("part"),
        bot=row.text("bot"),
        chat=row.text("chat"),
        state=row.text("state"),
        message=row.text_or_none("message") or None,
        attempts=row.integer("attempts"),
        not_before=row.time_or_none("not_before"),
        error=row.text_or_none("error"),
        created_at=row.time("created_at"),
        done_at=row.time_or_none("done_at"),
    )


def row(tx: Tx, id_: int) -> list[Received]:
    return [_received(found) for found in tx.all(_ROW, id=id_)]


def rows_of_turn(tx: Tx, turn: str) -> list[Received]:
    return [_received(found) for found in tx.all(_ROWS_OF_TURN, turn=turn)]


def rows_by_message(tx: Tx, message: str, upto: int) -> list[Received]:
    """Of the window that ends with `upto`, newest first; `message` is the platform's id."""
    return [_received(found) for found in tx.all(_BY_MESSAGE, message=message, after=upto - WINDOW, upto=upto)]


def rows_by_reference(tx: Tx, reference: str, upto: int) -> list[Received]:
    """Of the window that ends with `upto`: messages that were answered with this reference, which is letters and
    digits."""
    found = tx.all(
        _BY_DETAIL, plain=reference, prefixed=f"internal:{reference}", after=upto - WINDOW, upto=upto
    )  # fmt: skip
    return [_received(row_) for row_ in found]


class Where(Struct, frozen=True, kw_only=True):
    """A conversation, and the chat in which messages for it were turned away before they belonged to it."""

    conversation: ConversationId | None
    bot: str
    chat: str


def rows_in(tx: Tx, where: Where, most: int, upto: int) -> list[Received]:
    """Of the window that ends with `upto`, the newest rows of a conversation and its chat."""
    found = tx.all(
        _IN, conversation=where.conversation or 0, bot=where.bot, chat=where.chat, most=most, after=upto - WINDOW,
        upto=upto,
    )  # fmt: skip
    return [_received(row_) for row_ in found]


def turn(tx: Tx, id_: str) -> list[Happened]:
    return [_happened(found) for found in tx.all(_TURN, id=id_)]


def limits_met(tx: Tx, turn_: Happened) -> tuple[str, ...]:
    """The limits that cut or ended a turn, by name."""
    rows = tx.all(_DATA_OF_TURN, session=turn_.session, turn=turn_.id)
    data = [json.loads(row_.text_or_none("data") or "{}") for row_ in rows]
    return tuple(dict.fromkeys(limit for one in data for limit in one.get("limits", ())))


def turns_by_reference(tx: Tx, reference: str, before: str) -> tuple[list[Happened], str | None]:
    """Of a window of turns before that id, newest first; and where the next window ends, None after the last one."""
    found = tx.all(_BY_REFERENCE, reference=reference, before=before, window=WINDOW)
    following = tx.one(_NEXT_TURNS, before=before, window=WINDOW)
    return [_happened(row_) for row_ in found], following.text_or_none("id") if following is not None else None


def part(tx: Tx, id_: int) -> list[Sent]:
    return [_sent(found) for found in tx.all(_PART, id=id_)]


def parts_of_turn(tx: Tx, turn_: str) -> list[Sent]:
    return [_sent(found) for found in tx.all(_PARTS_OF_TURN, turn=turn_)]


def is_unsent(tx: Tx, turn_: str) -> bool:
    """Was something that this turn said not sent?"""
    return tx.number(_FAILED_OF_TURN, turn=turn_) > 0


def parts_unsent(tx: Tx, conversation: ConversationId, most: int) -> list[Sent]:
    """What waits to be sent from a conversation."""
    return [_sent(found) for found in tx.all(_UNSENT_IN, conversation=conversation, most=most)]


def parts_by_message(tx: Tx, message: str, upto: int) -> list[Sent]:
    """Of the window that ends with `upto`, newest first; `message` is the platform's id."""
    return [_sent(found) for found in tx.all(_PARTS_BY_MESSAGE, message=message, after=upto - WINDOW, upto=upto)]


def last_row(tx: Tx) -> int:
    return tx.number(_LAST_ROW)


def last_part(tx: Tx) -> int:
    return tx.number(_LAST_PART)
