"""Searching agrees with reading everything, whatever was said, asked and indexed."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.store import search
from core.store.engine import Store
from core.store.open import DATABASE_FILE, open_store
from core.store.sql import Tx
from tests.contract.scenes import begin, converse, say

_LETTERS = "abAB%_\\\"'* 服务端数éÉ📊-"
_TEXTS = st.text(_LETTERS, max_size=12)
_ROUNDS = st.lists(st.tuples(st.lists(_TEXTS, max_size=5), st.integers(0, 4)), max_size=6)


@pytest.fixture(scope="module")
def opened(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    state = tmp_path_factory.mktemp("search")
    shutil.copy(sqlite_template, state / DATABASE_FILE)
    store = open_store(None, state)
    yield store
    store.close()


class _Undone(Exception):
    """Takes back what one example stored."""


@settings(deadline=None, max_examples=150)
@given(rounds=_ROUNDS, query=st.text(_LETTERS, min_size=1, max_size=5))
def test_what_holds_the_query_is_found_newest_first(
    opened: Store, rounds: list[tuple[list[str], int]], query: str
) -> None:
    def unit(tx: Tx) -> None:
        session = begin(tx, converse(tx), "s")
        said: list[str] = []
        for texts, indexed in rounds:
            if texts:
                session = say(tx, session.id, *texts)
                said += texts
            if indexed:
                search.index_some(tx, indexed)
        hits = search.search(tx, query, most=100)
        mine = search.search(tx, query, identity="telegram:7", most=100)
        raise _Undone(said, hits, mine)

    with pytest.raises(_Undone) as undone:
        asyncio.run(opened.write(unit))
    said, hits, mine = undone.value.args
    expected = [text for text in reversed(said) if query.casefold() in text.casefold()]
    assert [found.text for found in hits.found] == expected
    assert [found.text for found in mine.found] == expected
    assert hits.complete


@given(length=st.integers(0, 40_000))
def test_pieces_cover_a_text_and_overlap(length: int) -> None:
    text = "".join(chr(0x4E00 + i % 20_000) for i in range(length))
    pieces = list(search._pieces(text))
    joined = pieces[0] if pieces else ""
    for before, after in pairwise(pieces):
        assert before[-search.OVERLAP :] == after[: search.OVERLAP]
        assert len(after) > search.OVERLAP
        joined += after[search.OVERLAP :]
    assert joined == text
