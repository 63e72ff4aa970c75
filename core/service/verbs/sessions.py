"""`sessions ...`: what conversations there are, what was said in them, and how they end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import cast

from core.desk.commands.ended import COMMAND, DELETED
from core.desk.ending import EndOrder
from core.desk.export import lossless, markdown
from core.errors import VerbFailed
from core.people.names import plain_line
from core.service.notices import Notices
from core.service.socket import Json, Verb
from core.service.verbs.means import Means, argument, stamp
from core.store import attachments, chores, conversations, deliveries, entries, left, sessions
from core.store.conversations import ConversationId, SessionId
from core.store.entries import Entry
from core.store.sessions import Session
from core.store.sql import Tx
from core.vocabulary import Address

WORTH_SENDING = timedelta(days=1)
"""An answer that could not be sent for longer may be dropped with its session."""
MOST_UNSENT = 1_000
MOST_SESSIONS = 10_000


def session_line(session: Session, key: str) -> dict[str, Json]:
    return {
        "key": key,
        "id": session.id,
        "title": session.title,
        "source": session.bot,
        "started_at": stamp(session.started_at),
        "last_at": stamp(session.touched_at),
        "ended_at": stamp(session.ended_at),
        "messages": session.messages,
    }


def key_of(tx: Tx, conversation: ConversationId) -> str:
    found = conversations.keys_of(tx, conversation)
    return found[0] if found else ""


def list_sessions(tx: Tx) -> list[dict[str, Json]]:
    """All sessions, latest first."""
    known: dict[ConversationId, str] = {}
    lines = []
    for session in sessions.latest(tx, MOST_SESSIONS):
        if session.conversation not in known:
            known[session.conversation] = key_of(tx, session.conversation)
        lines.append(session_line(session, known[session.conversation]))
    return lines


def find_session(tx: Tx, key: str) -> Session:
    """The current session of a key, or one by its id. Raises `VerbFailed`."""
    conversation_id = conversations.find(tx, key)
    session = None
    if conversation_id is not None:
        current = conversations.get(tx, conversation_id).session
        session = sessions.find(tx, current) if current is not None else None
    else:
        session = sessions.find(tx, key)
    if session is None:
        raise VerbFailed(f"no session {key!r}; `frontdesk sessions list` shows keys and ids")
    return session


def export_session(tx: Tx, key: str, notices: Notices) -> dict[str, Json]:
    """A session as people read it, and whole. Raises `VerbFailed`."""
    session = find_session(tx, key)
    log = entries.of_session(tx, session.id)
    return {
        "session": session_line(session, key_of(tx, session.conversation)),
        "markdown": markdown(session, log, notices),
        "entries": [
            {**cast("Mapping[str, Json]", whole), "at": stamp(entry.at)}
            for whole, entry in zip(lossless(log), log, strict=True)
        ],
    }


def rename_session(tx: Tx, key: str, title: str, now: datetime) -> dict[str, Json]:
    """Give a session a title. Raises `VerbFailed`."""
    session = find_session(tx, key)
    name = plain_line(title, sessions.TITLE_LIMIT + 1)
    if not name or len(name) > sessions.TITLE_LIMIT:
        raise VerbFailed(f"a title has 1 to {sessions.TITLE_LIMIT} characters", code=2)
    conversations.lock(tx, session.conversation)
    sessions.entitle(tx, session.id, name, now)
    return session_line(find_session(tx, session.id), key_of(tx, session.conversation))


def show_session(tx: Tx, key: str) -> dict[str, Json]:
    """The current session of a key, or one by its id, with its whole log. Raises `VerbFailed`."""
    conversation_id, session = conversations.find(tx, key), find_session(tx, key)
    conversation = conversations.get(tx, session.conversation)
    reset = session.reset
    return {
        "key": key if conversation_id is not None else key_of(tx, session.conversation),
        "generation": conversation.generation if conversation.session == session.id else session.generation,
        "session": {
            "id": session.id,
            "started_at": stamp(session.started_at),
            "ended_at": stamp(session.ended_at),
            "end_reason": session.end_reason,
            "parent_id": reset.parent if reset is not None else None,
            "reset_reason": reset.reason if reset is not None else None,
            "title": session.title,
        },
        "entries": [_entry(entry) for entry in entries.of_session(tx, session.id)],
    }


def _entry(entry: Entry) -> dict[str, Json]:
    return {
        "seq": entry.seq,
        "kind": entry.kind,
        "text": entry.text,
        "turn_id": entry.turn,
        "at": stamp(entry.at),
        "sender": entry.sender,
    }


def verbs(means: Means) -> Mapping[str, Verb]:
    """By the names that requests use."""
    return {
        f"sessions.{name}": partial(verb, means)
        for name, verb in (
            ("list", _list), ("find", _find), ("show", _show), ("export", _export), ("rename", _rename), ("end", _end),
            ("delete", _delete),
        )
    }  # fmt: skip


async def _list(means: Means, args: Mapping[str, Json]) -> Json:
    return await means.store.read(list_sessions)


async def _find(means: Means, args: Mapping[str, Json]) -> Json:
    key = argument(args, "key")
    return await means.store.read(lambda tx: _line_of(tx, key))


async def _show(means: Means, args: Mapping[str, Json]) -> Json:
    key = argument(args, "key")
    return await means.store.read(lambda tx: show_session(tx, key))


async def _export(means: Means, args: Mapping[str, Json]) -> Json:
    key = argument(args, "key")
    return await means.store.read(lambda tx: export_session(tx, key, means.notices))


async def _rename(means: Means, args: Mapping[str, Json]) -> Json:
    key, title, now = argument(args, "key"), argument(args, "title"), means.clock.now()
    line = await means.store.write(lambda tx: rename_session(tx, key, title, now))
    place = await means.store.read(lambda tx: _talked_in(tx, SessionId(str(line["id"]))))
    if place is not None:
        means.running.entitle(place, str(line["title"]))
    return line


def _talked_in(tx: Tx, session: SessionId) -> Address | None:
    """Where a session goes on; None where it does not."""
    holder = conversations.holding(tx, session)
    going = holder is not None and sessions.get(tx, session).ended_at is None
    return conversations.get(tx, holder).address if holder is not None and going else None


def _line_of(tx: Tx, key: str) -> dict[str, Json]:
    session = find_session(tx, key)
    return session_line(session, key_of(tx, session.conversation))


async def _end(means: Means, args: Mapping[str, Json]) -> Json:
    """End a session; its conversation's next message begins a new one. What runs in it is cancelled, as by /stop."""
    session = await means.store.read(lambda tx: find_session(tx, argument(args, "key")))
    if session.ended_at is not None:
        raise VerbFailed(f"that session has ended already ({session.end_reason}, {stamp(session.ended_at)})")
    await _end_as(means, session, COMMAND)
    means.running.tell_log("session_ended_by_command", session=session.id)
    return await means.store.read(lambda tx: _line_of(tx, session.id))


async def _end_as(means: Means, session: Session, reason: str) -> None:
    """Raises `VerbFailed`."""
    order = EndOrder(
        conversation=session.conversation, session=session.id, reason=reason, once=means.random.uuid7(),
        now=means.clock.now(),
    )  # fmt: skip
    await means.running.end(order)


def _unsent(tx: Tx, conversation: ConversationId, now: datetime) -> int:
    """How many parts the next start would still send; what is older than that can go."""
    return sum(
        part.conversation == conversation and now - part.created_at < WORTH_SENDING
        for bot, chat, _ in deliveries.unsent_chats(tx, conversation)
        for part in deliveries.unsent(tx, bot, chat, after=0, most=MOST_UNSENT)
    )


async def _delete(means: Means, args: Mapping[str, Json]) -> Json:
    """Delete a session whole, with its search rows and its files; one that goes on is ended first."""
    key = argument(args, "key")
    session = await means.store.read(lambda tx: find_session(tx, key))
    line = await means.store.read(lambda tx: _line_of(tx, session.id))
    now = means.clock.now()
    if not means.running.runs and (unsent := await means.store.read(lambda tx: _unsent(tx, session.conversation, now))):
        raise VerbFailed(
            f"nothing was deleted: {unsent} of the answers there were not sent yet; start the desk, so that they go "
            "out, and try again"
        )
    if session.ended_at is None:
        await _end_as(means, session, DELETED)
    digests = await means.store.read(lambda tx: attachments.of_session(tx, session.id))
    if not means.running.runs:
        await means.store.write(lambda tx: left.keep_back_in(tx, session.conversation, DELETED, now))
    if not await means.store.write(lambda tx: chores.delete_session(tx, session.id)):
        raise VerbFailed(
            f"{session.id} has ended, and was not deleted: a message waits there, or an answer can't be sent yet "
            f"(`frontdesk explain {line['key']}` says what); try again when that is over"
        )
    await chores.remove_files(means.store, digests, means.clock.now())
    await means.store.empty_log()  # else a chore does it
    means.running.tell_log("session_deleted", session=session.id, messages=session.messages, entries=session.head)
    return line
