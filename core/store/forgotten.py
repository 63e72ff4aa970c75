"""What the store knows of one person, and how it goes, in pieces. Transcripts of groups stay: they never change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from sqlalchemy import delete, func, or_, select, union_all, update

from core.people.access import user_of
from core.store import attachments, facts
from core.store import deliveries as deliveries_
from core.store.conversations import ConversationId, SessionId, lock
from core.store.files import Digest
from core.store.sql import Row, Sql, Tx, count, from_us, integer, text, to_us
from core.store.tables import (
    buttons,
    consents,
    conversations,
    deliveries,
    identities,
    inbox,
    keys,
    pairings,
    participants,
    people,
    sessions,
    turns,
)
from core.store.tables import facts as facts_table
from core.vocabulary import ChatKind, RowId

MARK = "forget:"
"""A fact of this name and the command's row: somebody is being forgotten."""
PAGE = 5_000
"""Rows that one unit looks at: some milliseconds."""
OPEN = ("running", "suspended")


class Mark(Struct, frozen=True, kw_only=True):
    """One person that is being forgotten: all of before `at`; `row` is the command's. `conversations`: their own.
    `files`: what is still to be taken away, as far as nobody else has it. `nameless`: no row tells any more who it was,
    but for what leads to their own conversations."""

    identities: tuple[str, ...]
    at: datetime
    row: RowId
    conversations: tuple[ConversationId, ...]
    files: tuple[Digest, ...] = ()
    nameless: bool = False


class Own(Struct, frozen=True, kw_only=True):
    """A session that is one person's alone. `current`: its conversation goes on with it."""

    session: SessionId
    conversation: ConversationId
    messages: int
    current: bool


_s, _p, _i, _t, _d, _k = sessions.c, participants.c, inbox.c, turns.c, deliveries.c, consents.c
_too = participants.alias("too")
_TOOK_PART = Sql(
    select(_s.id, _s.conversation_id, _s.messages, _s.ended_at, _s.kind, _too.c.identity)
    .join_from(participants, sessions, _s.id == _p.session_id)
    .join(_too, _too.c.session_id == _s.id)
    .where(_p.identity == text("identity"), _s.started_at <= integer("at"))
    .order_by(_s.id)
)
_UNUSED = Sql(
    select(_s.id, _s.conversation_id, _s.messages, _s.ended_at)
    .where(
        _s.conversation_id == integer("conversation"), _s.kind == "direct", _s.started_at <= integer("at"),
        ~select(_p.identity).where(_p.session_id == _s.id).exists(),
    )
    .order_by(_s.id)
)  # fmt: skip
_ASKED = Sql(
    select(_i.id)
    .where(
        _i.done_at >= integer("since"),
        _i.conversation_id == integer("conversation"),
        _i.identity == text("identity"),
        _i.command == text("command"),
        _i.detail == text("detail"),
        _i.id < integer("before"),
    )
    .limit(1)
)
_MARKS = Sql(select(facts_table).where(facts_table.c.name.like(f"{MARK}%")))
_UNMARK = Sql(delete(facts_table).where(facts_table.c.name == text("row")))
_same = identities.alias("same")
_SAME_PERSON = Sql(
    select(_same.c.identity)
    .join_from(identities, _same, _same.c.person_id == identities.c.person_id)
    .where(identities.c.identity == text("identity"))
    .order_by(_same.c.identity)
)
_UNKNOW = Sql(
    delete(identities).where(
        identities.c.identity == text("row"),
        identities.c.person_id.not_in(select(people.c.id).where(people.c.role == "blocked")),
    )
)
_NOBODY = Sql(
    delete(people).where(
        people.c.role != "blocked",
        ~select(identities.c.identity).where(identities.c.person_id == people.c.id).exists(),
    )
)
_UNPAIR = Sql(delete(pairings).where(pairings.c.identity == text("row")))
_LEAVE = Sql(
    delete(participants).where(
        _p.identity == text("row"),
        select(_s.id).where(_s.id == _p.session_id, _s.started_at <= integer("at")).correlate(participants).exists(),
    )
)
_NO_AUTHOR = Sql(
    update(turns)
    .where(
        _t.id.in_(
            select(_t.id)
            .where(_t.author == text("who"), _t.opened_at <= integer("at"), _t.state.not_in(OPEN))
            .limit(count("most"))
        )
    )
    .values(author="")
)
_NO_CONSENT = Sql(
    delete(consents).where(_k.turn_id.in_(select(_t.id).where(_t.author == text("row"))), _k.state != "open")
)
_UNBUTTON = Sql(delete(buttons).where(buttons.c.identity == text("row")))
_LAST_ROW = Sql(select(func.coalesce(func.max(_i.id), 0)))
_LAST_PART = Sql(select(func.coalesce(func.max(_d.id), 0)))
_UNDONE = Sql(
    select(func.count())
    .select_from(inbox)
    .where(_i.state != "done", _i.identity == text("identity"), _i.id <= integer("upto"))
)
_NO_NAME = Sql(
    update(inbox)
    .where(
        _i.id > integer("after"), _i.id <= integer("upto"), _i.identity == text("who"), _i.state == "done",
        _i.received_at <= integer("at"),
    )
    .values(identity=None, name=None)
)  # fmt: skip
_NO_TEXT = Sql(
    update(deliveries)
    .where(
        _d.id > integer("after"), _d.id <= integer("upto"), _d.conversation_id == integer("conversation"),
        _d.state.in_(("sent", "failed", "unknown")), or_(_d.text != "", _d.files.isnot(None)),
        _d.created_at <= integer("at"),
    )
    .values(text="", buttons=None, files=None)
)  # fmt: skip
_NOT_ALONE = Sql(
    update(deliveries)
    .where(
        _d.id > integer("after"), _d.id <= integer("upto"), _d.alone == text("who"),
        _d.state.in_(("sent", "failed", "unknown")), _d.created_at <= integer("at"),
    )
    .values(text="", buttons=None, files=None, alone=None)
)  # fmt: skip


_theirs = (_d.files.isnot(None), _d.created_at <= integer("at"))
_FILES_OF_TURNS = Sql(
    select(_d.files).where(*_theirs, _d.turn_id.in_(select(_t.id).where(_t.session_id == text("session"))))
)
_FILES_SENT = Sql(
    select(_d.files).where(
        *_theirs, _d.id > integer("after"), _d.id <= integer("upto"), _d.conversation_id == integer("conversation")
    )
)
_c = conversations.c
_IN_USE = Sql(
    select(func.count()).select_from(
        union_all(
            select(_s.id).where(_s.conversation_id == integer("conversation")),
            select(_i.lane).where(_i.state != "done", _i.conversation_id == integer("conversation")),
        ).subquery()
    )
)  # fmt: skip
_NO_KEYS = Sql(delete(keys).where(keys.c.conversation_id == integer("conversation")))
_NOWHERE = Sql(
    update(conversations)
    .where(_c.id == integer("row"))
    .values(chat="", thread=None, told=None, agent=None, model=None)
)  # fmt: skip


class TookPart(Struct, frozen=True, kw_only=True):
    """The sessions of a person: those that are theirs alone, and how many they share with others."""

    own: tuple[Own, ...]
    shared: int


def took_part(
    tx: Tx, identities_: Sequence[str], at: datetime, conversations: Sequence[ConversationId] = ()
) -> TookPart:
    """What began by `at`. Only a direct chat can be somebody's own; where it is, and in `conversations`, so are the
    sessions in which nobody has said anything yet."""
    rows: dict[str, Row] = {}
    others: set[str] = set()
    for row in (row for one in identities_ for row in tx.all(_TOOK_PART, identity=one, at=to_us(at))):
        session = rows.setdefault(row.text("id"), row).text("id")
        if row.text("kind") != ChatKind.DIRECT or row.text("identity") not in identities_:
            others.add(session)
    own = [_from_row(row) for session, row in sorted(rows.items()) if session not in others]
    for conversation in sorted({*conversations, *(one.conversation for one in own)}):
        own += [_from_row(row) for row in tx.all(_UNUSED, conversation=conversation, at=to_us(at))]
    return TookPart(own=tuple(own), shared=len(others))


def _from_row(row: Row) -> Own:
    return Own(
        session=SessionId(row.text("id")),
        conversation=ConversationId(row.integer("conversation_id")),
        messages=row.integer("messages"),
        current=row.integer_or_none("ended_at") is None,
    )


class Question(Struct, frozen=True, kw_only=True):
    """A command that was given before `row`, and answered with `detail` since then."""

    row: RowId
    conversation: ConversationId
    identity: str
    command: str
    detail: str
    since: datetime


def was_asked(tx: Tx, question: Question) -> bool:
    """Was it, in the same conversation and by the same one?"""
    found = tx.maybe_number(
        _ASKED, since=to_us(question.since), conversation=question.conversation, identity=question.identity,
        command=question.command, detail=question.detail, before=question.row,
    )  # fmt: skip
    return found is not None


def mark(tx: Tx, one: Mark) -> None:
    """Begin to forget somebody, or write down how far it has come; whatever becomes of this process, it is carried on
    with."""
    told = {
        "at": to_us(one.at), "identities": list(one.identities), "conversations": list(one.conversations),
        "files": list(one.files), "nameless": one.nameless,
    }  # fmt: skip
    facts.put(tx, f"{MARK}{one.row}", json.dumps(told))


def marks(tx: Tx) -> list[Mark]:
    return [_mark(row.text("name").removeprefix(MARK), row.text("value")) for row in tx.all(_MARKS)]


def _mark(row: str, told: str) -> Mark:
    value = json.loads(told)
    return Mark(
        identities=tuple(value["identities"]),
        at=from_us(value["at"]),
        row=RowId(int(row)),
        conversations=tuple(map(ConversationId, value["conversations"])),
        files=tuple(map(Digest, value.get("files", ()))),
        nameless=value.get("nameless", False),
    )


def unmark(tx: Tx, one: Mark) -> None:
    """They are forgotten, this mark included."""
    tx.run(_UNMARK, row=f"{MARK}{one.row}")


def identities_of(tx: Tx, identity: str) -> tuple[str, ...]:
    """All that the one behind this identity is known by."""
    return tuple(row.text("identity") for row in tx.all(_SAME_PERSON, identity=identity)) or (identity,)


def unknow(tx: Tx, one: Mark) -> None:
    """They are nobody any more; a block is kept with its identities."""
    for identity in one.identities:
        tx.run(_UNPAIR, row=identity)
        tx.run(_UNKNOW, row=identity)
    tx.run(_NOBODY)


def leave(tx: Tx, one: Mark) -> None:
    """They took no part in what they share with others. What was settled with their word goes too, and what they could
    have pressed."""
    for identity in one.identities:
        tx.run(_UNBUTTON, row=identity)
        tx.run(_LEAVE, row=identity, at=to_us(one.at))
        tx.run(_NO_CONSENT, row=identity)


def unsign(tx: Tx, one: Mark, most: int) -> int:
    """Turns that are over are nobody's; how many, fewer than `most` when none is left."""
    return max(tx.run(_NO_AUTHOR, who=identity, at=to_us(one.at), most=most) for identity in one.identities)


def undone(tx: Tx, one: Mark) -> int:
    """Their messages from before that still wait."""
    return sum(tx.number(_UNDONE, identity=identity, upto=one.row) for identity in one.identities)


def ends(tx: Tx) -> tuple[int, int]:
    """The last inbox row and the last delivery."""
    return tx.number(_LAST_ROW), tx.number(_LAST_PART)


def blank(tx: Tx, one: Mark, after: int) -> set[Digest]:
    """Of a page of inbox rows and of deliveries behind that id: who sent it, and what they were told alone. The files
    that went to their own conversations."""
    found = set[Digest]()
    for identity in one.identities:
        tx.run(_NO_NAME, after=after, upto=after + PAGE, who=identity, at=to_us(one.at))
        tx.run(_NOT_ALONE, after=after, upto=after + PAGE, who=user_of(identity), at=to_us(one.at))
    for conversation in one.conversations:
        page = {"after": after, "upto": after + PAGE, "conversation": conversation, "at": to_us(one.at)}
        found |= _digests(tx.all(_FILES_SENT, **page))
        tx.run(_NO_TEXT, **page)
    return found


def files_of(tx: Tx, one: Mark, session: SessionId) -> set[Digest]:
    """What a session refers to, and what its turns sent."""
    return {
        *attachments.of_session(tx, session), *_digests(tx.all(_FILES_OF_TURNS, session=session, at=to_us(one.at)))
    }  # fmt: skip


def _digests(rows: Iterable[Row]) -> set[Digest]:
    return {file.digest for row in rows for file in deliveries_.files_of(row.text_or_none("files"))}


def leave_conversations(tx: Tx, one: Mark) -> bool:
    """Nothing leads to their own conversations any more, and these tell of no chat. False where something still has to
    be sent; one in which somebody has said something since is another's, or theirs anew."""
    left = [_leave(tx, conversation) for conversation in one.conversations]
    return all(left)


def _leave(tx: Tx, conversation: ConversationId) -> bool:
    lock(tx, conversation)
    if deliveries_.unsent_in(tx, conversation):
        return False
    if not tx.number(_IN_USE, conversation=conversation):
        tx.run(_NO_KEYS, conversation=conversation)
        tx.run(_NOWHERE, row=conversation)
    return True
