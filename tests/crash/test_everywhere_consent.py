"""A call waits for a person's word: by buttons, on each platform, whatever is killed meanwhile."""

from __future__ import annotations

import json
from typing import Final

import pytest

from core.service.notices import ENGLISH
from tests.crash.conftest import WorldOn
from tests.crash.daemon import until
from tests.crash.everywhere import EVERYWHERE, World
from tests.crash.rooms import Room
from tests.fakes.agents_everywhere import arguments

pytestmark = [pytest.mark.crash, pytest.mark.parametrize("name", EVERYWHERE)]

ALLOW: Final = ENGLISH["button_approve"]
DENY: Final = ENGLISH["button_deny"]
DONE: Final = ENGLISH["pressed"]
EXPIRED: Final = ENGLISH["press_expired"]
ASKER_ONLY: Final = ENGLISH["asker_only"]


def asked(world: World, room: Room, *payees: str) -> None:
    """The agent wants to pay, and its person sees each call exactly as it will be made."""
    room.say(f"pay {' '.join(payees)}")
    until(lambda: len(room.buttons) == 2 * len(payees), "each call has its buttons")
    assert [one.label for one in room.buttons] == [ALLOW, DENY] * len(payees)
    for payee in payees:
        assert room.dialogue.count(json.dumps(arguments(payee), indent=2)) == 1, room.texts
    assert world.paid == []


def answered(world: World, room: Room, words: str) -> None:
    until(lambda: room.says(words), f"the agent says {words!r}")
    until(lambda: not room.buttons, "the buttons are gone")
    world.settle()


def test_what_is_allowed_is_done_once(world_on: WorldOn, name: str) -> None:
    with world_on(name) as world:
        world.begin()
        asked(world, world.ada, "Eve")
        allow, deny = world.ada.buttons
        world.ada.press(allow)
        answered(world, world.ada, "paid: Eve")
        world.ada.until_told(DONE)
        for number, again in enumerate((allow, deny), start=1):
            world.ada.press(again)
            world.ada.until_told(EXPIRED, times=number)
        world.settle()
        assert (world.paid, world.ada.dialogue.count("paid: ")) == (["Eve"], 1)


def test_what_is_denied_is_not_done(world_on: WorldOn, name: str) -> None:
    with world_on(name) as world:
        world.begin()
        asked(world, world.ada, "Eve")
        allow, deny = world.ada.buttons
        world.ada.press(deny)
        answered(world, world.ada, "paid: -")
        world.ada.press(allow)
        world.ada.until_told(EXPIRED)
        world.settle()
        assert world.paid == []


def test_each_answer_is_for_its_own_call(world_on: WorldOn, name: str) -> None:
    with world_on(name) as world:
        world.begin()
        asked(world, world.ada, "Eve", "Mallory")
        _, deny_eve, allow_mallory, _ = world.ada.buttons
        world.ada.press(allow_mallory)
        until(lambda: len(world.ada.buttons) == 2, "one question is left")
        world.settle()
        assert world.paid == []
        world.ada.press(deny_eve)
        answered(world, world.ada, "paid: Mallory")
        assert world.paid == ["Mallory"]


def test_a_question_and_what_became_of_it_outlive_the_process(world_on: WorldOn, name: str) -> None:
    with world_on(name) as world:
        world.begin()
        asked(world, world.ada, "Eve")
        allow, deny = world.ada.buttons
        world.settle()
        world.kill()
        world.begin()
        world.ada.press(allow)
        answered(world, world.ada, "paid: Eve")
        world.ada.until_told(DONE)
        world.kill()
        world.begin()
        for number, old in enumerate((allow, deny), start=1):
            world.ada.press(old)
            world.ada.until_told(EXPIRED, times=number)
        world.settle()
        assert (world.paid, world.ada.dialogue.count("paid: ")) == (["Eve"], 1)


def test_nobody_else_answers_in_a_group(world_on: WorldOn, name: str) -> None:
    with world_on(name) as world:
        world.begin()
        asked(world, world.hall, "Eve")
        allow, _ = world.hall.buttons
        world.hall.press(allow, by=1)
        world.hall.until_told(ASKER_ONLY, by=1)
        world.settle()
        assert (world.paid, len(world.hall.buttons), world.hall.told(by=0)) == ([], 2, [])
        world.hall.press(allow)
        answered(world, world.hall, "paid: Eve")
        assert world.paid == ["Eve"]


def test_a_button_is_good_in_its_own_chat_only(world_on: WorldOn, name: str) -> None:
    with world_on(name) as world:
        world.begin()
        world.ada.say("hello")
        until(lambda: world.ada.says("re: hello"), "an answer under which the button is put")
        asked(world, world.hall, "Eve")
        allow, _ = world.hall.buttons
        world.ada.press(world.ada.forged(allow))
        world.ada.until_told(EXPIRED)
        world.settle()
        assert (world.paid, len(world.hall.buttons)) == ([], 2)
        world.hall.press(allow)
        answered(world, world.hall, "paid: Eve")
        assert world.paid == ["Eve"]
