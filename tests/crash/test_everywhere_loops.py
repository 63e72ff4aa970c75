"""Another bot that answers each answer is heard only so often in a row, on each platform; people always are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from core.desk.breaker import MOST
from core.service.notices import ENGLISH
from tests.crash.conftest import WorldOn
from tests.crash.daemon import until
from tests.crash.everywhere import EVERYWHERE, World

pytestmark = [pytest.mark.crash, pytest.mark.parametrize("name", EVERYWHERE)]

IGNORED: Final = ("ignored", "bot_loop")
STOPPED: Final = ENGLISH["stopped"]


def allowing_bots(name: str) -> str:
    return "allow_bots = true" + ("\ndrafts = false" if name == "telegram" else "")


def beep(world: World, robot: Callable[[str], None], *texts: str) -> tuple[str, str]:
    """The other bot speaks, and is answered or not; the fate of what it said last."""
    before = len(world.fates)
    for text in texts:
        robot(text)
    until(lambda: len(world.fates) == before + len(texts), f"{texts} arrive")
    world.settle()
    return world.fates[-1]


def test_two_bots_do_not_talk_for_ever(world_on: WorldOn, name: str) -> None:
    with world_on(name, table=allowing_bots(name)) as world:
        world.begin()
        robot = world.hall.robot()
        beeps = [f"beep {number}" for number in range(MOST + 3)]
        fates = [beep(world, robot, text) for text in beeps]
        assert world.heard == beeps[:MOST]
        assert fates[MOST:] == [IGNORED] * 3
        assert [world.hall.dialogue.count(f"re: {text}") for text in beeps] == [1] * MOST + [0] * 3


def test_people_are_heard_all_the_while(world_on: WorldOn, name: str) -> None:
    with world_on(name, table=allowing_bots(name)) as world:
        world.begin()
        robot = world.hall.robot()
        assert beep(world, robot, *["beep"] * (MOST + 1)) == IGNORED
        world.hall.say("hello", by=1)
        until(lambda: world.hall.says("re: hello"), "Bob is answered")
        assert beep(world, robot, "beep again")[0] == "answered", "there was somebody in between"


def test_a_person_stops_what_a_bot_began(world_on: WorldOn, name: str) -> None:
    with world_on(name, table=allowing_bots(name)) as world:
        world.begin()
        world.hall.robot()("hold")
        until(lambda: world.hall.says("holding on"), "an answer that does not end")
        world.hall.reply("/stop")
        until(lambda: world.hall.says(STOPPED), "Ada stops it")
        world.settle()
        assert world.heard == ["hold"]
