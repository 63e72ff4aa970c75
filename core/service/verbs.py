"""The verbs of the command line, as the daemon carries them out. The JSON shapes are a contract (DESIGN 13)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol

from core.desk.commands.effects import TITLE_LIMIT
from core.desk.export import lossless, markdown
from core.errors import VerbFailed
from core.people.pairing import approve, block, give_role, role_named
from core.ports import Clock, Random
from core.service.notices import Notices
from core.service.socket import Json, Verb
from core.store import conversations, entries, people, sessions
from core.store.conversations import ConversationId
from core.store.deliveries import Posted
from core.store.engine import Store
from core.store.entries import Entry
from core.store.people import Person
from core.store.sessions import Session
from core.store.sql import Tx

MOST_SESSIONS = 10_000


class Running(Protocol):
    """What the verbs ask of the daemon; without one they are answered from the store alone."""

    async def status(self) -> Json: ...

    def push(self, posted: Posted) -> None:
        """A part was committed for somebody."""


def stamp(at: datetime | None) -> str | None:
    """RFC 3339 in UTC."""
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")


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


def _first_key(tx: Tx, conversation: ConversationId) -> str:
    found = conversations.keys_of(tx, conversation)
    return found[0] if found else ""


def list_sessions(tx: Tx) -> list[dict[str, Json]]:
    """All sessions, latest first."""
    known: dict[ConversationId, str] = {}
    lines = []
    for session in sessions.latest(tx, MOST_SESSIONS):
        if session.conversation not in known:
            known[session.conversation] = _first_key(tx, session.conversation)
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
        "session": session_line(session, _first_key(tx, session.conversation)),
        "markdown": markdown(session, log, notices),
        "entries": lossless(log),
    }


def rename_session(tx: Tx, key: str, title: str, now: datetime) -> dict[str, Json]:
    """Give a session a title. Raises `VerbFailed`."""
    session = find_session(tx, key)
    name = " ".join(title.split())
    if not name or len(name) > TITLE_LIMIT:
        raise VerbFailed(f"a title has 1 to {TITLE_LIMIT} characters", code=2)
    conversations.lock(tx, session.conversation)
    sessions.entitle(tx, session.id, name, now)
    return session_line(find_session(tx, session.id), _first_key(tx, session.conversation))


def show_session(tx: Tx, key: str) -> dict[str, Json]:
    """The current session of a key, or one by its id, with its whole log. Raises `VerbFailed`."""
    conversation_id, session = conversations.find(tx, key), find_session(tx, key)
    conversation = conversations.get(tx, session.conversation)
    reset = session.reset
    return {
        "key": key if conversation_id is not None else _first_key(tx, session.conversation),
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


def _person(person: Person) -> dict[str, Json]:
    return {"id": person.id, "name": person.name, "role": person.role, "identities": list(person.identities)}


def list_people(tx: Tx, now: datetime) -> dict[str, Json]:
    return {
        "people": [_person(person) for person in people.everybody(tx)],
        "pending": [
            {
                "code": waiting.code,
                "platform": waiting.identity.partition(":")[0],
                "name": waiting.name,
                "expires_at": stamp(waiting.expires_at),
            }
            for waiting in people.waiting(tx, now)
        ],
    }


def _argument(args: Mapping[str, Json], name: str) -> str:
    value = args.get(name)
    if not isinstance(value, str) or not value:
        raise VerbFailed(f"{name} is missing", code=2)
    return value


class Verbs:
    """`has_owners`: the configuration names somebody, so the first approval makes no owner."""

    def __init__(
        self, store: Store, *, clock: Clock, random: Random, notices: Notices, running: Running, has_owners: bool
    ) -> None:
        self._store = store
        self._clock = clock
        self._random = random
        self._notices = notices
        self._running = running
        self._has_owners = has_owners

    def table(self) -> Mapping[str, Verb]:
        return {
            "status": self._status,
            "sessions.list": self._sessions,
            "sessions.show": self._session,
            "sessions.export": self._export,
            "sessions.rename": self._rename,
            "people.list": self._people,
            "people.approve": self._approve,
            "people.role": self._role,
            "people.block": self._block,
        }

    async def _status(self, args: Mapping[str, Json]) -> Json:
        return await self._running.status()

    async def _sessions(self, args: Mapping[str, Json]) -> Json:
        return await self._store.read(list_sessions)

    async def _session(self, args: Mapping[str, Json]) -> Json:
        key = _argument(args, "key")
        return await self._store.read(lambda tx: show_session(tx, key))

    async def _export(self, args: Mapping[str, Json]) -> Json:
        key = _argument(args, "key")
        return await self._store.read(lambda tx: export_session(tx, key, self._notices))

    async def _rename(self, args: Mapping[str, Json]) -> Json:
        key, title, now = _argument(args, "key"), _argument(args, "title"), self._clock.now()
        return await self._store.write(lambda tx: rename_session(tx, key, title, now))

    async def _people(self, args: Mapping[str, Json]) -> Json:
        now = self._clock.now()
        return await self._store.read(lambda tx: list_people(tx, now))

    async def _approve(self, args: Mapping[str, Json]) -> Json:
        code, person, now = _argument(args, "code"), self._random.uuid7(), self._clock.now()
        welcome = self._notices.say("paired")
        approved = await self._store.write(
            lambda tx: approve(tx, code, person, now, welcome=welcome, has_owners=self._has_owners)
        )
        if approved is None:
            raise VerbFailed(f"no code {code!r} waits; it may have expired (`frontdesk people list` shows codes)")
        self._running.push(approved.posted)
        return _person(approved.person)

    async def _block(self, args: Mapping[str, Json]) -> Json:
        who, made, now = _argument(args, "who"), self._random.uuid7(), self._clock.now()
        person = await self._store.write(lambda tx: block(tx, who, made, now, has_owners=self._has_owners))
        if person is None:
            raise VerbFailed(f"no person {who!r}; `frontdesk people list` shows ids, /whoami an identity")
        return _person(person)

    async def _role(self, args: Mapping[str, Json]) -> Json:
        person_id, role = _argument(args, "id"), role_named(_argument(args, "role"))
        person = await self._store.write(lambda tx: give_role(tx, person_id, role, has_owners=self._has_owners))
        if person is None:
            raise VerbFailed(f"no person {person_id!r}; `frontdesk people list` shows ids")
        return _person(person)
