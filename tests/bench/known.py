"""A desk that knows a million conversations: what a sweep and a turn cost there."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import func, select

from core.store.engine import Store
from core.store.open import DATABASE_FILE, open_store
from core.store.sql import Sql, to_us
from core.store.sqlite_driver import sqlite
from core.store.tables import sessions
from tests.bench.bare import put
from tests.bench.figures import Figure
from tests.bench.house import UnderTest, new_state, under_test
from tests.bench.turns import load

MANY = 1_000_000
FEW = 10
DUE = 100
GROUPS = 12
"""Sweeps that find something: the sessions of group g end g hours after `BASE`."""
BASE = datetime(2026, 6, 1, 12, tzinfo=UTC)
LIFE = timedelta(hours=24)
HOUR = timedelta(hours=1)
TURNS = 60
ROUNDS = 5
CACHE = Path(tempfile.gettempdir()) / f"frontdesk-bench-known-{os.getuid()}"

_ENDED = Sql(select(func.count()).select_from(sessions).where(sessions.c.end_reason == "idle"))
_BULK = """
CREATE TEMP TABLE n AS
    WITH RECURSIVE counted(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < :count)
    SELECT i, CAST(i AS TEXT) AS chat, printf('019c0000-0000-7000-8000-%012x', i) AS session,
        printf('019c0000-0000-7000-8001-%012x', i) AS turn,
        :base - CASE WHEN i % :every < :groups THEN :life - (i % :every) * :hour ELSE 0 END AS at
    FROM counted;
INSERT INTO conversations (id, session_id, generation, fence, bot, chat, kind, created_at)
    SELECT i, session, 0, 1, 'bench', chat, 'direct', at FROM n;
INSERT INTO keys SELECT 'bench/dm/' || chat, i, at FROM n;
INSERT INTO sessions (id, conversation_id, generation, started_at, last_human_at, touched_at, expires_at, title, bot,
        kind, head, model_head, messages)
    SELECT session, i, 0, at, at, at, at + :life, 'What is the weather like', 'bench', 'direct', 2, 2, 1 FROM n;
INSERT INTO participants SELECT session, 'telegram:' || chat FROM n;
INSERT INTO turns (id, conversation_id, session_id, state, attempt, author, bot, chat, kind, user_seq, agent,
        opened_at, closed_at)
    SELECT turn, i, session, 'done', 1, 'telegram:' || chat, 'bench', chat, 'direct', 1, 'default', at, at FROM n;
INSERT INTO entries (session_id, seq, kind, text, turn_id, at)
    SELECT session, 1, 'user', 'What is the weather like?', turn, at FROM n;
INSERT INTO entries (session_id, seq, kind, text, turn_id, at)
    SELECT session, 2, 'assistant', 'The wind is fair.', turn, at FROM n;
INSERT INTO inbox (account, dedupe, message, conversation_id, lane, state, fate, turn_id, bot, chat, kind, text,
        more_likely, sent_at, received_at, done_at)
    SELECT 'telegram:bench', 'm:' || chat || ':0', '0', i, 'ordered', 'done', 'answered', turn, 'bench', chat,
        'direct', '', 0, at, at, at FROM n;
INSERT INTO deliveries (conversation_id, turn_id, role, part, bot, chat, kind, text, state, message, attempts,
        created_at, done_at)
    SELECT i, turn, 'reply', 1, 'bench', chat, 'direct', '', 'sent', '0', 1, at, at FROM n;
DROP TABLE n;
ANALYZE;
"""


def _build(state: Path, count: int) -> None:
    """A store with that many conversations of one turn each, and no other history."""
    open_store(None, state).close()
    hour = to_us(BASE) - to_us(BASE - HOUR)
    bound = {
        "count": count, "base": to_us(BASE), "life": 24 * hour, "hour": hour, "every": max(count // DUE, GROUPS + 1),
        "groups": GROUPS if count >= DUE else 0,
    }  # fmt: skip
    with closing(sqlite.connect(str(state / DATABASE_FILE), isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA cache_size=-400000")
        connection.execute("BEGIN")
        for statement in _BULK.split(";")[:-1]:
            names = {name: value for name, value in bound.items() if f":{name}" in statement}
            connection.execute(statement, names)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _kept() -> Path:
    """The large store, kept between runs until its schema or this file changes."""
    source = Path(__file__).read_bytes() + (Path(__file__).parents[2] / "core/store/tables.py").read_bytes()
    state = CACHE / hashlib.sha256(source).hexdigest()[:16]
    if not (state / DATABASE_FILE).exists():
        shutil.rmtree(CACHE, ignore_errors=True)
        making = CACHE / "making"
        making.mkdir(parents=True)
        _build(making, MANY)
        making.rename(state)
    return state


@asynccontextmanager
async def _few() -> AsyncIterator[UnderTest]:
    async with new_state() as state:
        _build(state, FEW)
        async with under_test(state) as desk:
            yield _at(desk, timedelta(0))


@asynccontextmanager
async def _many() -> AsyncIterator[UnderTest]:
    async with new_state() as state:
        shutil.copy(_kept() / DATABASE_FILE, state / DATABASE_FILE)
        async with under_test(state) as desk:
            yield _at(desk, timedelta(0))


def _at(desk: UnderTest, after: timedelta) -> UnderTest:
    """It is that long after `BASE`, and half a minute: nothing is due at once."""
    desk.clock.ahead += BASE + after - timedelta(seconds=30) - desk.clock.now()
    return desk


async def measure() -> AsyncIterator[Figure]:
    async with _many() as many, _few() as few:
        yield await _sweeps(many)
        yield await _turn(many, few)


async def _sweeps(desk: UnderTest) -> Figure:
    took, bare = [], []
    for group in range(1, GROUPS):
        _at(desk, group * HOUR + timedelta(minutes=1))
        if group == 1:
            await desk.chores.sweep()  # the groups before, and the first pages
            await desk.desk.idle()
            continue
        began = time.perf_counter()
        await desk.chores.sweep()
        await desk.desk.idle()
        took.append(time.perf_counter() - began)
        assert await desk.house.store.read(lambda tx: tx.number(_ENDED)) == group * DUE + DUE
        bare.append(await _units(desk.house.store, DUE))
    _at(desk, timedelta(0))
    return Figure(
        what=f"sweep over {MANY:,} conversations with {DUE} due",
        value=statistics.median(took) * 1000,
        unit="ms",
        budget=50,
        bare=statistics.median(bare) * 1000,
    )


async def _units(store: Store, count: int) -> float:
    """Seconds for that many units at once."""
    began = time.perf_counter()
    await asyncio.gather(*(store.write(put(f"bare {number}", "1")) for number in range(count)))
    return time.perf_counter() - began


async def _turn(many: UnderTest, few: UnderTest) -> Figure:
    """The same turns in both, round by round, so that what else the machine does hits both."""
    far = [str(MANY // FEW * number + MANY // DUE // 2) for number in range(FEW)]
    near = [str(number) for number in range(1, FEW + 1)]
    await many.talk(far, 5)
    await few.talk(near, 5)
    costs = [((await load(many, far, TURNS))[0], (await load(few, near, TURNS))[0]) for _ in range(ROUNDS)]
    at_few = min(cost for _, cost in costs)
    return Figure(
        what=f"CPU per turn at {MANY:,} known conversations (bare: at {FEW})",
        value=min(cost for cost, _ in costs),
        unit="ms",
        budget=at_few * 1.2,
        bare=at_few,
    )
