"""The buttons that nobody asked for, on each platform: to go back to a conversation that ended by itself, and to let a
stranger in."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from core.service.notices import ENGLISH
from tests.crash.conftest import WorldOn
from tests.crash.daemon import until
from tests.crash.everywhere import EVERYWHERE, World
from tests.wire.shifted import SHIFT

pytestmark = [pytest.mark.crash, pytest.mark.parametrize("name", EVERYWHERE)]

HOUR_S: Final = 3600
RESET: Final = ENGLISH["reset_idle"].partition("{")[0]
RESUME: Final = ENGLISH["button_resume"]
LET_IN: Final = ENGLISH["let_in"]
DONE: Final = ENGLISH["pressed"]
EXPIRED: Final = ENGLISH["press_expired"]
WELCOME: Final = ENGLISH["paired"].partition(";")[0]
"""Commands are spelled as each platform has them."""


def by_idleness(name: str) -> str:
    """Lines of a bot's table: its conversations end after half an hour."""
    drafts = "drafts = false" if name == "telegram" else ""
    return f'{drafts}\n[bots.{name}.reset]\nmode = "idle"\nidle_minutes = 30\n'


def clock_of(world: World) -> Path:
    """How far the daemon's clock is ahead, in seconds."""
    shift = world.daemon.home / "shift"
    shift.write_text("0")
    world.daemon.environ = {SHIFT: str(shift)}
    return shift


def rested(world: World) -> None:
    """Ada's conversation about boats ends, and she is told so as she speaks again."""
    shift = clock_of(world)
    world.begin()
    world.ada.say("boats")
    until(lambda: world.ada.says("re: boats"), "an answer")
    world.settle()
    shift.write_text(str(HOUR_S))
    world.ada.say("anything new")
    until(lambda: world.ada.says("re: anything new"), "an answer in a new conversation")
    assert world.ada.dialogue.count(RESET) == 1, world.ada.texts


def went_back(world: World) -> None:
    until(lambda: world.ada.says("Back in “boats”"), "she is told where she is")
    until(lambda: not world.ada.buttons, "the button is gone")


@pytest.mark.parametrize("killed", [False, True])
def test_resume_goes_back_once(world_on: WorldOn, name: str, killed: bool) -> None:
    with world_on(name, table=by_idleness(name)) as world:
        rested(world)
        resume = world.ada.button(RESUME)
        if killed:
            world.settle()
            world.kill()
            world.begin()
        world.ada.press(resume)
        went_back(world)
        world.ada.until_told(DONE)
        world.ada.press(resume)
        world.ada.until_told(EXPIRED)
        world.ada.say("/title")
        until(lambda: world.ada.says("Title: “boats”"), "she is there")
        assert world.ada.dialogue.count("Back in") == 1


@pytest.mark.parametrize("killed", [False, True])
def test_an_owner_lets_a_stranger_in(world_on: WorldOn, name: str, killed: bool) -> None:
    drafts = "drafts = false\n" if name == "telegram" else ""
    with world_on(name, table=f'{drafts}direct = "pairing"') as world:
        world.begin()
        assert world.daemon.call("people", "role", world.ada.identity(), "owner").returncode == 0
        world.ada.say("I am here")
        until(lambda: world.ada.says("re: I am here"), "the owner can be reached")
        world.bob.say("hello")
        let_in = world.ada.button(LET_IN)
        assert world.ada.says(world.bob.identity()), "who it is"
        if killed:
            world.settle()
            world.kill()
            world.begin()
        world.ada.press(let_in)
        until(lambda: world.bob.says(WELCOME), "Bob is welcome")
        world.ada.until_told(DONE)
        world.ada.press(let_in)
        world.ada.until_told(EXPIRED)
        world.bob.say("and now")
        until(lambda: world.bob.says("re: and now"), "Bob is answered")
        assert (world.heard, world.bob.dialogue.count(WELCOME)) == (["I am here", "and now"], 1)


def test_nobody_but_an_owner_lets_anybody_in(world_on: WorldOn, name: str) -> None:
    """The stranger himself, whose client shows him the owner's button in his own chat."""
    drafts = "drafts = false\n" if name == "telegram" else ""
    with world_on(name, table=f'{drafts}direct = "pairing"') as world:
        world.begin()
        assert world.daemon.call("people", "role", world.ada.identity(), "owner").returncode == 0
        world.ada.say("I am here")
        until(lambda: world.ada.says("re: I am here"), "the owner can be reached")
        world.bob.say("hello")
        until(lambda: bool(world.bob.texts), "Bob has his code")
        world.bob.press(world.bob.forged(world.ada.button(LET_IN)))
        world.bob.until_told(EXPIRED)
        world.settle()
        assert not world.bob.says(WELCOME)
        world.bob.say("and now")
        until(lambda: len(world.fates) == 4 and all(fate for fate, _ in world.fates), "it has its fate")
        assert world.heard == ["I am here"]
