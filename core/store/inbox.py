"""The inbox: what people said, from the moment it is durable to its fate.

A row is `pending`, then `taken` by a turn, then `done` with exactly one fate; the text goes when the fate comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from sqlalchemy import and_, case, delete, func, select, update

from core.faultpoints import faultpoint
from core.store import enclosures, facts
from core.store.addresses import address_of
from core.store.conversations import ConversationId
from core.store.enclosures import NOTHING, Enclosed
from core.store.sql import Row, Sql, Tx, count, insert, integer, text, to_us
from core.store.tables import idempotency, inbox
from core.vocabulary import Address, ChatKind, MessageId, RowId, TurnId


class Lane(StrEnum):
    INSTANT = "instant"
    CONTROL = "control"
    ORDERED = "ordered"
    NONE = "none"
    """Dropped at the gate."""


SPENT = ""
"""The command of a row that was one and is a message now: it is not joined with its neighbours, nor edited."""


class Fate(StrEnum):
    ANSWERED = "answered"
    MERGED = "merged"
    CLOSED = "closed"
    REFUSED = "refused"
    IGNORED = "ignored"
    STALE = "stale"


class Arrival(Struct, frozen=True, kw_only=True):
    """An inbox row before it is stored. `identity` is `platform:USER` or `platform:REALM/USER`."""

    account: str
    dedupe: str
    message: MessageId | None
    address: Address
    kind: ChatKind
    identity: str | None
    name: str
    role: str
    text: str
    lane: Lane
    command: str | None
    more_likely: bool
    sent_at: datetime
    tools: str = ""
    """What a client brought along, as JSON; "" for none."""
    enclosed: Enclosed = NOTHING


class Waiting(Struct, frozen=True, kw_only=True):
    """An inbox row that has no fate yet."""

    id: RowId
    conversation: ConversationId | None
    lane: Lane
    command: str | None
    state: str
    turn: TurnId | None
    address: Address
    kind: ChatKind
    message: MessageId | None
    identity: str
    name: str
    role: str
    text: str
    more_likely: bool
    sent_at: datetime
    received_at: datetime
    tools: str = ""
    enclosed: Enclosed = NOTHING
    reads: int = 0
    """In how many processes its files began to be read."""


class Kept(Struct, frozen=True, kw_only=True):
    """What is known of any row, for receipts and `explain`."""

    id: RowId
    state: str
    fate: str | None
    detail: str | None
    turn: TurnId | None
    conversation: ConversationId | None


_i = inbox.c
_UNDONE = _i.state != "done"
"""As the partial index is defined: SQLite uses it only for a condition that it can see is its own."""
_INSERT = insert(
    inbox, "account", "dedupe", "message", "conversation_id", "lane", "command", "state", "fate", "detail", "bot",
    "chat", "thread", "kind", "identity", "name", "role", "text", "more_likely", "sent_at", "received_at", "done_at",
    "tools", "enclosed",
    returning="id", once=["account", "dedupe"],
)  # fmt: skip
_SAME = Sql(select(inbox).where(_i.account == text("account"), _i.dedupe == text("dedupe")))
_GET = Sql(select(inbox).where(_i.id == integer("id")))
_PENDING_ONE = Sql(select(inbox).where(_i.id == integer("id"), _i.state == "pending"))
_PENDING = Sql(
    select(inbox).where(_UNDONE, _i.state == "pending", _i.id > integer("after")).order_by(_i.id).limit(count("most"))
)
_PENDING_IN = Sql(
    select(inbox)
    .where(_i.state == "pending", _i.conversation_id == integer("conversation"), _i.id > integer("after"))
    .order_by(_i.id)
    .limit(count("most"))
)
_WAITING_IN = Sql(
    select(func.count()).select_from(
        select(_i.id)
        .where(_i.state == "pending", _i.conversation_id == integer("conversation"))
        .limit(count("most"))
        .subquery()
    )
)
_TAKEN_BY = Sql(select(inbox).where(_i.turn_id == text("turn"), _i.state == "taken").order_by(_i.id))
_TAKE = Sql(
    update(inbox).where(_i.id == integer("row"), _i.state == "pending").values(state="taken", turn_id=text("turn"))
)
_FINISH = Sql(
    update(inbox)
    .where(_i.id == integer("row"), _i.state != "done")
    .values(
        state="done", fate=text("to"), detail=text("why"), text="", tools=None, enclosed=None, done_at=integer("at")
    )
)
_taken = inbox.alias("taken")
_last_taken = select(func.max(_taken.c.id)).where(_taken.c.turn_id == text("turn"), _taken.c.state == "taken")
_is_last = _i.id == _last_taken.scalar_subquery()
_FINISH_TURN = Sql(
    update(inbox)
    .where(_i.turn_id == text("turn"), _i.state == "taken")
    .values(
        state="done",
        fate=case((_is_last, Fate.ANSWERED.value), else_=Fate.MERGED.value),
        detail=case((_is_last, text("why")), else_=text("turn")),
        text="",
        tools=None,
        enclosed=None,
        done_at=integer("at"),
    )
)
_RELEASE = Sql(
    update(inbox).where(_i.turn_id == text("turn"), _i.state == "taken").values(state="pending", turn_id=None)
)
_MOVE = Sql(update(inbox).where(_i.turn_id == text("turn"), _i.state == "taken").values(turn_id=text("to")))
_BECOME = Sql(
    update(inbox)
    .where(_i.id == integer("row"), _i.state == "pending")
    .values(lane="ordered", command=SPENT, text=text("to_text"))
)
_EDIT = Sql(
    update(inbox)
    .where(
        and_(
            _i.account == text("for_account"),
            _i.dedupe == text("for_dedupe"),
            _i.identity == text("by"),
            _i.state == "pending",
            _i.lane == "ordered",
            _i.command.is_(None),
        )
    )
    .values(text=text("to_text"))
)
_ENCLOSE = Sql(update(inbox).where(_i.id == integer("row"), _i.state == "pending").values(enclosed=text("to_enclosed")))
_READ = Sql(update(inbox).where(_i.id == integer("row"), _i.state == "pending").values(reads=_i.reads + 1))
_READ_NOT = Sql(update(inbox).where(_i.id == integer("row"), _i.state == "pending").values(reads=_i.reads - 1))
_OLD_PENDING = Sql(
    select(inbox)
    .where(_UNDONE, _i.state == "pending", _i.received_at < integer("before"))
    .order_by(_i.id)
    .limit(count("most"))
)
_TALK_WAITS = Sql(
    select(func.count())
    .select_from(inbox)
    .where(
        _i.state == "pending", _i.conversation_id == integer("conversation"), _i.lane == "ordered",
        func.coalesce(_i.command, SPENT) == SPENT,
    )
)  # fmt: skip
_PENDING_COUNT = Sql(select(func.count()).select_from(inbox).where(_i.state == "pending"))
_FORGET = Sql(
    delete(inbox).where(
        _i.id.in_(
            select(_i.id)
            .where(
                _i.done_at < integer("before"),
                ~select(idempotency.c.row_id).where(idempotency.c.row_id == _i.id).exists(),
            )
            .limit(count("most"))
        )
    )
)
_old = (
    select(_i.id)
    .where(_i.id > integer("after"), _i.received_at < integer("before"))
    .order_by(_i.id)
    .limit(count("most"))
    .subquery("old")
)
_NEXT_OLD = Sql(select(func.count().label("found"), func.max(_old.c.id).label("last")).select_from(_old))
_FORGET_IGNORED = Sql(
    delete(inbox).where(
        _i.id > integer("after"), _i.id <= integer("upto"), _i.fate == Fate.IGNORED.value,
        ~select(idempotency.c.row_id).where(idempotency.c.row_id == _i.id).exists(),
    )
)  # fmt: skip
_LOOKED = "inbox:ignored"
"""A fact: up to which row those that were ignored are gone."""


def _address(row: Row) -> Address:
    """An answer names the message that it answers."""
    return address_of(row, row.text_or_none("message"))


def _waiting(row: Row) -> Waiting:
    conversation, message, turn = (
        row.integer_or_none("conversation_id"),
        row.text_or_none("message"),
        row.text_or_none("turn_id"),
    )
    return Waiting(
        id=RowId(row.integer("id")),
        conversation=None if conversation is None else ConversationId(conversation),
        lane=Lane(row.text("lane")),
        command=row.text_or_none("command"),
        state=row.text("state"),
        turn=None if turn is None else TurnId(turn),
        address=_address(row),
        kind=ChatKind(row.text("kind")),
        message=None if message is None else MessageId(message),
        identity=row.text_or_none("identity") or "",
        name=row.text_or_none("name") or "",
        role=row.text_or_none("role") or "",
        text=row.text("text"),
        more_likely=bool(row.integer("more_likely")),
        sent_at=row.time("sent_at"),
        received_at=row.time("received_at"),
        tools=row.text_or_none("tools") or "",
        enclosed=enclosures.read(row.text_or_none("enclosed")),
        reads=row.integer("reads"),
    )


def _kept(row: Row) -> Kept:
    turn, conversation = row.text_or_none("turn_id"), row.integer_or_none("conversation_id")
    return Kept(
        id=RowId(row.integer("id")),
        state=row.text("state"),
        fate=row.text_or_none("fate"),
        detail=row.text_or_none("detail"),
        turn=None if turn is None else TurnId(turn),
        conversation=None if conversation is None else ConversationId(conversation),
    )


def arrive(tx: Tx, arrival: Arrival, conversation: ConversationId | None, at: datetime) -> RowId | None:
    """Store a row that waits. None: an event with its id was stored before."""
    return _store(tx, arrival, conversation, at, ("pending", None, None))


def drop(tx: Tx, arrival: Arrival, fate: Fate, why: str, at: datetime) -> RowId | None:
    """Store that it came and why nothing comes of it; its text is not kept."""
    return _store(tx, arrival, None, at, ("done", fate, why))


def _store(
    tx: Tx, arrival: Arrival, conversation: ConversationId | None, at: datetime, end: tuple[str, str | None, str | None]
) -> RowId | None:
    state, fate, detail = end
    done = state == "done"
    address = arrival.address
    found = tx.maybe_number(
        _INSERT, account=arrival.account, dedupe=arrival.dedupe, message=arrival.message,
        conversation_id=conversation, lane=arrival.lane, command=arrival.command, state=state, fate=fate,
        detail=detail, bot=address.bot, chat=address.chat, thread=address.thread, kind=arrival.kind,
        identity=arrival.identity, name=arrival.name, role=arrival.role, text="" if done else arrival.text,
        more_likely=int(arrival.more_likely), sent_at=to_us(arrival.sent_at), received_at=to_us(at),
        done_at=to_us(at) if done else None, tools=(arrival.tools or None) if not done else None,
        enclosed=None if done else enclosures.written(arrival.enclosed),
    )  # fmt: skip
    return None if found is None else RowId(found)


def same(tx: Tx, account: str, dedupe: str) -> Kept | None:
    """The row that holds this event."""
    row = tx.one(_SAME, account=account, dedupe=dedupe)
    return None if row is None else _kept(row)


def kept(tx: Tx, row: RowId) -> Kept | None:
    found = tx.one(_GET, id=row)
    return None if found is None else _kept(found)


def came_from(tx: Tx, row: RowId) -> Address | None:
    """Where a row came from."""
    found = tx.one(_GET, id=row)
    return None if found is None else _address(found)


def pending(tx: Tx, row: RowId) -> Waiting | None:
    """The row, if it still waits."""
    found = tx.one(_PENDING_ONE, id=row)
    return None if found is None else _waiting(found)


def pending_after(tx: Tx, after: int, most: int) -> list[Waiting]:
    """All that waits, in order of acceptance, in pieces."""
    return [_waiting(row) for row in tx.all(_PENDING, after=after, most=most)]


def pending_in(tx: Tx, conversation: ConversationId, after: int = 0, most: int = 1 << 30) -> list[Waiting]:
    return [_waiting(row) for row in tx.all(_PENDING_IN, conversation=conversation, after=after, most=most)]


def waiting_in(tx: Tx, conversation: ConversationId, most: int) -> int:
    """How many rows wait in a conversation, counted up to `most`."""
    return tx.number(_WAITING_IN, conversation=conversation, most=most)


def talk_waits(tx: Tx, conversation: ConversationId) -> bool:
    """Does anything but commands wait in a conversation?"""
    return tx.number(_TALK_WAITS, conversation=conversation) > 0


def pending_count(tx: Tx) -> int:
    return tx.number(_PENDING_COUNT)


def old_pending(tx: Tx, before: datetime, most: int) -> list[Waiting]:
    """Rows that wait since before then, in order."""
    return [_waiting(row) for row in tx.all(_OLD_PENDING, before=to_us(before), most=most)]


def taken_by(tx: Tx, turn: TurnId) -> list[Waiting]:
    return [_waiting(row) for row in tx.all(_TAKEN_BY, turn=turn)]


def take(tx: Tx, rows: Sequence[RowId], turn: TurnId) -> None:
    """A turn takes rows that wait."""
    for row in rows:
        if tx.run(_TAKE, row=row, turn=turn) != 1:
            raise LookupError(f"row {row} does not wait")


def release(tx: Tx, turn: TurnId) -> None:
    """What the turn took waits again."""
    tx.run(_RELEASE, turn=turn)


def move(tx: Tx, turn: TurnId, to: TurnId) -> None:
    """What an interrupted turn took goes into the next one."""
    tx.run(_MOVE, turn=turn, to=to)


def finish(tx: Tx, row: RowId, fate: Fate, at: datetime, why: str = "") -> bool:
    """Give a row its fate; False if it had one."""
    return tx.run(_FINISH, row=row, to=fate, why=why, at=to_us(at)) == 1


def finish_turn(tx: Tx, turn: TurnId, at: datetime, why: str = "") -> None:
    """Every row that the turn took: the last one is answered, those before it were merged into it."""
    tx.run(_FINISH_TURN, turn=turn, why=why, at=to_us(at))


def close_before(
    tx: Tx, conversation: ConversationId, before: RowId, at: datetime, whose: str | None = None
) -> list[RowId]:
    """A control command closes what was accepted before it and still waits in order, of one identity or (None) of all;
    which rows these were. A control row among them is a `/steer` that no turn took: any other has been carried out
    before its successor."""
    rows = [row for row in pending_in(tx, conversation) if row.id < before and row.lane in (Lane.ORDERED, Lane.CONTROL)]
    meant = [row.id for row in rows if whose is None or row.identity == whose]
    return [row for row in meant if finish(tx, row, Fate.CLOSED, at, str(before))]


def become_message(tx: Tx, row: RowId, said: str) -> bool:
    """A command whose effect is a turn goes on as an ordinary message with its own id, hence at its own place."""
    return tx.run(_BECOME, row=row, to_text=said) == 1


def edit(tx: Tx, account: str, dedupe: str, identity: str, said: str) -> bool:
    """Replace the text of an ordinary message that still waits, for the one who sent it; False if none waits."""
    return tx.run(_EDIT, for_account=account, for_dedupe=dedupe, by=identity, to_text=said) == 1


def enclose(tx: Tx, row: RowId, enclosed: Enclosed) -> bool:
    """Keep what became of the files of a row that still waits; False if it does not."""
    waits = tx.run(_ENCLOSE, row=row, to_enclosed=enclosures.written(enclosed)) == 1
    faultpoint("attachments.written", row)
    return waits


def reading(tx: Tx, row: RowId) -> None:
    """This process is about to read the row's files, for the first time."""
    tx.run(_READ, row=row)


def reading_stopped(tx: Tx, row: RowId) -> None:
    """This process ends without having died of them."""
    tx.run(_READ_NOT, row=row)


def forget(tx: Tx, before: datetime, most: int) -> int:
    """Remove rows that were done before then and that no kept answer refers to; how many."""
    return tx.run(_FORGET, before=to_us(before), most=most)


def forget_ignored(tx: Tx, before: datetime, most: int) -> int:
    """Remove rows that were ignored and came before then; at how many it looked. Each row is looked at once."""
    after = int(facts.get(tx, _LOOKED) or 0)
    found = tx.one(_NEXT_OLD, after=after, before=to_us(before), most=most)
    last = None if found is None else found.integer_or_none("last")
    if found is None or last is None:
        return 0
    tx.run(_FORGET_IGNORED, after=after, upto=last)
    facts.put(tx, _LOOKED, str(last))
    return found.integer("found")
