"""kill -9 at a chosen point of the way of a message, then a new start: what people see, and what the store holds.

In odd rounds the first message dies with others behind it; in even ones the second, after the first has been answered.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.crash.dialogue import Dialogue
from tests.crash.scene import INTERRUPTED, ROUNDS, UNKNOWN, Scene, Stage

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
    "intake_committed": Seen(kind="fast"),
    "offset_held": Seen(kind="fast"),
    "inside_admit": Seen(kind="fast"),
    "admitted": Seen(kind="fast"),
    "first_word": Seen(kind="fast", runs=2),
    "preview_stored": Seen(kind="slow", runs=2),
    "preview_arrived": Seen(kind="slow", runs=2, begun=2),
    "preview_known": Seen(kind="slow", runs=2),
    "mid_stream": Seen(kind="crawl", runs=2, first=True),
    "call_stored": Seen(kind="tool", answers=0, begun=0, interrupted=1),
    "call_done": Seen(kind="tool", answers=0, begun=0, interrupted=1, tool_uses=1),
    "result_stored": Seen(kind="tool", answers=0, begun=0, interrupted=1, tool_uses=1),
    "inside_record": Seen(kind="fast", runs=2),
    "recorded": Seen(kind="fast", answers=0, begun=0, unknown=1, first=True),
    "between_parts": Seen(kind="long"),
    "sent_unmarked": Seen(kind="fast", unknown=1),
}
VARIANTS = {
    "call_stored": Seen(kind="look", runs=2),
    "recorded": Seen(kind="slow"),
    "inside_record": Seen(kind="slow", runs=2),
    "call_done": Seen(kind="work", answers=0, interrupted=1, tool_uses=1),
    "sent_unmarked": Seen(kind="long", unknown=1),
}
CASES = [
    pytest.param(point, seen, id=f"{point}-{seen.kind}")
    for table in (POINTS, VARIANTS)
    for point, seen in table.items()
]


def fatal_in(round_: int, seen: Seen) -> int:
    return 1 if round_ % 2 or seen.first else 2


def die(scene: Stage, talk: Dialogue, kind: str, fatal: int, *, alone: bool) -> str:
    """Say what the daemon dies of; its mark. What is `alone` has nothing behind it until then."""
    scene.arm()
    if fatal == 2:
        talk.say(kind)
        scene.settle()
        mark = talk.say(kind)
    else:
        mark = talk.say(kind)
        if not alone:
            talk.say("fast")
    scene.wait_death()
    if fatal == 1 and alone:
        talk.say("fast")
    return mark


@pytest.mark.parametrize(("point", "seen"), CASES)
def test_killed_at(scene: Scene, point: str, seen: Seen) -> None:
    killed_at(scene, point, seen, rounds=ROUNDS)


def killed_at(scene: Stage, point: str, seen: Seen, *, rounds: int) -> None:
    scene.start(point, fatal_in(1, seen))
    for round_ in range(1, rounds + 1):
        talk = scene.speak()
        mark = die(scene, talk, seen.kind, fatal_in(round_, seen), alone=point in ("offset_held", "ack_held"))
        scene.start(point, fatal_in(round_ + 1, seen))
        scene.settle()
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
