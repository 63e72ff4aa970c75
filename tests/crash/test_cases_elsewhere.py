"""Cases that people met on Telegram, by their ids, as they look on Discord and on Slack."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeAlias

import pytest
from sqlalchemy import text as verbatim

from core.store.sql import Sql
from tests.crash.conftest import StageOn, platform_called
from tests.crash.daemon import until
from tests.crash.dialogue import Dialogue, Platform
from tests.crash.nursery import Nursery
from tests.crash.platforms import Discord, DiscordTalk, Slack, SlackTalk, words_of
from tests.crash.scene import RESET, Stage, Telegram
from tests.fakes.agents_crash import closing
from tests.fakes.slack import Channel as SlackChannel
from tests.fakes.slack import Person

pytestmark = pytest.mark.crash

Elsewhere: TypeAlias = Discord | Slack
ELSEWHERE: Final = ("discord", "slack")
LONG_S: Final = 1000
_WAITING = Sql(verbatim("SELECT count(*) FROM deliveries WHERE state = 'queued' AND not_before IS NOT NULL"))


def platform_of(stage: Stage) -> Elsewhere:
    [platform] = stage.platforms
    assert isinstance(platform, Discord | Slack)
    return platform


def speak(stage: Stage, name: str = "Ada") -> DiscordTalk | SlackTalk:
    talk = stage.speak(name)
    assert isinstance(talk, DiscordTalk | SlackTalk)
    return talk


def flooded(platform: Platform, talk: Dialogue, seconds: int, *, edits: bool = False, after: int = 0) -> None:
    """A 429 for the next call in the chat, after so many that pass."""
    match platform:
        case Discord():
            route = "edit_message" if edits else "create_message"
            platform.server.limit(route, float(seconds), scope="shared", channel_id=int(talk.place), after=after)
        case Slack():
            method = "chat.update" if edits else "chat.postMessage"
            platform.server.rate_limit(method, seconds, channel=talk.place, after=after)
        case _:
            raise LookupError(platform)


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
        talk = speak(stage)
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
        talk = speak(stage)
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
        talk = speak(stage)
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
        talk = speak(stage)
        talk.put("count me", "")
        talk.put("count me", "")
        until(lambda: talk.count("counted 8") == 2, "both are answered")


def test_c31_a_private_channel_that_is_shared_goes_on_under_its_new_id(
    nursery: Nursery, sqlite_template: Path, tmp_path: Path
) -> None:
    """Its thread's session, and the permission to answer there. Slack says the new id once, in an event."""
    with platform_called("slack") as platform:
        assert isinstance(platform, Slack)
        ada = platform.server.person("Ada")
        channel = platform.server.channel("plans", members=[ada], private=True)
        platform.channels.append(channel.id)
        stage = Stage([platform], tmp_path, nursery)
        stage.put_store(sqlite_template)
        with stage.daemon:
            moved_on(stage, platform, ada, channel)


def moved_on(stage: Stage, platform: Slack, ada: Person, channel: SlackChannel) -> None:
    stage.start()
    stage.daemon.until_bot("up", "slack")
    root = platform.server.say(channel, ada, f"{platform.server.bot} fast one")
    platform.until(lambda: shown(platform, channel) == ["one"], timeout_s=30.0)
    there = platform.server.share_outside(channel)
    platform.server.say(there, ada, "fast two", thread=root)
    platform.until(lambda: shown(platform, there) == ["one", "two"], timeout_s=30.0)
    listed = stage.daemon.json("sessions", "list")
    assert isinstance(listed, list)
    assert [one["messages"] for one in listed] == [2]
    assert platform.problems == ()


def shown(platform: Slack, channel: SlackChannel) -> list[str]:
    """The marks of the answers there."""
    texts = [words_of(one) for one in platform.server.from_bot(channel)]
    return [mark for text in texts for mark in ("one", "two") if closing(mark) in text]


@pytest.mark.parametrize("name", ELSEWHERE)
def test_c34_edits_that_are_flooded_still_end_in_one_complete_message(stage_on: StageOn, name: str) -> None:
    with stage_on(name) as stage:
        stage.start()
        talk = speak(stage)
        flooded(stage.platforms[0], talk, 2, edits=True, after=1)
        mark = talk.say("crawl")
        stage.settle()
        assert (talk.answers(mark), talk.begun(mark), len(talk.texts)) == (1, 1, 1)
        stage.audit()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_c35_a_long_flood_wait_holds_one_chat_and_survives_a_kill(stage_on: StageOn, name: str) -> None:
    with stage_on(name) as stage:
        stage.start()
        told, others = speak(stage, "Ada"), speak(stage, "Bo")
        flooded(stage.platforms[0], told, LONG_S)
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
        assert platform_of(stage).problems == ()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_c36_what_was_said_while_the_network_was_gone_is_answered_when_it_is_back(stage_on: StageOn, name: str) -> None:
    with stage_on(name) as stage:
        stage.start()
        talk = speak(stage)
        talk.say("fast")
        stage.settle()
        server = platform_of(stage).server
        server.pause()
        server.cut_connections()
        assert name in str(stage.daemon.until_bot("degraded", name)["detail"]).lower()
        mark = talk.say("fast")
        server.resume()
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
        refuse(next(one for one in platforms if one.name == wrong))
        stage.put_store(sqlite_template)
        with stage.daemon:
            stage.start()
            detail = str(stage.daemon.until_bot("failed", wrong)["detail"])
            assert "token" in detail
            well = [one for one in platforms if one.name != wrong]
            for one in well:
                stage.daemon.until_bot("up", one.name)
            talks = [one.talk("Ada") for one in well]
            stage.dialogues += talks
            marks = [talk.say("fast") for talk in talks]
            stage.settle()
            assert [talk.answers(mark) for talk, mark in zip(talks, marks, strict=True)] == [1, 1]


def refuse(platform: Platform) -> None:
    """Nobody knows the account's token any more."""
    match platform:
        case Telegram():
            platform.server.revoke()
        case Discord():
            platform.server.revoke(platform.server.bot)
        case Slack():
            platform.server.error("*", "invalid_auth", count=None)
        case _:
            raise LookupError(platform)
