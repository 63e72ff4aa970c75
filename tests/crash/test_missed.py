"""What was said while no process ran, where the platform hands nothing over again: all is fetched at the start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.clock import ShiftedClock
from tests.crash.dialogue import Dialogue
from tests.crash.nursery import Nursery
from tests.crash.scene import Stage
from tests.drivers.discord import DiscordDriver, discord_server
from tests.drivers.driver import Driver
from tests.drivers.slack import ANSWER_S, SlackDriver
from tests.fakes.slack import RateLimits, ThreadedSlackServer

pytestmark = pytest.mark.crash

NO_RETRIES: Final = (0.0, 0.0, 0.0)
"""As after an outage that was longer than Slack tries."""
PATIENCE_S: Final = 60.0
FEW_S, MANY_S = 15.0, 150.0
"""What few and many conversations need, and more: Slack lets 50 histories be read in a minute, and all at once."""


@contextmanager
def staged(platform: Driver, home: Path, nursery: Nursery, template: Path) -> Iterator[Stage]:
    platform.without_limits()
    stage = Stage([platform], home, nursery)
    stage.put_store(template)
    with stage.daemon:
        yield stage


@pytest.fixture
def on_slack(nursery: Nursery, sqlite_template: Path, tmp_path: Path) -> Iterator[Stage]:
    shifted = ShiftedClock()
    with (
        ThreadedSlackServer(clock=shifted, answer_s=ANSWER_S, retries_s=NO_RETRIES) as server,
        staged(SlackDriver(server, shifted=shifted), tmp_path, nursery, sqlite_template) as stage,
    ):
        yield stage


@pytest.fixture
def on_discord(nursery: Nursery, sqlite_template: Path, tmp_path: Path) -> Iterator[Stage]:
    shifted = ShiftedClock()
    with (
        discord_server(shifted) as server,
        staged(DiscordDriver(server, shifted=shifted), tmp_path, nursery, sqlite_template) as stage,
    ):
        yield stage


def double_of(stage: Stage) -> ThreadedSlackServer:
    [platform] = stage.platforms
    assert isinstance(platform.server, ThreadedSlackServer)
    return platform.server


def known(stage: Stage, people: int) -> list[Dialogue]:
    """So many people who have been answered, and then the process is killed."""
    stage.start()
    stage.daemon.until_bot("up", stage.platforms[0].name)
    talks = [stage.speak(f"Person{number}") for number in range(people)]
    for talk in talks:
        talk.say("fast")
    stage.settle(timeout_s=MANY_S)
    stage.daemon.kill()
    return talks


def say_to_nobody(stage: Stage, talks: Sequence[Dialogue]) -> None:
    """Everybody says something once more, and whatever Slack does to hand it over fails."""
    [platform] = stage.platforms
    platform.until(platform.gone, timeout_s=PATIENCE_S)
    for talk in talks:
        talk.say("fast")
    if isinstance(platform, SlackDriver):
        platform.until(platform.server.settled, timeout_s=PATIENCE_S)


def all_answered(stage: Stage, talks: Sequence[Dialogue], within_s: float = PATIENCE_S) -> None:
    stage.start()
    stage.settle(timeout_s=within_s)
    assert [[talk.answers(mark) for mark in talk.marks] for talk in talks] == [[1, 1]] * len(talks)
    stage.audit()


def test_in_many_conversations_on_discord(on_discord: Stage) -> None:
    talks = known(on_discord, 70)
    say_to_nobody(on_discord, talks)
    all_answered(on_discord, talks)


def test_in_some_conversations_on_slack(on_slack: Stage) -> None:
    talks = known(on_slack, 30)
    say_to_nobody(on_slack, talks)
    all_answered(on_slack, talks)


def test_on_slack_though_its_history_fails_once(on_slack: Stage) -> None:
    talks = known(on_slack, 3)
    say_to_nobody(on_slack, talks)
    double_of(on_slack).answer("conversations.history", 503, b"")
    all_answered(on_slack, talks, FEW_S)


def test_in_more_conversations_than_slack_lets_read_in_a_minute(on_slack: Stage) -> None:
    talks = known(on_slack, 60)
    say_to_nobody(on_slack, talks)
    double_of(on_slack).set_limits(RateLimits(post_per_s=100.0, post_burst=100, team_posts_per_min=10_000))
    all_answered(on_slack, talks, MANY_S)


def test_in_more_conversations_than_are_looked_at_on_slack(on_slack: Stage) -> None:
    talks = known(on_slack, 105)
    say_to_nobody(on_slack, talks)
    all_answered(on_slack, talks, MANY_S)


def test_on_slack_nobody_who_goes_on_speaking_is_answered_out_of_order(on_slack: Stage) -> None:
    """Though more are to be read than Slack lets be read at once."""
    talks = known(on_slack, 60)
    say_to_nobody(on_slack, talks)
    on_slack.start()
    on_slack.daemon.until_bot("up", on_slack.platforms[0].name)
    for talk in [*talks[:10], *talks[-10:]]:
        talk.say("fast")
    on_slack.settle(timeout_s=MANY_S)
    answered = [[mark for text in talk.texts for mark in talk.marks if f"end({mark})" in text] for talk in talks]
    assert answered == [talk.marks for talk in talks]
