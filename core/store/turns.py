"""Turns: inbound messages answered together."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace
from sqlalchemy import func, select, update

from core.store.addresses import address_of
from core.store.conversations import ConversationId, SessionId
from core.store.sql import Row, Sql, Tx, insert, integer, text, to_us
from core.store.tables import turns
from core.vocabulary import Address, ChatKind, Outcome, TurnId

RUNNING = "running"


class Retry(StrEnum):
    """How a turn that ran when a process died is asked again (`core.desk.crash_retries`)."""

    WAITING = "waiting"
    """It waits to be asked again, beside others that were asked before it."""
    WAITING_ALONE = "waiting_alone"
    """It waits to be asked again while no other such turn runs."""
    SHARED = "shared"
    """It was asked while others of these turns ran: the death of this process counts against none."""
    ALONE = "alone"
    """It was asked while no other such turn ran: the death of this process counts against it."""


class Turn(Struct, frozen=True, kw_only=True):
    """`state` is running or an `Outcome`. `user_seq` is the seq of its last user entry. `attempt` counts
    the deaths of processes that it was blamed for, from 1. `retry` is None unless a process died while it ran."""

    id: TurnId
    conversation: ConversationId
    session: SessionId
    state: str
    attempt: int
    author: str
    address: Address
    kind: ChatKind
    user_seq: int
    agent: str
    opened_at: datetime
    usage: Mapping[str, int] = field(default_factory=dict)
    retry: Retry | None = None


_t = turns.c
_OPEN = _t.state.in_(("running", "suspended"))
"""As the partial index is defined: SQLite uses it only for a condition that it can see is its own."""
_INSERT = insert(
    turns, "id", "conversation_id", "session_id", "state", "attempt", "author", "bot", "chat", "thread", "reply_to",
    "kind", "user_seq", "agent", "opened_at",
)  # fmt: skip
_GET = Sql(select(turns).where(_t.id == text("id")))
_RUNNING = Sql(select(turns).where(_t.state == RUNNING).order_by(_t.opened_at, _t.id))
_RUNNING_IN = Sql(select(turns).where(_t.state == RUNNING, _t.conversation_id == integer("conversation")))
_SUSPENDED_IN = Sql(select(turns).where(_OPEN, _t.state == "suspended", _t.conversation_id == integer("conversation")))
_LAST_OF = Sql(select(turns).where(_t.session_id == text("session")).order_by(_t.user_seq.desc()).limit(1))
_BY = Sql(select(_t.id).where(_t.session_id == text("session"), _t.author == text("author")))
_CLOSE = Sql(
    update(turns)
    .where(_t.id == text("row"))
    .values(state=text("to"), closed_at=integer("at"), usage=text("used"), reference=text("ref"))
)
_TAKE_UP = Sql(update(turns).where(_t.id == text("row")).values(attempt=integer("n"), retry=text("to")))
_RETRY = Sql(update(turns).where(_t.id == text("row")).values(retry=text("to")))
_RETRY_NEW = Sql(update(turns).where(_t.state == RUNNING, _t.retry.is_(None)).values(retry=text("to")))
_RETRY_ON = Sql(update(turns).where(_t.state == RUNNING, _t.retry.in_(("shared", "alone"))).values(retry=text("to")))
_STEERED = Sql(update(turns).where(_t.id == text("row")).values(user_seq=integer("seq")))
_COUNTS = Sql(
    select(_t.state, func.count().label("n")).where(_t.state.in_(("running", "suspended"))).group_by(_t.state)
)
_OPEN_IN = Sql(
    select(func.count()).where(_t.state.in_(("running", "suspended")), _t.conversation_id == integer("conversation"))
)


_USED = Sql(select(_t.user_seq, _t.usage).where(_t.session_id == text("session"), _t.usage.isnot(None)))
_USED_SINCE = Sql(
    select(_t.usage).where(_t.author == text("author"), _t.opened_at >= integer("since"), _t.usage.isnot(None))
)


def retry_of(row: Row) -> Retry | None:
    retry = row.text_or_none("retry")
    return None if retry is None else Retry(retry)


def _from_row(row: Row) -> Turn:
    return Turn(
        id=TurnId(row.text("id")),
        conversation=ConversationId(row.integer("conversation_id")),
        session=SessionId(row.text("session_id")),
        state=row.text("state"),
        attempt=row.integer("attempt"),
        author=row.text("author"),
        address=address_of(row, row.text_or_none("reply_to")),
        kind=ChatKind(row.text("kind")),
        user_seq=row.integer("user_seq"),
        agent=row.text("agent"),
        opened_at=row.time("opened_at"),
        usage=json.loads(row.text_or_none("usage") or "{}"),
        retry=retry_of(row),
    )


def start(tx: Tx, turn: Turn) -> None:
    """Open a turn. The schema allows one running turn in a conversation."""
    address = turn.address
    tx.run(
        _INSERT, id=turn.id, conversation_id=turn.conversation, session_id=turn.session, state=turn.state,
        attempt=turn.attempt, author=turn.author, bot=address.bot, chat=address.chat, thread=address.thread,
        reply_to=address.reply_to, kind=turn.kind, user_seq=turn.user_seq, agent=turn.agent,
        opened_at=to_us(turn.opened_at),
    )  # fmt: skip


def state_of(tx: Tx, turn: TurnId) -> str | None:
    """None if there is none (any more)."""
    row = tx.one(_GET, id=turn)
    return None if row is None else row.text("state")


def get(tx: Tx, turn: TurnId) -> Turn:
    row = tx.one(_GET, id=turn)
    if row is None:
        raise LookupError(f"no turn {turn}")
    return _from_row(row)


def running(tx: Tx) -> list[Turn]:
    """Those that the last process left running, oldest first."""
    return [_from_row(row) for row in tx.all(_RUNNING)]


def running_in(tx: Tx, conversation: ConversationId) -> Turn | None:
    row = tx.one(_RUNNING_IN, conversation=conversation)
    return None if row is None else _from_row(row)


def suspended_in(tx: Tx, conversation: ConversationId) -> list[Turn]:
    return [_from_row(row) for row in tx.all(_SUSPENDED_IN, conversation=conversation)]


def open_in(tx: Tx, conversation: ConversationId) -> int:
    """How many turns of the conversation run or are suspended."""
    return tx.number(_OPEN_IN, conversation=conversation)


def last_of(tx: Tx, session: SessionId) -> Turn | None:
    row = tx.one(_LAST_OF, session=session)
    return None if row is None else _from_row(row)


def by(tx: Tx, session: SessionId, author: str) -> frozenset[TurnId]:
    """Those of a session that an identity began."""
    return frozenset(TurnId(row.text("id")) for row in tx.all(_BY, session=session, author=author))


def close(tx: Tx, turn: TurnId, outcome: Outcome, at: datetime, usage: Mapping[str, int], reference: str = "") -> None:
    """End or suspend it. `reference` is what people are told, to find the error in the log by."""
    tx.run(
        _CLOSE, row=turn, to=outcome, at=to_us(at), used=json.dumps(usage) if usage else None, ref=reference or None
    )  # fmt: skip


def process_died(tx: Tx) -> None:
    """Every turn that runs is to be asked again. A turn that ran alone counts as asked alone."""
    alone = counts(tx).get(RUNNING, 0) == 1
    tx.run(_RETRY_NEW, to=Retry.ALONE if alone else Retry.WAITING)


def process_stopped(tx: Tx) -> None:
    """The process was told to end: no turn that was asked again is to blame for that."""
    tx.run(_RETRY_ON, to=Retry.WAITING)


def after_death(turn: Turn) -> Turn:
    """As it is to be asked again by the process after the one that died."""
    if turn.retry in (None, Retry.WAITING):
        return turn
    return replace(turn, attempt=turn.attempt + (turn.retry is Retry.ALONE), retry=Retry.WAITING_ALONE)


def take_up(tx: Tx, turn: Turn) -> None:
    """Store its attempt, and how it is asked again."""
    tx.run(_TAKE_UP, row=turn.id, n=turn.attempt, to=turn.retry)


def ask_again(tx: Tx, turn: str, beside: Sequence[str]) -> None:
    """The turn's agent is about to be asked, while others run that were asked again before it."""
    tx.run(_RETRY, row=turn, to=Retry.SHARED if beside else Retry.ALONE)
    for other in beside:
        tx.run(_RETRY, row=other, to=Retry.SHARED)


def steered(tx: Tx, turn: TurnId, seq: int) -> None:
    tx.run(_STEERED, row=turn, seq=seq)


def counts(tx: Tx) -> dict[str, int]:
    """How many run and are suspended, in the whole store."""
    return {row.text("state"): row.integer("n") for row in tx.all(_COUNTS)}


def usage_of(tx: Tx, session: SessionId) -> dict[str, int]:
    """What all turns of a session used, by name."""
    return _sum(tx.all(_USED, session=session))


def usage_of_last(tx: Tx, session: SessionId) -> dict[str, int]:
    """What answering the last message used, of those for which anything was counted: a turn that waited for somebody
    and the one that went on are one answer."""
    rows = tx.all(_USED, session=session)
    last = max((row.integer("user_seq") for row in rows), default=0)
    return _sum([row for row in rows if row.integer("user_seq") == last])


def usage_since(tx: Tx, author: str, since: datetime) -> dict[str, int]:
    """What an identity's turns used that were opened since then, in all conversations."""
    return _sum(tx.all(_USED_SINCE, author=author, since=to_us(since)))


def _sum(rows: Sequence[Row]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for row in rows:
        total.update(json.loads(row.text("usage")))
    return dict(total)
