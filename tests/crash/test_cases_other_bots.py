"""C27 in a thread of ours, where nobody needs to name us: what is said to another bot is nothing to us."""

from __future__ import annotations

import pytest

from tests.crash.conftest import StageOn
from tests.crash.dialogue import Dialogue
from tests.crash.scene import RESET
from tests.drivers.driver import Driver, Saying

pytestmark = pytest.mark.crash


def threaded(platform: Driver) -> Dialogue:
    return Dialogue.threaded(platform, platform.person("Ada"))


def order_another(platform: Driver, talk: Dialogue) -> None:
    """Ada gives a command to another bot that is there."""
    name = platform.mention(platform.person("another", robot=True))
    for text in (f"/reset{name}", f"{name} /reset") if platform.name == "telegram" else (f"{name} /reset",):
        platform.say(talk.place, talk.people[0], Saying(text=text))


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
        assert platform.violations == ()
