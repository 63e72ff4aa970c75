"""Conversations and the session keys that lead to them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NewType

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import delete, func, select, update

from core.errors import FenceLost
from core.store.addresses import address_of
from core.store.sql import Row, Sql, Tx, count, insert, integer, text, to_us
from core.store.tables import conversations, inbox, keys, sessions
from core.vocabulary import Address, ChatKind

ConversationId = NewType("ConversationId", int)
"""Unique in the store."""
SessionId = NewType("SessionId", str)
"""UUIDv7, unique everywhere."""


class Conversation(Struct, frozen=True, kw_only=True):
    """What keys lead to. `session` is the last one, ended or not. `fence` counts owners, `generation` resets."""

    id: ConversationId
    session: SessionId | None
    generation: int
    fence: int
    agent: str | None
    model: str | None
    address: Address
    kind: ChatKind
    told: str | None
    """What its next message is to be met with."""

    @property
    def told_lines(self) -> list[str]:
        return (self.told or "").splitlines()


_c = conversations.c
_FIND = Sql(select(keys.c.conversation_id).where(keys.c.key == text("key")))
_KEYS = Sql(select(keys.c.key).where(keys.c.conversation_id == integer("id")).order_by(keys.c.created_at, keys.c.key))
_LOCK = Sql(select(conversations).where(_c.id == integer("id")).with_for_update())
_GET = Sql(select(conversations).where(_c.id == integer("id")))
_LAST_HEARD = Sql(
    select(conversations, sessions.c.last_human_at)
    .join_from(conversations, sessions, sessions.c.id == _c.session_id)
    .where(_c.bot == text("bot"), sessions.c.touched_at > 0)
    .order_by(sessions.c.touched_at.desc(), sessions.c.id.desc())
    .limit(count("most"))
)
"""By the index on `touched_at`, up to as many as are wanted; SQLite takes it for what it can see is a part of it."""
_WAITED_IN = Sql(
    select(conversations, func.max(inbox.c.received_at).label("last_human_at"))
    .join_from(inbox, conversations, inbox.c.conversation_id == _c.id)
    .where(inbox.c.state != "done", _c.bot == text("bot"))
    .group_by(_c.id)
    .order_by(func.max(inbox.c.received_at).desc())
    .limit(count("most"))
)
_BY_SESSION = Sql(select(_c.id).where(_c.session_id == text("session")))
_INSERT = insert(conversations, "generation", "fence", "bot", "chat", "thread", "kind", "created_at", returning="id")
_INSERT_KEY = insert(keys, "key", "conversation_id", "created_at", returning="key", once=["key"])
_DELETE = Sql(delete(conversations).where(_c.id == integer("id")))
_RAISE_FENCE = Sql(update(conversations).where(_c.id == integer("row")).values(fence=integer("to")))
_POINT = Sql(
    update(conversations).where(_c.id == integer("row")).values(session_id=text("session"), generation=integer("gen"))
)
_MOVE = Sql(
    update(conversations)
    .where(_c.id == integer("row"))
    .values(bot=text("to_bot"), chat=text("to_chat"), thread=text("to_thread"), kind=text("to_kind"))
)
_CHOOSE = Sql(
    update(conversations).where(_c.id == integer("row")).values(agent=text("to_agent"), model=text("to_model"))
)
_TELL = Sql(update(conversations).where(_c.id == integer("row")).values(told=text("notice")))


def _from_row(row: Row) -> Conversation:
    session = row.text_or_none("session_id")
    return Conversation(
        id=ConversationId(row.integer("id")),
        session=None if session is None else SessionId(session),
        generation=row.integer("generation"),
        fence=row.integer("fence"),
        agent=row.text_or_none("agent"),
        model=row.text_or_none("model"),
        address=address_of(row),
        kind=ChatKind(row.text("kind")),
        told=row.text_or_none("told"),
    )


def find(tx: Tx, key: str) -> ConversationId | None:
    found = tx.maybe_number(_FIND, key=key)
    return None if found is None else ConversationId(found)


def keys_of(tx: Tx, conversation: ConversationId) -> list[str]:
    """The session keys that lead to it, oldest first."""
    return [row.text("key") for row in tx.all(_KEYS, id=conversation)]


def ensure(tx: Tx, key: str, address: Address, kind: ChatKind, at: datetime) -> ConversationId:
    """The key's conversation; created if there is none. Creating what exists is a no-op, also in a race."""
    found = find(tx, key)
    if found is not None:
        return found
    made = tx.number(
        _INSERT, generation=0, fence=0, bot=address.bot, chat=address.chat, thread=address.thread, kind=kind,
        created_at=to_us(at),
    )  # fmt: skip
    if tx.one(_INSERT_KEY, key=key, conversation_id=made, created_at=to_us(at)) is not None:
        return ConversationId(made)
    tx.run(_DELETE, id=made)
    found = find(tx, key)
    if found is None:
        raise LookupError(f"the key {key!r} is held by a transaction that can't be seen")
    return found


def get(tx: Tx, conversation: ConversationId) -> Conversation:
    row = tx.one(_GET, id=conversation)
    if row is None:
        raise LookupError(f"no conversation {conversation}")
    return _from_row(row)


def holding(tx: Tx, session: SessionId) -> ConversationId | None:
    """The conversation whose last session this is."""
    found = tx.maybe_number(_BY_SESSION, session=session)
    return None if found is None else ConversationId(found)


def last_heard(tx: Tx, bot: str, most: int) -> list[tuple[Conversation, datetime]]:
    """Where people last talked with a bot, and when, the latest first; also where something waits to be answered."""
    waiting = tx.all(_WAITED_IN, bot=bot, most=most)
    rows = [*waiting, *tx.all(_LAST_HEARD, bot=bot, most=most)]
    found = {row.integer("id"): (_from_row(row), row.time("last_human_at")) for row in reversed(rows)}
    return sorted(found.values(), key=lambda one: one[1], reverse=True)[:most]


def lock(tx: Tx, conversation: ConversationId) -> Conversation:
    """The first statement of every unit that touches a conversation; others wait until this transaction ends."""
    row = tx.one(_LOCK, id=conversation)
    if row is None:
        raise LookupError(f"no conversation {conversation}")
    return _from_row(row)


def own(tx: Tx, conversation: ConversationId, fence: int | None) -> Conversation:
    """Lock it as its owner. The owner's first unit comes without a fence and raises it, which shuts out whoever owned
    the conversation before.

    Raises `FenceLost` when another owner raised it since.
    """
    locked = lock(tx, conversation)
    if fence is None:
        tx.run(_RAISE_FENCE, row=conversation, to=locked.fence + 1)
        return replace(locked, fence=locked.fence + 1)
    if fence != locked.fence:
        raise FenceLost(f"conversation {conversation} has another owner")
    return locked


def point(tx: Tx, conversation: Conversation, session: SessionId | None, generation: int) -> Conversation:
    """Make this its last session."""
    tx.run(_POINT, row=conversation.id, session=session, gen=generation)
    return replace(conversation, session=session, generation=generation)


def speak_from(tx: Tx, conversation: Conversation, address: Address, kind: ChatKind) -> None:
    """Remember where people spoke last."""
    last = replace(address, reply_to=None)
    if last != conversation.address or kind != conversation.kind:
        tx.run(
            _MOVE, row=conversation.id, to_bot=last.bot, to_chat=last.chat, to_thread=last.thread, to_kind=kind
        )  # fmt: skip


def choose(tx: Tx, conversation: ConversationId, *, agent: str | None, model: str | None) -> None:
    """Who answers there from now on; None: whoever does where nobody chose."""
    tx.run(_CHOOSE, row=conversation, to_agent=agent, to_model=model)


def tell(tx: Tx, conversation: ConversationId, notice: str) -> None:
    """Leave a line for the conversation's next message, beside others that are left for it; the same one only once."""
    told = lock(tx, conversation).told_lines
    if notice not in told:
        leave_told(tx, conversation, [*told, notice])


def leave_told(tx: Tx, conversation: ConversationId, lines: Iterable[str]) -> None:
    """Its next message is met with these, and nothing else."""
    tx.run(_TELL, row=conversation, notice="\n".join(lines) or None)
