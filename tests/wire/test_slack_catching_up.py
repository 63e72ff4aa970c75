"""What was said while the Slack bot was away: the real SDK against the strict double."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from core.errors import BotRejected
from core.vocabulary import ChatKind
from tests.contract.doubles import running
from tests.fakes.slack import RateLimits
from tests.fakes.slack.model import Channel, JsonValue
from tests.wire.slack_world import World, opened
from tests.wire.world import ended


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened(retries_s=()) as made:  # whatever Slack can't hand over at once is lost
        yield made


async def test_what_was_said_while_we_were_away_is_read_in_order_and_no_more(world: World) -> None:
    bob = world.server.person("Bob")
    thread = world.say(f"{world.server.bot} a conversation", world.general)
    world.say("in direct")
    world.later(60)
    world.haunt(world.general, thread)
    world.haunt(world.chat)
    world.later(30)
    world.say("one")
    world.later(1)
    world.server.say(world.general, bob, "two", thread=thread)
    world.later(1)
    world.say("not for us", world.general)
    begun = world.say(f"{world.server.bot} three", world.general)
    world.later(1)
    world.say("four", world.general, begun)
    world.later(1)
    other = world.server.im(bob)
    world.server.say(other, bob, "five, from somebody new")
    async with running(world.bot, world.desk):
        await world.up()
        await world.heard(5)
        world.say("six")
        await world.heard(6)
    assert world.words == ["one", "two", "three", "four", "five, from somebody new", "six"]
    assert [message.kind for message in world.messages[1:4]] == [ChatKind.THREAD] * 3
    assert {message.address.thread for message in world.messages[2:4]} == {begun.ts}


async def test_what_is_too_old_stays_where_it_is(world: World) -> None:
    world.say("yesterday")
    world.later(24 * 60 + 1)
    world.haunt(world.chat)
    world.desk.haunted[0] = type(world.desk.haunted[0])(
        address=world.address(), kind=ChatKind.DIRECT, heard_at=world.desk.stale_before
    )
    world.say("today")
    world.desk.stale_before = world.clock.now()
    world.later(1)
    world.say("now")
    async with running(world.bot, world.desk):
        await world.up()
        await world.heard(1)
        world.say("live")
        await world.heard(2)
    assert world.words == ["now", "live"]


async def test_only_so_much_is_read_of_each_place_the_newest(world: World) -> None:
    thread = world.say(f"{world.server.bot} a conversation", world.general)
    world.later(20)
    world.haunt(world.general, thread)
    for number in range(7):
        world.later(20)
        world.say(f"direct {number}")
        world.say(f"thread {number}", world.general, thread)
    async with running(world.another(catch_up=3), world.desk):
        await world.up()
        await world.heard(6)
        world.say("live")
        await world.heard(7)
    assert sorted(world.words[:6]) == sorted(f"{place} {n}" for n in (4, 5, 6) for place in ("direct", "thread"))


async def test_many_pages_are_read(world: World) -> None:
    thread = world.say(f"{world.server.bot} a conversation", world.general)
    world.later(20)
    world.haunt(world.general, thread)
    for number in range(450):
        world.say(f"{number}", world.general, thread)
    async with running(world.another(catch_up=1_000), world.desk):
        await world.heard(450)
    assert world.words == [str(number) for number in range(450)]


async def test_catching_up_can_be_switched_off(world: World) -> None:
    world.haunt(world.chat)
    world.later(1)
    world.say("missed")
    async with running(world.another(catch_up=0), world.desk):
        await world.up()
        world.say("live")
        await world.heard(1)
    assert world.words == ["live"]
    assert world.sent("conversations.history") == 0


async def test_a_gap_while_we_run_is_caught_up_with(world: World) -> None:
    async with running(world.another(connections=1), world.desk):
        await world.server.until(world.server.connected)
        world.say("before")
        await world.heard(1)
        world.later(20)
        await world.server.pause()
        await world.clock.asleep(1)
        world.later(20)
        await world.clock.asleep(2)
        world.say("meanwhile")
        await world.server.resume()
        await world.wake(2)
        await world.heard(2)
        world.say("after")
        await world.heard(3)
    assert world.words == ["before", "meanwhile", "after"]


async def test_a_rate_limit_on_the_way_is_waited_for_and_holds_up_nobody_elsewhere(world: World) -> None:
    """Nothing is answered before what was said before it in the same place."""
    world.haunt(world.chat)
    world.later(1)
    world.say("missed")
    world.server.rate_limit("conversations.history", 30)
    async with running(world.bot, world.desk):
        await world.up()
        world.say("live")
        elsewhere = world.say(f"{world.server.bot} live elsewhere", world.general)
        await world.server.until(lambda: world.server.acked(elsewhere))
        assert world.words == ["live elsewhere"]
        assert await world.wake(1) == 30
        await world.heard(3)
    assert world.words == ["live elsewhere", "missed", "live"]


async def test_a_place_that_is_not_to_be_read_hides_no_other(world: World) -> None:
    gone = world.server.channel("gone", with_bot=False)
    world.haunt(gone)
    world.haunt(world.chat)
    world.later(1)
    world.say("missed")
    async with running(world.another(groups=[gone.id]), world.desk):
        await world.up()
        await world.heard(1)
    assert world.words == ["missed"]


# -- until Slack gives it ----------------------------------------------------------------------------------------------


def many(world: World, count: int, *, known: bool) -> list[Channel]:
    """So many people with something missed from each; `known`: they were talked with before."""
    chats = [world.server.im(world.server.person(f"Person{number}")) for number in range(count)]
    for chat in reversed(chats):
        if known:
            world.haunt(chat)
    world.later(1)
    for number, chat in enumerate(chats):
        world.server.say(chat, world.server.platform.people[other_than_us(world, chat)], f"missed {number}")
    return chats


def other_than_us(world: World, chat: Channel) -> str:
    [who] = world.server.platform.rooms[chat.id].members - {world.server.bot.user_id}
    return who


def asked(world: World, method: str = "conversations.history") -> list[object]:
    return [call.params["channel"] for call in world.server.calls_of(method)]


@pytest.mark.parametrize("status", [500, 503, 200])
@pytest.mark.parametrize("method", ["conversations.history", "conversations.replies", "users.conversations"])
async def test_what_slack_does_not_give_at_once_is_asked_for_again(world: World, method: str, status: int) -> None:
    thread = world.say(f"{world.server.bot} a conversation", world.general)
    world.later(20)
    world.haunt(world.general, thread)
    world.say("direct")
    world.say("in the thread", world.general, thread)
    body: JsonValue = {"ok": False, "error": "internal_error"} if status == 200 else {}
    failing = world.server.answer(method, status, body, count=None)
    async with running(world.another(connections=1), world.desk):
        for nap, wait_s in enumerate((2, 4, 8), 1):
            assert await world.wake(nap) == wait_s
        assert await world.clock.asleep(4) == 16
        failing.cancel()
        world.clock.advance(16)
        await world.heard(2)
    assert sorted(world.words) == ["direct", "in the thread"]


async def test_a_call_that_breaks_off_is_made_again_while_sockets_stand(world: World) -> None:
    world.say("missed")
    world.server.drop("users.conversations", applied=False)
    async with running(world.another(connections=1), world.desk):
        assert await world.wake(1) == 2
        await world.heard(1)
    assert world.words == ["missed"]


async def test_a_place_that_slack_never_gives_keeps_none_from_another(world: World) -> None:
    chats = many(world, 6, known=True)
    world.server.answer("conversations.history", 503, {}, channel=chats[0].id, count=None)
    async with running(world.another(connections=1), world.desk):
        await world.hurry(5)
        await world.wake(len(world.clock.naps))
        await world.wake(len(world.clock.naps) + 1)
    assert sorted(world.words) == [f"missed {number}" for number in range(1, 6)]
    assert asked(world).count(chats[0].id) > 2


async def test_one_wait_is_kept_by_all(world: World) -> None:
    many(world, 12, known=False)
    world.haunt(world.general)
    world.server.rate_limit("conversations.history", 30)
    listing = world.server.delay("users.conversations", applied=False)
    async with running(world.another(connections=1), world.desk):
        await world.clock.asleep(1)
        listing.release()
        await world.server.until(lambda: bool(world.server.calls_of("users.conversations")))
        world.clock.advance(30)
        await world.heard(12)
    assert world.clock.naps == [30]


async def test_no_more_is_asked_than_slack_lets_and_all_is_read(world: World) -> None:
    """Direct chats page by page: nobody there is known."""
    world.server.set_limits(RateLimits())
    many(world, 450, known=False)
    async with running(world.another(connections=1), world.desk):
        await world.hurry(450)
    assert sorted(world.words) == sorted(f"missed {number}" for number in range(450))
    assert len(asked(world)) == 451  # with the empty chat
    assert [bool(call.params.get("cursor")) for call in world.server.calls_of("users.conversations")] == [
        False, True, True,
    ]  # fmt: skip
    assert world.server.problems_of("rate") == ()


async def test_the_order_within_each_conversation_is_kept(world: World) -> None:
    chats = many(world, 60, known=True)
    for number, chat in enumerate(chats):
        world.server.say(chat, world.server.platform.people[other_than_us(world, chat)], f"more {number}")
    async with running(world.another(connections=1), world.desk):
        await world.hurry(120)
    for number, chat in enumerate(chats):
        said = [one.text for one in world.messages if one.address.chat == chat.id]
        assert said == [f"missed {number}", f"more {number}"]


async def test_where_somebody_speaks_just_now_is_read_first_and_what_was_missed_comes_before(world: World) -> None:
    chats = many(world, 60, known=True)
    async with running(world.another(connections=1), world.desk):
        await world.clock.asleep(4)  # as many as are read at once when nobody waits for any
        await world.heard(25)
        last = chats[-1]
        live = world.server.say(last, world.server.platform.people[other_than_us(world, last)], "live")
        elsewhere = world.say(f"{world.server.bot} live elsewhere", world.general)
        await world.server.until(lambda: world.server.acked(elsewhere))
        await world.heard(28)
        await world.server.until(lambda: world.server.acked(live))
        await world.hurry(62)
    assert [one.text for one in world.messages if one.address.chat == last.id] == ["missed 59", "live"]
    assert asked(world).index(last.id) == 25


async def test_what_a_process_left_behind_is_read_by_the_next(world: World) -> None:
    """Though others were heard meanwhile, who tell that the bot was there."""
    behind = world.server.im(world.server.person("Bob"))
    world.haunt(behind)
    world.later(1)
    world.server.say(behind, world.server.platform.people[other_than_us(world, behind)], "left behind")
    failing = world.server.answer("conversations.history", 503, {}, channel=behind.id, count=None)
    async with running(world.another(connections=1), world.desk):
        await world.clock.asleep(1)
        world.later(60)
        world.say("live")
        await world.heard(1)
    world.haunt(world.chat)
    failing.cancel()
    async with running(world.another(connections=1), world.desk):
        await world.desk.until(lambda: "left behind" in world.words)
        await world.desk.until(lambda: world.desk.notes["behind since"] == "")


async def test_a_dead_token_does_not_count_as_having_read(world: World) -> None:
    world.haunt(world.chat)
    world.later(1)
    world.say("missed")
    world.server.error("conversations.history", "token_revoked", count=None)
    with pytest.raises(BotRejected, match="token_revoked"):
        async with running(world.another(connections=1), world.desk) as task:
            world.server.error("auth.test", "token_revoked", after=2, count=None)
            await ended(task)
    assert world.desk.notes["behind since"]


async def test_an_older_thread_that_went_on_is_found_and_one_that_did_not_is_not_asked_for(world: World) -> None:
    old = world.say("somebody else's", world.general)
    quiet = world.say(f"{world.server.bot} a conversation", world.general)
    world.say("in it", world.general, quiet)
    world.later(20)
    world.haunt(world.general, quiet)
    world.say(f"{world.server.bot} and you?", world.general, old)
    async with running(world.another(connections=1), world.desk):
        await world.desk.until(lambda: world.words == ["and you?"])
    quote = world.messages[0].quote
    assert quote is not None
    assert quote.text == "somebody else's"
    assert {call.params["ts"] for call in world.server.calls_of("conversations.replies")} == {old.ts}


async def test_with_a_team_as_group_every_channel_that_we_are_in_is_read(world: World) -> None:
    world.say("before", world.general)
    world.later(20)
    world.say(f"{world.server.bot} hello", world.general)
    async with running(world.another(groups=[world.server.team.id], connections=1), world.desk):
        await world.heard(1)
    assert world.words == ["hello"]


async def test_what_there_was_no_room_for_while_the_store_stood_still_is_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bots.slack.intake._MOST_UNDER_WAY", 3)
    async with running(world.another(connections=1), world.desk):
        await world.desk.until(lambda: world.desk.notes.get("behind since") == "")
        world.desk.open.clear()
        world.say("0")
        await world.desk.until(lambda: world.desk.waiting == 1)
        for number in range(1, 9):
            world.say(f"{number}")
        world.server.ping()
        [socket] = world.server.sockets()
        await world.server.until(lambda: socket.pongs > 0)
        world.desk.open.set()
        await world.heard(9)
        await world.desk.until(lambda: world.desk.notes.get("behind since") == "")
    assert world.words == [str(number) for number in range(9)]
