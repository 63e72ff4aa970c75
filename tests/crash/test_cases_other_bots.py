"""C27 in a thread of ours, where nobody needs to name us: what is said to another bot is nothing to us."""

from __future__ import annotations

import pytest

from tests.crash.conftest import StageOn
from tests.crash.dialogue import Dialogue, Platform
from tests.crash.platforms import Discord, DiscordTalk, Slack, SlackTalk
from tests.crash.scene import RESET, Talk, Telegram

pytestmark = pytest.mark.crash

ANOTHER = "another_bot"


def threaded(platform: Platform) -> Dialogue:
    match platform:
        case Telegram():
            return platform.threaded([platform.person("Ada")])
        case Discord():
            return platform.threaded([platform.person("Ada")])
        case Slack():
            return platform.threaded([platform.person("Ada")])
        case _:
            raise LookupError(platform)


def order_another(platform: Platform, talk: Dialogue) -> None:
    """Ada gives a command to another bot that is there."""
    match platform, talk:
        case Telegram(), Talk():
            topic = int(talk.thread or "0")
            for text in (f"/reset@{ANOTHER}", f"@{ANOTHER} /reset"):
                platform.server.say(talk.chat, talk.user, text, message_thread_id=topic)
        case Discord(), DiscordTalk():
            other = platform.server.person(ANOTHER, is_bot=True)
            platform.server.join(platform.guild, other)
            platform.server.say(talk.channel, talk.people[0], f"<@{other.id}> /reset")
        case Slack(), SlackTalk():
            robot = platform.server.other_bot(ANOTHER)
            platform.server.say(talk.channel, talk.people[0], f"{robot} /reset", thread=talk.thread)
        case _:
            raise LookupError(platform)


@pytest.mark.parametrize("name", ["telegram", "discord", "slack"])
def test_c27_a_command_to_another_bot_ends_no_conversation_of_ours(stage_on: StageOn, name: str) -> None:
    with stage_on(name, enter=threaded) as stage:
        (platform,), (talk,) = stage.platforms, stage.dialogues
        stage.start()
        stage.daemon.until_bot("up", name)
        marks = [talk.say("fast")]
        stage.settle()
        order_another(platform, talk)
        marks.append(talk.say("fast"))
        stage.settle()
        assert [talk.answers(mark) for mark in marks] == [1, 1]
        assert talk.count(RESET) == 0
        listed = stage.daemon.json("sessions", "list")
        assert isinstance(listed, list)
        assert len(listed) == 1
        assert set(stage.journal) == {f"run {mark}" for mark in marks}
        assert platform.problems == ()
