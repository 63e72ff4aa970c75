"""kill -9 around a question and its answer: a call that waits for a person's word is made once, or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from core.service.notices import ENGLISH
from core.store import history
from tests.crash.models_scene import ModelScene, Open
from tests.crash.scene import UNKNOWN, Talk
from tests.crash.test_kill_models import FEW, Seen, goes_on, interrupted, seen

pytestmark = pytest.mark.crash

QUESTION: Final = "/approve allows it"
ALLOWED: Final = ENGLISH["consent_approved"]


def asks(scene: ModelScene, talk: Talk, kind: str = "line") -> str:
    """Let the model want to append a line, and wait for the question."""
    mark = talk.say(kind)
    scene.settle()
    assert (scene.questions, talk.count(QUESTION)) == (1, 1)
    return mark


def approved(scene: ModelScene, talk: Talk, mark: str) -> None:
    """The question can be answered, once."""
    for _ in range(2):
        talk.type("/approve")
        scene.settle()
    assert (talk.count(ALLOWED), talk.count(ENGLISH["consent_none"])) == (1, 1)
    assert (talk.answers(mark), scene.lines_of(mark), scene.asked(mark)) == (1, 1, 2)


def test_a_question_outlives_the_process(furnish: Open) -> None:
    with furnish(consent=True) as scene:
        scene.start()
        talk = scene.talk()
        mark = asks(scene, talk)
        scene.daemon.kill()
        scene.start()
        approved(scene, talk, mark)
        assert scene.kinds(talk, mark) == "uacnra"
        goes_on(scene, talk)


@pytest.mark.parametrize(
    ("point", "kind", "shown"),
    [
        ("turn.recorded", "line", 1),
        ("turn.recorded", "quiet", 0),
        ("delivery.sent:part_1", "line", 1),
        ("delivery.sent:notice", "quiet", 1),
    ],
)
def test_a_question_that_may_not_have_arrived_is_asked_once_more(
    furnish: Open, point: str, kind: str, shown: int
) -> None:
    """What is unknown is the words before it, if there are any: then the question comes by itself."""
    with furnish(consent=True) as scene:
        scene.start(point)
        for _ in range(FEW):
            talk = scene.talk()
            scene.arm()
            mark = talk.say(kind)
            scene.wait_death()
            scene.start(point)
            scene.settle()
            assert (talk.count(QUESTION), talk.count(UNKNOWN), scene.lines_of(mark)) == (shown, 1, 0)
            talk.type("/again")
            scene.settle()
            assert talk.count(QUESTION) == shown + (kind == "quiet")
            approved(scene, talk, mark)


def test_a_question_that_was_not_recorded_is_not_asked(furnish: Open) -> None:
    """The call is stored, so that nobody can tell any more that it did not run."""
    with furnish(consent=True) as scene:
        scene.start("record.written")
        talk = scene.talk()
        scene.arm()
        mark = talk.say("line")
        scene.wait_death()
        scene.start()
        scene.settle()
        talk.type("/approve")
        scene.settle()
        assert seen(scene, talk, mark, "line") == interrupted("uacrn", asked=1)
        assert talk.count(ENGLISH["consent_none"]) == 1
        goes_on(scene, talk)


@pytest.mark.parametrize("point", ["admission.written", "turn.admitted"])
def test_killed_as_another_message_drops_a_question(furnish: Open, point: str) -> None:
    with furnish(consent=True) as scene:
        scene.start(point)
        talk = scene.talk()
        mark = asks(scene, talk)
        scene.arm()
        other = talk.say("say")
        scene.wait_death()
        scene.start()
        scene.settle()
        assert (scene.kinds(talk, mark), scene.kinds(talk, other)) == ("uacnr", "ua")
        assert (talk.answers(other), scene.lines_of(mark), scene.questions) == (1, 0, 0)
        assert history.NOT_ANSWERED in scene.models.requests[-1].messages[2].text
        goes_on(scene, talk)


APPROVALS: Final = [
    ("command.accepted:approve", Seen(log="uacnra", asked=2, lines=1)),
    ("command.written:approve", Seen(log="uacnra", asked=2, lines=1)),
    ("command.committed:approve", Seen(log="uacnra", asked=2, lines=1)),
    ("admission.written", Seen(log="uacnra", asked=2, lines=1)),
    ("turn.admitted", interrupted("uacnrn", asked=1)),
    ("tool_call.begun", interrupted("uacnrn", asked=1)),
    ("tool_call.returned", interrupted("uacnrn", asked=1, lines=1)),
    ("entries.written:tool_result", interrupted("uacnrn", asked=1, lines=1)),
    ("tool_result.committed", interrupted("uacnrn", asked=1, lines=1)),
    ("agent.heard:after_call", interrupted("uacnrn", asked=2, lines=1)),
    ("record.written", interrupted("uacnrn", asked=2, lines=1)),
]


@pytest.mark.parametrize(("point", "expected"), [pytest.param(*case, id=case[0]) for case in APPROVALS])
def test_killed_on_the_way_of_an_approval(furnish: Open, point: str, expected: Seen) -> None:
    """An approved call is made once, or its person is told that nobody knows. "Allowed." may be under way meanwhile."""
    with furnish(consent=True) as scene:
        scene.start(point)
        for _ in range(FEW):
            talk = scene.talk()
            mark = asks(scene, talk)
            scene.arm()
            talk.type("/approve")
            scene.wait_death()
            scene.start(point)
            scene.settle()
            unknown = talk.count(UNKNOWN)
            assert seen(scene, talk, mark, "line") == replace(expected, unknown=unknown), talk.texts
            assert talk.count(ALLOWED) <= 1 <= talk.count(ALLOWED) + unknown
            assert scene.questions == 0
            goes_on(scene, talk)
