"""The form that asks for what a slash command lacks: the real SDK and Bolt against the strict double."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Sequence

import pytest
from msgspec.structs import replace

from core.ports import Choice, CommandHelp, Principal
from tests.contract.doubles import running
from tests.fakes.slack.model import View, text_of
from tests.wire.slack_world import World, opened
from tests.wire.test_slack_commands import WholeDesk, form, talk, topics, typed


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


class Completing(WholeDesk):
    """It completes two commands, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.completed: list[tuple[str, str, Principal]] = []

    @property
    def commands(self) -> tuple[CommandHelp, ...]:
        return tuple(replace(one, completes=one.name in ("resume", "model")) for one in super().commands)

    async def complete(self, principal: Principal, command: str, typed: str) -> Sequence[Choice]:
        self.completed.append((command, typed, principal))
        return [one for one in self.choices if typed in one.label]


MENU = "frontdesk_argument"


@pytest.fixture
def desk(world: World) -> Completing:
    world.desk = made = Completing()
    made.choices = [Choice(value="0198-one", label="On cats (2 h)"), Choice(value="0198-two", label="On fish (1 d)")]
    return made


async def suggested(world: World, shown: View, words: str = "") -> list[str]:
    asked = world.server.suggest(shown, MENU, words)
    await world.server.until(lambda: world.server.acked(asked))
    return [text_of(one, "text", "text") for one in world.server.offered(shown, MENU)]


async def test_what_a_command_takes_and_was_not_given_is_chosen_from_a_menu(world: World, desk: Completing) -> None:
    async with running(world.another(catch_up=0), desk):
        await world.up()
        said = talk(world, "cats")
        await world.heard(1)
        await typed(world, "resume")
        shown = form(world)
        assert await suggested(world, shown) == ["On cats (2 h)", "On fish (1 d)"]
        assert await suggested(world, shown, "fish") == ["On fish (1 d)"]
        sent = world.server.send(shown, {MENU: "0198-two"})
        await world.server.until(lambda: world.server.acked(sent))
        await world.heard(2)
    assert (world.words[-1], world.messages[-1].address.thread) == ("/resume 0198-two", said.ts)
    command, word, asker = desk.completed[-1]
    assert (command, word, asker.sender.user, asker.within) == ("resume", "fish", world.ada.id, world.server.team.id)
    assert asker.address == world.address(world.chat, said)


async def test_a_form_can_be_sent_without_a_choice_from_the_menu(world: World, desk: Completing) -> None:
    async with running(world.another(catch_up=0), desk):
        await world.up()
        await typed(world, "model")
        world.server.send(form(world), {})
        await world.heard(1)
    assert world.words == ["/model"]


async def test_one_form_asks_for_all_that_is_lacking(world: World, desk: Completing) -> None:
    async with running(world.another(catch_up=0), desk):
        await world.up()
        _, fish = talk(world, "cats", world.general), talk(world, "fish", world.general)
        await world.heard(2)
        await typed(world, "resume", world.general)
        shown = form(world)
        with pytest.raises(ValueError, match="not offered"):
            world.server.send(shown, {})
        await suggested(world, shown)
        world.server.send(shown, {"frontdesk_which": topics(shown)["@frontdesk fish"], MENU: "0198-one"})
        await world.heard(3)
    assert (world.words[-1], world.messages[-1].address.thread) == ("/resume 0198-one", fish.ts)


@pytest.mark.parametrize("command", ["resume 2", "resume on cats", "stop", "help"])
async def test_nobody_is_asked_for_what_is_there_or_is_not_taken(world: World, desk: Completing, command: str) -> None:
    async with running(world.another(catch_up=0), desk):
        await world.up()
        await typed(world, command)
        await world.heard(1)
    assert world.words == [f"/{command}"]
    assert world.server.modals(world.ada) == ()


async def test_where_there_is_nothing_to_choose_from_the_command_is_done(world: World, desk: Completing) -> None:
    desk.choices = []
    async with running(world.another(catch_up=0), desk):
        await world.up()
        await typed(world, "resume")
        await world.heard(1)
    assert world.words == ["/resume"]


async def test_a_menu_keeps_to_what_slack_shows(world: World, desk: Completing) -> None:
    """Long names are cut, and what is too long to come back is left out."""
    long = [
        Choice(value="x" * 151, label="never"),
        Choice(value="y" * 150, label="long " * 30),
        Choice(value="z", label=" "),
    ]
    desk.choices = [*long, *(Choice(value=str(number), label=f"{number}") for number in range(200))]
    async with running(world.another(catch_up=0), desk):
        await world.up()
        await typed(world, "resume")
        labels = await suggested(world, form(world))
    assert len(labels) == 100
    assert labels[:3] == [("long " * 15), "…", "0"]


async def test_a_form_from_before_a_restart_works(world: World, desk: Completing) -> None:
    async with running(world.another(catch_up=0), desk):
        await world.up()
        await typed(world, "resume")
    async with running(world.another(catch_up=0), desk):
        await world.up()
        await suggested(world, form(world))
        world.server.send(form(world), {MENU: "0198-one"})
        await world.heard(1)
    assert world.words == ["/resume 0198-one"]


async def test_a_form_is_acknowledged_after_its_command_is_stored_and_stored_once(
    world: World, desk: Completing
) -> None:
    async with running(world.another(catch_up=0), desk):
        await world.up()
        await typed(world, "model")
        desk.open.clear()
        sent = world.server.send(form(world), {})
        await desk.until(lambda: desk.waiting == 1)
        assert not world.server.acked(sent)
        desk.open.set()
        await world.server.until(lambda: world.server.acked(sent))
    assert world.words == ["/model"]


async def test_a_form_that_slack_does_not_open_is_told_of(world: World, desk: Completing) -> None:
    async with running(world.another(catch_up=0), desk):
        await world.up()
        world.server.error("views.open", "internal_error")
        await typed(world, "resume")
    assert ["at the moment" in one.text for one in world.server.ephemerals(world.ada)] == [True]
    assert world.words == []


async def test_a_command_longer_than_slack_keeps_is_told_of(world: World, desk: Completing) -> None:
    async with running(world.another(catch_up=0), desk):
        await world.up()
        talk(world, "cats")
        talk(world, "fish")
        await world.heard(2)
        await typed(world, "queue " + "x" * 3_000)
    assert ["too long" in one.text for one in world.server.ephemerals(world.ada)] == [True]
    assert world.server.modals(world.ada) == ()


@pytest.mark.parametrize("metadata", ["", "{", "[]", "[" * 2_000, '{"text": 1}', '{"text": "/stop", "chat": "C 1"}'])
async def test_a_form_that_is_not_ours_to_read_is_answered(world: World, desk: Completing, metadata: str) -> None:
    async with running(world.another(catch_up=0), desk):
        await world.up()
        await typed(world, "resume")
        shown = form(world)
        with world.server.platform.lock:
            spoiled = dataclasses.replace(shown, body={**shown.body, "private_metadata": metadata})
            world.server.platform.views[shown.id] = spoiled
        assert await suggested(world, spoiled) == []
        sent = world.server.send(spoiled, {})
        await world.server.until(lambda: world.server.acked(sent))
        await world.server.until(lambda: "Type it again" in str([one.body for one in world.server.modals(world.ada)]))
    assert world.words == []
