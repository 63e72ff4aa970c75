"""kill -9 where one end follows another: while recovering, telling, or stopping, and thrice for one message."""

from __future__ import annotations

import pytest
from sqlalchemy import text as verbatim

from core.store.sql import Sql
from tests.crash.scene import ROUNDS, UNKNOWN, Scene

pytestmark = pytest.mark.crash

_ATTEMPTS = Sql(verbatim("SELECT t.attempt FROM turns t JOIN entries e ON e.turn_id = t.id WHERE e.text LIKE :mark"))


def attempts(scene: Scene, mark: str) -> int:
    with scene.daemon.reading() as tx:
        return tx.number(_ATTEMPTS, mark=f"% {mark}")


def test_killed_while_it_recovers(scene: Scene) -> None:
    """The transaction that takes the turn up again is undone with the process: it counts as no attempt."""
    scene.start("turn.admitted")
    for _ in range(ROUNDS):
        talk = scene.talk()
        scene.arm()
        mark = talk.say("fast")
        behind = talk.say("fast")
        scene.wait_death()
        scene.arm()
        scene.start("recovery.written")
        scene.wait_death()
        scene.start("turn.admitted")
        scene.settle()
        assert (talk.answers(mark), talk.answers(behind), scene.runs(mark)) == (1, 1, 1)
        assert attempts(scene, mark) == 2
        scene.audit()


def test_a_message_that_kills_is_left_after_the_third_time(scene: Scene) -> None:
    """Only the death of the process counts; what waits behind it is answered."""
    scene.start("agent.heard")
    for _ in range(ROUNDS):
        talk = scene.talk()
        mark = ""
        scene.arm()
        for death in range(3):
            mark = mark or talk.say("fast")
            scene.daemon.wait_death()
            scene.start("agent.heard" if death < 2 else "nowhere")
        scene.armed.unlink()
        behind = talk.say("fast")
        scene.settle()
        assert (talk.answers(mark), talk.answers(behind)) == (0, 1)
        assert talk.count("This message stopped me three times in a row") == 1
        assert (scene.runs(mark), attempts(scene, mark)) == (3, 3)
        scene.audit()
        scene.daemon.kill()
        scene.start("agent.heard")


def test_killed_as_it_tells_of_an_unknown_answer(scene: Scene) -> None:
    """The notice is told once, and no notice speaks of a notice; /again then sends the answer."""
    scene.start("delivery.sent:part_1")
    for _ in range(ROUNDS):
        talk = scene.talk()
        scene.arm()
        mark = talk.say("fast")
        scene.wait_death()
        scene.arm()
        scene.start("delivery.sent:unknown_notice")
        scene.wait_death()
        scene.start("delivery.sent:part_1")
        scene.settle()
        assert (talk.answers(mark), talk.count(UNKNOWN), len(talk.texts)) == (1, 1, 2)
        scene.audit()
    talk.type("/again")
    scene.settle()
    assert (talk.answers(mark), talk.count(UNKNOWN), len(talk.texts)) == (2, 1, 3)


def test_what_grew_is_replaced_even_by_what_it_began_with(scene: Scene) -> None:
    """The store holds what a preview said first; people may see more by now."""
    scene.start("preview.edited")
    talk = scene.talk()
    scene.arm()
    mark = talk.say("shrink")
    scene.wait_death()
    assert "word" in talk.texts[0]
    scene.start()
    scene.settle()
    assert talk.texts == (f"begin({mark}) end({mark})",)
    scene.audit()


def test_killed_while_it_drains(scene: Scene) -> None:
    """SIGTERM lets the turn run on, kill -9 ends it: the answer that grew is finished by the next start."""
    scene.start("drain.begun")
    for _ in range(ROUNDS):
        talk = scene.talk()
        mark = talk.say("slow")
        scene.until_previewed()
        scene.arm()
        scene.daemon.terminate()
        scene.wait_death()
        after = talk.say("fast")
        scene.start("drain.begun")
        scene.settle()
        assert (talk.answers(mark), talk.answers(after)) == (1, 1)
        scene.audit()
