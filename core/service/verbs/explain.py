"""`explain`: why a message was answered, turned away or dropped, from what the store keeps of it.

What is asked about may be the id of a message (ours or the platform's), a turn, a session, a delivery, the reference
that a chat was shown, or a session key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from core.errors import VerbFailed
from core.service.socket import Json, Verb
from core.service.verbs import sentences
from core.service.verbs.means import Means, argument, stamp
from core.service.verbs.sentences import Around
from core.service.verbs.sessions import key_of
from core.store import conversations, entries, lookups, sessions
from core.store.conversations import ConversationId
from core.store.engine import Store
from core.store.lookups import LATEST_TURN, WINDOW, Happened, Received, Sent, Where
from core.store.sessions import Session
from core.store.sql import Tx
from core.vocabulary import TurnId

T = TypeVar("T")

LATEST = 20
"""Messages of a conversation that are told, and findings of one id of a platform's."""
_PLACES = ("dm", "group")
_REFERENCE = re.compile(r"[0-9A-Za-z]{8}")
"""What chats are shown (`Random.token(8)`)."""


def verbs(means: Means) -> Mapping[str, Verb]:
    """By the names that requests use."""
    return {"explain": partial(_explain, means)}


async def _explain(means: Means, args: Mapping[str, Json]) -> Json:
    """What is known, each with one plain sentence. Texts that are not kept any more are null, never empty. `limit`: so
    many of the newest messages or deliveries are told, and there are more; null where all are told."""
    asked = argument(args, "id").strip()
    found, more = await _by_key(means.store, asked)
    if not found:
        found, more = await _by_id(means.store, asked)
    if not found:
        raise VerbFailed(
            f"nothing is known of {asked!r}: it may be the id of a message, a turn, a session or a delivery, a "
            "reference that a chat was shown, or a session key; messages and deliveries are kept for 8 days"
        )
    return {"asked": asked, "findings": found, "limit": LATEST if more else None}


# whose id it is


async def _by_key(store: Store, asked: str) -> tuple[list[Json], bool]:
    where = await store.read(lambda tx: _where(tx, asked))
    if where is None:
        return [], False
    session = await store.read(lambda tx: _current(tx, where))
    rows = await _newest_first(
        store, lookups.last_row, lambda tx, upto: lookups.rows_in(tx, where, LATEST + 1, upto), LATEST + 1
    )
    told: list[Json] = [_session(session)] if session is not None else []
    told += [await _message(store, row) for row in reversed(rows[:LATEST])]
    waits = await store.read(lambda tx: lookups.parts_unsent(tx, where.conversation or ConversationId(0), LATEST + 1))
    return [*told, *map(_delivery, waits[:LATEST])], max(len(rows), len(waits)) > LATEST


def _where(tx: Tx, asked: str) -> Where | None:
    """The conversation of a key, or the chat that a key names if nobody was ever let in there."""
    found = conversations.find(tx, asked)
    if found is not None:
        address = conversations.get(tx, found).address
        return Where(conversation=found, bot=address.bot, chat=address.chat)
    bot, *rest = asked.split("/")
    if len(rest) >= 2 and rest[0] in _PLACES:
        return Where(conversation=None, bot=sentences.decoded(bot), chat=sentences.decoded(rest[1]))
    return None


def _current(tx: Tx, where: Where) -> Session | None:
    if where.conversation is None:
        return None
    session = conversations.get(tx, where.conversation).session
    return sessions.find(tx, session) if session is not None else None


async def _by_id(store: Store, asked: str) -> tuple[list[Json], bool]:
    session = await store.read(lambda tx: sessions.find(tx, asked.lower()))
    turns = await _turns(store, asked)
    rows = await _rows(store, asked)
    parts = await _parts(store, asked)
    told: list[Json] = [_session(session)] if session is not None else []
    for turn in turns:
        told += await _turn(store, turn)
    known = {row.id for turn in turns for row in await store.read(lambda tx: lookups.rows_of_turn(tx, turn.id))}  # noqa: B023  # run at once
    told += [await _message(store, row) for row in rows[:LATEST] if row.id not in known]
    return [*told, *map(_delivery, parts[:LATEST])], max(len(rows), len(parts)) > LATEST


async def _turns(store: Store, asked: str) -> list[Happened]:
    """The turn of that id, or those that a chat was told that reference of."""
    found = await store.read(lambda tx: lookups.turn(tx, asked.lower()))
    reference, before = asked.upper(), None if found or not _REFERENCE.fullmatch(asked) else LATEST_TURN
    while before is not None and len(found) < LATEST:
        upto = before
        more, before = await store.read(lambda tx: lookups.turns_by_reference(tx, reference, upto))  # noqa: B023  # run at once
        found += more
    return found


async def _rows(store: Store, asked: str) -> list[Received]:
    """One more than are told, if there are."""
    ours = await store.read(lambda tx: lookups.row(tx, int(asked))) if _is_row_id(asked) else []
    theirs = await _newest_first(
        store, lookups.last_row, lambda tx, upto: lookups.rows_by_message(tx, asked, upto), LATEST + 1
    )
    reference, told = asked.upper(), list[Received]()
    if _REFERENCE.fullmatch(asked):
        told = await _newest_first(
            store, lookups.last_row, lambda tx, upto: lookups.rows_by_reference(tx, reference, upto), LATEST + 1
        )
    return list({row.id: row for row in (*ours, *theirs, *told)}.values())


async def _parts(store: Store, asked: str) -> list[Sent]:
    """One more than are told, if there are."""
    ours = await store.read(lambda tx: lookups.part(tx, int(asked))) if _is_row_id(asked) else []
    theirs = await _newest_first(
        store, lookups.last_part, lambda tx, upto: lookups.parts_by_message(tx, asked, upto), LATEST + 1
    )
    return list({part.id: part for part in (*ours, *theirs)}.values())


def _is_row_id(asked: str) -> bool:
    return asked.isascii() and asked.isdecimal() and len(asked) < 19


async def _newest_first(
    store: Store, last: Callable[[Tx], int], look: Callable[[Tx, int], Sequence[T]], most: int
) -> list[T]:
    """What no index finds, in reads of a bounded size."""
    upto, found = await store.read(last), list[T]()
    while upto > 0 and len(found) < most:
        found += await store.read(lambda tx: look(tx, upto))  # noqa: B023  # run at once
        upto -= WINDOW
    return found[:most]


# what is told of it


async def _message(store: Store, row: Received) -> Json:
    around = await store.read(lambda tx: _around(tx, row))
    return {
        "what": "message",
        "id": row.id,
        "message": row.message,
        "bot": row.bot,
        "chat": row.chat,
        "sender": row.identity,
        "command": row.command or None,
        "received_at": stamp(row.received_at),
        "state": row.state,
        "fate": row.fate,
        "reason": row.detail or None,
        "turn_id": row.turn,
        "turn_state": around.turn.state
        if around.turn is not None
        else row.gone.state
        if row.gone is not None
        else None,
        "text": row.text,
        "sentence": sentences.message(row, around),
    }


def _around(tx: Tx, row: Received) -> Around:
    merged = row.detail if row.fate == "merged" else ""  # taken into a turn that ran
    turn = next(iter(lookups.turn(tx, row.turn or merged)), None)
    closer = lookups.row(tx, int(row.detail)) if row.fate == "closed" and _is_row_id(row.detail) else []
    gone = row.gone
    return Around(
        turn=turn,
        turn_state=turn.state if turn is not None else gone.state if gone is not None else None,
        unsent=lookups.is_unsent(tx, turn.id) if turn is not None else gone is not None and gone.unsent,
        closer=next(iter(closer), None),
        limits=lookups.limits_met(tx, turn) if turn is not None else (),
    )


async def _turn(store: Store, turn: Happened) -> list[Json]:
    rows = await store.read(lambda tx: lookups.rows_of_turn(tx, turn.id))
    parts = await store.read(lambda tx: lookups.parts_of_turn(tx, turn.id))
    key = await store.read(lambda tx: key_of(tx, turn.conversation))
    limits = await store.read(lambda tx: lookups.limits_met(tx, turn))
    why = await store.read(lambda tx: _why(tx, turn))
    told: Json = {
        "what": "turn",
        "id": turn.id,
        "key": key,
        "session": turn.session,
        "state": turn.state,
        "attempt": turn.attempt,
        "agent": turn.agent,
        "reference": turn.reference,
        "why": why or None,
        "opened_at": stamp(turn.opened_at),
        "closed_at": stamp(turn.closed_at),
        "sentence": sentences.turn(turn, key, limits, why),
    }
    return [told, *[await _message(store, row) for row in rows], *map(_delivery, parts)]


def _why(tx: Tx, turn: Happened) -> str:
    """Why it failed, from the notice that the chat was given; "" where it did not, or where that is not kept."""
    told = entries.of_turn(tx, turn.session, TurnId(turn.id)) if turn.reference else []
    return next((str(entry.data["why"]) for entry in reversed(told) if "why" in entry.data), "")


def _session(session: Session) -> Json:
    return {
        "what": "session",
        "id": session.id,
        "started_at": stamp(session.started_at),
        "reset_reason": session.reset.reason if session.reset is not None else None,
        "parent_id": session.reset.parent if session.reset is not None else None,
        "ended_at": stamp(session.ended_at),
        "end_reason": session.end_reason,
        "sentence": sentences.session(session),
    }


def _delivery(part: Sent) -> Json:
    return {
        "what": "delivery",
        "id": part.id,
        "turn_id": part.turn,
        "role": part.role,
        "part": part.part,
        "bot": part.bot,
        "chat": part.chat,
        "state": part.state,
        "message": part.message,
        "attempts": part.attempts,
        "error": part.error,
        "created_at": stamp(part.created_at),
        "done_at": stamp(part.done_at),
        "sentence": sentences.delivery(part),
    }
