"""Units of work: each gets its own result, none takes a neighbour down, none is half done."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta

import psycopg
import pytest

from core.errors import FenceLost, Refused, StoreError, StoreFull
from core.store import conversations, entries, facts, inbox, sessions, tables
from core.store.engine import Store
from core.store.postgres import PostgresDatabase
from core.store.sql import Sql, Tx
from tests.contract.scenes import NOW, arrive, begin, converse, say


async def _hold_the_writers(store: Store, release: threading.Event) -> list[asyncio.Task[bool]]:
    """Keep every writer busy, so that what is asked for next waits and forms one group."""

    def wait(_: Tx) -> bool:
        return release.wait(10)

    held = [asyncio.create_task(store.write(wait)) for _ in range(store.database.writers)]
    await asyncio.sleep(0)
    return held


async def test_a_failing_unit_takes_no_neighbour_down(store: Store) -> None:
    release = threading.Event()
    held = await _hold_the_writers(store, release)

    def fine(name: str) -> str:
        return name

    def refuse(tx: Tx) -> None:
        facts.put(tx, "refused", "x")
        raise Refused("nothing_here")

    def divide(tx: Tx) -> float:
        facts.put(tx, "divided", "x")
        return 1 / int(facts.get(tx, "nought") or 0)

    def putting(name: str) -> asyncio.Task[str]:
        def unit(tx: Tx) -> str:
            facts.put(tx, name, "x")
            return fine(name)

        return asyncio.create_task(store.write(unit))

    asked: list[asyncio.Task[object]] = [
        putting("a"), asyncio.create_task(store.write(refuse)), putting("b"),
        asyncio.create_task(store.write(divide)), putting("c"),
    ]  # fmt: skip
    await asyncio.sleep(0)
    release.set()
    results = await asyncio.gather(*asked, return_exceptions=True)
    await asyncio.gather(*held)
    assert [results[i] for i in (0, 2, 4)] == ["a", "b", "c"]
    assert isinstance(results[1], Refused)
    assert isinstance(results[3], ZeroDivisionError)
    kept = await store.read(lambda tx: [facts.get(tx, name) for name in ("a", "b", "c", "refused", "divided")])
    assert kept == ["x", "x", "x", None, None]


async def test_many_units_at_once_each_get_their_own_result(store: Store) -> None:
    async def one(i: int) -> int:
        await store.write(lambda tx: facts.put(tx, f"n{i}", str(i)))
        return int(await store.read(lambda tx: facts.get(tx, f"n{i}")) or -1)

    assert await asyncio.gather(*(one(i) for i in range(300))) == list(range(300))


async def test_c56_a_failure_in_the_middle_leaves_nothing_and_a_retry_works(store: Store) -> None:
    """C56: raise in step 2 of 3."""
    conversation = await store.write(converse)

    def reset(tx: Tx, *, fails: bool) -> None:
        locked = conversations.own(tx, conversation, None)
        session = begin(tx, conversation, "s1")
        if fails:
            raise OSError("power")
        say(tx, session.id, "hello")
        conversations.tell(tx, locked.id, "resumed")

    with pytest.raises(OSError, match="power"):
        await store.write(lambda tx: reset(tx, fails=True))
    assert await store.read(lambda tx: sessions.find(tx, "s1")) is None
    assert (await store.read(lambda tx: conversations.get(tx, conversation))).fence == 0
    await store.write(lambda tx: reset(tx, fails=False))
    found = await store.read(lambda tx: conversations.get(tx, conversation))
    assert (found.session, found.generation, found.told) == ("s1", 1, "resumed")


async def test_a_read_writes_nothing(store: Store) -> None:
    with pytest.raises(StoreError):
        await store.read(lambda tx: facts.put(tx, "sneaky", "x"))
    assert await store.read(lambda tx: facts.get(tx, "sneaky")) is None


async def test_a_write_is_seen_by_the_next_read(store: Store) -> None:
    for i in range(50):
        await store.write(lambda tx, i=i: facts.put(tx, "n", str(i)))  # type: ignore[misc]
        assert await store.read(lambda tx: facts.get(tx, "n")) == str(i)


async def test_the_owner_before_misses(store: Store) -> None:
    conversation = await store.write(converse)
    first = await store.write(lambda tx: conversations.own(tx, conversation, None))
    second = await store.write(lambda tx: conversations.own(tx, conversation, None))
    assert second.fence == first.fence + 1

    def write_late(tx: Tx) -> None:
        facts.put(tx, "late", "x")
        conversations.own(tx, conversation, first.fence)

    with pytest.raises(FenceLost):
        await store.write(write_late)
    assert await store.read(lambda tx: facts.get(tx, "late")) is None
    assert (await store.write(lambda tx: conversations.own(tx, conversation, second.fence))).fence == second.fence


async def test_creating_what_exists_is_a_no_op(store: Store) -> None:
    made = await asyncio.gather(*(store.write(converse) for _ in range(40)))
    assert len(set(made)) == 1
    everything = Sql(tables.conversations.select())
    assert len(await store.read(lambda tx: tx.all(everything))) == 1


async def test_an_event_is_stored_once_however_often_it_comes(store: Store) -> None:
    conversation = await store.write(converse)
    rows = await asyncio.gather(*(store.write(lambda tx: arrive(tx, conversation, "1")) for _ in range(40)))
    assert len([row for row in rows if row is not None]) == 1
    waiting = await store.read(lambda tx: inbox.pending_in(tx, conversation))
    assert [row.text for row in waiting] == ["hello"]


async def test_a_cancelled_caller_takes_nothing_back(store: Store) -> None:
    release = threading.Event()
    held = await _hold_the_writers(store, release)
    asked = asyncio.create_task(store.write(lambda tx: facts.put(tx, "kept", "x")))
    failing = asyncio.create_task(store.write(lambda tx: 1 / 0))
    await asyncio.sleep(0)
    asked.cancel()
    failing.cancel()
    release.set()
    await asyncio.gather(asked, failing, *held, return_exceptions=True)
    await store.write(lambda tx: facts.put(tx, "after", "x"))
    for _ in range(100):
        if await store.read(lambda tx: facts.get(tx, "kept")) == "x":
            break
        await asyncio.sleep(0.01)
    assert await store.read(lambda tx: facts.get(tx, "kept")) == "x"


async def test_a_unit_that_runs_out_of_an_iterator_fails_like_any_other(store: Store) -> None:
    """A future can't carry StopIteration; the caller would wait for ever."""

    def stop(_: Tx) -> None:
        next(iter([]))

    with pytest.raises(StoreError):
        await asyncio.wait_for(store.write(stop), 5)


async def test_a_transaction_can_not_be_used_after_its_end(store: Store) -> None:
    leaked: list[Tx] = []
    await store.write(leaked.append)
    with pytest.raises(Exception, match="closed"):
        facts.get(leaked[0], "x")


async def test_a_closed_store_says_so(store: Store) -> None:
    waiting = [asyncio.create_task(store.write(lambda tx, i=i: facts.put(tx, f"c{i}", "x"))) for i in range(20)]  # type: ignore[misc]
    await asyncio.sleep(0)
    await asyncio.to_thread(store.close)
    assert await asyncio.gather(*waiting) == [None] * 20
    with pytest.raises(StoreError, match="closed"):
        await store.read(lambda tx: facts.get(tx, "c1"))
    store.close()


async def test_text_that_no_database_takes_raises_and_leaves_nothing(store: Store) -> None:
    """C25. Intake replaces lone surrogates and NUL before they get here; should one come through, its unit alone fails.
    SQLite does take NUL."""
    conversation = await store.write(converse)
    with pytest.raises(UnicodeEncodeError):
        await store.write(lambda tx: arrive(tx, conversation, "1", "\ud83d"))
    if store.database.dialect == "postgresql":
        with pytest.raises(StoreError):
            await store.write(lambda tx: arrive(tx, conversation, "2", "a\0b"))
    text = "数" * 59 + "📊" + "tail"
    session = await store.write(lambda tx: begin(tx, conversation, "s"))
    grown = await store.write(lambda tx: say(tx, session.id, text))
    assert grown.title == text[:60]
    assert [entry.text for entry in await store.read(lambda tx: entries.of_session(tx, session.id))] == [text]


async def test_times_are_kept_to_the_microsecond(store: Store) -> None:
    conversation = await store.write(converse)
    session = await store.write(lambda tx: begin(tx, conversation, "s"))
    at = NOW + timedelta(microseconds=123457)
    await store.write(lambda tx: sessions.heard(tx, session, at, None))
    assert (await store.read(lambda tx: sessions.get(tx, session.id))).last_human_at == at


async def test_a_deadlock_is_run_again(postgres_store: Store) -> None:
    store = postgres_store
    one, two = await store.write(lambda tx: converse(tx, "1")), await store.write(lambda tx: converse(tx, "2"))
    both = threading.Barrier(2, timeout=10)
    tries: list[int] = []

    def lock_both(tx: Tx, first: conversations.ConversationId, second: conversations.ConversationId) -> None:
        conversations.lock(tx, first)
        tries.append(1)
        if len(tries) <= 2:
            both.wait()
        conversations.own(tx, second, None)

    await asyncio.gather(
        store.write(lambda tx: lock_both(tx, one, two)), store.write(lambda tx: lock_both(tx, two, one))
    )
    assert len(tries) == 3


_CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'frontdesk store'"


async def test_a_lost_connection_is_made_anew_and_the_unit_run_again(postgres_store: Store) -> None:
    store = postgres_store
    assert isinstance(store.database, PostgresDatabase)
    conninfo = store.database.conninfo
    await asyncio.gather(*(store.write(lambda tx: facts.put(tx, "n", "0")) for _ in range(30)))
    tries: list[int] = []

    def unit(tx: Tx) -> None:
        tries.append(1)
        facts.put(tx, "n", str(len(tries)))
        if len(tries) == 1:
            with psycopg.connect(conninfo) as other:
                other.execute(_CUT)
        facts.put(tx, "m", "1")

    await store.write(unit)
    assert len(tries) == 2
    await asyncio.gather(*(store.read(lambda tx: facts.get(tx, "n")) for _ in range(10)))
    assert await store.read(lambda tx: facts.get(tx, "n")) == "2"
    await asyncio.to_thread(store.lock.renew)


async def test_a_full_disk_is_said_and_got_over(sqlite_store: Store) -> None:
    """C57. The limit on pages stands in for the disk's; a real one is filled in the crash tests."""
    store = sqlite_store

    def limit(tx: Tx, pages: int) -> None:
        tx._cursor.execute(f"PRAGMA max_page_count={pages}", {})

    await store.write(lambda tx: facts.put(tx, "before", "x"))
    await store.write(lambda tx: limit(tx, 1))
    big = "x" * 1_000_000
    asked = [store.write(lambda tx, i=i: facts.put(tx, f"big{i}", big)) for i in range(3)]  # type: ignore[misc]
    results = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(result, StoreFull) and result.certain for result in results)
    assert await store.read(lambda tx: facts.get(tx, "before")) == "x"
    await store.write(lambda tx: limit(tx, 1 << 30))
    await store.write(lambda tx: facts.put(tx, "big0", big))
    assert await store.read(lambda tx: facts.get(tx, "big0")) == big
