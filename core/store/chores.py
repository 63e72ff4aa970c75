"""What the store forgets: whole sessions when asked to, and rows that have outlived their use, in bounded pieces."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy import case, delete, func, select, union_all, update

from core.store import buttons, consents, conversations, deliveries, inbox, people, remains, search, sessions
from core.store.attachments import is_needed
from core.store.conversations import SessionId
from core.store.engine import Store
from core.store.files import Digest
from core.store.sql import Sql, Tx, count, insert, integer, text, to_us
from core.store.tables import attachments, deletions, entries, idempotency, participants, turns
from core.store.tables import consents as consents_table
from core.store.tables import deliveries as deliveries_table
from core.store.tables import inbox as inbox_table
from core.store.tables import sessions as sessions_table

INBOX_KEPT = timedelta(days=8)
"""After a row got its fate. Longer than any platform redelivers: until then its id tells a repeated event."""
IGNORED_KEPT = timedelta(days=1)
"""A row of what was not for us, so that `explain` can say why. What comes again later is dropped again."""
DELIVERIES_KEPT = timedelta(days=8)
TEXTS_KEPT = timedelta(days=1)
"""What was said in a delivery that was sent, for `/again`."""

FILE_REST = timedelta(hours=1)
"""A file is kept before the entry that refers to it, and this is far longer than that takes."""

_TURNS = select(turns.c.id).where(turns.c.session_id == text("session"))
_OPEN = turns.c.state.in_(("running", "suspended"))
_UNSENT = deliveries_table.c.state.in_(("queued", "sending"))
_BUSY = Sql(
    select(func.count()).select_from(
        union_all(
            select(turns.c.id).where(turns.c.session_id == text("session"), _OPEN),
            select(deliveries_table.c.turn_id).where(_UNSENT, deliveries_table.c.turn_id.in_(_TURNS)),
        ).subquery()
    )
)
_OWN_ERROR = case((deliveries_table.c.error.in_(remains.OWN_WORDS), deliveries_table.c.error), else_=None)
_OPEN_GATE = insert(deletions, "session_id")
_ENTRIES = Sql(delete(entries).where(entries.c.session_id == text("session")))
_CLOSE_GATE = Sql(delete(deletions).where(deletions.c.session_id == text("session")))
_BEFORE_ENTRIES = (
    Sql(delete(attachments).where(attachments.c.session_id == text("session"))),
    Sql(delete(consents_table).where(consents_table.c.turn_id.in_(_TURNS))),
)
_AFTER_ENTRIES = (
    Sql(delete(participants).where(participants.c.session_id == text("session"))),
    Sql(
        update(deliveries_table)
        .where(deliveries_table.c.turn_id.in_(_TURNS))
        .values(text="", buttons=None, files=None, error=_OWN_ERROR, turn_id=None)
    ),
    Sql(update(inbox_table).where(inbox_table.c.turn_id.in_(_TURNS)).values(turn_id=None)),
    Sql(delete(turns).where(turns.c.session_id == text("session"))),
    Sql(delete(sessions_table).where(sessions_table.c.id == text("session"))),
)
_c = consents_table.c
_CONSENTS = Sql(
    delete(consents_table).where(
        _c.id.in_(select(_c.id).where(_c.expires_at <= integer("at"), _c.state != "open").limit(count("most")))
    )
)
_k = idempotency.c
_KEPT_ANSWERS = Sql(
    select(_k.scope, _k.key).where(_k.expires_at <= integer("at")).order_by(_k.expires_at).limit(count("most"))
)
_KEPT_ANSWER = Sql(delete(idempotency).where(_k.scope == text("for_scope"), _k.key == text("for_key")))


def delete_session(tx: Tx, session: SessionId) -> bool:
    """Remove a session and everything said in it; False if it has work: a turn that is not closed, a reply that is not
    sent, or, where it is its conversation's last, a row that waits there.

    The only way entries are ever deleted. Its conversation is left without a session. Raises `LookupError` if there is
    no such session.
    """
    conversation = conversations.lock(tx, sessions.get(tx, session).conversation)
    holder = conversations.holding(tx, session)
    if tx.number(_BUSY, session=session) or sessions.get(tx, session).conversation != conversation.id:
        return False
    if holder is not None:
        if inbox.waiting_in(tx, holder, 1) or deliveries.unsent_in(tx, holder):
            return False
        locked = conversation if holder == conversation.id else conversations.lock(tx, holder)
        conversations.point(tx, locked, None, locked.generation)
    _remove(tx, session)
    return True


def _remove(tx: Tx, session: SessionId) -> None:
    search.unindex(tx, session)
    for sql in _BEFORE_ENTRIES:
        tx.run(sql, session=session)
    tx.run(_OPEN_GATE, session_id=session)
    tx.run(_ENTRIES, session=session)
    tx.run(_CLOSE_GATE, session=session)
    remains.leave(tx, session)
    for sql in _AFTER_ENTRIES:
        tx.run(sql, session=session)


async def remove_files(
    store: Store, digests: Iterable[Digest], now: datetime, rest: timedelta = FILE_REST
) -> list[Digest]:
    """Take files away that no session has any more. Left and returned are those that somebody kept less than `rest` ago
    and may be about to refer to: these are a chore's. Raises `StoreError`."""
    young = []
    for digest in digests:
        at = await asyncio.to_thread(store.files.kept_at, digest)
        if at is None or await store.read(lambda tx: is_needed(tx, digest)):  # noqa: B023  # run at once
            continue
        if now - at > rest:
            await asyncio.to_thread(store.files.remove, digest)
        else:
            young.append(digest)
    return young


def forget_inbox(tx: Tx, now: datetime, most: int) -> int:
    """Rows that were done with eight days ago; how many went."""
    return inbox.forget(tx, now - INBOX_KEPT, most)


def forget_ignored(tx: Tx, now: datetime, most: int) -> int:
    """Rows of what was not for us a day ago; at how many it looked."""
    return inbox.forget_ignored(tx, now - IGNORED_KEPT, most)


def forget_deliveries(tx: Tx, now: datetime, most: int) -> int:
    """Parts that were done with eight days ago; how many went."""
    return deliveries.forget(tx, now - DELIVERIES_KEPT, most)


def blank_deliveries(tx: Tx, now: datetime, most: int) -> int:
    """What was said in parts that were sent a day ago; how many."""
    return deliveries.blank(tx, now - TEXTS_KEPT, most)


def forget_pairings(tx: Tx, now: datetime, most: int) -> int:
    """Codes that are no longer good; there are never many."""
    return people.expire(tx, now)


def forget_consents(tx: Tx, now: datetime, most: int) -> int:
    """Approvals that expired long ago and are settled; one that is still open is the desk's to close."""
    return tx.run(_CONSENTS, at=to_us(now - consents.KNOWN_FOR), most=most)


def forget_answers(tx: Tx, now: datetime, most: int) -> int:
    """Answers kept for repeated requests (idempotency keys) that have expired."""
    rows = tx.all(_KEPT_ANSWERS, at=to_us(now), most=most)
    tx.many(_KEPT_ANSWER, [{"for_scope": row.text("scope"), "for_key": row.text("key")} for row in rows])
    return len(rows)


def forget_buttons(tx: Tx, now: datetime, most: int) -> int:
    """Buttons that nobody pressed in time; how many went."""
    return buttons.forget(tx, now, most)


FORGETTING = (
    forget_answers,
    forget_inbox,
    blank_deliveries,
    forget_deliveries,
    forget_pairings,
    forget_consents,
    forget_buttons,
    forget_ignored,
)
"""Each is one unit of work: `(tx, now, most) -> how many rows it touched`; as many as `most` means that there is more.
In this order: a kept answer holds on to its inbox row."""
