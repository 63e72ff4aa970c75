"""Each rule of the store's own checks is found broken when it is, and by nothing else."""

from __future__ import annotations

import pytest
from sqlalchemy import text as verbatim

from core.store import checks, conversations, deliveries, entries, inbox, search, sessions, turns
from core.store.checks import check
from core.store.engine import Store
from core.store.entries import Draft, Kind
from core.store.sql import Sql, Tx
from core.vocabulary import Outcome, RowId, TurnId
from tests.contract.scenes import NOW, arrive, begin, converse, open_turn, reply, say


def _scene(tx: Tx) -> None:
    """One of everything: an ended session, a running turn with a call and its result, a taken and a waiting row."""
    conversation = converse(tx)
    first = begin(tx, conversation, "s0")
    say(tx, first.id, "before")
    sessions.end(tx, first.id, "idle", NOW)
    for message in ("1", "2"):
        arrive(tx, conversation, message)
    session = say(tx, begin(tx, conversation, "s1").id, "hello", "again")
    turn = open_turn(tx, session)
    inbox.take(tx, [RowId(1)], turn)
    session, _ = entries.append(
        tx,
        session,
        [
            Draft(kind=Kind.TOOL_CALL, text="clock", data={"call": "c1"}, turn=turn),
            Draft(kind=Kind.TOOL_RESULT, text="noon", data={"call": "c1"}, turn=turn),
            Draft(kind=Kind.NOTICE, text="a notice", turn=turn),
        ],
        NOW,
    )
    done = open_turn(tx, session, "t0", "done")
    turns.close(tx, done, Outcome.DONE, NOW, {})
    delivery = reply(tx, conversation, done)
    deliveries.sending(tx, delivery)
    deliveries.sent(tx, delivery, None, NOW)
    reply(tx, conversation, TurnId("t0"))
    search.index_some(tx, 10)


async def test_a_sound_store_breaks_no_rule(store: Store) -> None:
    assert await store.read(check) == []
    await store.write(_scene)
    assert await store.read(check) == []


_ENTRY = "INSERT INTO entries (session_id, seq, kind, text, turn_id, at) VALUES"
_BREAK = {
    "the seqs of a session count from 1 without a gap": f"{_ENTRY} ('s1', 9, 'notice', 'x', NULL, 0)",
    "a session's head is the seq of its last entry": "UPDATE sessions SET head = head + 1 WHERE id = 's1'",
    "a session's model head is the seq of its last entry that is no notice": "UPDATE sessions SET model_head = head",
    "a session counts its user entries": "UPDATE sessions SET messages = 7 WHERE id = 's0'",
    "an ended session has a reason and does not expire, an open one has no reason": (
        "UPDATE sessions SET expires_at = 1 WHERE id = 's0'"
    ),
    "a session that is nobody's last has ended": (
        "UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = 's0'"
    ),
    "a conversation's last session exists, belongs to it and is not of a later generation": (
        "UPDATE conversations SET session_id = 'nowhere'"
    ),
    "an open turn is in an open session of its own conversation": (
        "UPDATE sessions SET ended_at = 1, end_reason = 'idle' WHERE id = 's1'"
    ),
    "a turn has a known state, and a closed one its time": "UPDATE turns SET closed_at = NULL WHERE id = 't0'",
    "a turn's user entry is in its session": "UPDATE turns SET user_seq = 99 WHERE id = 't1'",
    "an entry's turn exists and is of its session": f"{_ENTRY} ('s0', 2, 'assistant', 'x', 't1', 0)",
    "a call of a closed turn has its result": f"{_ENTRY} ('s1', 6, 'tool_call', 'x', 't0', 0)",
    "a row that is done has exactly one fate and its time, any other none": (
        "UPDATE inbox SET state = 'done', fate = 'answered', text = '' WHERE id = 2"
    ),
    "the text of a row that is done is gone": (
        "UPDATE inbox SET state = 'done', fate = 'answered', done_at = 1 WHERE id = 2"
    ),
    "a row that waits has a conversation, and no turn": "UPDATE inbox SET turn_id = 't1' WHERE id = 2",
    "a taken row is with an open turn of its conversation": "UPDATE inbox SET turn_id = 't0' WHERE id = 1",
    "a row's turn exists": "UPDATE inbox SET turn_id = 'nowhere' WHERE id = 1",
    "a delivery has its time when it is done with, and not before": "UPDATE deliveries SET done_at = 1 WHERE id = 2",
    "a delivery that is not sent has something to say": "UPDATE deliveries SET text = '' WHERE id = 2",
    "a delivery that is being sent was attempted, and its part counts from 1": "UPDATE deliveries SET part = 0",
    "a preview is of a running turn": "UPDATE deliveries SET role = 'preview' WHERE id = 2",
    "a delivery's turn exists": "UPDATE deliveries SET turn_id = 'nowhere'",
    "the search cursor is at an entry that is or was": "UPDATE facts SET value = '99' WHERE name = 'search_cursor'",
}


class _Undone(Exception):
    """Carries the findings out of a transaction that must leave nothing."""


@pytest.mark.parametrize("rule", _BREAK)
async def test_a_broken_rule_is_found(store: Store, rule: str) -> None:
    await store.write(_scene)
    if rule.startswith("the search cursor") and store.database.dialect == "postgresql":
        await store.write(lambda tx: conversations.find(tx, "x"))
    sql = Sql(verbatim(_BREAK[rule]))

    def break_it(tx: Tx) -> None:
        assert tx.run(sql) > 0
        raise _Undone([finding.rule for finding in check(tx)])

    with pytest.raises(_Undone) as undone:
        await store.write(break_it)
    assert rule in undone.value.args[0]
    assert await store.read(check) == []


def test_every_rule_can_be_broken_or_the_schema_forbids_it() -> None:
    forbidden_by_schema = {
        "a session is the last of one conversation at most",
        "a conversation has one running turn at most",
        "no deletion is left open",
    }
    assert set(checks._RULES) - set(_BREAK) == forbidden_by_schema
