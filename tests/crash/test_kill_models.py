"""kill -9 on the way of a message through a model and a tool that appends to a file: each line is there once."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Final

import pytest
from sqlalchemy import text as verbatim

from core.desk.recovery import MOST_ATTEMPTS
from core.store import history
from core.store.entries import Kind
from core.store.sql import Sql
from tests.crash.daemon import until
from tests.crash.models_scene import LINES, ModelScene, Open, audit_exchange
from tests.crash.nursery import Nursery
from tests.crash.scene import INTERRUPTED, ROUNDS, UNKNOWN, Talk
from tests.fakes.models import ThreadedModelServer

pytestmark = pytest.mark.crash

FEW: Final = max(1, ROUNDS // 6)
"""Rounds at each point: what differs from one to the next is little, and there are many points."""
KILLS: Final = 3

_UNKNOWN = Sql(verbatim("SELECT text FROM deliveries WHERE state = 'unknown' AND chat = :chat"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What becomes of the message that the process dies of, once another has started. `log`: a letter for each entry,
    see `models_scene`. `asked`: requests to the model."""

    kind: str = "line"
    log: str
    asked: int
    answers: int = 1
    lines: int = 0
    interrupted: int = 0
    unknown: int = 0


def seen(scene: ModelScene, talk: Talk, mark: str, kind: str) -> Seen:
    return Seen(
        kind=kind,
        log=scene.kinds(talk, mark),
        asked=scene.asked(mark),
        answers=talk.answers(mark),
        lines=scene.lines_of(mark),
        interrupted=talk.count(INTERRUPTED),
        unknown=talk.count(UNKNOWN),
    )


def interrupted(log: str, *, asked: int, lines: int = 0, kind: str = "line") -> Seen:
    return Seen(kind=kind, log=log, asked=asked, answers=0, lines=lines, interrupted=1)


def goes_on(scene: ModelScene, talk: Talk) -> None:
    """The model takes what is stored for a history, and answers the next message."""
    mark = talk.say("say")
    scene.settle()
    assert talk.answers(mark) == 1
    assert scene.kinds(talk, mark) == "ua"
    scene.audit()


CASES: Final = [
    ("inbox.committed", Seen(log="uacra", asked=2, lines=1)),
    ("turn.admitted", Seen(log="uacra", asked=2, lines=1)),
    ("request.begun", Seen(log="uacra", asked=2, lines=1)),
    ("agent.heard", Seen(log="uacra", asked=3, lines=1)),
    ("response.completed", Seen(log="uacra", asked=3, lines=1)),
    ("entries.written:tool_call", Seen(log="uacra", asked=3, lines=1)),
    ("tool_call.committed", interrupted("uacrn", asked=1)),
    ("tool_call.committed", Seen(kind="look", log="ucrwcra", asked=3)),
    ("tool_call.begun", interrupted("uacrn", asked=1)),
    ("tool_call.returned", interrupted("uacrn", asked=1, lines=1)),
    ("entries.written:tool_result", interrupted("uacrn", asked=1, lines=1)),
    ("tool_result.committed", interrupted("uacrn", asked=1, lines=1)),
    ("tool_result.committed", Seen(kind="look", log="ucrwcra", asked=3)),
    ("agent.heard:after_call", interrupted("uacrn", asked=2, lines=1)),
    ("agent.heard:after_call", Seen(kind="look", log="ucrwcra", asked=4)),
    ("turn.ended", Seen(kind="say", log="ua", asked=2)),
    ("turn.ended", Seen(kind="look", log="ucrwcra", asked=4)),
    ("record.written", interrupted("uacrn", asked=2, lines=1)),
    ("turn.recorded", Seen(log="uacra", asked=2, lines=1, answers=0, unknown=1)),
    ("delivery.sent:part_1", Seen(log="uacra", asked=2, lines=1, unknown=1)),
]


@pytest.mark.parametrize(("point", "expected"), [pytest.param(*case, id=f"{case[0]}-{case[1].kind}") for case in CASES])
def test_killed_at(furnish: Open, point: str, expected: Seen) -> None:
    """Something waits behind the message already."""
    with furnish() as scene:
        scene.start(point)
        for _ in range(FEW):
            talk = scene.talk()
            scene.arm()
            mark, behind = talk.say(expected.kind), talk.say("line")
            scene.wait_death()
            scene.start(point)
            scene.settle()
            assert seen(scene, talk, mark, expected.kind) == expected, talk.texts
            assert (scene.kinds(talk, behind), scene.lines_of(behind)) == ("uacra", 1)
            goes_on(scene, talk)


def test_an_answer_that_may_not_have_arrived_is_sent_once_more(furnish: Open) -> None:
    with furnish() as scene:
        scene.start("turn.recorded")
        talk = scene.talk()
        scene.arm()
        mark = talk.say("line")
        scene.wait_death()
        scene.start()
        scene.settle()
        talk.type("/again")
        scene.settle()
        assert (talk.answers(mark), talk.count(UNKNOWN), scene.asked(mark)) == (1, 1, 2)


def test_killed_before_the_sdk_is_there(furnish: Open, cold_nursery: Nursery, nursery: Nursery) -> None:
    """A turn is open and waits for it, and a message waits behind: both are answered by the process that loads it,
    however many died before."""
    with furnish(born_in=cold_nursery) as scene:
        talk = scene.talk()
        mark, behind = talk.say("line"), talk.say("line")
        for _ in range(MOST_ATTEMPTS + 1):
            scene.arm()
            scene.start("sdk.awaited")
            scene.wait_death()
        assert scene.models.requests == ()
        scene.nursery = nursery
        scene.start()
        scene.settle()
        assert seen(scene, talk, mark, "line") == Seen(log="uacra", asked=2, lines=1)
        assert (scene.kinds(talk, behind), scene.lines_of(behind)) == ("uacra", 1)
        goes_on(scene, talk)


def test_killed_while_one_of_two_calls_runs(furnish: Open) -> None:
    """The line that the model was never told of stays in the file, and nobody appends it again."""
    with furnish() as scene:
        scene.start()
        for round_ in range(FEW + 1):
            talk = scene.talk()
            mark = talk.say("both")
            scene.until_called("slow", mark)
            scene.until_appended(mark)
            if round_ % 2 == 0:
                scene.until_stored(talk, mark, "r")
            scene.daemon.kill()
            scene.start()
            scene.settle()
            assert seen(scene, talk, mark, "both") == interrupted("uccrrn", asked=1, lines=1, kind="both")
            results = [entry.text for entry in scene.log(talk) if entry.kind is Kind.TOOL_RESULT]
            assert results.count(history.CLOSED_BY_KILL) == 1 + ("appended" not in results)
            goes_on(scene, talk)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("gate", Seen(kind="gate", log="ua", asked=2)),
        ("gated", Seen(kind="gated", log="ucrwcra", asked=4)),
    ],
)
def test_killed_while_people_see_the_answer_grow(
    furnish: Open, models: ThreadedModelServer, kind: str, expected: Seen
) -> None:
    """The piece that they saw becomes the whole answer."""
    with furnish(stream=True) as scene:
        scene.start()
        talk = scene.talk()
        mark = talk.say(kind)
        scene.until_previewed()
        scene.daemon.kill()
        models.gate(mark).set()
        scene.start()
        scene.settle()
        assert seen(scene, talk, mark, kind) == expected
        assert talk.begun(mark) == 1
        goes_on(scene, talk)


# any instant


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_at_any_instant(furnish: Open, seed: int) -> None:
    """While six people's agents are each in a loop of calls. Answers come whole: a piece of which the store does not
    know may be all of it."""
    chance = random.Random(seed)
    with furnish() as scene:
        talks = [scene.talk(name) for name in ("Ada", "Bo", "Cy", "Di", "Eve", "Flo")]
        kinds: dict[str, str] = {}
        for _ in range(KILLS):
            for talk in talks:
                kind = chance.choice(("lines", "lines", "line", "look"))
                kinds[talk.say(kind)] = kind
            scene.start()
            pause(chance.uniform(0.2, 1.5))
            scene.daemon.kill()
        scene.start()
        scene.settle()
        for talk in talks:
            kinds[talk.say("lines")] = "lines"
        scene.settle()
        scene.audit()
        for talk in talks:
            audit_talk(scene, talk, kinds)


def pause(seconds: float) -> None:
    at = time.monotonic() + seconds
    until(lambda: time.monotonic() >= at, "time passes")


def audit_talk(scene: ModelScene, talk: Talk, kinds: dict[str, str]) -> None:
    with scene.daemon.reading() as tx:
        unknown = " ".join(row.text("text") for row in tx.all(_UNKNOWN, chat=str(talk.chat.id)))
    states = {mark: audit_exchange(scene, talk, mark, kinds[mark]) for mark in talk.marks}
    for mark, state in states.items():
        assert state != "done" or talk.answers(mark) == 1 or mark in unknown
        assert scene.lines_of(mark) <= LINES
    told = talk.count(INTERRUPTED)
    assert told + unknown.count(INTERRUPTED) >= list(states.values()).count("interrupted") >= told
    assert states[talk.marks[-1]] == "done"
