"""A session ends because whoever runs the desk says so: by the conversation's owner, or where no desk runs, at once."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from core.desk.admit import close_suspended
from core.desk.coalesce import ref_of
from core.desk.commands.ended import END
from core.desk.consent import ACCOUNT
from core.desk.house import House
from core.desk.router import Router
from core.store import conversations, inbox, sessions, turns
from core.store.conversations import ConversationId, SessionId
from core.store.inbox import Arrival, Lane, Waiting
from core.store.people import Role
from core.store.sql import Tx
from core.vocabulary import RowId


class EndOrder(Struct, frozen=True, kw_only=True):
    """Whose current session ends, and why. `once` makes a repeated order the same one."""

    conversation: ConversationId
    session: SessionId
    reason: str
    once: str
    now: datetime


def put_order(tx: Tx, order: EndOrder) -> Waiting | None:
    """Store it as a row that waits for the owner; None if this order was given before."""
    conversation = conversations.get(tx, order.conversation)
    arrival = Arrival(
        account=ACCOUNT, dedupe=f"e:{END}:{order.session}:{order.once}", message=None, address=conversation.address,
        kind=conversation.kind, identity=None, name="", role=Role.OWNER, text=order.reason, lane=Lane.CONTROL,
        command=END, more_likely=False, sent_at=order.now,
    )  # fmt: skip
    row = inbox.arrive(tx, arrival, order.conversation, order.now)
    return inbox.pending(tx, row) if row is not None else None


async def order_end(house: House, router: Router, order: EndOrder) -> RowId | None:
    """Let the owner end it, whatever it is at. Raises `StoreError`."""
    row = await house.store.write(lambda tx: put_order(tx, order))
    if row is None:
        return None
    router.put(order.conversation, ref_of(row), Lane.CONTROL)
    return row.id


def end_at_once(tx: Tx, order: EndOrder, told: str) -> bool:
    """Where no desk runs; False if work was left there, which the next start has to settle. `told` is said with the
    answer to the next message."""
    conversation = conversations.lock(tx, order.conversation)
    session = sessions.get(tx, order.session)
    if conversation.session != session.id or session.ended_at is not None:
        return True
    if turns.running_in(tx, conversation.id) is not None or inbox.waiting_in(tx, conversation.id, 1):
        return False
    session = close_suspended(tx, conversation, session, order.now)
    sessions.end(tx, session.id, order.reason, order.now)
    if session.messages and told:
        conversations.tell(tx, conversation.id, told)
    return True
