"""What Telegram hands over again, or held back: C09, C10, C11, C35 (tests named by these ids)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text as verbatim

from core.store.sql import Sql
from tests.crash.daemon import until
from tests.crash.scene import RESET, Scene, Talk
from tests.crash.test_kill_points import answered_unconfirmed

pytestmark = pytest.mark.crash

_NOT_BEFORE = Sql(
    verbatim("SELECT not_before FROM deliveries WHERE state = 'queued' AND not_before IS NOT NULL ORDER BY id")
)


def test_c09_a_reset_that_comes_again_after_the_start_is_ignored_and_a_new_one_is_not(scene: Scene) -> None:
    scene.start("command.committed:reset")
    talk = scene.talk()
    talk.say("fast")
    scene.settle()
    scene.arm()
    update = talk.type("/reset")
    scene.wait_death()
    scene.server.redeliver(update)
    scene.start()
    scene.settle()
    assert talk.count(RESET) == 1
    talk.say("fast")
    scene.settle()
    scene.server.redeliver(update)
    talk.type("/reset")
    scene.settle()
    assert talk.count(RESET) == 2
    scene.audit()
    listed = scene.daemon.json("sessions", "list")
    assert isinstance(listed, list)
    assert len(listed) == 3


def test_c10_what_was_said_while_nobody_was_there_is_answered_in_order(scene: Scene) -> None:
    scene.start()
    talk = scene.talk()
    scene.daemon.until_bot("up")
    scene.daemon.kill()
    marks = [talk.say("fast") for _ in range(6)]
    scene.start()
    scene.settle()
    assert [talk.answers(mark) for mark in marks] == [1] * 6
    scene.audit()


@pytest.mark.parametrize("point", ["delivery.sent:part_1", "turn.recorded"])
def test_c11_an_update_that_comes_again_asks_no_agent(scene: Scene, point: str) -> None:
    scene.start(point)
    talk = scene.talk()
    scene.arm()
    mark = talk.say("fast")
    scene.wait_death()
    comes_again(scene, talk, mark)


def test_c11_an_update_that_was_not_confirmed_comes_again_and_asks_no_agent(scene: Scene) -> None:
    scene.start()
    talk = scene.talk()
    scene.server.hold_offsets(True)
    mark = answered_unconfirmed(scene, talk)
    assert scene.server.unconfirmed == (700_000_001,)
    scene.daemon.kill()
    scene.server.hold_offsets(False)
    comes_again(scene, talk, mark)


def comes_again(scene: Scene, talk: Talk, mark: str) -> None:
    """After the death, and once more after the next start."""
    for update in scene.server.unconfirmed or (700_000_001,):
        scene.server.redeliver(update)
    scene.start()
    scene.settle()
    scene.server.redeliver(700_000_001)
    talk.say("fast")
    scene.settle()
    assert scene.runs(mark) == 1
    scene.audit()


def test_c35_a_long_flood_wait_holds_one_chat_and_survives_a_kill(scene: Scene) -> None:
    told, others = scene.talk("Ada"), scene.talk("Bo")
    scene.server.flood(told.chat, 1000)
    scene.start()
    told.say("fast")
    wait = flood_wait(scene)
    quick = others.say("fast")
    scene.settle(but=told)
    assert others.answers(quick) == 1
    calls = len(scene.server.calls_of("sendMessage"))
    scene.daemon.kill()
    quick = others.say("fast")
    scene.start()
    scene.settle(but=told)
    assert others.answers(quick) == 1
    assert len(scene.server.calls_of("sendMessage")) == calls + 1
    assert flood_wait(scene) == wait
    assert timedelta(seconds=900) < wait - datetime.now(UTC) <= timedelta(seconds=1001)
    assert scene.server.violations == ()


def test_c35_what_waits_for_a_flood_goes_out_after_it(scene: Scene) -> None:
    talk = scene.talk()
    scene.server.flood(talk.chat, 3)
    scene.start()
    mark = talk.say("fast")
    flood_wait(scene)
    scene.daemon.kill()
    scene.start()
    scene.settle()
    assert talk.answers(mark) == 1
    scene.audit()


def flood_wait(scene: Scene) -> datetime:
    """Until when the one part that waits may not go, once that is stored."""
    found: list[datetime] = []

    def stored() -> bool:
        with scene.daemon.reading() as tx:
            found[:] = [row.time("not_before") for row in tx.all(_NOT_BEFORE)]
        return len(found) == 1

    until(stored, "a part waits")
    return found[0]
