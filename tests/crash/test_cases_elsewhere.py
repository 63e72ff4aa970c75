"""Cases that people met on Telegram, by their ids, as they look on Discord and on Slack."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import text as verbatim

from core.store.sql import Sql
from tests.crash.conftest import StageOn, platform_called
from tests.crash.daemon import until
from tests.crash.dialogue import Dialogue
from tests.crash.nursery import Nursery
from tests.crash.scene import RESET, Stage
from tests.drivers.driver import Driver, Person, Place, Saying
from tests.drivers.slack import SlackDriver
from tests.fakes.agents_crash import closing
from tests.fakes.slack import ThreadedSlackServer

pytestmark = pytest.mark.crash

ELSEWHERE: Final = ("discord", "slack")
LONG_S: Final = 1000
_WAITING = Sql(verbatim("SELECT count(*) FROM deliveries WHERE state = 'queued' AND not_before IS NOT NULL"))


def waiting(stage: Stage) -> int:
    """How many parts a platform has put off."""
    with stage.daemon.reading() as tx:
        return tx.number(_WAITING)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_c09_a_reset_that_comes_again_after_the_start_is_ignored_and_a_new_one_is_not(
    stage_on: StageOn, name: str
) -> None:
    with stage_on(name) as stage:
        stage.start("command.committed:reset")
        talk = stage.speak()
        talk.say("fast")
        stage.settle()
        stage.arm()
        talk.put("/reset")
        reset = list(talk.said)[-1]
        stage.wait_death()
        stage.start()
        stage.settle()
        stage.daemon.until_bot("up", name)
        talk.comes_again(reset)
        talk.say("fast")
        stage.settle()
        assert talk.count(RESET) == 1
        talk.put("/reset")
        stage.settle()
        assert talk.count(RESET) == 2
        stage.audit()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_c10_what_was_said_while_nobody_was_there_is_answered_in_order(stage_on: StageOn, name: str) -> None:
    with stage_on(name) as stage:
        stage.start()
        talk = stage.speak()
        first = talk.say("fast")
        stage.settle()
        stage.daemon.kill()
        marks = [first, *(talk.say("fast") for _ in range(6))]
        stage.start()
        stage.settle()
        assert [talk.answers(mark) for mark in marks] == [1] * 7
        stage.audit()


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize("point", ["delivery.sent:part_1", "turn.recorded"])
def test_c11_a_message_that_comes_again_asks_no_agent(stage_on: StageOn, name: str, point: str) -> None:
    with stage_on(name) as stage:
        stage.start(point)
        talk = stage.speak()
        stage.arm()
        mark = talk.say("fast")
        stage.wait_death()
        stage.start()
        stage.settle()
        stage.daemon.until_bot("up", name)
        talk.comes_again(talk.message_of(mark))
        talk.say("fast")
        stage.settle()
        assert stage.runs(mark) == 1
        stage.audit()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_c16_the_same_words_twice_are_two_messages(stage_on: StageOn, name: str) -> None:
    with stage_on(name) as stage:
        stage.start()
        talk = stage.speak()
        talk.put("count me", "")
        talk.put("count me", "")
        until(lambda: talk.count("counted 8") == 2, "both are answered")


def test_c31_a_private_channel_that_is_shared_goes_on_under_its_new_id(
    nursery: Nursery, sqlite_template: Path, tmp_path: Path
) -> None:
    """Its thread's session, and the permission to answer there. Slack says the new id once, in an event."""
    with platform_called("slack") as platform:
        assert isinstance(platform, SlackDriver)
        ada = platform.person("Ada")
        plans = platform.private_group([ada])
        stage = Stage([platform], tmp_path, nursery)
        stage.put_store(sqlite_template)
        with stage.daemon:
            moved_on(stage, platform, ada, plans)


def moved_on(stage: Stage, platform: SlackDriver[ThreadedSlackServer], ada: Person, plans: Place) -> None:
    stage.start()
    stage.daemon.until_bot("up", "slack")
    root = platform.say(plans, ada, Saying(text="fast one", named=True))
    platform.until(lambda: shown(platform, plans) == ["one"], timeout_s=30.0)
    there = Place(chat=platform.server.share_outside(plans.chat).id, thread=root)
    platform.say(there, ada, Saying(text="fast two"))
    platform.until(lambda: shown(platform, there) == ["one", "two"], timeout_s=30.0)
    listed = stage.daemon.json("sessions", "list")
    assert isinstance(listed, list)
    assert [one["messages"] for one in listed] == [2]
    assert platform.violations == ()


def shown(platform: Driver, place: Place) -> list[str]:
    """The marks of the answers there."""
    texts = [one.text for one in platform.shown(place)]
    return [mark for text in texts for mark in ("one", "two") if closing(mark) in text]


@pytest.mark.parametrize("name", ELSEWHERE)
def test_c34_edits_that_are_flooded_still_end_in_one_complete_message(stage_on: StageOn, name: str) -> None:
    with stage_on(name) as stage:
        stage.start()
        talk = stage.speak()
        talk.driver.flood(talk.place, 2, edits=True, after=1)
        mark = talk.say("crawl")
        stage.settle()
        assert (talk.answers(mark), talk.begun(mark), len(talk.texts)) == (1, 1, 1)
        stage.audit()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_c35_a_long_flood_wait_holds_one_chat_and_survives_a_kill(stage_on: StageOn, name: str) -> None:
    with stage_on(name) as stage:
        stage.start()
        told, others = stage.speak("Ada"), stage.speak("Bo")
        told.driver.flood(told.place, LONG_S)
        told.say("fast")
        until(lambda: waiting(stage) == 1, "a part waits")
        quick = others.say("fast")
        stage.settle(but=told)
        stage.daemon.kill()
        again = others.say("fast")
        stage.start()
        stage.settle(but=told)
        assert [others.answers(mark) for mark in (quick, again)] == [1, 1]
        assert waiting(stage) == 1
        assert told.texts == ()
        assert told.driver.violations == ()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_c36_what_was_said_while_the_network_was_gone_is_answered_when_it_is_back(stage_on: StageOn, name: str) -> None:
    with stage_on(name) as stage:
        stage.start()
        talk = stage.speak()
        talk.say("fast")
        stage.settle()
        talk.driver.pause()
        assert name in str(stage.daemon.until_bot("degraded", name)["detail"]).lower()
        mark = talk.say("fast")
        talk.driver.resume()
        stage.settle()
        assert talk.answers(mark) == 1
        stage.daemon.until_bot("up", name)
        stage.audit()


@pytest.mark.parametrize("wrong", ["telegram", *ELSEWHERE])
def test_c37_a_refused_token_fails_its_bot_with_words_and_no_other(
    nursery: Nursery, sqlite_template: Path, tmp_path: Path, wrong: str
) -> None:
    with (
        platform_called("telegram") as telegram,
        platform_called("discord") as discord,
        platform_called("slack") as slack,
    ):
        platforms = [telegram, discord, slack]
        for one in platforms:
            one.without_limits()
        stage = Stage(platforms, tmp_path, nursery)
        next(one for one in platforms if one.name == wrong).revoke()
        stage.put_store(sqlite_template)
        with stage.daemon:
            stage.start()
            detail = str(stage.daemon.until_bot("failed", wrong)["detail"])
            assert "token" in detail
            well = [one for one in platforms if one.name != wrong]
            for one in well:
                stage.daemon.until_bot("up", one.name)
            talks = [Dialogue.private(one) for one in well]
            stage.dialogues += talks
            marks = [talk.say("fast") for talk in talks]
            stage.settle()
            assert [talk.answers(mark) for talk, mark in zip(talks, marks, strict=True)] == [1, 1]
