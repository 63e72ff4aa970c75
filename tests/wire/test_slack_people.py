"""Who people are on Slack, wherever they write and press: the real SDK against the strict double."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bots.slack.probe import SlackProbe
from core.ports import Choice
from core.vocabulary import BotName, Button, ChatId, Edit, Message, Press, UserId
from tests.contract.doubles import running
from tests.drivers.slack import settings_for
from tests.fakes.slack.model import JsonObject, Person
from tests.wire.slack_world import World, opened

ORGANIZATION = "E0ORG"
STOP = Button(label="Stop", data="STOPSTOP")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


@pytest.fixture
def grid(world: World) -> World:
    """Our workspace is in an organization, with another one."""
    teams = world.server.platform.teams
    teams[world.server.team.id] = replace(world.server.team, enterprise_id=ORGANIZATION)
    world.server.add_team("Sibling", enterprise_id=ORGANIZATION)
    return world


def sibling(world: World) -> str:
    return next(one.id for one in world.server.platform.teams.values() if one.name == "Sibling")


async def realms(world: World, *guises: Person) -> set[str]:
    """Of all that one person does, with each team that an event may name for them."""
    world.desk.choices = [Choice(value="0198-one", label="On cats")]
    async with running(world.bot, world.desk):
        await world.up()
        message = await world.bot.send(world.delivery("may I?", world.address(world.general), buttons=(STOP,)))
        for who in guises:
            count = len(world.desk.heard)
            said = world.server.say(world.general, who, f"{world.server.bot} hello")
            await world.heard(count + 1)
            world.server.edit(world.general, said, f"{world.server.bot} hello again")
            world.server.click(world.general, message, who, "fd:STOPSTOP")
            await world.heard(count + 3)
        await world.acked()
    return {one.sender.realm for one in world.desk.heard if isinstance(one, Message | Edit | Press)}


async def test_a_person_is_the_same_in_all_of_our_organization(grid: World) -> None:
    teams = (grid.server.team.id, ORGANIZATION, sibling(grid))
    assert await realms(grid, *(replace(grid.ada, team_id=team) for team in teams)) == {ORGANIZATION}


async def test_commands_and_the_home_tab_are_of_the_same_person(grid: World) -> None:
    grid.desk.choices = [Choice(value="0198-one", label="On cats")]
    elsewhere = replace(grid.ada, team_id=sibling(grid))
    async with running(grid.bot, grid.desk):
        await grid.up()
        grid.server.slash(grid.chat, elsewhere, "/frontdesk", "status")
        await grid.heard(1)
        grid.server.open_home(grid.ada)
        await grid.server.until(lambda: grid.server.home(grid.ada) is not None)
        home = grid.server.home(grid.ada)
        assert home is not None
        grid.server.click_view(home, "fdr:0", as_of=sibling(grid))
        await grid.heard(2)
        await grid.acked()
    assert [one.sender.realm for one in grid.messages] == [ORGANIZATION] * 2


async def test_of_a_workspace_of_ours_that_is_known_nobody_is_looked_up_again(grid: World) -> None:
    """Whom nobody hears is looked up once at most, where their team is not known to be ours."""
    others = [replace(grid.server.person(name), team_id=sibling(grid)) for name in ("Bob", "Cid", "Dan")]
    grid.desk.unheard, asked = {one.id for one in others}, 0
    async with running(grid.another(catch_up=0), grid.desk):
        await grid.up()
        for count, one in enumerate(others, 1):
            grid.server.say(grid.general, one, f"{grid.server.bot} hello")
            await grid.heard(count)
            await grid.acked()
            asked = grid.sent("users.info") if count == 1 else asked
    assert {one.sender.realm for one in grid.messages} == {ORGANIZATION}
    assert grid.sent("users.info") == asked


async def test_what_an_event_names_for_one_of_ours_is_not_a_workspace_of_ours_for_that(grid: World) -> None:
    """In a channel with others the team that it names may be theirs."""
    theirs = grid.server.add_team("Partner")
    bob = grid.server.person("Bob", team=theirs)
    async with running(grid.another(catch_up=0), grid.desk):
        await grid.up()
        for count, one in enumerate((replace(grid.ada, team_id=theirs.id), bob), 1):
            grid.server.say(grid.general, one, f"{grid.server.bot} hello")
            await grid.heard(count)
        await grid.acked()
    assert [one.sender.realm for one in grid.messages] == [ORGANIZATION, theirs.id]


@pytest.mark.parametrize("organized", [True, False])
async def test_a_person_of_another_organization_is_the_same_in_all_of_it(grid: World, organized: bool) -> None:
    theirs = grid.server.add_team("Partner", enterprise_id="E9" if organized else None)
    bob = grid.server.person("Bob", team=theirs)
    teams = (theirs.id, "E9", "T9OTHER") if organized else (theirs.id,)
    assert await realms(grid, *(replace(bob, team_id=team) for team in teams)) == {"E9" if organized else theirs.id}


async def test_somebody_of_another_workspace_is_not_one_of_ours_though_slack_does_not_tell(world: World) -> None:
    theirs = world.server.add_team("Partner")
    bob = world.server.person("Bob", team=theirs)
    world.server.error("users.info", "internal_error", count=None)
    assert await realms(world, bob) == {theirs.id}


async def test_how_people_of_an_organization_are_spelled_is_told(grid: World) -> None:
    token, *_ = await SlackProbe(BotName("slack"), settings=settings_for(grid.server), clock=grid.clock).findings(
        alone=True
    )
    assert f"slack:{ORGANIZATION}/USER" in token.detail


async def test_whoever_writes_during_the_setup_is_called_as_later_on(grid: World) -> None:
    grid.server.say(grid.chat, replace(grid.ada, team_id=sibling(grid)), "hello")
    (writer,) = await SlackProbe(BotName("slack"), settings=settings_for(grid.server), clock=grid.clock).writers()
    assert writer.identity == f"slack:{ORGANIZATION}/{grid.ada.id}"


@pytest.mark.parametrize("missed", [True, False])
async def test_a_bot_is_one_though_only_its_user_tells(world: World, missed: bool) -> None:
    robot = replace(world.server.other_bot("robot"), bot_id="", app_id="")
    if missed:
        world.server.say(world.general, robot, f"{world.server.bot} done")
    async with running(world.another(groups=[world.general.id]), world.desk):
        await world.up()
        if not missed:
            world.server.say(world.general, robot, f"{world.server.bot} done")
        await world.heard(1)
    assert [(one.text, one.sender.is_bot) for one in world.messages] == [("done", True)]


async def test_when_slack_is_asked_too_much_for_names_it_is_asked_again_when_it_says(world: World) -> None:
    people = [world.server.person(name) for name in ("Bob", "Cid", "Dan", "Eve")]
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        world.server.rate_limit("users.info", 20)
        for count, one in enumerate(people[:3], 1):
            world.server.say(world.server.im(one), one, "hello")
            await world.heard(count)
        await world.acked()
        assert world.sent("users.info") == 1
        world.clock.advance(21)
        world.server.say(world.server.im(people[3]), people[3], "hello")
        await world.heard(4)
    assert [one.sender.name for one in world.messages] == ["", "", "", "eve"]


# who runs a channel


async def run_by(world: World, *people: Person) -> list[bool]:
    """Whether each of them runs the channel."""
    async with running(world.bot, world.desk):
        await world.up()
        return [await world.bot.is_admin(ChatId(world.general.id), UserId(one.id)) for one in people]


async def test_s12_an_admin_of_another_workspace_runs_nothing_here(world: World) -> None:
    theirs = world.server.add_team("Partner")
    admin = world.server.person("Eve", team=theirs, is_admin=True)
    assert await run_by(world, admin, world.server.person("Boss", is_admin=True)) == [False, True]


@pytest.mark.parametrize("ours", [True, False])
async def test_s12_who_made_the_channel_runs_it_if_they_are_ours(world: World, ours: bool) -> None:
    maker = world.server.person("Eve", team=None if ours else world.server.add_team("Partner"))
    channel: JsonObject = {"id": world.general.id, "creator": maker.id}
    world.server.answer("conversations.info", 200, {"ok": True, "channel": channel})
    assert await run_by(world, maker) == [ours]


async def test_s12_in_an_organization_its_admins_run_all_and_others_their_own_workspace(grid: World) -> None:
    place = grid.server.platform.teams[sibling(grid)]
    partner = grid.server.add_team("Partner", enterprise_id="E9")
    people = {
        "admin of our workspace": grid.server.person("A", is_admin=True),
        "admin of our organization": grid.server.person("B", team=place, runs_organization=True),
        "admin of its other workspace": grid.server.person("C", team=place, is_admin=True),
        "admin of another organization": grid.server.person("D", team=partner, is_admin=True, runs_organization=True),
    }
    assert await run_by(grid, *people.values()) == [True, True, False, False]


async def test_s12_of_whom_slack_names_no_workspace_nobody_runs_anything(world: World) -> None:
    bob = world.server.person("Bob")
    world.server.answer("users.info", 200, {"ok": True, "user": {"id": bob.id, "is_admin": True}})
    assert await run_by(world, bob) == [False]
