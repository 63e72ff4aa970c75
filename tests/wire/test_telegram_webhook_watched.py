"""How the Telegram bot knows whether Telegram gets on with its webhook."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import pytest

from bots.telegram.webhook import LOOK_S
from core.errors import BotRejected, NotSent
from tests.contract.doubles import running
from tests.fakes.telegram.platform import Webhook
from tests.wire.telegram_hooked import ADDRESS, Hooked, hooked
from tests.wire.world import ended


@pytest.fixture
async def world() -> AsyncIterator[Hooked]:
    async with hooked() as made:
        yield made


async def look(world: Hooked, nap: int) -> None:
    """Let the time come at which the bot asks."""
    looks = len(world.server.calls_of("getWebhookInfo"))
    assert await world.wake(nap) == LOOK_S
    await world.server.until(lambda: len(world.server.calls_of("getWebhookInfo")) > looks)
    await world.clock.asleep(nap + 1)


async def test_what_keeps_telegram_from_posting_is_told_until_it_can(world: Hooked) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.desk.refusing = True
        world.say("waits")
        await world.server.until(lambda: world.courier.answers == [503])
        await look(world, 1)
        assert "store" in world.desk.health.last
        world.desk.refusing = False
        world.courier.again()
        await world.heard(1)
        await world.confirmed()
        await look(world, 2)
        await world.up()
        world.cut_off = True
        world.say("unheard")
        await world.server.until(lambda: world.courier.answers[-1] == 0)
        await look(world, 3)
        assert world.desk.health.last == "Telegram can't deliver to bots.example.com: Connection refused"
        world.server.platform.webhook.last_error_date = 1
        await look(world, 4)
        assert world.desk.health.last == "up"


async def test_another_webhook_is_named_and_replaced(world: Hooked) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.platform.webhook = Webhook(url="https://example.com/theirs")
        await look(world, 1)
        assert world.desk.health.last == "another program sets a webhook for this bot: stop it or use another token"
        assert world.server.platform.webhook.url == ADDRESS
        await look(world, 2)
        assert world.desk.health.last == "up"


async def test_a_look_that_fails_is_told_and_the_next_one_may_succeed(world: Hooked) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.answer("getWebhookInfo", 502, b"")
        await look(world, 1)
        assert "no clear answer" in world.desk.health.last
        await look(world, 2)
        assert world.desk.health.last == "up"


async def test_c37_a_token_revoked_ends_the_bot_at_the_next_look_or_send(world: Hooked) -> None:
    with pytest.raises(BotRejected, match="BotFather"):
        async with running(world.bot, world.desk) as task:
            await world.up()
            world.server.revoke()
            await world.wake(1)
            await ended(task)


async def test_c37_a_token_refused_to_a_delivery_ends_the_bot_at_once(world: Hooked) -> None:
    with pytest.raises(BotRejected, match="BotFather"):
        async with running(world.bot, world.desk) as task:
            await world.up()
            world.server.revoke()
            with pytest.raises(NotSent):
                await world.bot.send(world.delivery("x"))
            await ended(task)


async def test_neither_token_nor_secret_is_in_a_log_line(world: Hooked, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with running(world.bot, world.desk):
        await world.up()
        secret = world.server.platform.webhook.secret_token
        world.desk.refusing = True
        world.say("a secret of Ada's")
        await world.server.until(lambda: world.courier.answers == [503])
        await world.posted(b"{")
    assert secret
    for word in (world.server.token, secret, "a secret of Ada's"):
        assert word not in caplog.text
