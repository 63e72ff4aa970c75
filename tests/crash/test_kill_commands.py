"""kill -9 around commands that change a conversation: carried out once, told once, and in order with the rest; on every
platform."""

from __future__ import annotations

import pytest
from sqlalchemy import text as verbatim

from core.store.sql import Sql
from tests.crash.conftest import StageOn
from tests.crash.dialogue import Dialogue
from tests.crash.scene import RESET, ROUNDS, Scene, Stage
from tests.crash.test_kill_platforms import FEW

pytestmark = pytest.mark.crash

ELSEWHERE = ("discord", "slack")
RESETS = ("command.accepted:reset", "command.written:reset", "command.committed:reset")
RESUMES = ("command.written:resume", "command.committed:resume")
_SESSION_OF = Sql(
    verbatim("SELECT s.id, s.end_reason FROM entries e JOIN sessions s ON s.id = e.session_id WHERE e.text LIKE :mark")
)


def session_of(scene: Stage, mark: str) -> tuple[str, str | None]:
    """Where a message was stored: the session's id, and why it ended."""
    with scene.daemon.reading() as tx:
        [row] = tx.all(_SESSION_OF, mark=f"% {mark}")
    return row.text("id"), row.text_or_none("end_reason")


def say_and_settle(scene: Stage, talk: Dialogue) -> str:
    mark = talk.say("fast")
    scene.settle()
    return mark


@pytest.mark.parametrize("point", RESETS)
def test_a_reset_is_carried_out_once(scene: Scene, point: str) -> None:
    reset_and_die(scene, point, ROUNDS)


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize("point", RESETS)
def test_so_it_is_elsewhere(stage_on: StageOn, name: str, point: str) -> None:
    with stage_on(name) as stage:
        reset_and_die(stage, point, FEW)


def reset_and_die(scene: Stage, point: str, rounds: int) -> None:
    scene.start(point)
    for _ in range(rounds):
        talk = scene.speak()
        old = say_and_settle(scene, talk)
        scene.arm()
        talk.put("/reset")
        new = talk.say("fast")
        scene.wait_death()
        scene.start(point)
        scene.settle()
        assert talk.texts[1] == RESET
        assert talk.count(RESET) == 1
        assert talk.answers(old) == talk.answers(new) == 1
        assert session_of(scene, old)[1] == "command"
        assert session_of(scene, new)[1] is None
        assert session_of(scene, new)[0] != session_of(scene, old)[0]
        scene.audit()


def test_a_reset_that_was_accepted_ends_what_came_before_it_and_nothing_after(scene: Scene) -> None:
    closed: dict[str, str] = {}
    scene.start("command.accepted:reset")
    for _ in range(ROUNDS):
        talk = scene.talk()
        scene.arm()
        running = talk.say("crawl")
        scene.until_previewed()
        waiting = talk.say("fast")
        scene.taken_in()
        talk.type("/reset")
        after = talk.say("fast")
        scene.wait_death()
        scene.start("command.accepted:reset")
        scene.settle()
        assert [talk.answers(mark) for mark in (running, waiting, after)] == [0, 0, 1]
        assert talk.begun(running) == 1
        assert talk.texts[1] == f"{RESET} 1 waiting message was dropped."
        assert session_of(scene, after)[0] != session_of(scene, running)[0]
        assert scene.runs(running) == 1
        closed[waiting] = "closed"
        scene.audit(closed)


@pytest.mark.parametrize("point", RESUMES)
def test_a_resume_is_carried_out_once(scene: Scene, point: str) -> None:
    resume_and_die(scene, point, ROUNDS)


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize("point", RESUMES)
def test_so_is_a_resume_elsewhere(stage_on: StageOn, name: str, point: str) -> None:
    with stage_on(name) as stage:
        resume_and_die(stage, point, FEW)


def resume_and_die(scene: Stage, point: str, rounds: int) -> None:
    scene.start(point)
    for _ in range(rounds):
        talk = scene.speak()
        first = say_and_settle(scene, talk)
        talk.put("/reset")
        second = say_and_settle(scene, talk)
        scene.arm()
        talk.put("/resume")
        third = talk.say("fast")
        scene.wait_death()
        scene.start(point)
        scene.settle()
        assert talk.count("Back in “") == 1
        assert talk.answers(third) == 1
        assert session_of(scene, third) == session_of(scene, first)
        assert session_of(scene, first)[1] is None
        assert session_of(scene, second)[1] == "resumed_away"
        scene.audit()
