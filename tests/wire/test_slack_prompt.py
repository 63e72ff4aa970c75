"""What Slack does not answer in time holds up nothing that somebody waits for: nobody waits for names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from bots.slack.line import Patience
from core.ports import Choice
from core.vocabulary import Button
from tests.contract.doubles import running
from tests.fakes.slack.model import Interaction
from tests.wire.slack_world import World, opened

STOP = Button(label="Stop", data="STOPSTOP", style="bad")
HURRIED = Patience(aside_s=60.0, prompt_s=0.2)
LOOK_UPS = ("users.info", "conversations.open", "conversations.replies", "files.info")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened(retries_s=()) as made:
        yield made


def command(world: World) -> Interaction:
    return world.server.slash(world.general, world.ada, "/frontdesk", f"reset for {world.ada}")


def direct_command(world: World) -> Interaction:
    return world.server.slash(world.chat, world.ada, "/frontdesk", "reset")


def press(world: World) -> Interaction:
    [message] = world.shown()
    return world.server.click(world.chat, message.ts, world.ada, "fd:STOPSTOP")


def resume(world: World) -> Interaction:
    home = world.server.home(world.ada)
    assert home is not None
    return world.server.click_view(home, "fdr:0")


def ask(world: World) -> Interaction:
    [message] = world.shown()
    return world.server.shortcut(world.chat, message.ts, world.ada, "frontdesk_ask")


@pytest.mark.parametrize("act", [command, direct_command, press, resume, ask])
async def test_it_is_acknowledged_though_no_look_up_is_answered(
    world: World, act: Callable[[World], Interaction]
) -> None:
    world.desk.choices = [Choice(value="0198-one", label="On cats (2 h)")]
    world.haunt(world.general, world.say(f"{world.server.bot} a conversation", world.general))
    bot = world.another(HURRIED, catch_up=0)
    async with running(bot, world.desk):
        await world.server.until(lambda: world.server.connected(2))
        await bot.send(world.delivery("working", buttons=(STOP,)))
        world.server.open_home(world.ada)
        await world.server.until(lambda: world.server.home(world.ada) is not None)
        for method in LOOK_UPS:
            world.server.hang(method, count=None)
        done = act(world)
        await world.server.until(lambda: world.server.acked(done))
        world.server.clear_faults()


async def test_what_is_not_understood_yet_holds_up_its_own_place_alone(world: World) -> None:
    """A reply waits for the mention that begins its thread."""
    bob = world.server.person("Bob")
    elsewhere = world.server.im(bob)
    async with running(world.another(HURRIED, catch_up=0), world.desk):
        await world.up()
        world.server.say(elsewhere, bob, "who I am is known now")
        await world.heard(1)
        hung = world.server.hang("users.info", count=None)
        mention = world.say(f"{world.server.bot} hello", world.general)
        reply = world.server.say(world.general, bob, "and I?", thread=mention)
        await world.server.until(lambda: hung.hits > 0)
        other = world.server.say(elsewhere, bob, "elsewhere")
        typed = world.server.slash(elsewhere, bob, "/frontdesk", "help")
        await world.server.until(lambda: world.server.acked(other) and world.server.acked(typed))
        assert sorted(world.words[1:]) == ["/help", "elsewhere"]
        hung.release()
        await world.heard(5)
        await world.server.until(lambda: world.server.acked(reply))
    assert world.words[3:] == ["hello", "and I?"]
