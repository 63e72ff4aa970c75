"""How the Telegram bot sits out what goes wrong: networks, other pollers, refused tokens."""

from __future__ import annotations

import logging
import traceback

import pytest

from bots.telegram.api import call
from bots.telegram.bot import Patience, TelegramBot
from bots.telegram.line import connected
from config.secret import Secret
from core.errors import BotRejected, NotSent
from core.vocabulary import Address, BotName, ChatId, ChatKind, Delivery, DeliveryId
from tests.contract.doubles import NoChance, RecordingDesk, running
from tests.drivers.telegram import NAME, settings_for
from tests.fakes.telegram.model import JsonValue
from tests.fakes.telegram.platform import Webhook
from tests.wire.telegram_world import World
from tests.wire.world import ended

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
        assert "SocketTimeoutError" in world.desk.health.last
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
            world.server.answer_error("sendMessage", 401, "Unauthorized")
            address = Address(bot=BotName(NAME), chat=ChatId(str(world.chat.id)))
            with pytest.raises(NotSent):
                await world.bot.send(Delivery(id=DeliveryId(1), address=address, kind=ChatKind.DIRECT, text="x"))
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


async def test_what_is_asked_once_the_connection_is_given_up_has_certainly_not_left(world: World) -> None:
    async with connected(settings_for(world.server)) as line:
        await line.ask(lambda api: call(api, "get_Me"))
    for telling in (True, False):
        with pytest.raises(NotSent):
            await line.ask(
                lambda api: call(api, "send_Message", {"chat_id": world.chat.id, "text": "x"}), telling=telling
            )
    assert world.server.chat(world.chat).bot_texts == ()


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
