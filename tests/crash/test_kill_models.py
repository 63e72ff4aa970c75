"""kill -9 on the way of a message through a model and a tool that appends to a file: each line is there once."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import text as verbatim

from core.desk import history
from core.service.notices import ENGLISH
from core.store.entries import Kind
from core.store.sql import Sql
from tests.crash.daemon import until
from tests.crash.models_scene import LINES, SUMMARY, Furniture, ModelScene, audit_exchange
from tests.crash.nursery import Nursery
from tests.crash.scene import INTERRUPTED, ROUNDS, UNKNOWN, Talk
from tests.fakes.models import ThreadedModelServer
from tests.fakes.telegram import ThreadedTelegramServer

pytestmark = pytest.mark.crash

FEW: Final = max(1, ROUNDS // 5)
"""Rounds at each point: what differs from one to the next is little, and there are many points."""
KILLS: Final = 3
QUESTION: Final = "need your word first"
ALLOWED: Final = ENGLISH["consent_approved"]
WARM: Final = (
    "core.agents.engine", "core.agents.tool_server", "pydantic_ai.models.openai", "pydantic_ai.providers.openai",
)  # fmt: skip
"""What a first request finds imported."""

_UNKNOWN = Sql(verbatim("SELECT text FROM deliveries WHERE state = 'unknown' AND chat = :chat"))

Open = Callable[..., AbstractContextManager[ModelScene]]


@pytest.fixture(scope="session")
def warm_nursery() -> Iterator[Nursery]:
    """Its daemons have the SDKs from the start."""
    with Nursery(*WARM) as made:
        yield made


@pytest.fixture
def models() -> Iterator[ThreadedModelServer]:
    with ThreadedModelServer() as made:
        made.gate("summary").set()
        yield made


@pytest.fixture
def furnish(
    server: ThreadedTelegramServer, models: ThreadedModelServer, warm_nursery: Nursery, sqlite_template: Path,
    tmp_path: Path,
) -> Open:  # fmt: skip
    """Opens a scene; keywords are those of `Furniture`, and another nursery."""

    @contextmanager
    def opened(*, nursery: Nursery = warm_nursery, **wanted: object) -> Iterator[ModelScene]:
        made = ModelScene(server, models, tmp_path, nursery, Furniture(**wanted))  # type: ignore[arg-type]  # handed through
        made.put_store(sqlite_template)
        with made.daemon:
            yield made
        made.audit_servers()

    return opened


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
    ("intake_committed", Seen(log="uacra", asked=2, lines=1)),
    ("inside_admit", Seen(log="uacra", asked=2, lines=1)),
    ("admitted", Seen(log="uacra", asked=2, lines=1)),
    ("asking", Seen(log="uacra", asked=2, lines=1)),
    ("first_word", Seen(log="uacra", asked=3, lines=1)),
    ("response_over", Seen(log="uacra", asked=3, lines=1)),
    ("inside_calls", Seen(log="uacra", asked=3, lines=1)),
    ("call_stored", interrupted("uacrn", asked=1)),
    ("call_stored", Seen(kind="look", log="ucwcrra", asked=3)),
    ("calling", interrupted("uacrn", asked=1)),
    ("call_done", interrupted("uacrn", asked=1, lines=1)),
    ("inside_result", interrupted("uacrn", asked=1, lines=1)),
    ("result_stored", interrupted("uacrn", asked=1, lines=1)),
    ("result_stored", Seen(kind="look", log="ucrwcra", asked=3)),
    ("final_words", interrupted("uacrn", asked=2, lines=1)),
    ("final_words", Seen(kind="look", log="ucrwcra", asked=4)),
    ("turn_over", Seen(kind="say", log="ua", asked=2)),
    ("turn_over", interrupted("uacrn", asked=2, lines=1)),
    ("inside_record", Seen(kind="look", log="ucrwcra", asked=4)),
    ("inside_record", interrupted("uacrn", asked=2, lines=1)),
    ("recorded", Seen(log="uacra", asked=2, lines=1, answers=0, unknown=1)),
    ("sent_unmarked", Seen(log="uacra", asked=2, lines=1, unknown=1)),
]


@pytest.mark.parametrize(("point", "expected"), [pytest.param(*case, id=f"{case[0]}-{case[1].kind}") for case in CASES])
def test_killed_at(furnish: Open, point: str, expected: Seen) -> None:
    """In every other round something waits behind the message already."""
    with furnish() as scene:
        scene.start(point)
        for round_ in range(FEW):
            talk = scene.talk()
            scene.arm()
            mark = talk.say(expected.kind)
            behind = [talk.say("line")] if round_ % 2 else []
            scene.wait_death()
            scene.start(point)
            scene.settle()
            assert seen(scene, talk, mark, expected.kind) == expected, talk.texts
            assert [scene.lines_of(other) for other in behind] == [1] * len(behind)
            goes_on(scene, talk)


def test_an_answer_that_may_not_have_arrived_is_sent_once_more(furnish: Open) -> None:
    with furnish() as scene:
        scene.start("recorded")
        talk = scene.talk()
        scene.arm()
        mark = talk.say("line")
        scene.wait_death()
        scene.start()
        scene.settle()
        talk.type("/again")
        scene.settle()
        assert (talk.answers(mark), talk.count(UNKNOWN), scene.asked(mark)) == (1, 1, 2)


@pytest.mark.parametrize("point", ["intake_committed", "sdk_loading"])
def test_killed_before_the_sdk_is_there(furnish: Open, nursery: Nursery, point: str) -> None:
    """What was accepted meanwhile waits for it, and for the one of the next process."""
    with furnish(nursery=nursery) as scene:
        talk = scene.talk()
        mark = talk.say("line")
        scene.arm()
        scene.start(point)
        scene.wait_death()
        assert scene.asked(mark) == 0
        scene.start()
        scene.settle()
        assert seen(scene, talk, mark, "line") == Seen(log="uacra", asked=2, lines=1)
        goes_on(scene, talk)


def test_killed_while_one_of_two_calls_runs(furnish: Open) -> None:
    """The line that the model was never told of stays in the file, and nobody appends it again."""
    with furnish() as scene:
        scene.start()
        for round_ in range(FEW + 1):
            talk = scene.talk()
            mark = talk.say("both")
            scene.until_called("slow", mark)
            until(lambda mark=mark: scene.lines_of(mark) == 1, "the line is there")  # type: ignore[misc]  # bound now
            if round_ % 2 == 0:
                until(lambda talk=talk: "r" in scene.kinds(talk, mark), "the result is stored")  # type: ignore[misc]
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


# questions


def asks(scene: ModelScene, talk: Talk, point: str = "") -> str:
    """Let the model want to append a line; the process dies at the point, or once the question is out."""
    if point:
        scene.arm()
    mark = talk.say("line")
    if point:
        scene.wait_death()
    else:
        scene.settle()
        assert (scene.questions, talk.count(QUESTION)) == (1, 1)
    return mark


@pytest.mark.parametrize(
    ("point", "shown", "unknown"), [("recorded", 0, 1), ("sent_unmarked", 1, 1), ("outside", 1, 0)]
)
def test_a_question_outlives_the_process(furnish: Open, point: str, shown: int, unknown: int) -> None:
    with furnish(consent=True) as scene:
        scene.start(point if unknown else "nowhere")
        for _ in range(FEW):
            talk = scene.talk()
            mark = asks(scene, talk, point if unknown else "")
            scene.daemon.kill()
            scene.start(point if unknown else "nowhere")
            scene.settle()
            assert (talk.count(QUESTION), talk.count(UNKNOWN), scene.lines_of(mark)) == (shown, unknown, 0)
            talk.type("/approve")
            scene.settle()
            assert (talk.count(ALLOWED), scene.kinds(talk, mark)) == (1, "uacnra")
            assert (talk.answers(mark), scene.lines_of(mark), scene.asked(mark)) == (1, 1, 2)
            goes_on(scene, talk)


@pytest.mark.parametrize("point", ["turn_over", "inside_record"])
def test_a_question_that_was_not_recorded_is_not_asked(furnish: Open, point: str) -> None:
    """The call is stored, so that nobody can tell any more that it did not run."""
    with furnish(consent=True) as scene:
        scene.start(point)
        talk = scene.talk()
        mark = asks(scene, talk, point)
        scene.start()
        scene.settle()
        talk.type("/approve")
        scene.settle()
        assert seen(scene, talk, mark, "line") == interrupted("uacrn", asked=1)
        assert talk.count(ENGLISH["consent_none"]) == 1
        goes_on(scene, talk)


APPROVALS: Final = [
    ("approve_accepted", Seen(log="uacnra", asked=2, lines=1)),
    ("inside_approve", Seen(log="uacnra", asked=2, lines=1)),
    ("approve_carried_out", Seen(log="uacnra", asked=2, lines=1)),
    ("inside_admit", Seen(log="uacnra", asked=2, lines=1)),
    ("admitted", interrupted("uacnrn", asked=1)),
    ("calling", interrupted("uacnrn", asked=1)),
    ("call_done", interrupted("uacnrn", asked=1, lines=1)),
    ("inside_result", interrupted("uacnrn", asked=1, lines=1)),
    ("result_stored", interrupted("uacnrn", asked=1, lines=1)),
    ("final_words", interrupted("uacnrn", asked=2, lines=1)),
    ("inside_record", interrupted("uacnrn", asked=2, lines=1)),
]


@pytest.mark.parametrize(("point", "expected"), [pytest.param(*case, id=case[0]) for case in APPROVALS])
def test_killed_on_the_way_of_an_approval(furnish: Open, point: str, expected: Seen) -> None:
    """An approved call is made once, or its person is told that nobody knows."""
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
            assert seen(scene, talk, mark, "line") == expected, talk.texts
            assert (talk.count(ALLOWED), scene.questions) == (1, 0)
            goes_on(scene, talk)


# summaries


def fill(scene: ModelScene, talk: Talk) -> list[str]:
    """Say so much that the model's window is nearly full; the marks."""
    marks = []
    for _ in range(3):
        marks.append(talk.say("talk"))
        scene.settle()
    return marks


@pytest.mark.parametrize(
    ("point", "log"), [("summing_up", "uka"), ("inside_compaction", "uka"), ("compacted", "ukwa")]
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
            assert SUMMARY in scene.models.requests[-1].messages[1].text
            goes_on(scene, talk)


@pytest.mark.parametrize("point", ["outside", "inside_compaction", "compact_carried_out"])
def test_killed_while_it_compacts(furnish: Open, models: ThreadedModelServer, point: str) -> None:
    """/compact has its effect and its answer once; what waits behind it goes on from the summary."""
    with furnish() as scene:
        scene.start("nowhere" if point == "outside" else point)
        for _ in range(FEW):
            talk = scene.talk()
            fill(scene, talk)
            if point == "outside":
                models.gate("summary").clear()
            else:
                scene.arm()
            talk.type("/compact")
            mark = talk.say("line")
            if point == "outside":
                models.wait(lambda: models.gate("summary").waiting > 0)
                scene.daemon.kill()
                models.gate("summary").set()
            else:
                scene.wait_death()
            scene.start("nowhere" if point == "outside" else point)
            scene.settle()
            assert talk.count(ENGLISH["compact_done"]) == 1
            assert [entry.kind for entry in scene.log(talk)].count(Kind.COMPACTION) == 1
            assert (scene.kinds(talk, mark), scene.lines_of(mark)) == ("uacra", 1)
            assert SUMMARY in scene.models.requests[-1].messages[1].text
            goes_on(scene, talk)


# any instant


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_at_any_instant(furnish: Open, seed: int) -> None:
    """While six people's agents are each in a loop of calls."""
    chance = random.Random(seed)
    with furnish(stream=True) as scene:
        scene.server.set_limits(None)  # a process that starts knows nothing of what was sent a moment ago
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
        scene.audit(strays=KILLS)
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
