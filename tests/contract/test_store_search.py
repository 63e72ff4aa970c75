"""Searching: what is written is found as it is written, indexed or not, and only by those who may see it."""

from __future__ import annotations

import pytest

from core.store import chores, search
from core.store.conversations import ConversationId, SessionId
from core.store.engine import Store
from core.store.entries import Kind
from core.store.search import Hits
from core.store.sql import Row, Sql, Tx
from core.store.tables import entries
from tests.contract.scenes import begin, converse, say


async def _session(store: Store, chat: str, *texts: str) -> tuple[ConversationId, SessionId]:
    def unit(tx: Tx) -> tuple[ConversationId, SessionId]:
        conversation = converse(tx, chat)
        session = begin(tx, conversation, f"s{chat}", f"telegram:{chat}")
        say(tx, session.id, *texts)
        return conversation, session.id

    return await store.write(unit)


async def _index_all(store: Store) -> None:
    for _ in range(1000):
        if await store.write(lambda tx: search.index_some(tx, 50)) == 0:
            return
    pytest.fail("indexing has no end")


async def _find(store: Store, query: str, identity: str | None = None) -> list[str]:
    hits = await store.read(lambda tx: search.search(tx, query, identity=identity))
    assert hits.complete
    return [found.text for found in hits.found]


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("query", ["youer", "服务", "端", "修改youer服务端", "改Y", "YOUER服"])
async def test_parts_of_words_in_any_script_are_found(store: Store, query: str, indexed: bool) -> None:
    """C64."""
    await _session(store, "7", "nothing", "修改youer服务端", "nobody")
    if indexed:
        await _index_all(store)
    assert await _find(store, query) == ["修改youer服务端"]


_LITERAL = ["100%", "a_b", "c:\\dir", 'say "hi"', "x AND y", "NEAR(a b)", "col:val", "wild*", "'; DROP TABLE", "-minus"]


@pytest.mark.parametrize("indexed", [True, False])
async def test_nothing_in_a_query_has_a_meaning(store: Store, indexed: bool) -> None:
    await _session(store, "7", *_LITERAL, "1000", "axb", "c:/dir", "say hi", "x y", "a b", "wildcard")
    if indexed:
        await _index_all(store)
    for query in (*_LITERAL, "%", "_", "\\", '"', "'", "*", "''", '""', "%%%", "___", '"""'):
        expected = [text for text in reversed(_LITERAL) if query in text]
        assert await _find(store, query) == expected, query


async def test_what_can_not_be_stored_is_not_found(store: Store) -> None:
    await _session(store, "7", "hello")
    for query in ("", "\0", "hel\0lo", "\ud83d", "hello\ud83d"):
        assert await _find(store, query) == []


async def test_the_newest_come_first_and_no_more_than_asked_for(store: Store) -> None:
    _, session = await _session(store, "7", *(f"apple {i}" for i in range(30)))
    for _ in range(2):
        hits = await store.read(lambda tx: search.search(tx, "apple", most=3))
        assert [found.text for found in hits.found] == ["apple 29", "apple 28", "apple 27"]
        assert [(found.session, found.seq) for found in hits.found] == [(session, 30), (session, 29), (session, 28)]
        await _index_all(store)


async def test_only_those_who_took_part_find_it(store: Store) -> None:
    first, _ = await _session(store, "1", "our secret")
    await _session(store, "2", "their secret")
    for _ in range(2):
        for query in ("secret", "se"):
            assert await _find(store, query, "telegram:1") == ["our secret"]
            assert await _find(store, query, "telegram:3") == []
            assert await _find(store, query) == ["their secret", "our secret"]
            hits = await store.read(lambda tx, query=query: search.search(tx, query, conversation=first))  # type: ignore[misc]
            assert [found.text for found in hits.found] == ["our secret"]
        await _index_all(store)


async def test_only_what_people_and_agents_said_is_found(store: Store) -> None:
    _, session = await _session(store, "7", "a user's melon")
    for kind in Kind:
        if kind is not Kind.USER:
            await store.write(lambda tx, kind=kind: say(tx, session, f"a melon of {kind}", kind=kind))  # type: ignore[misc]
    for _ in range(2):
        assert await _find(store, "melon") == ["a melon of assistant", "a user's melon"]
        assert await _find(store, "me") == ["a melon of assistant", "a user's melon"]
        await _index_all(store)


async def test_indexing_goes_on_where_it_was(store: Store) -> None:
    _, session = await _session(store, "7", *(f"plum {i}" for i in range(7)))
    for i in range(7, 12):
        await store.write(lambda tx: search.index_some(tx, 2))
        await store.write(lambda tx, i=i: say(tx, session, f"plum {i}"))  # type: ignore[misc]
        assert await _find(store, "plum") == [f"plum {n}" for n in range(i, -1, -1)]
    await _index_all(store)
    assert await _find(store, "plum") == [f"plum {n}" for n in range(11, -1, -1)]


async def test_a_long_text_is_found_by_any_part_of_it(store: Store) -> None:
    words = " ".join(f"w{i}x" for i in range(40_000))
    await _session(store, "7", words, "short")
    await _index_all(store)
    for start in (0, search.PIECE - 30, search.PIECE - search.OVERLAP - 5, 3 * search.PIECE, len(words) - 40):
        for length in (3, 40, 150, 5_000):
            query = words[start : start + length]
            assert await _find(store, query) == [words], (start, length)
    assert await _find(store, words[:5_000] + "?") == []


async def test_no_unit_indexes_much(sqlite_store: Store) -> None:
    await _session(sqlite_store, "7", "x" * 1_000_000, *["y" * 5_000] * 100)
    steps = await sqlite_store.write(lambda tx: search.index_some(tx, 1_000))
    assert 0 < steps <= search.UNIT // search.PIECE + 2


async def test_a_deleted_session_is_not_found_and_the_rest_is(store: Store) -> None:
    _, first = await _session(store, "1", *(f"cherry {i}" for i in range(5)))
    _, long = await _session(store, "2", "cherry " * 10_000)
    await store.write(lambda tx: search.index_some(tx, 50))
    assert await store.write(lambda tx: chores.delete_session(tx, long))
    await _session(store, "3", "first of all " + "cherry " * 5_000, "cherry pie")
    await _index_all(store)
    assert await store.write(lambda tx: chores.delete_session(tx, first))
    assert await _find(store, "cherry pie") == ["cherry pie"]
    assert len(await _find(store, "first of all")) == 1
    assert len(await _find(store, "cherry")) == 2
    if store.database.dialect == "sqlite":
        rows = await store.read(lambda tx: tx.all(_INDEXED))
        assert {row.integer("entry") for row in rows} == {row.integer("id") for row in await store.read(_all_ids)}


_INDEXED = search._sql(f"SELECT DISTINCT rowid / {search.PIECES} AS entry FROM entries_search")
_IDS = Sql(entries.select())


def _all_ids(tx: Tx) -> list[Row]:
    return tx.all(_IDS)


@pytest.mark.parametrize("query", ["ap", "zz", "zzz"])
async def test_a_search_that_stops_early_says_so(
    sqlite_store: Store, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = sqlite_store
    monkeypatch.setattr(search, "SCAN", 60)
    monkeypatch.setattr(search, "PAGE", 7)
    await _session(store, "7", *(f"apple {i}" for i in range(100)))

    def ask(tx: Tx) -> tuple[Hits, Hits, Hits]:
        return (
            search.search(tx, query, most=3),
            search.search(tx, query, most=80),
            search.search(tx, query, identity="telegram:7", most=80),
        )

    few, many, mine = await store.read(ask)
    if query == "ap":
        assert (len(few.found), few.complete) == (3, True)
        assert (len(many.found), many.complete) == (60, False)
        assert (len(mine.found), mine.complete) == (60, False)
    else:
        assert (few.complete, many.complete, mine.complete) == (False, False, False)
    await _index_all(store)
    few, many, mine = await store.read(ask)
    assert (few.complete, many.complete) == ((True, False) if query == "ap" else (query == "zzz",) * 2)
