"""kill -9 at a chosen point of the way of a message, then a new start: what people see, and what the store holds.

In odd rounds the first message dies with others behind it; in even ones the second, after the first has been answered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.crash.daemon import until
from tests.crash.dialogue import Dialogue
from tests.crash.scene import INTERRUPTED, ROUNDS, UNKNOWN, Scene, Stage, open_work

pytestmark = pytest.mark.crash


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What becomes of the message that the process dies of, once another has started."""

    kind: str
    answers: int = 1
    begun: int = 1
    """Messages that hold the answer's beginning; more than answers where a piece is left behind."""
    runs: int = 1
    tool_uses: int = 0
    interrupted: int = 0
    unknown: int = 0
    first: bool = False
    """Only as its chat's first message: it takes long, or another one before it could make a difference."""


POINTS = {
    "inbox.committed": Seen(kind="fast"),
    "admission.written": Seen(kind="fast"),
    "turn.admitted": Seen(kind="fast"),
    "agent.heard": Seen(kind="fast", runs=2),
    "preview.committed": Seen(kind="slow", runs=2),
    "preview.sent": Seen(kind="slow", runs=2, begun=2),
    "preview.identified": Seen(kind="slow", runs=2),
    "preview.edited": Seen(kind="crawl", runs=2, first=True),
    "tool_call.committed": Seen(kind="tool", answers=0, begun=0, interrupted=1),
    "tool_call.returned": Seen(kind="tool", answers=0, begun=0, interrupted=1, tool_uses=1),
    "tool_result.committed": Seen(kind="tool", answers=0, begun=0, interrupted=1, tool_uses=1),
    "record.written": Seen(kind="fast", runs=2),
    "turn.recorded": Seen(kind="fast", answers=0, begun=0, unknown=1, first=True),
    "delivery.dequeued:part_2": Seen(kind="long"),
    "delivery.sent:part_1": Seen(kind="fast", unknown=1),
}
VARIANTS = {
    "tool_call.committed": Seen(kind="look", runs=2),
    "turn.recorded": Seen(kind="slow"),
    "record.written": Seen(kind="slow", runs=2),
    "tool_call.returned": Seen(kind="work", answers=0, interrupted=1, tool_uses=1),
    "delivery.sent:part_1": Seen(kind="long", unknown=1),
}
CASES = [
    pytest.param(point, seen, id=f"{point}-{seen.kind}")
    for table in (POINTS, VARIANTS)
    for point, seen in table.items()
]


def fatal_in(round_: int, seen: Seen) -> int:
    return 1 if round_ % 2 or seen.first else 2


def die(scene: Stage, talk: Dialogue, kind: str, fatal: int) -> str:
    """Say what the daemon dies of; its mark."""
    scene.arm()
    if fatal == 2:
        talk.say(kind)
        scene.settle()
        mark = talk.say(kind)
    else:
        mark = talk.say(kind)
        talk.say("fast")
    scene.wait_death()
    return mark


@pytest.mark.parametrize(("point", "seen"), CASES)
def test_killed_at(scene: Scene, point: str, seen: Seen) -> None:
    killed_at(scene, point, seen, rounds=ROUNDS)


def killed_at(scene: Stage, point: str, seen: Seen, *, rounds: int) -> None:
    scene.start(point, fatal_in(1, seen))
    for round_ in range(1, rounds + 1):
        talk = scene.speak()
        mark = die(scene, talk, seen.kind, fatal_in(round_, seen))
        scene.start(point, fatal_in(round_ + 1, seen))
        scene.settle()
        audit(scene, talk, mark, seen)


def audit(scene: Stage, talk: Dialogue, mark: str, seen: Seen) -> None:
    """The message had this fate, and the other one of its chat was answered."""
    told = Seen(
        kind=seen.kind,
        answers=talk.answers(mark),
        begun=talk.begun(mark),
        runs=scene.runs(mark),
        tool_uses=scene.tool_uses(mark),
        interrupted=talk.count(INTERRUPTED),
        unknown=talk.count(UNKNOWN),
        first=seen.first,
    )
    assert told == seen, talk.texts
    assert [talk.answers(other) for other in talk.marks if other != mark] == [1]
    scene.audit(strays=seen.begun - seen.answers)


def test_killed_before_the_offset_moves(scene: Scene) -> None:
    """Telegram hears nothing of the poll that would confirm what was answered, and hands it over again."""
    killed_unconfirmed(scene, scene.server.hold_offsets, lambda: not scene.server.unconfirmed, rounds=ROUNDS)


def killed_unconfirmed(
    scene: Stage, hold: Callable[[bool], None], confirmed: Callable[[], bool], *, rounds: int
) -> None:
    """The answer is out and marked, while the platform does not hear that the message was stored."""
    scene.start()
    for round_ in range(1, rounds + 1):
        talk = scene.speak()
        if round_ % 2 == 0:
            talk.say("fast")
            scene.settle()
        hold(True)
        mark = answered_unconfirmed(scene, talk)
        assert not confirmed()
        scene.daemon.kill()
        hold(False)
        if round_ % 2:
            talk.say("fast")
        scene.start()
        scene.settle()
        audit(scene, talk, mark, Seen(kind="fast"))


def answered_unconfirmed(scene: Stage, talk: Dialogue) -> str:
    """While the platform is kept from hearing that the message was stored; its mark."""
    mark = talk.say("fast")
    scene.until(lambda: talk.answers(mark) == 1)

    def all_done() -> bool:
        with scene.daemon.reading() as tx:
            return open_work(tx) == 0

    until(all_done, "all has its fate in the store")
    return mark
