"""kill -9 from outside, at any instant, while many people talk at once."""

from __future__ import annotations

import random

import pytest
from sqlalchemy import text as verbatim

from core.store.sql import Sql
from tests.crash.dialogue import Dialogue
from tests.crash.scene import INTERRUPTED, ROUNDS, Scene, Stage

pytestmark = pytest.mark.crash

KILLS = 5
KINDS = ("fast", "fast", "slow", "tool", "look", "long", "work")

_TURNS = Sql(
    verbatim("""
        SELECT e.text, t.state, t.attempt FROM turns t JOIN entries e ON e.turn_id = t.id WHERE e.kind = 'user'
    """)
)
_UNKNOWN = Sql(verbatim("SELECT text FROM deliveries WHERE state = 'unknown' AND chat = :chat"))


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_at_any_instant(scene: Scene, seed: int) -> None:
    chance = random.Random(seed)
    scene.server.set_limits(None)  # a process that starts knows nothing of what was sent a moment ago
    talks = [scene.talk(name) for name in ("Ada", "Bo", "Cy", "Di", "Eve", "Flo")]
    for _ in range(KILLS):
        for talk in talks:
            talk.say(chance.choice(KINDS))
        scene.start()
        die_at_random(scene, chance)
    for talk in talks:
        talk.say("fast")
    scene.start()
    scene.settle()
    scene.audit(strays=KILLS)
    for talk in talks:
        audit_talk(scene, talk)


def die_at_random(scene: Scene, chance: random.Random) -> None:
    """Between two calls of the bot, or just after; now and then while it still starts."""
    heard = len(scene.server.calls) + chance.choice([0, 1, 2, 3, 5, 8, 13, 21, 34])
    scene.until(lambda: len(scene.server.calls) >= heard or not scene.server.unconfirmed)
    scene.daemon.kill()


def audit_talk(scene: Stage, talk: Dialogue) -> None:
    """Each message was answered, or its person was told what became of it."""
    with scene.daemon.reading() as tx:
        turns = {row.text("text").partition(" ")[2]: row for row in tx.all(_TURNS)}
        unknown = " ".join(row.text("text") for row in tx.all(_UNKNOWN, chat=talk.place.chat))
    interrupted = 0
    for mark in talk.marks:
        match turns[mark].text("state"):
            case "done":
                assert talk.answers(mark) == 1 or f"({mark})" in unknown or mark in unknown
            case "interrupted":
                interrupted += 1
                assert talk.answers(mark) == 0
            case state:
                assert state == "failed"
                assert turns[mark].integer("attempt") == 3
        assert scene.tool_uses(mark) <= 1
    assert talk.count(INTERRUPTED) + unknown.count(INTERRUPTED) >= interrupted >= talk.count(INTERRUPTED)
