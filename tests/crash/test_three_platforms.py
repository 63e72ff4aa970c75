"""One desk, three platforms and the terminal: random kills, lost answers, one platform after the other failing.

None is lost, none is doubled, order is kept, and on Discord and Slack nobody is told that an answer may be missing.
FRONTDESK_THREE_PEOPLE and FRONTDESK_THREE_MESSAGES make it longer.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import text as verbatim

from core.store.sql import Sql
from tests.crash.daemon import until
from tests.crash.nursery import Nursery
from tests.crash.scene import ROUNDS, UNKNOWN
from tests.crash.test_kill_random import audit_talk
from tests.crash.three import KINDS, NAMES, TROUBLES, Crowd, platforms, told, waits_of

pytestmark = pytest.mark.crash

PEOPLE: Final = int(os.environ.get("FRONTDESK_THREE_PEOPLE", "24"))
MESSAGES: Final = int(os.environ.get("FRONTDESK_THREE_MESSAGES", "240"))
A_SECOND: Final = 12
"""Messages of all people together; Slack takes four a second of a workspace."""
KILLS: Final = 5
PATIENCE_S: Final = 120.0 + PEOPLE
"""Slack lets 45 conversations be read in a minute, and each start reads them all."""

_UNKNOWN_ON = Sql(verbatim("SELECT count(*) FROM deliveries WHERE state = 'unknown' AND bot = :bot"))


@pytest.fixture
def crowd(nursery: Nursery, sqlite_template: Path, tmp_path: Path) -> Iterator[Crowd]:
    """Without the platforms' limits: a process that starts knows nothing of what was sent a moment ago."""
    with platforms(limits=False) as there:
        made = Crowd(there, [PEOPLE // len(NAMES)] * len(NAMES), tmp_path, nursery)
        made.put_store(sqlite_template)
        with made.daemon:
            yield made


@pytest.mark.parametrize("seed", range(max(1, ROUNDS // 3)))
def test_killed_at_any_instant_while_platforms_fail(crowd: Crowd, seed: int) -> None:
    chance = random.Random(seed)
    crowd.start()
    crowd.until_up()
    crowd.greet()
    crowd.settle_slowly(PATIENCE_S)
    assert crowd.chat() == 1
    in_peace(crowd, chance)
    for number in range(KILLS):
        kill_and_start(crowd, chance, number)
    crowd.until_up()
    assert crowd.chat() == 1
    crowd.settle_slowly(PATIENCE_S)
    audit(crowd)


def in_peace(crowd: Crowd, chance: random.Random) -> None:
    """Nobody is killed, and one that fails keeps nobody elsewhere waiting: all others are answered before it is back.
    How long they wait is printed."""
    count = MESSAGES // 4
    said = crowd.talk_for(crowd.steps(count, chance), count / A_SECOND)
    crowd.settle_slowly(PATIENCE_S)
    crowd.there.fail("slack", "hanging")
    beside = crowd.talk_for(crowd.steps(count, chance), count / A_SECOND)
    assert crowd.chat() == 1
    others = [(dialogue, mark) for dialogue, mark in beside if dialogue.bot != "slack"]
    until(lambda: all(dialogue.answers(mark) == 1 for dialogue, mark in others), "the others are answered",
          timeout_s=PATIENCE_S)  # fmt: skip
    crowd.there.end("slack")
    crowd.settle_slowly(PATIENCE_S)
    for name in NAMES:
        print(f"{name}: {told(waits_of(said, name))}; while Slack hangs: {told(waits_of(beside, name))}")


def kill_and_start(crowd: Crowd, chance: random.Random, number: int) -> None:
    """Some is said, at some instant the process dies, some is said to nobody, and all the while one platform fails."""
    failing, trouble = NAMES[number % len(NAMES)], chance.choice(TROUBLES)
    count = MESSAGES // (4 * KILLS)
    crowd.there.lose_answers()
    crowd.there.fail(failing, trouble)
    crowd.talk_for(crowd.steps(count, chance, (*KINDS, "tool", "work")), count / A_SECOND)
    crowd.rest(chance.uniform(0.0, 0.4))
    crowd.daemon.kill()
    crowd.talk_for(crowd.steps(count, chance), count / A_SECOND)
    crowd.start()
    crowd.rest(chance.uniform(0.0, 1.0))
    crowd.there.end(failing)


def audit(crowd: Crowd) -> None:
    assert sum(one.hits for one in crowd.there.lost) > 0
    crowd.audit({}, strays=KILLS)
    for dialogue in crowd.dialogues:
        audit_talk(crowd, dialogue)
        if dialogue.bot != "telegram":
            assert dialogue.count(UNKNOWN) == 0
    with crowd.daemon.reading() as tx:
        assert [tx.number(_UNKNOWN_ON, bot=name) for name in ("discord", "slack")] == [0, 0]
    verified = crowd.daemon.call("db", "verify")
    assert verified.returncode == 0, verified.stderr
