"""What the Slack bot sends, and what Slack's refusals become: the real SDK against the strict double."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from core.errors import ChatDead, FloodWait, NotSent, Rejected, SendError, ThreadGone, Unknown
from core.ports import CanEdit, CanFetch, CanReact, CanType, HasTitles, KnowsAdmins, ServesHttp, ShowsWork
from core.vocabulary import Button, MessageId
from tests.contract.doubles import running
from tests.drivers.slack import shown
from tests.fakes.slack.rates import RateLimits
from tests.wire.slack_world import World, opened

SECTIONS = "\n\n".join(f"para {i} " + "x" * 300 for i in range(50))
YES, NO = Button(label="Yes", data="YESYES", style="good"), Button(label="No", data="NONO", style="bad")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


async def test_the_bot_is_all_that_it_says(world: World) -> None:
    for port in (CanEdit, CanType, ShowsWork, HasTitles, CanReact, CanFetch, KnowsAdmins, ServesHttp):
        assert isinstance(world.bot, port)


# -- texts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "block", "text"),
    [
        ("***bi*** &amp; a < b\n> q", "***bi*** &amp; a &lt; b\n> q", "*_bi_* &amp; a &lt; b\n> q"),
        ("**https://example.com/x/**", "**https://example.com/x/**", "*<https://example.com/x/>*"),
    ],
    ids=["C23", "C24"],
)
async def test_c23_c24_an_edit_renders_as_a_send_does(world: World, source: str, block: str, text: str) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        message = await world.bot.send(delivery := world.delivery(source))
        (sent,) = world.shown()
        await world.bot.edit(world.delivery("something else"), message)
        await world.bot.edit(delivery, message)
        (edited,) = world.shown()
    assert (shown(sent), sent.text) == (block, text)
    assert (shown(edited), edited.text) == (block, text)


async def test_c26_a_long_answer_is_split_and_nothing_is_lost(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        parts = world.bot.parts(SECTIONS)
        for part in parts:
            await world.bot.send(world.delivery(part))
        text = "\n".join(shown(message) for message in world.shown())
    assert len(parts) == 2
    assert all(f"para {number} " in text for number in range(50))
    assert text.count("x" * 300) == 50


@pytest.mark.parametrize("error", ["invalid_blocks", "msg_too_long", "msg_blocks_too_long"])
async def test_c26_what_slack_cannot_render_is_sent_plainer_and_whole(world: World, error: str) -> None:
    source = world.bot.parts(SECTIONS)[0]
    async with running(world.bot, world.desk):
        await world.up()
        world.server.error("chat.postMessage", error)
        message = await world.bot.send(world.delivery(source, buttons=(YES,)))
        world.server.error("chat.update", error)
        await world.bot.edit(world.delivery(source), message)
    (sent,) = world.shown()
    text = shown(sent)
    assert [block["type"] for block in sent.versions[0].blocks][-1] == "actions"
    assert text.count("x" * 300) == source.count("x" * 300)
    assert all(len(str(block.get("text"))) < 3_100 for block in sent.blocks)


async def test_nobody_is_pinged_whatever_an_agent_writes(world: World) -> None:
    bob = world.server.person("Bob")
    source = f"{bob} <!here> <!channel|all> <!everyone> @channel @here <!subteam^S1> `{bob}`\n```\n{bob} <!here>\n```"
    async with running(world.bot, world.desk):
        await world.up()
        address = world.address(world.general)
        message = await world.bot.send(world.delivery(source, address, buttons=(YES,)))
        await world.bot.edit(world.delivery(f"{source} {bob}", address), message)
        world.server.error("chat.postMessage", "invalid_blocks")
        await world.bot.send(world.delivery(source, address))
    assert len(world.shown(world.general)) == 2
    for message_shown in world.shown(world.general):
        assert message_shown.pings == frozenset()


async def test_nothing_unfurls(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        await world.bot.send(world.delivery("https://example.com"))
    (call,) = world.server.calls_of("chat.postMessage")
    assert (call.params["unfurl_links"], call.params["unfurl_media"]) == ("false", "false")


async def test_an_answer_in_a_thread_stays_there(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        root = world.say("chatter", world.general)
        await world.bot.send(world.delivery("answer", world.address(world.general, root)))
    assert [shown(message) for message in world.shown(world.general, root)] == ["answer"]


async def test_an_edit_with_no_buttons_takes_them_away(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        delivery = world.delivery("may I?", buttons=(YES, NO))
        message = await world.bot.send(delivery)
        (asked,) = world.shown()
        await world.bot.edit(replace(delivery, buttons=()), message)
        (done,) = world.shown()
    elements = asked.blocks[-1]["elements"]
    assert isinstance(elements, list)
    assert [(one["action_id"], one.get("style")) for one in elements if isinstance(one, dict)] == [
        ("fd:YESYES", "primary"),
        ("fd:NONO", "danger"),
    ]
    assert [block["type"] for block in done.blocks] == ["markdown"]


async def test_an_edit_that_slack_refuses_loses_nothing(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        message = await world.bot.send(world.delivery("half"))
        world.server.rate_limit("chat.update", 9)
        with pytest.raises(FloodWait):
            await world.bot.edit(world.delivery("half of"), message)
        assert [shown(one) for one in world.shown()] == ["half"]
        world.clock.advance(9)
        await world.bot.edit(world.delivery("the whole"), message)
        assert [shown(one) for one in world.shown()] == ["the whole"]
        world.server.delete(world.chat, message)
        with pytest.raises(Rejected):
            await world.bot.edit(world.delivery("gone"), message)


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        ("channel_not_found", ChatDead),
        ("is_archived", ChatDead),
        ("not_in_channel", ChatDead),
        ("user_disabled", ChatDead),
        ("restricted_action", ChatDead),
        ("thread_not_found", ThreadGone),
        ("cannot_reply_to_message", ThreadGone),
        ("ratelimited", FloodWait),
        ("message_limit_exceeded", FloodWait),
        ("internal_error", Unknown),
        ("fatal_error", Unknown),
        ("request_timeout", NotSent),
        ("a_word_of_tomorrow", Rejected),
    ],
)
async def test_each_refusal_means_something(world: World, error: str, ours: type[SendError]) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.error("chat.postMessage", error)
        with pytest.raises(SendError, match="flood" if ours is FloodWait else error) as caught:
            await world.bot.send(world.delivery("x"))
    assert type(caught.value) is ours


@pytest.mark.parametrize(
    ("error", "account"), [("ratelimited", False), ("rate_limited", True), ("message_limit_exceeded", True)]
)
async def test_a_flood_wait_says_whether_it_is_the_app_s(world: World, error: str, account: bool) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.error("chat.postMessage", error)
        with pytest.raises(FloodWait) as caught:
            await world.bot.send(world.delivery("x"))
    assert caught.value.account is account


async def test_a_flood_wait_holds_for_its_channel_only_and_is_kept_without_asking_again(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.rate_limit("chat.postMessage", 30, channel=world.chat.id)
        with pytest.raises(FloodWait):
            await world.bot.send(world.delivery("x"))
        calls = world.sent()
        world.clock.advance(10)
        with pytest.raises(FloodWait) as caught:
            await world.bot.send(world.delivery("x"))
        assert (caught.value.wait_s, world.sent()) == (20, calls)
        await world.bot.send(world.delivery("elsewhere", world.address(world.general)))
        world.clock.advance(20)
        await world.bot.send(world.delivery("y" * 9_000))
    assert len(shown(world.shown()[0])) == 9_000


async def test_at_our_own_pace_slack_is_never_in_a_hurry(world: World) -> None:
    world.server.set_limits(RateLimits())
    pace = world.bot.capabilities.direct_pace
    assert pace is not None
    async with running(world.bot, world.desk):
        await world.up()
        for number in range(20):
            if number >= pace.burst:
                world.clock.advance(pace.interval_s)
            await world.bot.send(world.delivery(str(number)))
            await world.acked()  # of what Slack tells us of our own words, before the clock moves on


async def test_an_unreachable_slack_is_certain(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        await world.server.pause()
        await world.clock.asleep(1)
        with pytest.raises(NotSent, match="can't be reached"):
            await world.bot.send(world.delivery("x"))
        await world.server.resume()
    with pytest.raises(NotSent, match="not connected"):
        await world.bot.send(world.delivery("x"))


# -- what is being done ------------------------------------------------------------------------------------------------


async def test_what_is_being_done_is_shown_until_something_is_said(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        root = world.say("question")
        address = world.address(world.chat, root)
        await world.bot.typing(address)
        assert world.server.status(world.chat, root) == "is thinking…"
        await world.bot.working(address, "searching the web")
        await world.bot.typing(address)
        assert world.server.status(world.chat, root) == "searching the web"
        await world.bot.working(address, "")
        assert world.server.status(world.chat, root) == "is thinking…"
        await world.bot.working(address, "adding up")
        await world.bot.send(world.delivery("42", address))
        assert world.server.status(world.chat, root) == ""
        world.clock.advance(1)
        await world.bot.typing(address)
        assert world.server.status(world.chat, root) == "is thinking…"


async def test_a_thread_of_the_assistant_gets_its_title_and_a_channel_none(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        root = world.server.open_assistant(world.ada)
        other = world.say("chatter", world.general)
        await world.bot.entitle(world.address(world.chat, root), "On cats")
        await world.bot.entitle(world.address(world.general, other), "On dogs")
        await world.bot.entitle(world.address(), "On nothing")
    assert [(title.thread_ts, title.title) for title in world.server.titles] == [(root.ts, "On cats")]


async def test_who_runs_the_workspace_or_made_the_channel_is_an_admin(world: World) -> None:
    boss, bob = world.server.person("Boss", is_admin=True), world.server.person("Bob")
    address = world.address(world.general)
    async with running(world.bot, world.desk):
        await world.up()
        assert await world.bot.is_admin(address.chat, boss.id)  # type: ignore[arg-type]
        assert not await world.bot.is_admin(address.chat, bob.id)  # type: ignore[arg-type]
        world.server.answer("conversations.info", 200, {"ok": True, "channel": {"id": address.chat, "creator": bob.id}})
        assert await world.bot.is_admin(address.chat, bob.id)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("emoji", "name"), [("👀", "eyes"), ("👍", "+1"), ("❤️", "heart"), (":party_parrot:", "party_parrot")]
)
async def test_a_reaction_is_put_on_what_is_being_answered(world: World, emoji: str, name: str) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        said = world.say("question", world.general)
        for _ in range(2):
            await world.bot.react(world.address(world.general), MessageId(said.ts), emoji)
        with pytest.raises(Rejected):
            await world.bot.react(world.address(world.general), MessageId("command-1"), emoji)
        with pytest.raises(Rejected):
            await world.bot.react(world.address(world.general), MessageId(said.ts), "no emoji")
    assert [one.name for one in world.server.message(world.general, said).reactions] == [name]


def test_without_streaming_nothing_is_edited(world: World) -> None:
    assert world.another(stream=False).capabilities.edit_interval_s is None
    assert world.bot.capabilities.edit_interval_s == 1.0
