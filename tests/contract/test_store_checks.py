"""Each rule of the store's own checks is found broken when it is, and by nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text as verbatim

from core.store import attachments, checks, deliveries, entries, inbox, search, sessions, turns
from core.store.checks import MOST, Finding, check, survey
from core.store.conversations import SessionId
from core.store.engine import Store
from core.store.entries import Draft, Kind
from core.store.open import DATABASE_FILE, open_store
from core.store.rules import FILE_THERE, INTACT, REFERENCES, RULES
from core.store.sql import Sql, Tx
from core.store.sqlite_driver import sqlite
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
_BREAK_ON = {
    "sqlite": {
        **{
            f"numbers and times of {table} are numbers": f"UPDATE {table} SET {column} = 'soon'"
            for table, column in {
                "sessions": "touched_at",
                "turns": "opened_at",
                "conversations": "generation",
                "inbox": "received_at",
                "deliveries": "created_at",
            }.items()
        },
        "an entry before the search cursor is in the index": "DELETE FROM entries_search WHERE rowid = 1024",
        "what is in the search index is of an entry that the cursor has passed": (
            "INSERT INTO entries_search (rowid, text) VALUES (99328, 'nobody said it')"
        ),
    },
    "postgresql": {
        "every constraint is in force and every index is usable": (
            "ALTER TABLE people ADD CONSTRAINT later CHECK (name <> 'x') NOT VALID"
        ),
    },
}


class _Undone(Exception):
    """Carries the findings out of a transaction that must leave nothing."""


@pytest.mark.parametrize("rule", [*_BREAK, *_BREAK_ON["sqlite"], *_BREAK_ON["postgresql"]])
async def test_a_broken_rule_is_found(store: Store, rule: str) -> None:
    breaking = _BREAK | _BREAK_ON[store.database.dialect]
    if rule not in breaking:
        assert any(rule in others for others in _BREAK_ON.values())
        return
    await store.write(_scene)
    sql = Sql(verbatim(breaking[rule]))

    def break_it(tx: Tx) -> None:
        assert tx.run(sql) != 0
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
    broken = {*_BREAK, *_BREAK_ON["sqlite"], *_BREAK_ON["postgresql"]}
    assert {rule.name for rule in RULES} - broken == forbidden_by_schema


def test_every_rule_says_what_it_means_and_what_to_do() -> None:
    for rule in (*(rule.name for rule in RULES), REFERENCES, INTACT, FILE_THERE):
        finding = Finding(rule=rule, subject="sessions s1")
        assert finding.means.endswith(".")
        assert finding.advice.endswith(".")


async def test_a_survey_looks_at_everything_in_pieces(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "ROWS", 1)
    await store.write(_scene)
    report = await survey(store)
    assert report.findings == ()
    expected = {"conversations": 1, "sessions": 2, "entries": 6, "turns": 2, "inbox": 2, "deliveries": 2, "files": 0}
    assert {name: report.checked[name] for name in expected} == expected


async def test_a_survey_finds_what_a_check_finds(store: Store) -> None:
    await store.write(_scene)
    await store.write(lambda tx: tx.run(Sql(verbatim("UPDATE sessions SET messages = 7 WHERE id = 's0'"))))
    report = await survey(store)
    assert [(finding.rule, finding.subject) for finding in report.findings] == [
        ("a session counts its user entries", "sessions s0")
    ]


async def test_files_that_are_gone_or_cut_are_found(store: Store) -> None:
    await store.write(_scene)
    whole, cut, gone = (store.files.put(data) for data in (b"whole", b"cut", b"gone"))
    for digest, size in ((whole, 5), (cut, 4), (gone, 4)):
        file = attachments.File(digest=digest, name="", media_type="x/y", size=size)
        await store.write(lambda tx: attachments.add(tx, SessionId("s1"), file, NOW))  # noqa: B023
    assert (await survey(store)).findings == (Finding(rule=FILE_THERE, subject=f"files {cut}"),)
    store.files.remove(gone)
    assert {finding.subject for finding in (await survey(store)).findings} == {f"files {cut}", f"files {gone}"}


async def test_at_most_twenty_findings_of_a_rule_are_told(store: Store) -> None:
    def many(tx: Tx) -> None:
        for number in range(30):
            session = begin(tx, converse(tx, str(number)), f"s{number:02}")
            tx.run(Sql(verbatim("UPDATE sessions SET head = 5 WHERE id = :id")), id=session.id)

    await store.write(many)
    report = await survey(store)
    assert sum(finding.rule == "a session's head is the seq of its last entry" for finding in report.findings) == MOST


async def test_damage_of_the_file_is_a_finding(sqlite_state: Path) -> None:
    store = open_store(None, sqlite_state)
    await store.write(_scene)
    store.close()
    with sqlite_file(sqlite_state) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'entries'").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    opened = open_store(None, sqlite_state)
    with (sqlite_state / DATABASE_FILE).open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * 64)
    try:
        assert {finding.rule for finding in (await survey(opened)).findings} == {INTACT}
    finally:
        opened.close()


async def test_a_row_without_what_it_references_is_found(sqlite_state: Path) -> None:
    with sqlite_file(sqlite_state) as connection:
        connection.execute("INSERT INTO keys (key, conversation_id, created_at) VALUES ('k', 77, 0)")
    opened = open_store(None, sqlite_state)
    try:
        found = (await survey(opened)).findings
        assert [(finding.rule, finding.subject) for finding in found] == [(REFERENCES, "keys 1")]
    finally:
        opened.close()


@contextmanager
def sqlite_file(state: Path) -> Iterator[sqlite.Connection]:
    """The file itself, as a program that is not ours opens it: references are not kept."""
    connection = sqlite.connect(str(state / DATABASE_FILE), isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()
