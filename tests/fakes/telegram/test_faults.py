"""Flood limits, faults on order, and a life that does not depend on the client's."""

import asyncio
import subprocess
import sys

import httpx
import pytest
from telegram import Bot
from telegram.error import NetworkError, RetryAfter, TelegramError, TimedOut

from tests.fakes.telegram import Chat, FloodLimits, ManualClock, TelegramServer, ThreadedTelegramServer, User

# --- floods


async def test_a_chat_takes_a_burst_and_then_one_message_a_second(
    server: TelegramServer, bot: Bot, clock: ManualClock, private: Chat
) -> None:
    for _ in range(5):
        await bot.send_message(private.id, "x")
    with pytest.raises(RetryAfter):
        await bot.send_message(private.id, "x")
    with pytest.raises(RetryAfter):
        await bot.send_message(private.id, "x")
    assert [violation.rule for violation in server.violations] == ["rate", "retry_early"]
    for _ in range(3):
        clock.advance(1)
        await bot.send_message(private.id, "x")
    assert len(server.violations) == 2
    assert (server.calls[5].status, server.calls[5].applied) == (429, False)


async def test_a_group_takes_20_sends_and_edits_a_minute(server: TelegramServer, bot: Bot, clock: ManualClock) -> None:
    group = server.group()
    sent = await bot.send_message(group.id, "0")
    for number in range(1, 20):
        clock.advance(1)
        await bot.edit_message_text(str(number), group.id, sent.message_id)
    clock.advance(1)
    with pytest.raises(RetryAfter):
        await bot.send_message(group.id, "x")
    assert server.calls[-1].description == "Too Many Requests: retry after 40"
    clock.advance(40)
    await bot.send_message(group.id, "x")


async def test_the_whole_bot_is_held_to_30_a_second(server: TelegramServer, bot: Bot) -> None:
    chats = [server.private(server.user()) for _ in range(31)]
    for chat in chats[:30]:
        await bot.send_message(chat.id, "x")
    with pytest.raises(RetryAfter):
        await bot.send_message(chats[30].id, "x")
    server.clear_faults()
    server.set_limits(FloodLimits(overall_per_s=100))
    await bot.send_message(chats[30].id, "x")


async def test_a_flood_can_be_ordered_for_a_chat(
    server: TelegramServer, bot: Bot, clock: ManualClock, private: Chat
) -> None:
    server.flood(private, 9, after=1)
    await bot.send_message(private.id, "x")
    with pytest.raises(RetryAfter):
        await bot.send_message(private.id, "x")
    assert not server.violations
    clock.advance(8)
    with pytest.raises(RetryAfter):
        await bot.send_message(private.id, "x")
    assert server.calls[-1].description == "Too Many Requests: retry after 1"
    assert [violation.rule for violation in server.violations] == ["retry_early"]
    clock.advance(1)
    await bot.send_message(private.id, "x")


# --- faults


async def test_any_answer_can_be_ordered(server: TelegramServer, bot: Bot, private: Chat) -> None:
    server.answer("sendMessage", 500, b"<html>oops</html>")
    server.answer("sendMessage", 200, b"{broken", content_type="application/json")
    server.answer_error("sendMessage", 429, "Too Many Requests", chat_id=private.id)
    server.answer_error("*", 502, "Bad Gateway", after=1)
    for expected in (NetworkError, TelegramError, NetworkError):
        with pytest.raises(expected):
            await bot.send_message(private.id, "x")
    await bot.send_message(private.id, "x")
    with pytest.raises(NetworkError, match="Bad Gateway"):
        await bot.get_me()
    assert [(call.status, call.applied) for call in server.calls] == [
        (500, False),
        (200, False),
        (429, False),
        (200, True),
        (502, False),
    ]


@pytest.mark.parametrize("applied", [False, True])
async def test_a_connection_can_be_lost_before_or_after_the_call_took_effect(
    server: TelegramServer, bot: Bot, private: Chat, applied: bool
) -> None:
    server.drop("sendMessage", applied=applied)
    with pytest.raises(NetworkError) as lost:
        await bot.send_message(private.id, "x")
    assert not isinstance(lost.value.__cause__, httpx.ConnectError)
    assert server.chat(private).bot_texts == ("x",) * applied
    assert (server.calls[0].status, server.calls[0].applied) == (None, applied)
    await bot.send_message(private.id, "y")


async def test_an_answer_can_be_late(server: TelegramServer, bot: Bot, clock: ManualClock, private: Chat) -> None:
    server.delay("sendMessage", 10)
    gate = server.delay("editMessageText", applied=False)
    sending = asyncio.create_task(bot.send_message(private.id, "x"))
    await server.until(lambda: server.chat(private).bot_texts == ("x",))
    assert not sending.done()
    clock.advance(10)
    sent = await sending
    editing = asyncio.create_task(bot.edit_message_text("y", private.id, sent.message_id))
    await server.until(lambda: gate.hits == 1)
    assert server.chat(private).bot_texts == ("x",)
    gate.release()
    await editing
    assert server.chat(private).bot_texts == ("y",)


async def test_a_hanging_call_ends_with_the_clients_patience(server: TelegramServer, bot: Bot, private: Chat) -> None:
    server.hang("sendMessage", applied=True)
    with pytest.raises(TimedOut):
        await bot.send_message(private.id, "x", read_timeout=0.02)
    await server.until(lambda: server.chat(private).bot_texts == ("x",))
    hung = server.hang("getMe")
    asking = asyncio.create_task(bot.get_me())
    await server.until(lambda: hung.hits == 1)
    hung.release()
    with pytest.raises(NetworkError):
        await asking


async def test_a_paused_server_refuses_connections_and_comes_back_on_its_port(
    server: TelegramServer, bot: Bot, ada: User, private: Chat
) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=30))
    await server.until(lambda: len(server.calls) == 1)
    url = server.url
    await server.pause()
    with pytest.raises(NetworkError):
        await poll
    with pytest.raises(NetworkError) as refused:
        await bot.get_me()
    assert isinstance(refused.value.__cause__, httpx.ConnectError)
    said = server.say(private, ada, "while you were out")
    await server.resume()
    assert server.url == url
    assert [update.update_id for update in await bot.get_updates()] == [said.update_id]
    assert server.calls_of("getUpdates")[0].status is None


# --- a life of its own


CLIENT = """
import sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
while True:
    opener.open(f"{sys.argv[1]}/getUpdates?timeout=50", timeout=60).read()
"""


def test_the_server_in_a_thread_outlives_a_killed_client() -> None:
    with ThreadedTelegramServer() as server:
        chat = server.private(user := server.user())
        base = f"{server.url}/bot{server.token}"
        with subprocess.Popen([sys.executable, "-c", CLIENT, base]) as client:
            server.until(lambda: len(server.calls) == 1)
            client.kill()
        said = server.say(chat, user, "are you there?")
        answer = httpx.get(f"{base}/getUpdates", params={"timeout": 5}, trust_env=False).json()
        assert [update["update_id"] for update in answer["result"]] == [said.update_id]
        server.pause()
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{base}/getMe", trust_env=False)
        server.resume()
        assert httpx.get(f"{base}/getMe", trust_env=False).json()["ok"]
        assert server.violations == ()
