"""Open calls of suspended turns: each waits for a person, or for the client that brought the tool."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NewType

from msgspec import Struct
from sqlalchemy import select, update

from core.store import buttons
from core.store.conversations import ConversationId
from core.store.sql import Row, Sql, Tx, count, insert, integer, text, to_us
from core.store.tables import consents, deliveries, turns
from core.store.turns import Turn
from core.vocabulary import Address, DeliveryId, TurnId

ConsentId = NewType("ConsentId", str)
"""Random, unique in the store; what a person types or a button carries."""
KNOWN_FOR: Final = timedelta(hours=1)
"""How long after its time is over a question is known, so that whoever answers it is told that it has expired."""


class ConsentState(StrEnum):
    OPEN = "open"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CLOSED = "closed"


class Waits(StrEnum):
    """For whom a call waits."""

    CONSENT = "consent"
    CLIENT = "client"


class Ask(Struct, frozen=True, kw_only=True):
    """A call that is to be answered. `call` is its id in its turn."""

    id: ConsentId
    call: str
    waits: Waits


class Consent(Struct, frozen=True, kw_only=True):
    id: ConsentId
    turn: TurnId
    conversation: ConversationId
    call: str
    waits: Waits
    asker: str
    state: ConsentState
    expires_at: datetime


_k = consents.c
_t = turns.c
_d = deliveries.c
_SUSPENDED = (_t.state.in_(("running", "suspended")), _t.state == "suspended")
"""As the partial index on open turns is defined, and narrower."""
_INSERT = insert(
    consents, "id", "turn_id", "call", "bot", "chat", "asker", "state", "created_at", "expires_at", "kind"
)  # fmt: skip
_OF = select(consents, _t.conversation_id).join_from(consents, turns, _k.turn_id == _t.id)
_GET = Sql(_OF.where(_k.id == text("id")))
_OPEN_IN = Sql(
    _OF.where(*_SUSPENDED, _t.conversation_id == integer("conversation"), _k.state == "open").order_by(
        _k.created_at, _k.call, _k.id
    )
)
_OF_TURN = Sql(_OF.where(_k.turn_id == text("turn")).order_by(_k.created_at, _k.call, _k.id))
_DUE = Sql(_OF.where(_k.state == "open", _k.expires_at <= integer("now")).order_by(_k.expires_at).limit(count("most")))
_LAST_IN = Sql(
    _OF.where(_k.expires_at > integer("since"), _k.bot == text("bot"), _k.chat == text("chat"))
    .order_by(_k.expires_at.desc())
    .limit(1)
)
_SETTLED_CARDS = Sql(
    select(_d.id)
    .where(
        _d.turn_id.in_(select(_k.turn_id).where(_k.expires_at > integer("since"), _k.state != "open")),
        _d.state == "sent", _d.message.isnot(None), _d.buttons.isnot(None),
    )
    .order_by(_d.id)
    .limit(count("most"))
)  # fmt: skip
_SETTLE = Sql(update(consents).where(_k.id == text("row"), _k.state == "open").values(state=text("to")))


def _from_row(row: Row) -> Consent:
    return Consent(
        id=ConsentId(row.text("id")),
        turn=TurnId(row.text("turn_id")),
        conversation=ConversationId(row.integer("conversation_id")),
        call=row.text("call"),
        waits=Waits(row.text("kind")),
        asker=row.text("asker"),
        state=ConsentState(row.text("state")),
        expires_at=row.time("expires_at"),
    )


def open_(tx: Tx, turn: Turn, ask: Ask, at: datetime, until: datetime) -> None:
    """Let a call of a turn wait."""
    address = turn.address
    tx.run(
        _INSERT, id=ask.id, turn_id=turn.id, call=ask.call, bot=address.bot, chat=address.chat, asker=turn.author,
        state=ConsentState.OPEN, created_at=to_us(at), expires_at=to_us(until), kind=ask.waits,
    )  # fmt: skip


def get(tx: Tx, consent: ConsentId) -> Consent | None:
    row = tx.one(_GET, id=consent)
    return None if row is None else _from_row(row)


def open_in(tx: Tx, conversation: ConversationId) -> list[Consent]:
    """What waits in a conversation, oldest first."""
    return [_from_row(row) for row in tx.all(_OPEN_IN, conversation=conversation)]


def last_in(tx: Tx, address: Address, since: datetime) -> Consent | None:
    """What was asked last in a chat, of what expired after `since`, whatever became of it."""
    row = tx.one(_LAST_IN, bot=address.bot, chat=address.chat, since=to_us(since))
    return None if row is None else _from_row(row)


def of_turn(tx: Tx, turn: TurnId) -> list[Consent]:
    return [_from_row(row) for row in tx.all(_OF_TURN, turn=turn)]


def settled_cards(tx: Tx, since: datetime, most: int) -> list[DeliveryId]:
    """Messages with buttons of turns of which a call is settled that expires after `since`, oldest first."""
    return [DeliveryId(row.integer("id")) for row in tx.all(_SETTLED_CARDS, since=to_us(since), most=most)]


def due(tx: Tx, now: datetime, most: int) -> list[Consent]:
    """Those whose time is over, oldest first."""
    return [_from_row(row) for row in tx.all(_DUE, now=to_us(now), most=most)]


def question(consent: ConsentId, turn: TurnId) -> str:
    """What the buttons under a call ask."""
    return f"consent:{consent}:{turn}"


def settle(tx: Tx, consent: Consent, state: ConsentState, at: datetime) -> None:
    """Answer it, once: what is not open stays as it is. Its buttons are good no more, whoever settles it."""
    tx.run(_SETTLE, row=consent.id, to=state)
    buttons.use(tx, question(consent.id, consent.turn), at)


def close(tx: Tx, turn: TurnId, at: datetime) -> None:
    """Nobody is waited for any more in this turn."""
    for consent in of_turn(tx, turn):
        if consent.state is ConsentState.OPEN:
            settle(tx, consent, ConsentState.CLOSED, at)
