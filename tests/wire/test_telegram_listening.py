"""How the Telegram bot listens: the real SDK over a socket against the strict double."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from bots.telegram.bot import Patience, TelegramBot
from config.secret import Secret
from core.errors import BotRejected, NotSent
from core.vocabulary import Address, BotName, ChatId, Edit, Malformed, Message
from tests.contract.doubles import PATIENCE_S, ManualClock, NoChance, RecordingDesk, running
from tests.contract.telegram import NAME, settings_for
from tests.fakes.telegram.clock import ManualClock as ServerClock
from tests.fakes.telegram.model import Chat, JsonObject, JsonValue, User
from tests.fakes.telegram.platform import Webhook
from tests.fakes.telegram.server import TelegramServer


class World:
    """The double, one person, and a bot with its desk."""

    def __init__(self, server: TelegramServer) -> None:
        self.server = server
        self.ada: User = server.user("Ada")
        self.chat: Chat = server.private(self.ada)
        self.clock = ManualClock()
        self.desk = RecordingDesk()
        self.bot = self.another()

    def another(self, patience: Patience = Patience(), **settings: object) -> TelegramBot:  # noqa: B008 - frozen
        return TelegramBot(
            BotName(NAME),
            settings=settings_for(self.server, **settings),
            clock=self.clock,
            random=NoChance(),
            patience=patience,
        )

    def say(self, text: str) -> int:
        update = self.server.say(self.chat, self.ada, text).update_id
        assert update is not None
        return update

    async def up(self) -> None:
        await self.desk.until(lambda: self.desk.health.last == "up")

    async def heard(self, count: int) -> None:
        await self.desk.until(lambda: len(self.desk.heard) >= count)

    async def confirmed(self) -> None:
        await self.server.until(lambda: not self.server.unconfirmed)

    async def wake(self, nap: int) -> float:
        """Let the bot's n-th wait pass; tells how long it was."""
        seconds = await self.clock.asleep(nap)
        self.clock.advance(seconds)
        return seconds

    @property
    def words(self) -> list[str]:
        return [inbound.text for inbound in self.desk.heard if isinstance(inbound, Message)]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with TelegramServer(limits=None) as server:
        made = World(server)
        yield made
        assert server.violations == ()


async def ended(task: asyncio.Task[None]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.wait([task])


# -- the backlog -----------------------------------------------------------------------------------------------------


async def test_c10_what_was_said_while_we_were_down_is_heard_in_order(world: World) -> None:
    for number in range(6):
        world.say(f"line {number}")
    async with running(world.bot, world.desk):
        await world.heard(6)
        await world.confirmed()
    assert world.words == [f"line {number}" for number in range(6)]
    polls = world.server.calls_of("getUpdates")
    assert "offset" not in polls[0].params
    assert polls[0].params["timeout"] == 0
    assert not world.server.calls_of("deleteWebhook")


async def test_ten_thousand_updates_arrive_in_order(world: World) -> None:
    for number in range(10_000):
        world.say(str(number))
    async with running(world.bot, world.desk):
        await world.heard(10_000)
        await world.confirmed()
    assert world.words == [str(number) for number in range(10_000)]
    assert max(len(batch) for batch in world.desk.batches) <= 100


async def test_c09_c11_a_redelivered_update_keeps_its_id(world: World) -> None:
    async with running(world.bot, world.desk):
        first = world.say("/restart")
        await world.heard(1)
        world.server.redeliver(first)
        await world.heard(2)
        world.say("/restart")
        await world.heard(3)
    assert [inbound.event for inbound in world.desk.heard] == [str(first), str(first), str(first + 1)]


async def test_after_a_quiet_week_the_offset_is_left_out() -> None:
    server_clock = ServerClock()
    async with TelegramServer(limits=None, clock=server_clock) as server:
        world = World(server)
        async with running(world.bot, world.desk):
            world.say("hello")
            await world.confirmed()
            world.clock.advance(timedelta(days=7).total_seconds())
            polls = len(server.calls_of("getUpdates"))
            server_clock.advance(25)
            await server.until(lambda: len(server.calls_of("getUpdates")) > polls)
            assert "offset" not in server.calls_of("getUpdates")[-1].params
            world.say("again")
            await world.confirmed()
        assert world.words == ["hello", "again"]


# -- what can't be read ----------------------------------------------------------------------------------------------


async def test_one_malformed_update_is_refused_and_the_stream_moves_on(world: World) -> None:
    world.say("before")
    bad = world.server.raw({"message": "oops"})
    world.server.raw({"message": {"message_id": 1, "chat": {"id": world.ada.id, "type": "private"}, "text": "no date"}})
    world.server.raw({"kind_of_tomorrow": {"x": 1}})
    world.say("after")
    async with running(world.bot, world.desk):
        await world.heard(4)
        await world.confirmed()
    malformed = [inbound for inbound in world.desk.heard if isinstance(inbound, Malformed)]
    assert [inbound.event for inbound in malformed] == [str(bad), str(bad + 1)]
    assert [type(inbound) for inbound in world.desk.heard] == [Message, Malformed, Malformed, Message]
    assert world.words == ["before", "after"]


async def test_what_is_not_for_us_is_confirmed_and_never_reaches_the_desk(world: World) -> None:
    group = world.server.group()
    channel = world.server.channel()
    world.server.join(group, world.ada)
    world.server.auto_forward(group, channel, "news")
    world.server.raw({"callback_query": {"id": "1"}})
    async with running(world.bot, world.desk):
        await world.up()
        await world.confirmed()
    assert world.desk.batches == []


async def test_an_update_without_an_id_is_stepped_over(world: World) -> None:
    async with running(world.bot, world.desk):
        world.say("before")
        await world.heard(1)
        await world.confirmed()
        world.server.raw({"update_id": "seven", "message": {}})
        await world.clock.asleep(1)
        assert "ids" in world.desk.health.last
        await world.wake(1)
        await world.confirmed()
        world.say("after")
        await world.heard(2)
    assert world.words == ["before", "after"]


async def test_an_update_without_an_id_does_not_hold_up_those_behind_it(world: World) -> None:
    world.server.raw({"update_id": None, "message": {}})
    async with running(world.bot, world.desk):
        await world.clock.asleep(1)
        world.say("hello")
        await world.wake(1)
        await world.heard(1)
        await world.confirmed()


async def test_a_megabyte_of_text_and_half_characters_arrive_and_can_be_stored(world: World) -> None:
    chat: JsonObject = {"id": world.ada.id, "type": "private"}
    message: JsonObject = {"message_id": 1, "date": 1, "chat": chat, "from": world.ada.json()}
    world.server.raw({"message": {**message, "text": "é" * 500_000}})
    world.server.raw({"message": {**message, "text": "a\ud800\0b"}})
    async with running(world.bot, world.desk):
        await world.heard(2)
    assert [len(text.encode()) for text in world.words] == [1_000_000, 8]


async def test_an_edit_is_heard(world: World) -> None:
    said = world.server.say(world.chat, world.ada, "helo")
    world.server.edit(world.chat, said.message_id, "hello")
    async with running(world.bot, world.desk):
        await world.heard(2)
    edit = world.desk.heard[1]
    assert isinstance(edit, Edit)
    assert (edit.message, edit.text) == (str(said.message_id), "hello")


async def test_c27_in_a_group_we_hear_our_name_replies_and_commands(world: World) -> None:
    group = world.server.group()
    ours = world.server.bot.username
    async with running(world.bot, world.desk):
        await world.up()
        for text in (f"/new@{ours}", "/new@otherbot", "chatter", f"@{ours} hello", "/help"):
            world.server.say(group, world.ada, text)
        await world.heard(4)
        await world.confirmed()
    heard = [(each.text, each.addressed) for each in world.desk.heard if isinstance(each, Message)]
    assert heard == [("/new", True), ("chatter", False), ("hello", True), ("/help", True)]


async def test_c28_who_speaks_as_a_chat_is_no_person(world: World) -> None:
    group, channel = world.server.group("Engines"), world.server.channel("News")
    world.server.say_anonymously(group, "one")
    world.server.say_as_channel(group, channel, "two")
    world.server.say_without_from(group, channel, "three")
    async with running(world.bot, world.desk):
        await world.heard(3)
    senders = [each.sender for each in world.desk.heard if isinstance(each, Message)]
    assert [(sender.user, sender.name) for sender in senders] == [(None, "Engines"), (None, "News"), (None, "News")]


# -- trouble ---------------------------------------------------------------------------------------------------------


async def test_c36_a_lost_network_is_waited_for_and_messages_flow_at_once_when_it_is_back(world: World) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        await world.server.pause()
        waits = [await world.wake(nap) for nap in range(1, 8)]
        assert "can't be reached" in world.desk.health.last
        world.say("while away")
        await world.clock.asleep(8)
        await world.server.resume()
        await world.wake(8)
        await world.heard(1)
        await world.up()
    assert waits == [2, 4, 8, 16, 30, 30, 30]
    assert world.words == ["while away"]


async def test_c36_a_connection_that_is_only_half_open_is_noticed(world: World) -> None:
    bot = world.another(Patience(poll_s=0, slack_s=0.2))
    world.server.hang("getUpdates", after=1)
    async with running(bot, world.desk):
        await world.clock.asleep(1)
        assert "ReadTimeout" in world.desk.health.last
        world.say("hello")
        await world.wake(1)
        await world.heard(1)


async def test_a_start_without_a_network_is_waited_for_too(world: World) -> None:
    await world.server.pause()
    async with running(world.bot, world.desk):
        await world.clock.asleep(1)
        await world.server.resume()
        await world.wake(1)
        await world.up()
    assert world.desk.health.accounts == [str(world.server.bot.id)]


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (502, b"<html>Bad Gateway</html>"),
        (500, {"ok": False, "error_code": 500, "description": "Internal Server Error"}),
        (200, b"<html>log in to the hotel's network</html>"),
        (200, {"ok": True}),
        (200, {"ok": True, "result": "soon"}),
        (200, []),
        (200, b'{"ok": true, "result": [{"update_id'),
        (200, b"[" * 100_000),
        (400, {"ok": False, "description": "Bad Request", "parameters": []}),
        (302, b""),
        (404, b"<html>nginx</html>"),
        (401, b"who are you?"),
    ],
)
@pytest.mark.parametrize("method", ["getUpdates", "getMe"])
async def test_a_useless_answer_is_sat_out(
    world: World, method: str, status: int, body: JsonValue | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    world.server.answer(method, status, body)
    world.say("hello")
    async with running(world.bot, world.desk):
        assert await world.wake(1) == 2
        await world.heard(1)
    assert world.words == ["hello"]
    assert "hotel" not in caplog.text


async def test_a_flood_wait_on_polling_is_obeyed(world: World) -> None:
    world.server.answer_error("getUpdates", 429, "Too Many Requests: retry after 17", retry_after=17)
    async with running(world.bot, world.desk):
        assert await world.wake(1) == 17
        await world.up()


async def test_another_poller_is_named_and_sat_out(world: World) -> None:
    rival = RecordingDesk()
    async with running(world.bot, world.desk):
        await world.up()
        async with running(world.another(), rival):
            await world.clock.asleep(1)
            assert world.desk.health.last == "another process polls this bot: stop it or use another token"
        assert 5 <= await world.wake(1) <= 60
        world.say("hello")
        await world.heard(1)
        await world.up()


async def test_waits_for_another_poller_grow_to_a_minute(world: World) -> None:
    words = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
    world.server.answer_error("getUpdates", 409, words, count=5)
    async with running(world.bot, world.desk):
        assert [await world.wake(nap) for nap in range(1, 6)] == [10, 20, 40, 60, 60]
        await world.up()


async def test_only_a_whole_poll_shows_that_the_other_poller_is_gone(world: World) -> None:
    for short_polls_before in (1, 2, 3):
        world.server.answer_error("getUpdates", 409, "Conflict: terminated by other", after=short_polls_before)
    async with running(world.bot, world.desk):
        assert [await world.wake(nap) for nap in (1, 2, 3)] == [10, 20, 40]
        assert world.desk.health.said.count("up") >= 3
        await world.server.until(lambda: len(world.server.calls_of("getUpdates")) == 8)
        world.say("a whole poll")
        await world.heard(1)
        world.server.answer_error("getUpdates", 409, "Conflict: terminated by other")
        world.say("and trouble after it")
        assert await world.wake(4) == 10


async def test_after_a_failure_less_is_asked_for(world: World) -> None:
    world.server.answer("getUpdates", 502, b"")
    async with running(world.bot, world.desk):
        await world.wake(1)
        await world.server.until(lambda: len(world.server.calls_of("getUpdates")) == 3)
        world.say("a whole poll")
        await world.server.until(lambda: len(world.server.calls_of("getUpdates")) == 4)
    assert [call.params["limit"] for call in world.server.calls_of("getUpdates")] == [100, 10, 10, 100]


async def test_a_leftover_webhook_is_removed_once_and_its_backlog_kept(world: World) -> None:
    world.server.platform.webhook = Webhook(url="https://example.com/hook")
    world.say("hello")
    async with running(world.bot, world.desk):
        await world.heard(1)
        assert [call.params for call in world.server.calls_of("deleteWebhook")] == [{"drop_pending_updates": False}]
        world.server.platform.webhook = Webhook(url="https://example.com/hook")
        world.server.platform.changed()
        await world.clock.asleep(1)
        assert "webhook" in world.desk.health.last
        assert len(world.server.calls_of("deleteWebhook")) == 1


@pytest.mark.parametrize("token", ["7123456789:AAnother_token_that_is_not_the_right_one", "1:x"])
async def test_c37_a_wrong_token_ends_the_bot_with_what_to_do_and_never_shows_it(
    world: World, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    settings = settings_for(world.server).model_copy(update={"token": Secret(token)})
    bot = TelegramBot(BotName(NAME), settings=settings, clock=world.clock, random=NoChance())
    with pytest.raises(BotRejected, match="BotFather") as caught:
        async with running(bot, world.desk) as task:
            await ended(task)
    assert token not in "".join(traceback.format_exception(caught.value)) + caplog.text
    assert world.desk.health.said == []


async def test_c37_a_token_revoked_while_we_listen_ends_the_bot(world: World) -> None:
    with pytest.raises(BotRejected, match="BotFather"):
        async with running(world.bot, world.desk) as task:
            await world.up()
            world.server.revoke()
            await ended(task)


async def test_c37_a_token_refused_to_a_delivery_ends_the_bot_too(world: World) -> None:
    with pytest.raises(BotRejected, match="BotFather"):
        async with running(world.bot, world.desk) as task:
            await world.up()
            world.server.answer_error("sendChatAction", 401, "Unauthorized")
            with pytest.raises(NotSent):
                await world.bot.typing(Address(bot=BotName(NAME), chat=ChatId(str(world.chat.id))))
            world.say("anything")
            await ended(task)


async def test_the_token_is_in_no_log_line_whatever_happens(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    world.server.answer("getUpdates", 200, b'{"ok": true, "result": [{"message": {"text": "hello')
    async with running(world.bot, world.desk):
        world.server.drop("getUpdates", applied=True)
        world.say("hello")
        await world.wake(1)
        await world.wake(2)
        await world.heard(1)
        await world.server.pause()
        await world.wake(3)
    assert len(caplog.records) >= 3
    assert world.server.token not in caplog.text
    assert "hello" not in caplog.text


# -- the way there ---------------------------------------------------------------------------------------------------


async def test_a_configured_proxy_is_used_for_everything(world: World) -> None:
    proxied = world.another(api_base="http://telegram.invalid", proxy=world.server.url)
    world.say("hello")
    async with running(proxied, world.desk):
        await world.heard(1)


async def test_proxies_of_the_environment_are_not(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with running(world.bot, world.desk):
        await world.up()
