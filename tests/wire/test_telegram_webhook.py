"""How the Telegram bot listens at a webhook: its application, and Telegram's ways as the double has them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from bots.telegram.bot import TelegramBot
from bots.telegram.webhook import CONNECTIONS, MOST_BYTES
from core.ports import AsgiMessage, ServesHttp
from core.vocabulary import BotName, Button, Malformed, Message, Press
from tests.contract.doubles import NoChance, running
from tests.drivers.telegram import settings_for
from tests.wire.telegram_hooked import ADDRESS, PATH, ROOT, Hooked, hooked


@pytest.fixture
async def world() -> AsyncIterator[Hooked]:
    async with hooked() as made:
        yield made


# -- setting it --------------------------------------------------------------------------------------------------------


async def test_the_webhook_is_set_with_a_secret_that_does_not_show_the_token(world: Hooked) -> None:
    assert isinstance(world.bot, ServesHttp)
    async with running(world.bot, world.desk):
        await world.up()
    (call,) = world.server.calls_of("setWebhook")
    secret = str(call.params["secret_token"])
    assert call.params["url"] == ADDRESS
    assert call.params["allowed_updates"] == ["message", "edited_message", "callback_query"]
    assert call.params["max_connections"] == CONNECTIONS
    assert call.params["drop_pending_updates"] is False
    key = world.server.token.partition(":")[2]
    assert len(secret) == 64
    assert key not in secret
    assert secret not in {hashlib.sha256(word.encode()).hexdigest() for word in (world.server.token, key)}
    assert not world.server.calls_of("getUpdates")


async def test_each_bot_has_a_path_and_a_secret_of_its_own(world: Hooked) -> None:
    async with running(world.bot, world.desk):
        await world.up()
    first = world.server.calls_of("setWebhook")[-1].params
    settings = settings_for(world.server, mode="webhook", webhook_url=ROOT, name="two")
    other = TelegramBot(BotName("two"), settings=settings, clock=world.clock, random=NoChance())
    async with running(other, world.desk):
        await world.server.until(lambda: len(world.server.calls_of("setWebhook")) == 2)
    second = world.server.calls_of("setWebhook")[-1].params
    assert second["secret_token"] != first["secret_token"]
    assert second["url"] == f"{ROOT}/telegram/two"
    assert (list(world.bot.asgi), list(other.asgi), list(world.another().asgi)) == ([PATH], ["/telegram/two"], [])


async def test_a_webhook_that_is_refused_is_told_and_tried_again(world: Hooked) -> None:
    words = "Bad Request: bad webhook: Failed to resolve host: Name or service not known"
    world.server.answer_error("setWebhook", 400, words)
    world.say("hello")
    async with running(world.bot, world.desk):
        await world.clock.asleep(1)
        assert "failed to resolve host" in world.desk.health.last
        await world.wake(1)
        await world.heard(1)


async def test_polling_takes_the_webhook_away_and_what_it_held_comes(world: Hooked) -> None:
    async with running(world.bot, world.desk):
        await world.up()
    world.say("meanwhile")
    await world.server.until(lambda: world.courier.answers == [503])
    async with running(world.another(), world.desk):
        await world.heard(1)
    assert world.words == ["meanwhile"]
    assert world.server.platform.webhook.url == ""


async def test_a_webhook_takes_over_from_polling(world: Hooked) -> None:
    async with running(world.another(), world.desk):
        world.say("one")
        await world.heard(1)
        await world.confirmed()
    world.say("two")
    async with running(world.bot, world.desk):
        await world.heard(2)
        await world.confirmed()
    assert world.words == ["one", "two"]


# -- being posted to ---------------------------------------------------------------------------------------------------


async def test_what_people_say_and_press_arrives_in_order_and_is_taken_once_it_is_stored(world: Hooked) -> None:
    bob = world.server.user("Bob")
    chat = world.server.private(bob)
    async with running(world.bot, world.desk):
        await world.up()
        world.desk.open.clear()
        for number in range(5):
            world.say(f"ada {number}")
            world.server.say(chat, bob, f"bob {number}")
        await world.desk.until(lambda: world.desk.waiting == 1)
        assert world.courier.answers == []
        assert len(world.server.unconfirmed) == 10
        world.desk.open.set()
        await world.heard(10)
        await world.confirmed()
        sent = await world.bot.send(replace(world.delivery("Sure?"), buttons=(Button(label="Yes", data="x"),)))
        world.server.press(world.chat, world.ada, int(sent), "fd:x")
        await world.heard(11)
    for name in ("ada", "bob"):
        assert [word for word in world.words if word.startswith(name)] == [f"{name} {number}" for number in range(5)]
    assert world.desk.most_waiting == 1
    assert set(world.courier.answers) == {200}
    assert isinstance(world.desk.heard[-1], Press)


async def test_a_thousand_people_at_once_are_stored_in_batches(world: Hooked) -> None:
    people = [world.server.user(str(number)) for number in range(1000)]
    async with running(world.bot, world.desk):
        await world.up()
        for person in people:
            world.server.say(world.server.private(person), person, person.first_name)
        await world.heard(1000)
        await world.confirmed()
    assert sorted(world.words, key=int) == [str(number) for number in range(1000)]
    assert 1 < max(len(batch) for batch in world.desk.batches) <= 100


async def test_an_update_that_telegram_repeats_keeps_its_ids(world: Hooked) -> None:
    async with running(world.bot, world.desk):
        update_id = world.say("once")
        await world.heard(1)
        headers, body = world.server.webhook_post(update_id)
        assert await world.post(ADDRESS, headers, body) == 200
    first, second = world.desk.heard
    assert first == second


async def test_what_the_store_refuses_is_posted_again_and_keeps_its_place(world: Hooked) -> None:
    world.desk.refusing = True
    async with running(world.bot, world.desk):
        await world.up()
        world.say("one")
        world.say("two")
        await world.server.until(lambda: world.courier.answers == [503])
        assert "store" in world.desk.health.last
        assert len(world.server.unconfirmed) == 2
        world.desk.refusing = False
        world.courier.again()
        await world.heard(2)
        await world.confirmed()
        await world.up()
    assert world.words == ["one", "two"]


async def test_before_and_after_its_run_the_bot_asks_to_come_again(world: Hooked) -> None:
    async with running(world.bot, world.desk):
        await world.up()
    answer = await world.posted()
    assert (answer.status_code, answer.headers["retry-after"], answer.content) == (503, "5", b"")


async def test_who_waits_when_the_bot_ends_is_told_to_come_again(world: Hooked) -> None:
    world.desk.open.clear()
    async with running(world.bot, world.desk):
        await world.up()
        world.say("survivor")
        await world.desk.until(lambda: world.desk.waiting == 1)
    await world.server.until(lambda: world.courier.answers == [503])
    world.desk.open.set()
    async with running(world.bot, world.desk):
        await world.server.until(lambda: len(world.server.calls_of("setWebhook")) == 2)
        world.courier.again()
        await world.heard(1)
    assert world.words == ["survivor"]


async def test_a_post_whose_sender_left_harms_nobody(world: Hooked) -> None:
    world.desk.open.clear()
    async with running(world.bot, world.desk):
        await world.up()
        leaving = asyncio.create_task(world.posted())
        await world.desk.until(lambda: world.desk.waiting == 1)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        world.desk.open.set()
        world.say("next")
        await world.desk.until(lambda: world.words == ["next"])


# -- whoever else knocks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("secret", [None, "", "x" * 64])
async def test_nobody_without_the_secret_is_listened_to(world: Hooked, secret: str | None) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        answer = await world.posted(x_telegram_bot_api_secret_token=secret)
        assert answer.status_code == 403
    assert world.desk.heard == []


async def test_what_is_no_post_of_telegrams_is_refused(world: Hooked) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        for method in ("GET", "HEAD", "PUT", "DELETE"):
            assert (await world.posted(method=method)).status_code == 405
        assert (await world.posted(path=f"{PATH}/more")).status_code == 404
        for kind in ("text/plain", "application/x-www-form-urlencoded", None):
            assert (await world.posted(content_type=kind)).status_code == 415
        assert (await world.posted(content_type="Application/JSON; charset=utf-8")).status_code == 200
        for body in (b"", b"{", b"\xff", b"[" * 100_000):
            assert (await world.posted(body)).status_code == 400
        assert (await world.posted(b" " * (MOST_BYTES + 1))).status_code == 413
        assert (await world.posted(b"{}" + b" " * (MOST_BYTES - 2))).status_code == 200
    assert all(isinstance(one, Malformed) for one in world.desk.heard)


async def test_a_body_is_not_read_before_its_sender_is_known(world: Hooked) -> None:
    scope: AsgiMessage = {
        "type": "http", "method": "POST", "path": PATH, "root_path": PATH,
        "headers": [(b"content-type", b"application/json")],
    }  # fmt: skip
    sent: list[AsgiMessage] = []

    async def receive() -> AsgiMessage:
        raise AssertionError("the body was read")

    async def send(message: AsgiMessage) -> None:
        sent.append(message)

    async with running(world.bot, world.desk):
        await world.up()
        await world.bot.asgi[PATH](scope, receive, send)
    assert sent[0]["status"] == 403


async def test_a_body_that_breaks_off_is_no_update(world: Hooked) -> None:
    headers, _ = world.server.webhook_post(world.server.raw({"message": {}}))
    async with running(world.bot, world.desk):
        await world.up()
        headers, body = world.server.webhook_post(world.server.raw({"message": {}}))
        scope: AsgiMessage = {
            "type": "http", "method": "POST", "path": PATH, "root_path": PATH,
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }  # fmt: skip
        pieces: list[AsgiMessage] = [
            {"type": "http.request", "body": body[:5], "more_body": True}, {"type": "http.disconnect"},
        ]  # fmt: skip
        sent: list[AsgiMessage] = []

        async def receive() -> AsgiMessage:
            return pieces.pop(0)

        async def send(message: AsgiMessage) -> None:
            sent.append(message)

        await world.bot.asgi[PATH](scope, receive, send)
    assert sent[0]["status"] == 413


@pytest.mark.parametrize("update", [None, [], "x", 5, {}, {"update_id": "x"}, {"update_id": -1, "message": {}}])
async def test_an_update_that_is_none_is_taken_and_stored_nowhere(world: Hooked, update: object) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        assert (await world.posted(json.dumps(update).encode())).status_code == 200
        world.say("next")
        await world.desk.until(lambda: world.words == ["next"])
    assert [type(one) for one in world.desk.heard if not isinstance(one, Malformed)] == [Message]
