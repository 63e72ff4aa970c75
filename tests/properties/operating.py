"""What whoever runs the desk does meanwhile."""

from __future__ import annotations

from core.desk.ending import EndOrder, order_end
from core.store import chores, conversations, sessions
from core.store.sessions import Session
from core.store.sql import Tx
from tests.flow.house import House


async def operate(house: House, key: str, verb: str, number: int) -> None:
    """End what goes on there, whatever it is at; say something; or delete what has ended and rests."""
    session = await house.store.read(lambda tx: _current(tx, key))
    if session is None:
        return
    if verb == "send":
        await house.verbs.table()["send"]({"key": key, "text": f"operator {number}"})
    elif verb == "delete" and session.ended_at is not None:
        await house.store.write(lambda tx: chores.delete_session(tx, session.id))
    elif session.ended_at is None:
        order = EndOrder(
            conversation=session.conversation, session=session.id, reason="command", once=str(number),
            now=house.clock.now(),
        )  # fmt: skip
        await order_end(house.core, house.desk.router, order)
    await house.idle()


def _current(tx: Tx, key: str) -> Session | None:
    """The last session of a key's conversation, ended or not."""
    found = conversations.find(tx, key)
    session = conversations.get(tx, found).session if found is not None else None
    return sessions.get(tx, session) if session is not None else None
