"""A session outside of the store: as people read it, and as JSON from which every entry can be made again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from core.clock import rfc3339
from core.service.notices import Notices
from core.store import history
from core.store.conversations import SessionId
from core.store.entries import Entry, Json, Kind
from core.store.sessions import Session
from core.vocabulary import TurnId

_BY_TOOLS = (Kind.TOOL_CALL, Kind.TOOL_RESULT)


def markdown(session: Session, log: Sequence[Entry], notices: Notices) -> str:
    """What people see of it; what was taken back is left out."""
    return _whole(session.title, history.for_people(log), notices)


def shared_markdown(session: Session, log: Sequence[Entry], since: int, notices: Notices) -> str:
    """As `markdown`, for somebody among others: from the entry `since` on, and without what tools were told and gave,
    which nobody was shown. The title says what it began with."""
    whole = history.for_people(log)
    seen = [one for one in whole if one.seq >= since and one.kind not in _BY_TOOLS]
    from_start = not any(one.kind is Kind.USER and one.seq < since for one in whole)
    return _whole(session.title if from_start else None, seen, notices)


def first_said(log: Sequence[Entry], turns: Collection[TurnId]) -> int | None:
    """The seq of the first message of these turns; None: there is none."""
    return next((one.seq for one in log if one.kind is Kind.USER and one.turn in turns), None)


def _whole(title: str | None, seen: Sequence[Entry], notices: Notices) -> str:
    head = notices.say("export_head", title=title or notices.say("untitled"))
    return "\n\n".join([head, *(_block(entry, notices) for entry in seen)])


def _block(entry: Entry, notices: Notices) -> str:
    at = f"{entry.at:%Y-%m-%d %H:%M} UTC"
    match entry.kind:
        case Kind.USER:
            return f"{notices.say('export_user', name=entry.sender or '', at=at)}\n\n{entry.text}"
        case Kind.ASSISTANT:
            return f"{notices.say('export_assistant', at=at)}\n\n{entry.text}"
        case Kind.TOOL_CALL | Kind.TOOL_RESULT:
            return f"{notices.say('export_tool', at=at)}\n\n{entry.text}"
        case _:
            return notices.say("export_notice", text=entry.text)


def lossless(log: Sequence[Entry]) -> list[Json]:
    """The whole log, marks and what was taken back included. `entries_of` is the way back."""
    return [
        {
            "session": entry.session,
            "seq": entry.seq,
            "kind": entry.kind,
            "text": entry.text,
            "data": entry.data,
            "turn_id": entry.turn,
            "sender": entry.sender,
            "at": rfc3339(entry.at),
        }
        for entry in log
    ]


def entries_of(exported: Sequence[Mapping[str, object]]) -> list[Entry]:
    """The entries that were exported, equal to what they were. Raises `ValueError` for what is no export."""
    return [_entry(one) for one in exported]


def _entry(one: Mapping[str, object]) -> Entry:
    match one:
        case {
            "session": str(session), "seq": int(seq), "kind": str(kind), "text": str(text), "data": dict(data),
            "turn_id": str() | None as turn, "sender": str() | None as sender, "at": str(at),
        }:  # fmt: skip
            return Entry(
                session=SessionId(session), seq=seq, kind=Kind(kind), text=text, data=data,
                turn=None if turn is None else TurnId(turn), sender=sender, at=datetime.fromisoformat(at),
            )  # fmt: skip
        case _:
            raise ValueError("this is no entry of an export")
