"""What somebody is shown to begin with, by an app of either kind; and what a token may not do."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from core.errors import BotRejected
from core.vocabulary import ChatKind
from tests.contract.doubles import running
from tests.wire.slack_world import World, opened
from tests.wire.world import ended


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


async def test_an_agent_suggests_in_the_direct_chat_once_a_day(world: World) -> None:
    world.server.app().surface = "agent"
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        said = world.say("hello")
        await world.heard(1)
        for hours in (0, 1, 24):
            world.later(60 * hours)
            world.server.open_home(world.ada, tab="messages")
            await world.acked()
        await world.server.until(lambda: len(world.server.prompts) == 2)
        world.say("/help")
        await world.heard(2)
    assert {(one.channel_id, one.thread_ts) for one in world.server.prompts} == {(world.chat.id, said.ts)}
    calls = world.server.calls_of("assistant.threads.setSuggestedPrompts")
    assert [call.params.get("thread_ts") for call in calls] == [None, None]
    assert [(one.kind, one.address.thread) for one in world.messages] == [(ChatKind.DIRECT, None)] * 2


async def test_nothing_is_suggested_to_somebody_whom_nobody_hears(world: World) -> None:
    world.server.app().surface = "agent"
    world.desk.unheard = {world.ada.id}
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        world.say("hello")
        world.server.open_home(world.ada, tab="messages")
        world.server.open_home(world.ada)
        await world.server.until(lambda: world.server.home(world.ada) is not None)
        await world.acked()
    assert not world.server.calls_of("assistant.threads.setSuggestedPrompts")


async def test_an_assistant_is_not_asked_for_that_twice() -> None:
    async with opened() as world:
        async with running(world.another(catch_up=0), world.desk):
            await world.up()
            for _ in range(2):
                world.server.open_home(world.ada, tab="messages")
                await world.server.until(lambda: world.sent("assistant.threads.setSuggestedPrompts") == 1)
                await world.acked()
            thread = world.server.open_assistant(world.ada)
            await world.server.until(lambda: bool(world.server.prompts))
        assert [one.thread_ts for one in world.server.prompts] == [thread.ts]
        assert [one.rule for one in world.server.problems] == ["missing_thread_ts"]
        world.server.platform.journal.problems.clear()


@pytest.mark.parametrize(
    ("lacking", "method"), [("im:history", "conversations.history"), ("im:read", "users.conversations")]
)
async def test_a_token_that_may_not_read_what_was_said_is_refused_with_the_scope_named(
    lacking: str, method: str
) -> None:
    async with opened(retries_s=()) as world:
        world.haunt(world.chat)
        world.later(1)
        world.say("missed")
        world.server.remove_scope(lacking)
        with pytest.raises(BotRejected, match=f"lacks the scope {lacking} for {method}.*install the app again"):
            async with running(world.another(connections=1), world.desk) as task:
                await ended(task)
        assert world.desk.notes["behind since"]


async def test_so_is_one_that_may_not_read_how_a_thread_began() -> None:
    async with opened() as world:
        with pytest.raises(BotRejected, match=r"lacks the scope \S+ for conversations.replies"):
            async with running(world.another(catch_up=0), world.desk) as task:
                await world.up()
                root = world.say("the printer is on fire", world.general)
                await world.heard(1)
                world.server.remove_scope("channels:history", "groups:history", "im:history", "mpim:history")
                world.say(f"{world.server.bot} what now?", world.general, root)
                await ended(task)
