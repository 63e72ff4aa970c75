"""Two bots of one app, in two workspaces: Slack hands each of them what is the other's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from bots.slack.bot import SlackBot
from config.secret import Secret
from core.ports import Choice
from core.vocabulary import Button, Message, Press
from tests.contract.doubles import RecordingDesk, running
from tests.fakes.slack.model import Bot, Channel, Interaction, Said
from tests.wire.slack_world import SlackDesk, World, opened
from tests.wire.test_slack_http import mounted

STOP = Button(label="Stop", data="STOPSTOP", style="bad")


def made(world: World, account: Bot, *, by_http: bool) -> SlackBot:
    token, secret = Secret(account.token), Secret(account.signing_secret)
    if by_http:
        return world.another(bot_token=token, mode="http", signing_secret=secret, app_token=None)
    return world.another(bot_token=token)


class Branch:
    """The same app in another workspace, with people and a desk of its own."""

    def __init__(self, world: World, *, by_http: bool = False) -> None:
        self.world = world
        server = world.server
        self.team = server.add_team("Other")
        self.account: Bot = server.add_bot("frontdesk", team=self.team, app_of=server.bot)
        self.bob = server.person("Bob", team=self.team)
        self.chat: Channel = server.im(self.bob, self.account)
        self.desk = SlackDesk()
        self.bot = made(world, self.account, by_http=by_http)

    def say(self, text: str) -> Said:
        return self.world.server.say(self.chat, self.bob, text)

    @property
    def heard(self) -> list[str]:
        return [one.text for one in self.desk.heard if isinstance(one, Message)]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened(retries_s=()) as made:  # what goes astray is lost
        yield made


@asynccontextmanager
async def both(world: World, branch: Branch) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running(world.bot, world.desk))
        await world.up()
        await stack.enter_async_context(running(branch.bot, branch.desk))
        await world.server.until(lambda: world.server.connected(4))
        await caught_up(branch.desk)
        yield


async def caught_up(desk: RecordingDesk) -> None:
    await desk.until(lambda: desk.notes.get("behind since") == "")


async def acked(world: World, *acts: Said | Interaction) -> None:
    await world.server.until(lambda: all(world.server.acked(act) for act in acts))


async def test_each_hears_what_is_said_in_its_own_workspace(world: World) -> None:
    branch = Branch(world)
    async with both(world, branch):
        for number in range(8):
            await acked(world, world.say(f"here {number}"), branch.say(f"there {number}"))
    assert world.words == [f"here {number}" for number in range(8)]
    assert branch.heard == [f"there {number}" for number in range(8)]


async def test_commands_and_buttons_are_the_workspaces_own(world: World) -> None:
    branch = Branch(world)
    server = world.server
    branch.desk.choices = [Choice(value="0198-one", label="On cats (2 h)")]
    async with both(world, branch):
        address = world.address(branch.chat)
        message = await branch.bot.send(world.delivery("working", address, buttons=(STOP,)))
        server.open_home(branch.bob, bot=branch.account)
        await server.until(lambda: server.home(branch.bob) is not None)
        home = server.home(branch.bob)
        assert home is not None
        for _ in range(4):
            await acked(world, server.slash(branch.chat, branch.bob, "/frontdesk", "status", bot=branch.account))
            await acked(world, server.click(branch.chat, message, branch.bob, "fd:STOPSTOP"))
            await acked(world, server.click_view(home, "fdr:0"))
    assert sorted(branch.heard) == ["/resume 0198-one"] * 4 + ["/status"] * 4
    assert sum(isinstance(one, Press) for one in branch.desk.heard) == 4
    assert world.desk.heard == []


async def test_a_button_in_a_channel_that_both_share_is_whose_message_it_stands_under(world: World) -> None:
    branch = Branch(world)
    async with both(world, branch):
        message = await world.bot.send(world.delivery("working", world.address(world.general), buttons=(STOP,)))
        for _ in range(4):
            await acked(world, world.server.click(world.general, message, branch.bob, "fd:STOPSTOP"))
    assert len(world.presses) == 4
    assert branch.desk.heard == []


async def test_while_the_other_does_not_listen_what_is_its_own_is_left_to_slack(world: World) -> None:
    branch = Branch(world)
    async with both(world, branch):
        pass
    async with running(world.another(connections=1), world.desk):
        await world.server.until(world.server.connected)
        said = branch.say("there")
        await acked(world, world.say("here"))
        assert not world.server.acked(said)
    assert (world.words, branch.heard) == (["here"], [])


async def test_by_http_one_address_serves_both(world: World) -> None:
    branch, bot = Branch(world, by_http=True), made(world, world.server.bot, by_http=True)
    ((prefix, app),) = bot.asgi.items()
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(mounted(app))
        await stack.enter_async_context(running(bot, world.desk))
        await stack.enter_async_context(running(branch.bot, branch.desk))
        for desk in (world.desk, branch.desk):
            await caught_up(desk)
        world.server.use_http(url + prefix)
        await world.server.until(lambda: world.server.app().request_url_verified)
        await acked(world, branch.say("there"), world.say("here"))
    assert (world.words, branch.heard) == (["here"], ["there"])
