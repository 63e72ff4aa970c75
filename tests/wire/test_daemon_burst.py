"""The finished daemon when very much comes at once: the backlog of an outage."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import text as verbatim

from core.store.checks import check
from core.store.sql import Sql
from tests.crash.daemon import Daemon, until
from tests.crash.scene import open_work
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire.daemon_world import crash_agent, desk, no_secret_shown, person, telegram_bot

pytestmark = pytest.mark.endurance

CHATS: Final = 25
EACH: Final = 400
PATIENCE_S: Final = 60.0

_FATES = Sql(verbatim("SELECT chat, fate, state, count(*) AS n FROM inbox GROUP BY chat, fate, state"))
_SAID = Sql(
    verbatim("""
        SELECT t.chat, e.text FROM entries e JOIN turns t ON t.id = e.turn_id WHERE e.kind = 'user' ORDER BY e.id
    """)
)
_ANSWERS = Sql(verbatim("SELECT chat, count(*) AS n FROM deliveries WHERE state = 'sent' GROUP BY chat"))


def test_ten_thousand_updates_at_once_all_find_their_fate_in_order(tmp_path: Path) -> None:
    with ThreadedTelegramServer() as server:
        talks = [person(server, f"Person {number}") for number in range(CHATS)]
        date = int(time.time()) - 3600
        for number in range(EACH):
            for talk in talks:
                server.say(talk.chat, talk.user, f"mass {number}", date=date)
        config = '[access]\ndirect = "open"\n' + crash_agent(tmp_path) + telegram_bot(server)
        daemon = desk(tmp_path, [("telegram", server)], config)
        with daemon, no_secret_shown(daemon, server):
            began = time.monotonic()
            daemon.start()
            server.until(lambda: not server.unconfirmed, timeout_s=PATIENCE_S)
            stored = time.monotonic() - began
            until(lambda: nothing_open(daemon), "nothing is open", timeout_s=PATIENCE_S)
            print(
                f"{CHATS * EACH} updates: stored after {stored:.1f} s, answered after {time.monotonic() - began:.1f} s"
            )
            audit(daemon)
            assert sum(len(talk.texts) for talk in talks) == answers(daemon)
            assert daemon.bot()["state"] == "up"
        assert server.violations == ()


def nothing_open(daemon: Daemon) -> bool:
    with daemon.reading() as tx:
        return open_work(tx) == 0


def answers(daemon: Daemon) -> int:
    with daemon.reading() as tx:
        return sum(row.integer("n") for row in tx.all(_ANSWERS))


def audit(daemon: Daemon) -> None:
    """Every chat has its 400 rows with a fate, and its transcript holds the 400 texts in order."""
    with daemon.reading() as tx:
        assert check(tx) == []
        fates, said, sent = tx.all(_FATES), tx.all(_SAID), tx.all(_ANSWERS)
    rows, answered, lines = Counter[str](), Counter[str](), dict[str, list[str]]()
    for row in fates:
        assert row.text("fate") in ("answered", "merged")
        rows[row.text("chat")] += row.integer("n")
        answered[row.text("chat")] += row.integer("n") if row.text("fate") == "answered" else 0
    for row in said:
        lines.setdefault(row.text("chat"), []).extend(row.text("text").splitlines())
    assert set(rows.values()) == {EACH}
    assert len(rows) == CHATS
    assert all(texts == [f"mass {number}" for number in range(EACH)] for texts in lines.values())
    assert {row.text("chat"): row.integer("n") for row in sent} == dict(answered)
