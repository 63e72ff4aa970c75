"""Small stores to test with: conversations, sessions, entries, turns and rows as the desk would have made them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from core.store import conversations, deliveries, entries, inbox, sessions, turns
from core.store.conversations import ConversationId, SessionId
from core.store.deliveries import Parcel
from core.store.entries import Draft, Kind
from core.store.inbox import Arrival, Lane
from core.store.sessions import Session
from core.store.sql import Tx
from core.store.turns import RUNNING, Turn
from core.vocabulary import Address, BotName, ChatId, ChatKind, DeliveryId, MessageId, RowId, TurnId

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def address(chat: str) -> Address:
    return Address(bot=BotName("telegram"), chat=ChatId(chat))


def converse(tx: Tx, chat: str = "7") -> ConversationId:
    return conversations.ensure(tx, f"telegram/dm/{chat}", address(chat), ChatKind.DIRECT, NOW)


def begin(tx: Tx, conversation: ConversationId, name: str, identity: str = "telegram:7") -> Session:
    """Start a session and make it the conversation's last."""
    locked = conversations.lock(tx, conversation)
    session = Session(
        id=SessionId(name), conversation=conversation, generation=locked.generation + 1, reset=None, started_at=NOW,
        last_human_at=NOW, touched_at=NOW, ended_at=None, end_reason=None, expires_at=None, title=None,
        bot=BotName("telegram"), kind=ChatKind.DIRECT, head=0, model_head=0, messages=0,
    )  # fmt: skip
    sessions.start(tx, session)
    sessions.join(tx, session.id, identity)
    conversations.point(tx, locked, session.id, session.generation)
    return session


def say(tx: Tx, session: SessionId, *texts: str, kind: Kind = Kind.USER) -> Session:
    """Append under the conversation's lock, as the desk does."""
    conversations.lock(tx, sessions.get(tx, session).conversation)
    grown, _ = entries.append(
        tx, sessions.get(tx, session), [Draft(kind=kind, text=text) for text in texts], NOW
    )  # fmt: skip
    return grown


def arrive(tx: Tx, conversation: ConversationId, message: str, text: str = "hello") -> RowId | None:
    arrival = Arrival(
        account="telegram:1", dedupe=f"m:7:{message}", message=MessageId(message), address=address("7"),
        kind=ChatKind.DIRECT, identity="telegram:7", name="Ada", role="user", text=text, lane=Lane.ORDERED,
        command=None, more_likely=False, sent_at=NOW,
    )  # fmt: skip
    return inbox.arrive(tx, arrival, conversation, NOW)


def open_turn(tx: Tx, session: Session, name: str = "t1", state: str = RUNNING) -> TurnId:
    turns.start(
        tx,
        Turn(
            id=TurnId(name), conversation=session.conversation, session=session.id, state=state, attempt=1,
            author="telegram:7", address=address("7"), kind=ChatKind.DIRECT, user_seq=session.head, agent="default",
            opened_at=NOW,
        ),
    )  # fmt: skip
    return TurnId(name)


def reply(tx: Tx, conversation: ConversationId, turn: TurnId | None, text: str = "answer") -> DeliveryId:
    parcel = Parcel(
        conversation=conversation, turn=turn, role=deliveries.REPLY, part=1, address=address("7"),
        kind=ChatKind.DIRECT, text=text,
    )  # fmt: skip
    return deliveries.post(tx, parcel, NOW).id
