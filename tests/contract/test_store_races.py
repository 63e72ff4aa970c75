"""Two processes on one PostgreSQL: whatever they do at the same time, every transcript stays whole.

The verbs are those that the desk runs: make a conversation, take a row into a turn, append, end a session and begin the
next, move a session to another conversation. Each is done as the desk does it: lock first, then look.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import random
from multiprocessing.synchronize import Barrier
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace

from core.errors import FenceLost
from core.store import conversations, entries, facts, inbox, sessions, turns
from core.store.checks import check
from core.store.conversations import ConversationId
from core.store.engine import Store
from core.store.entries import Draft, Entry, Kind
from core.store.files import Files
from core.store.inbox import Fate
from core.store.postgres import PostgresDatabase
from core.store.sessions import Session
from core.store.sql import Tx
from core.vocabulary import Outcome, TurnId
from tests.contract.scenes import LATER, NOW, arrive, begin, converse, open_turn

pytestmark = pytest.mark.endurance

CHATS = 3
ROUNDS = 240
PROCESSES = 2


_HERE = "from here on it belongs to its sender"


def _write(tx: Tx, session: Session, conversation: ConversationId, kind: Kind, text: str) -> Session:
    """Every entry says which conversation wrote it."""
    return entries.append(tx, session, [Draft(kind=kind, text=text, sender=str(conversation))], NOW)[0]


def _begin(tx: Tx, conversation: ConversationId, name: str) -> Session:
    return _write(tx, begin(tx, conversation, f"session {name}"), conversation, Kind.NOTICE, _HERE)


def _admit(tx: Tx, conversation: ConversationId, name: str) -> None:
    """Take the oldest waiting row into a turn of the current session, append what it says, and answer it at once."""
    locked = conversations.own(tx, conversation, None)
    waiting = inbox.pending_in(tx, conversation, most=1)
    if not waiting:
        return
    session = None if locked.session is None else sessions.get(tx, locked.session)
    if session is None or session.ended_at is not None:
        session = _begin(tx, conversation, name)
    session = _write(tx, session, conversation, Kind.USER, waiting[0].text)
    turn = open_turn(tx, session, f"turn {name}")
    inbox.take(tx, [waiting[0].id], turn)
    _write(tx, session, conversation, Kind.ASSISTANT, "answer")
    inbox.finish_turn(tx, turn, NOW)
    turns.close(tx, turn, Outcome.DONE, NOW, {})


def _append(tx: Tx, conversation: ConversationId, name: str) -> None:
    locked = conversations.lock(tx, conversation)
    if locked.session is not None:
        _write(tx, sessions.get(tx, locked.session), conversation, Kind.NOTICE, name)


def _end(tx: Tx, conversation: ConversationId, name: str) -> None:
    locked = conversations.lock(tx, conversation)
    if locked.session is not None:
        sessions.end(tx, locked.session, "command", NOW)
        _begin(tx, conversation, name)


def _resume(tx: Tx, conversation: ConversationId, name: str) -> None:
    """Move the newest session of another conversation here, as `/resume` does."""
    others = [found for found in sessions.latest(tx, 10) if found.conversation != conversation]
    if not others:
        return
    for each in sorted((conversation, others[0].conversation)):
        conversations.lock(tx, each)
    wanted = sessions.get(tx, others[0].id)
    here, there = conversations.get(tx, conversation), conversations.get(tx, wanted.conversation)
    if wanted.conversation != others[0].conversation or turns.open_in(tx, there.id):
        return
    if there.session == wanted.id:
        conversations.point(tx, there, None, there.generation + 1)
    if here.session is not None:
        sessions.end(tx, here.session, "resumed_away", NOW)
    moved = replace(
        wanted, conversation=here.id, generation=here.generation + 1, started_at=LATER, last_human_at=LATER
    )  # fmt: skip
    sessions.reopen(tx, moved)
    conversations.point(tx, here, wanted.id, moved.generation)
    _write(tx, moved, conversation, Kind.NOTICE, _HERE)


def _arrive(tx: Tx, conversation: ConversationId, name: str) -> None:
    """Both processes are handed the same messages."""
    arrive(tx, conversation, name.rpartition(" ")[2], f"text {name.rpartition(' ')[2]}")


_VERBS = (_admit, _append, _end, _resume, _arrive, _arrive)


async def _play(conninfo: str, process: int) -> None:
    store = Store(PostgresDatabase(conninfo), Files(Path("unused")))
    chance = random.Random(process)

    async def one(step: int) -> None:
        chat, verb = str(chance.randrange(CHATS)), chance.choice(_VERBS)
        conversation = await store.write(lambda tx: converse(tx, chat))
        await store.write(lambda tx: verb(tx, conversation, f"{process} {step}"))

    try:
        for start in range(0, ROUNDS, 6):
            await asyncio.gather(*(one(step) for step in range(start, start + 6)))
    finally:
        store.close()


def _process(conninfo: str, process: int, ready: Barrier) -> None:
    ready.wait(30)
    asyncio.run(_play(conninfo, process))


def _race(conninfo: str) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(PROCESSES)
    racers = [context.Process(target=_process, args=(conninfo, i, ready)) for i in range(PROCESSES)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(60)
    assert [racer.exitcode for racer in racers] == [0] * PROCESSES


async def test_two_processes_race_each_verb_and_every_transcript_is_whole(postgres_store: Store) -> None:
    store = postgres_store
    assert isinstance(store.database, PostgresDatabase)
    await asyncio.to_thread(_race, store.database.conninfo)
    assert await store.read(check) == []

    def look(tx: Tx) -> tuple[set[ConversationId | None], list[list[Entry]]]:
        keys = {conversations.find(tx, f"telegram/dm/{chat}") for chat in range(CHATS)}
        return keys - {None}, [entries.of_session(tx, one.id) for one in sessions.latest(tx, 1000)]

    keys, transcripts = await store.read(look)
    assert len(keys) == CHATS
    assert len(transcripts) > CHATS
    assert {len({entry.sender for entry in transcript}) for transcript in transcripts} > {1}, "sessions were moved"
    for transcript in transcripts:
        holder = ""
        for entry in transcript:
            holder = entry.sender or "" if entry.text == _HERE else holder
            assert entry.sender == holder, "an entry in a session that its conversation had no more"


async def test_no_entry_lands_in_a_session_that_was_taken_away(postgres_store: Store) -> None:
    """The resume holds the conversation's lock until it commits; the append that waited finds what it made of it."""
    store = postgres_store
    here, there = await store.write(lambda tx: (converse(tx, "1"), converse(tx, "2")))
    await store.write(lambda tx: begin(tx, here, "one"))
    await store.write(lambda tx: begin(tx, there, "two"))
    for i in range(20):
        await asyncio.gather(
            store.write(lambda tx, i=i: _append(tx, here, f"a {i}")),  # type: ignore[misc]
            store.write(lambda tx, i=i: _resume(tx, there, f"r {i}")),  # type: ignore[misc]
            store.write(lambda tx, i=i: _append(tx, there, f"b {i}")),  # type: ignore[misc]
            store.write(lambda tx, i=i: _resume(tx, here, f"s {i}")),  # type: ignore[misc]
        )
    assert await store.read(check) == []


async def test_of_two_owners_the_first_writes_nothing_more(postgres_store: Store) -> None:
    store = postgres_store
    assert isinstance(store.database, PostgresDatabase)
    conversation = await store.write(converse)
    node = Store(PostgresDatabase(store.database.conninfo), store.files)
    try:
        first = await store.write(lambda tx: conversations.own(tx, conversation, None))
        await node.write(lambda tx: conversations.own(tx, conversation, None))

        def late(tx: Tx) -> None:
            conversations.own(tx, conversation, first.fence)
            facts.put(tx, "late", "x")

        with pytest.raises(FenceLost):
            await store.write(late)
        assert await node.read(lambda tx: facts.get(tx, "late")) is None
    finally:
        await asyncio.to_thread(node.close)


async def test_one_row_gets_one_fate_however_many_take_it(postgres_store: Store) -> None:
    store = postgres_store
    conversation = await store.write(converse)
    row = await store.write(lambda tx: arrive(tx, conversation, "1"))
    assert row is not None
    fates = [Fate.ANSWERED, Fate.STALE, Fate.CLOSED, Fate.REFUSED] * 3
    won = await asyncio.gather(*(store.write(lambda tx, f=f: inbox.finish(tx, row, f, NOW)) for f in fates))  # type: ignore[misc]
    assert sorted(won) == [False] * 11 + [True]


async def test_one_turn_runs_in_a_conversation(postgres_store: Store) -> None:
    store = postgres_store
    conversation = await store.write(converse)
    session = await store.write(lambda tx: begin(tx, conversation, "s"))
    opened = await asyncio.gather(
        *(store.write(lambda tx, i=i: open_turn(tx, session, f"t{i}")) for i in range(8)),  # type: ignore[misc]
        return_exceptions=True,
    )
    assert len([turn for turn in opened if isinstance(turn, str)]) == 1
    assert await store.read(lambda tx: turns.open_in(tx, conversation)) == 1


async def test_a_connection_that_breaks_during_the_commit_is_not_run_again(postgres_store: Store) -> None:
    """It may have committed: only the caller knows whether doing it twice does harm."""
    store = postgres_store
    assert isinstance(store.database, PostgresDatabase)
    conninfo = store.database.conninfo
    with psycopg.connect(conninfo, autocommit=True) as admin:
        admin.execute("CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                      " PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$")  # fmt: skip
        admin.execute("CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON facts DEFERRABLE INITIALLY DEFERRED"
                      " FOR EACH ROW EXECUTE FUNCTION cut()")  # fmt: skip
        tries: list[TurnId] = []

        def unit(tx: Tx) -> None:
            tries.append(TurnId("x"))
            facts.put(tx, "n", "1")

        with pytest.raises(Exception, match="may have happened") as raised:
            await store.write(unit)
        assert getattr(raised.value, "certain", True) is False
        assert len(tries) == 1
        admin.execute("DROP TRIGGER cut ON facts")
    await store.write(lambda tx: facts.put(tx, "n", "2"))
    assert await store.read(lambda tx: facts.get(tx, "n")) == "2"
