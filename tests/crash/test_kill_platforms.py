"""kill -9 at the same points on Discord and on Slack, which know again what was sent before, also in threads of Slack,
where answers are streams; and around buttons."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from core.service.notices import ENGLISH
from tests.crash.conftest import StageOn
from tests.crash.daemon import until
from tests.crash.dialogue import Dialogue
from tests.crash.scene import ROUNDS, UNKNOWN, Stage
from tests.crash.test_kill_points import POINTS, VARIANTS, Seen, killed_at, killed_unconfirmed
from tests.drivers.slack import SlackDriver, SlackThreads

pytestmark = pytest.mark.crash

EVERYWHERE: Final = ("telegram", "discord", "slack")
POSTS: Final = ("telegram posts", "slack posts")
STOPPED: Final = ENGLISH["stopped"]

_NOT_THERE: Final = {
    ("discord", "preview.edited"),  # edits are further apart than the agent talks
    ("slack", "delivery.dequeued:part_2"),  # the long answer is one message
    ("slack threads", "delivery.dequeued:part_2"),
    ("slack posts", "delivery.dequeued:part_2"),
}
STREAMED: Final = {
    "delivery.sent:part_1": Seen(kind="crawl", first=True),
    "turn.recorded": Seen(kind="crawl", first=True),
}
"""The end of a stream was told, or is about to be."""


def seen_on(name: str, seen: Seen) -> Seen:
    """Where it is known again nobody is told of an unknown answer: it is sent again, and stands there once. A beginning
    grows on."""
    if name.startswith("telegram"):
        return seen
    return replace(seen, unknown=0, answers=1, begun=1) if seen.unknown else replace(seen, begun=min(1, seen.begun))


FEW: Final = min(ROUNDS, 3)
"""Each round is a start against a platform that takes its time; the points themselves are killed at twenty times on
Telegram."""
CASES: Final = [
    pytest.param(name, point, seen_on(name, seen), id=f"{name}-{point}-{seen.kind}")
    for name in ("discord", "slack", "slack threads", *POSTS)
    for table in (POINTS, VARIANTS, *((STREAMED,) if name == "slack threads" else ()))
    for point, seen in table.items()
    if (name, point) not in _NOT_THERE
]


@pytest.mark.parametrize(("name", "point", "seen"), CASES)
def test_killed_at(stage_on: StageOn, name: str, point: str, seen: Seen) -> None:
    with stage_on(name) as stage:
        killed_at(stage, point, seen, rounds=FEW)
        (platform,) = stage.platforms
        if isinstance(platform, SlackThreads):
            assert all(not platform.server.message(one.channel_id, one.ts).streaming for one in platform.server.streams)
            assert platform.server.streams or seen.kind not in ("slow", "crawl", "work")


@pytest.mark.parametrize("name", ["slack", "slack threads"])
def test_killed_before_it_is_acknowledged(stage_on: StageOn, name: str) -> None:
    """Slack hears nothing of the acknowledgement of what was answered, and hands it over again."""
    with stage_on(name) as stage:
        (platform,) = stage.platforms
        assert isinstance(platform, SlackDriver)
        killed_unconfirmed(stage, platform.server.lose_acks, platform.server.acked, rounds=FEW)


@pytest.mark.parametrize(
    ("point", "seen"),
    [
        ("agent.heard", Seen(kind="slow", runs=2)),
        ("turn.recorded", Seen(kind="slow", answers=0, begun=0, unknown=1, first=True)),
        ("tool_call.returned", Seen(kind="work", answers=0, begun=0, interrupted=1, tool_uses=1)),
        ("delivery.sent:part_1", Seen(kind="slow", unknown=1)),
    ],
)
def test_killed_at_behind_a_draft(stage_on: StageOn, point: str, seen: Seen) -> None:
    """What vanishes by itself leaves nothing to be found again."""
    with stage_on("telegram", "drafts = true") as stage:
        killed_at(stage, point, seen, rounds=FEW)


@pytest.mark.parametrize("name", [*EVERYWHERE, *POSTS])
def test_killed_before_it_is_stored(stage_on: StageOn, name: str) -> None:
    """The platform hands it over again, or it is fetched."""
    with stage_on(name) as stage:
        stage.start("inbound.received:message")
        for _ in range(FEW):
            talk = stage.speak()
            first = talk.say("fast")
            stage.settle()
            stage.arm()
            marks = [first, talk.say("fast"), talk.say("fast")]
            stage.wait_death()
            marks.append(talk.say("fast"))
            stage.start("inbound.received:message")
            stage.settle()
            assert [talk.answers(mark) for mark in marks] == [1] * 4, talk.texts
            stage.audit()


def held(stage: Stage, point: str) -> tuple[Dialogue, str]:
    """An answer that never ends, with its button; whatever comes now is fatal at the point."""
    stage.start(point)
    talk = stage.speak()
    mark = talk.say("hold")
    until(lambda: talk.buttons == 1 and talk.begun(mark) == 1, "an answer grows and can be stopped")
    stage.until_previewed()
    stage.arm()
    return talk, mark


@pytest.mark.parametrize("name", EVERYWHERE)
@pytest.mark.parametrize(
    "point", ["inbox.committed", "command.accepted:stop", "command.written:stop", "press.dispatched"]
)
def test_a_press_that_was_stored_stops_the_answer_once(stage_on: StageOn, name: str, point: str) -> None:
    with stage_on(name, "stop_button = true") as stage:
        talk, mark = held(stage, point)
        talk.press()
        stage.wait_death()
        stage.start()
        stage.settle()
        audit_stopped(stage, talk, mark)


@pytest.mark.parametrize("name", EVERYWHERE)
def test_a_press_that_was_not_stored_comes_again_or_can_be_made_again(stage_on: StageOn, name: str) -> None:
    """Only Telegram hands a press over again."""
    with stage_on(name, "stop_button = true") as stage:
        talk, mark = held(stage, "inbound.received:press")
        talk.press()
        stage.wait_death()
        stage.start()
        if name != "telegram":
            stage.daemon.until_bot("up", name)
            until(lambda: stage.runs(mark) == 2 and talk.buttons == 1, "it is made anew")
            talk.press()
            until(lambda: talk.count(STOPPED) == 1, "it is stopped")
        stage.settle()
        audit_stopped(stage, talk, mark)


def audit_stopped(stage: Stage, talk: Dialogue, mark: str) -> None:
    assert (talk.answers(mark), talk.begun(mark), talk.count(STOPPED), talk.count(UNKNOWN)) == (0, 1, 1, 0), talk.texts
    assert talk.buttons == 0
    stage.audit()
