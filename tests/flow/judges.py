"""What the store must say at any moment of the desk's state machine.

Every text of it carries the place where it was said and its number: "c7.12 ...".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from sqlalchemy import func, select

from core.store import conversations, entries, sessions, turns
from core.store.conversations import ConversationId
from core.store.entries import Kind
from core.store.history import for_model
from core.store.sql import Sql, Tx
from core.store.tables import deliveries
from tests.fakes.agents import Asked, told

MARK = re.compile(r"\bc(-?\d+)\.(\d+)\b")
_TWICE = Sql(
    select(deliveries.c.turn_id, func.count())
    .where(deliveries.c.role == "reply", deliveries.c.turn_id.isnot(None))
    .group_by(deliveries.c.turn_id, deliveries.c.part)
    .having(func.count() > 1)
)


def marks(text: str) -> list[tuple[str, int]]:
    """(place, number) of everything quoted in a text."""
    return [(place, int(number)) for place, number in MARK.findall(text)]


def judge(tx: Tx, plain: Collection[int], places: Sequence[str]) -> None:
    """Every word is in a session of its place and in its order, and is answered in its own turn."""
    for session in sessions.latest(tx, 1000):
        log = entries.of_session(tx, session.id)
        words = [mark for entry in log if entry.kind is Kind.USER for mark in marks(entry.text)]
        calls = [entry.data.get("call") for entry in for_model(log) if entry.kind is Kind.TOOL_CALL]
        assert len(calls) == len(set(calls)), "what a dead attempt did is still shown"
        for entry in log:
            if entry.kind is Kind.ASSISTANT and entry.turn is not None:
                asked = {mark for e in log if e.kind is Kind.USER and e.turn == entry.turn for mark in marks(e.text)}
                assert set(marks(entry.text)) <= asked, (entry.text, asked)
            if entry.turn is not None:
                turn = turns.get(tx, entry.turn)
                assert turn.session == session.id
                heard = {place for place, number in marks(entry.text) if words.count((place, number)) == 1}
                assert heard <= {_place(tx, turn.conversation)}, entry
        for place in places:
            numbers = [number for where, number in words if where == place and number in plain]
            once = list(dict.fromkeys(numbers))  # /retry says it again
            assert once == sorted(once), (place, numbers)


def judge_asked(tx: Tx, asked: Sequence[Asked]) -> None:
    """An agent was shown the fold of what stood in the log before its turn."""
    for one in asked:
        log = entries.of_session(tx, one.session)
        before = [entry for entry in log if entry.seq < one.seq]
        assert one.history == told(for_model(before)), one
        assert one.text == log[one.seq - 1].text


def _place(tx: Tx, conversation: ConversationId) -> str:
    """Where a conversation takes place: the chat in its key."""
    return conversations.keys_of(tx, conversation)[0].rpartition("/")[2]


def answered_twice(tx: Tx) -> int:
    """How many parts of answers there are more than once."""
    return len(tx.all(_TWICE))
