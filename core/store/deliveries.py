"""The outbox: every part of every reply, from its commit to what became of it.

`queued -> sending -> sent | failed | unknown`, and back to `queued` when it certainly did not arrive. A preview is
part 1 of an answer that is still being made: its row is `sending` from before the first send until `record` makes it
the reply, and holds the platform's id once that is known. Where the process dies in between, that id is not known
here, and the part may be doubtful: in the table its id is "" then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import asdict, replace
from sqlalchemy import delete, func, literal, select, union_all, update

from core.store.addresses import address_of
from core.store.conversations import ConversationId
from core.store.enclosures import kind_named
from core.store.files import Digest
from core.store.sql import Row, Sql, Tx, count, insert, integer, text, to_us
from core.store.tables import deliveries
from core.vocabulary import Address, BotName, Button, ChatId, ChatKind, DeliveryId, FileKind, MessageId, TurnId, UserId

QUEUED, SENDING, SENT, FAILED, UNKNOWN = "queued", "sending", "sent", "failed", "unknown"
PREVIEW, REPLY, NOTICE, UNKNOWN_NOTICE = "preview", "reply", "notice", "unknown_notice"


class SentFile(Struct, frozen=True, kw_only=True):
    """A file that goes out; it is kept under `digest`. `size` is in bytes."""

    digest: Digest
    kind: FileKind
    name: str
    media_type: str
    size: int


class Parcel(Struct, frozen=True, kw_only=True):
    """A delivery before it has an id: one part, one platform message."""

    conversation: ConversationId | None
    turn: TurnId | None
    role: str
    part: int
    address: Address
    kind: ChatKind
    text: str
    state: str = QUEUED
    buttons: tuple[Button, ...] = ()
    files: tuple[SentFile, ...] = ()
    alone: UserId | None = None
    """Who alone is to see it, although it is for a place where others are."""


class Posted(Struct, frozen=True, kw_only=True):
    """A delivery as stored. `message` is the platform's id where it is known: then sending means editing. `doubtful`:
    it may stand there already, saying something else, under an id that only the platform knows. To send it again tells
    that id; then it is edited."""

    id: DeliveryId
    conversation: ConversationId | None
    turn: TurnId | None
    role: str
    part: int
    address: Address
    kind: ChatKind
    text: str
    state: str
    message: MessageId | None
    attempts: int
    not_before: datetime | None
    created_at: datetime
    buttons: tuple[Button, ...] = ()
    files: tuple[SentFile, ...] = ()
    doubtful: bool = False
    alone: UserId | None = None


_WORDLESS = " "
_d = deliveries.c
_UNSENT = _d.state.in_(("queued", "sending"))
"""As the partial indexes are defined: SQLite uses them only for a condition that it can see is theirs."""
_OUTBOUND = _UNSENT, _d.role != PREVIEW
"""A preview is its turn's."""
_INSERT = insert(
    deliveries, "conversation_id", "turn_id", "role", "part", "bot", "chat", "thread", "reply_to", "kind", "text",
    "state", "attempts", "created_at", "buttons", "files", "alone", returning="id",
)  # fmt: skip
_GET = Sql(select(deliveries).where(_d.id == integer("id")))
_SENDING = Sql(
    update(deliveries).where(_d.id == integer("row")).values(state="sending", attempts=_d.attempts + 1, not_before=None)
)
_MARK = Sql(
    update(deliveries)
    .where(_d.id == integer("row"))
    .values(
        state=text("to"), message=func.coalesce(text("posted"), _d.message), error=text("why"), done_at=integer("at")
    )
)
_LATER = Sql(
    update(deliveries)
    .where(_d.id == integer("row"))
    .values(state="queued", not_before=integer("until"), error=text("why"))
)
_HOLD = Sql(update(deliveries).where(_d.id == integer("row")).values(message=text("posted")))
_STANDS = Sql(update(deliveries).where(_d.id == integer("row")).values(text=text("to_text"), buttons=None))
_GROWN = Sql(update(deliveries).where(_d.id == integer("row"), _d.role == PREVIEW).values(text=text("to_text")))
_SETTLE = Sql(
    update(deliveries)
    .where(_d.id == integer("row"))
    .values(
        role=text("to_role"), text=text("to_text"), state=text("to"), message=text("posted"), done_at=None,
        attempts=integer("tried"), buttons=text("to_buttons"),
    )
)  # fmt: skip
_LEAVE_THREAD = Sql(
    update(deliveries)
    .where(*_OUTBOUND, _d.bot == text("of_bot"), _d.chat == text("of_chat"), _d.thread == text("of_thread"))
    .values(thread=None, reply_to=None, kind=text("to_kind"))
)
_DROP = Sql(delete(deliveries).where(_d.id == integer("row")))
_NEXT = Sql(
    select(deliveries)
    .where(*_OUTBOUND, _d.bot == text("bot"), _d.chat == text("chat"), _d.id > integer("after"))
    .order_by(_d.id)
    .limit(count("most"))
)
_CHATS = Sql(select(_d.bot, _d.chat).where(*_OUTBOUND).group_by(_d.bot, _d.chat).order_by(func.min(_d.id)))
_LEFT_SENDING = Sql(select(deliveries).where(_UNSENT, _d.state == "sending"))
_FAIL_CHAT = Sql(
    update(deliveries)
    .where(_UNSENT, _d.state == "queued", _d.bot == text("bot"), _d.chat == text("chat"), _d.id >= integer("first"))
    .values(state="failed", error=text("why"), done_at=integer("at"))
)
_PREVIEW_OF = Sql(select(deliveries).where(_d.turn_id == text("turn"), _d.role == PREVIEW))
_OF_TURN = Sql(select(deliveries).where(_d.turn_id == text("turn"), _d.role == REPLY).order_by(_d.part, _d.id))
_UNSENT_IN = Sql(
    select(func.count()).select_from(deliveries).where(_UNSENT, _d.conversation_id == integer("conversation"))
)
_UNSENT_CHATS = Sql(
    select(_d.bot, _d.chat, _d.kind).where(*_OUTBOUND, _d.conversation_id == integer("conversation")).distinct()
)
_COUNTS = Sql(
    union_all(
        select(literal("queued").label("state"), func.count().label("n")).where(_UNSENT, _d.state == "queued"),
        select(literal("unknown").label("state"), func.count().label("n")).where(_d.state == "unknown"),
    )
)
_FAILED_SINCE = Sql(
    select(func.count()).select_from(deliveries).where(_d.state == "failed", _d.done_at > integer("since"))
)
_BLANK = Sql(
    update(deliveries)
    .where(
        _d.id.in_(
            select(_d.id).where(_d.done_at < integer("before"), _d.state == "sent", _d.text != "").limit(count("most"))
        )
    )
    .values(text="", buttons=None, files=None)
)
_FORGET = Sql(
    delete(deliveries).where(
        _d.id.in_(
            select(_d.id)
            .where(_d.done_at < integer("before"), _d.state.in_(("sent", "failed", "unknown")))
            .limit(count("most"))
        )
    )
)


def from_row(row: Row) -> Posted:
    conversation, turn = row.integer_or_none("conversation_id"), row.text_or_none("turn_id")
    message = row.text_or_none("message")
    return Posted(
        id=DeliveryId(row.integer("id")),
        conversation=None if conversation is None else ConversationId(conversation),
        turn=None if turn is None else TurnId(turn),
        role=row.text("role"),
        part=row.integer("part"),
        address=address_of(row, row.text_or_none("reply_to")),
        kind=ChatKind(row.text("kind")),
        text="" if (said := row.text("text")) == _WORDLESS else said,
        state=row.text("state"),
        message=MessageId(message) if message else None,
        attempts=row.integer("attempts"),
        not_before=row.time_or_none("not_before"),
        created_at=row.time("created_at"),
        buttons=_buttons(row.text_or_none("buttons")),
        files=files_of(row.text_or_none("files")),
        doubtful=message == "",
        alone=UserId(alone) if (alone := row.text_or_none("alone")) is not None else None,
    )


def _buttons(kept: str | None) -> tuple[Button, ...]:
    return () if kept is None else tuple(Button(**one) for one in json.loads(kept))


def files_of(kept: str | None) -> tuple[SentFile, ...]:
    listed = json.loads(kept) if kept is not None else ()
    return tuple(SentFile(**{**one, "kind": kind_named(one["kind"])}) for one in listed)


def _written(values: Sequence[Button] | Sequence[SentFile]) -> str | None:
    return json.dumps([asdict(one) for one in values]) if values else None


def _words(said: str, files: Sequence[SentFile]) -> str:
    """Files without words get a blank, so that the index of what can still be read there has their names too."""
    return said or (_WORDLESS if files else "")


def post(tx: Tx, parcel: Parcel, at: datetime) -> Posted:
    """Store one part; it is sent after everything stored before it for its chat."""
    address, attempts = parcel.address, int(parcel.state == SENDING)
    made = tx.number(
        _INSERT, conversation_id=parcel.conversation, turn_id=parcel.turn, role=parcel.role, part=parcel.part,
        bot=address.bot, chat=address.chat, thread=address.thread, reply_to=address.reply_to, kind=parcel.kind,
        text=_words(parcel.text, parcel.files), state=parcel.state, attempts=attempts, created_at=to_us(at),
        buttons=_written(parcel.buttons), files=_written(parcel.files), alone=parcel.alone,
    )  # fmt: skip
    return Posted(
        id=DeliveryId(made), conversation=parcel.conversation, turn=parcel.turn, role=parcel.role, part=parcel.part,
        address=address, kind=parcel.kind, text=parcel.text, state=parcel.state, message=None, attempts=attempts,
        not_before=None, created_at=at, buttons=parcel.buttons, files=parcel.files, alone=parcel.alone,
    )  # fmt: skip


def say(
    tx: Tx, address: Address, kind: ChatKind, said: str, at: datetime, conversation: ConversationId | None = None
) -> Posted:
    """Store one notice."""
    return post(tx, notice(address, kind, said, conversation), at)


def say_all(tx: Tx, whole: Parcel, parts: Iterable[str], at: datetime) -> list[Posted]:
    """Store one notice in several parts: the first alone points at what it answers."""
    return [post(tx, replace(whole, text=text, part=number), at) for number, text in enumerate(parts, start=1)]


def notice(address: Address, kind: ChatKind, said: str, conversation: ConversationId | None = None) -> Parcel:
    """What the desk itself says somewhere."""
    return Parcel(conversation=conversation, turn=None, role=NOTICE, part=1, address=address, kind=kind, text=said)


def get(tx: Tx, delivery: DeliveryId) -> Posted:
    row = tx.one(_GET, id=delivery)
    if row is None:
        raise LookupError(f"no delivery {delivery}")
    return from_row(row)


def sending(tx: Tx, delivery: DeliveryId) -> None:
    """Before the platform is called; counts an attempt."""
    tx.run(_SENDING, row=delivery)


def sent(tx: Tx, delivery: DeliveryId, message: MessageId | None, at: datetime) -> None:
    tx.run(_MARK, row=delivery, to=SENT, posted=message, why=None, at=to_us(at))


def failed(tx: Tx, delivery: DeliveryId, why: str, at: datetime) -> None:
    tx.run(_MARK, row=delivery, to=FAILED, posted=None, why=why, at=to_us(at))


def unknown(tx: Tx, delivery: DeliveryId, why: str, at: datetime) -> None:
    tx.run(_MARK, row=delivery, to=UNKNOWN, posted=None, why=why, at=to_us(at))


def later(tx: Tx, delivery: DeliveryId, until: datetime | None, why: str) -> None:
    """It certainly did not arrive; not before `until` again."""
    tx.run(_LATER, row=delivery, until=None if until is None else to_us(until), why=why)


def hold(tx: Tx, delivery: DeliveryId, message: MessageId) -> None:
    """A preview has its platform id."""
    tx.run(_HOLD, row=delivery, posted=message)


def grown(tx: Tx, preview: DeliveryId, said: str) -> None:
    """What a preview says by now; nothing where it is one no more."""
    tx.run(_GROWN, row=preview, to_text=said)


def stands(tx: Tx, posted: Posted) -> None:
    """What was sent says this by now, and has no buttons any more."""
    tx.run(_STANDS, row=posted.id, to_text=posted.text)


def settle(tx: Tx, posted: Posted) -> None:
    """Make the row be this: a preview becomes part 1 of what is said in the end, an edit a send or the other way."""
    message = "" if posted.doubtful and posted.message is None else posted.message
    tx.run(
        _SETTLE, row=posted.id, to_role=posted.role, to_text=_words(posted.text, posted.files), to=posted.state,
        posted=message, tried=posted.attempts, to_buttons=_written(posted.buttons),
    )  # fmt: skip


def in_chat(posted: Posted) -> Posted:
    """The part without its thread."""
    address = replace(posted.address, thread=None, reply_to=None)
    kind = ChatKind.GROUP if posted.kind is ChatKind.THREAD else posted.kind
    return replace(posted, address=address, kind=kind)


def leave_thread(tx: Tx, posted: Posted) -> None:
    """What waits for this part's thread goes to the chat, as `in_chat`."""
    left, kind = posted.address, in_chat(posted).kind
    tx.run(_LEAVE_THREAD, of_bot=left.bot, of_chat=left.chat, of_thread=left.thread, to_kind=kind)


def drop(tx: Tx, delivery: DeliveryId) -> None:
    """Take away a preview that nobody can have seen, or whose fate no longer matters."""
    tx.run(_DROP, row=delivery)


def unsent(tx: Tx, bot: BotName, chat: ChatId, after: int, most: int) -> list[Posted]:
    """What waits for one chat, in order. Previews are not among it: their turn owns them."""
    return [from_row(row) for row in tx.all(_NEXT, bot=bot, chat=chat, after=after, most=most)]


def chats(tx: Tx) -> list[tuple[BotName, ChatId]]:
    """Where something waits, oldest first."""
    return [(BotName(row.text("bot")), ChatId(row.text("chat"))) for row in tx.all(_CHATS)]


def left_sending(tx: Tx) -> list[Posted]:
    """What the last process was sending when it died, previews included."""
    return sorted((from_row(row) for row in tx.all(_LEFT_SENDING)), key=lambda posted: posted.id)


def fail_chat(tx: Tx, bot: BotName, chat: ChatId, first: DeliveryId, why: str, at: datetime) -> int:
    """The chat is dead: what waits for it fails."""
    return tx.run(_FAIL_CHAT, bot=bot, chat=chat, first=first, why=why, at=to_us(at))


def preview_of(tx: Tx, turn: TurnId) -> Posted | None:
    row = tx.one(_PREVIEW_OF, turn=turn)
    return None if row is None else from_row(row)


def of_turn(tx: Tx, turn: TurnId) -> list[Posted]:
    """The parts of a turn's reply."""
    return [from_row(row) for row in tx.all(_OF_TURN, turn=turn)]


def unsent_in(tx: Tx, conversation: ConversationId) -> int:
    return tx.number(_UNSENT_IN, conversation=conversation)


def unsent_chats(tx: Tx, conversation: ConversationId) -> list[tuple[BotName, ChatId, ChatKind]]:
    """Where something of one conversation waits."""
    rows = tx.all(_UNSENT_CHATS, conversation=conversation)
    return [(BotName(row.text("bot")), ChatId(row.text("chat")), ChatKind(row.text("kind"))) for row in rows]


def counts(tx: Tx, since: datetime) -> dict[str, int]:
    """Queued and unknown ones, and those that failed since then."""
    found = {row.text("state"): row.integer("n") for row in tx.all(_COUNTS)}
    return {**found, FAILED: tx.number(_FAILED_SINCE, since=to_us(since))}


def blank(tx: Tx, before: datetime, most: int) -> int:
    """Forget what was said in parts that were sent before then; how many."""
    return tx.run(_BLANK, before=to_us(before), most=most)


def forget(tx: Tx, before: datetime, most: int) -> int:
    """Remove parts that were done with before then; how many."""
    return tx.run(_FORGET, before=to_us(before), most=most)
