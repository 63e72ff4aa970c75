"""kill -9 while a long conversation is summed up: the summary is there once, and what was said goes on behind it."""

from __future__ import annotations

import pytest

from core.service.notices import ENGLISH
from core.store.entries import Kind
from tests.crash.models_scene import SUMMARY, ModelScene, Open
from tests.crash.scene import Talk
from tests.crash.test_kill_models import FEW, goes_on
from tests.fakes.models import ThreadedModelServer

pytestmark = pytest.mark.crash


def fill(scene: ModelScene, talk: Talk) -> None:
    """Say so much that the model's window is nearly full."""
    for _ in range(3):
        talk.say("talk")
        scene.settle()


@pytest.mark.parametrize(
    ("point", "log"),
    [("compaction.begun", "uka"), ("entries.written:compaction", "uka"), ("compaction.committed", "ukwa")],
)
def test_killed_while_a_turn_sums_up(furnish: Open, point: str, log: str) -> None:
    """The next attempt makes the summary, or goes on from the one that is stored."""
    with furnish(window=600) as scene:
        scene.start(point)
        for _ in range(FEW):
            talk = scene.talk()
            fill(scene, talk)
            scene.arm()
            mark = talk.say("line")
            scene.wait_death()
            scene.start(point)
            scene.settle()
            assert scene.kinds(talk, mark) == f"{log}cra"
            assert scene.lines_of(mark) == 1
            assert SUMMARY in scene.models.requests[-1].messages[0].text
            goes_on(scene, talk)


def goes_on_from_a_summary(scene: ModelScene, talk: Talk, mark: str) -> None:
    """/compact had its effect and its answer once, and what waited behind it was answered."""
    assert talk.count(ENGLISH["compact_done"]) == 1
    assert [entry.kind for entry in scene.log(talk)].count(Kind.COMPACTION) == 1
    assert (scene.kinds(talk, mark), scene.lines_of(mark)) == ("uacra", 1)
    assert SUMMARY in scene.models.requests[-1].messages[0].text
    goes_on(scene, talk)


@pytest.mark.parametrize("point", ["compaction.begun", "entries.written:compaction", "compaction.committed"])
def test_killed_while_it_compacts(furnish: Open, point: str) -> None:
    with furnish() as scene:
        scene.start(point)
        for _ in range(FEW):
            talk = scene.talk()
            fill(scene, talk)
            scene.arm()
            talk.type("/compact")
            mark = talk.say("line")
            scene.wait_death()
            scene.start(point)
            scene.settle()
            goes_on_from_a_summary(scene, talk, mark)


def test_killed_while_the_summary_is_written(furnish: Open, models: ThreadedModelServer) -> None:
    with furnish() as scene:
        scene.start()
        talk = scene.talk()
        fill(scene, talk)
        models.gate("summary").clear()
        talk.type("/compact")
        mark = talk.say("line")
        models.until(lambda: models.in_flight > 0)
        scene.taken_in()
        scene.daemon.kill()
        models.gate("summary").set()
        scene.start()
        scene.settle()
        goes_on_from_a_summary(scene, talk, mark)
