"""How the Slack bot sits out what goes wrong: sockets, networks, refused tokens."""

from __future__ import annotations

import logging
import traceback
from collections.abc import AsyncIterator

import pytest

from bots.slack.line import Patience
from config.secret import Secret
from core.errors import BotRejected, NotSent
from tests.contract.doubles import running
from tests.fakes.slack.model import JsonValue
from tests.wire.slack_world import World, opened
from tests.wire.world import ended

QUICK = Patience(connect_s=1.0, answer_s=1.0, ping_s=0.8)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


# -- sockets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
async def test_a_socket_that_slack_renews_is_replaced_and_nothing_is_missed(world: World, reason: str) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        before = {socket.id for socket in world.server.sockets()}
        world.say("before")
        await world.heard(1)
        world.server.disconnect(reason)
        world.say("meanwhile")
        await world.server.until(
            lambda: len(world.server.sockets()) == 2 and not before & {socket.id for socket in world.server.sockets()}
        )
        world.later(1)  # what was said while no socket was there is tried again
        await world.heard(2)
        world.say("after")
        await world.heard(3)
        await world.acked()
    assert world.words == ["before", "meanwhile", "after"]
    assert "lost" not in " ".join(world.desk.health.said)


async def test_a_socket_that_breaks_while_its_successor_is_opened_is_a_gap(world: World) -> None:
    async with running(world.another(connections=1), world.desk):
        await world.server.until(world.server.connected)
        await world.server.until(lambda: world.sent("users.conversations") == 1)  # the start's own reading
        (before,) = world.server.sockets()
        world.server.error("apps.connections.open", "internal_error", count=None)
        world.server.disconnect("refresh_requested")
        await world.clock.asleep(1)
        assert world.desk.health.last == "up"
        world.server.cut_sockets(only=before)
        await world.desk.until(lambda: "lost" in world.desk.health.last)
        world.server.clear_faults()
        await world.wake(1)
        await world.server.until(lambda: world.sent("users.conversations") == 2)
        await world.desk.until(lambda: world.desk.health.last == "up")


async def test_c38_half_dead_sockets_are_rebuilt(world: World) -> None:
    async with running(world.another(QUICK), world.desk):
        await world.up()
        dead = {socket.id for socket in world.server.silence()}
        await world.server.until(lambda: not dead & {socket.id for socket in world.server.sockets()}, timeout_s=10)
        await world.server.until(lambda: world.server.connected(2))
        world.say("hello")
        await world.heard(1)
    assert world.words == ["hello"]


async def test_c36_after_cut_sockets_messages_flow_at_once(world: World) -> None:
    """Whenever it would be looked for dead sockets."""
    async with running(world.another(Patience(ping_s=3_600.0)), world.desk):
        await world.up()
        world.server.cut_sockets()
        await world.desk.until(lambda: "lost" in world.desk.health.said[-1] or world.desk.health.said[-1] == "up")
        await world.up()
        world.say("hello")
        await world.heard(1)


async def test_c36_a_lost_network_is_waited_for_with_growing_waits(world: World) -> None:
    async with running(world.another(connections=1), world.desk):
        await world.server.until(world.server.connected)
        await world.server.pause()
        waits = [await world.wake(nap) for nap in range(1, 8)]
        assert "can't be reached" in world.desk.health.last
        world.say("while away")
        await world.clock.asleep(8)
        await world.server.resume()
        await world.wake(8)
        await world.heard(1)
        await world.desk.until(lambda: world.desk.health.last == "up")
    assert waits == [2, 4, 8, 16, 32, 60, 60]


async def test_a_start_without_a_network_is_waited_for_too(world: World) -> None:
    await world.server.pause()
    async with running(world.bot, world.desk):
        await world.clock.asleep(1)
        await world.server.resume()
        await world.wake(1)
        await world.up()
    assert world.desk.health.accounts == [f"{world.server.team.id}/{world.server.bot.user_id}"]


async def test_sockets_that_end_at_once_are_not_opened_without_end(world: World) -> None:
    async with running(world.another(connections=1), world.desk):
        for _ in range(2):
            await world.server.until(world.server.connected)
            world.server.cut_sockets()
            await world.server.until(lambda: not world.server.sockets())
        assert await world.clock.asleep(1) == 2
        opened_so_far = world.sent("apps.connections.open")
        world.clock.advance(2)
        await world.server.until(world.server.connected)
        assert world.sent("apps.connections.open") == opened_so_far + 1


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (502, b"<html>Bad Gateway</html>"),
        (200, b"<html>log in to the hotel's network</html>"),
        (200, {"ok": True}),
        (200, []),
        (200, {"ok": False}),
        (200, b'{"ok": true, "url'),
        (200, b"[" * 100_000),
        (302, b""),
        (404, b"who are you?"),
        (200, {"ok": False, "error": "internal_error"}),
    ],
)
@pytest.mark.parametrize("method", ["auth.test", "apps.connections.open"])
async def test_a_useless_answer_is_sat_out(
    world: World, method: str, status: int, body: JsonValue | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    world.server.answer(method, status, body, content_type="application/json")
    async with running(world.another(connections=1), world.desk):
        assert await world.wake(1) == 2
        await world.server.until(world.server.connected)
        world.say("hello")
        await world.heard(1)
    assert "hotel" not in caplog.text


async def test_a_flood_wait_at_the_door_is_obeyed(world: World) -> None:
    world.server.rate_limit("apps.connections.open", 17)
    async with running(world.another(connections=1), world.desk):
        assert await world.wake(1) == 17
        await world.server.until(world.server.connected)


# -- refused accounts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["invalid_auth", "account_inactive", "token_revoked"])
async def test_c37_a_refused_bot_token_ends_the_bot_with_what_to_do(world: World, state: str) -> None:
    world.server.set_token_state(state)  # type: ignore[arg-type]
    with pytest.raises(BotRejected, match=rf"api\.slack\.com.*{state}") as caught:
        async with running(world.bot, world.desk) as task:
            await ended(task)
    assert world.server.bot.token not in "".join(traceback.format_exception(caught.value))
    assert world.desk.health.said == []


async def test_c37_a_refused_app_token_is_named(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    other = Secret("xapp-1-another-than-the-right-one")
    with pytest.raises(BotRejected, match="app_token") as caught:
        async with running(world.another(app_token=other), world.desk) as task:
            await ended(task)
    assert "xapp-1-another" not in "".join(traceback.format_exception(caught.value)) + caplog.text


async def test_c37_a_token_revoked_while_we_listen_ends_the_bot(world: World) -> None:
    with pytest.raises(BotRejected, match="token_revoked"):
        async with running(world.bot, world.desk) as task:
            await world.up()
            world.server.send_event({"type": "tokens_revoked", "tokens": {"bot": [world.server.bot.user_id]}})
            world.server.set_token_state("token_revoked")
            await ended(task)


async def test_c37_a_token_refused_to_a_delivery_ends_the_bot_too(world: World) -> None:
    with pytest.raises(BotRejected, match="account_inactive"):
        async with running(world.bot, world.desk) as task:
            await world.up()
            world.server.error("chat.postMessage", "account_inactive")
            with pytest.raises(NotSent):
                await world.bot.send(world.delivery("x"))
            await ended(task)


async def test_a_missing_scope_is_named_with_what_to_do(world: World) -> None:
    world.server.remove_scope("chat:write")
    with pytest.raises(BotRejected, match=r"chat:write.*install the app again"):
        async with running(world.bot, world.desk) as task:
            await world.up()
            with pytest.raises(NotSent):
                await world.bot.send(world.delivery("x"))
            await ended(task)


async def test_a_scope_that_one_can_do_without_ends_nothing(world: World) -> None:
    world.server.remove_scope("users:read")
    async with running(world.bot, world.desk):
        await world.up()
        world.say("hello")
        await world.heard(1)
        assert world.messages[0].sender.name == ""


async def test_the_switch_of_socket_mode_is_named(world: World) -> None:
    world.server.app().socket_mode = False
    with pytest.raises(BotRejected, match="Socket Mode"):
        async with running(world.bot, world.desk) as task:
            await ended(task)


# -- secrets, proxies, endings -----------------------------------------------------------------------------------------


async def test_no_secret_and_no_text_is_in_a_log_line_whatever_happens(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with running(world.bot, world.desk):
        await world.up()
        world.say("confidential words")
        await world.heard(1)
        world.server.cut_sockets()
        await world.server.until(lambda: world.server.connected(2))
        world.server.answer("chat.postMessage", 200, b'{"ok": true, "confidential words')
        with pytest.raises(Exception, match="no clear answer"):
            await world.bot.send(world.delivery("confidential words"))
        await world.server.pause()
        await world.clock.asleep(1)
    for secret in (world.server.bot.token, world.server.bot.app_token, "ticket=", "confidential"):
        assert secret not in caplog.text


async def test_proxies_of_the_environment_are_not_used(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with running(world.bot, world.desk):
        await world.up()


async def test_a_configured_proxy_is_used_for_the_api(world: World) -> None:
    proxied = world.another(api_base="http://slack.invalid/api", proxy=world.server.url, connections=1)
    async with running(proxied, world.desk):
        await world.server.until(lambda: bool(world.server.calls_of("apps.connections.open")))


async def test_a_stopped_bot_is_gone_though_slack_does_not_say_goodbye(world: World) -> None:
    async with running(world.bot, world.desk) as task:
        await world.up()
        world.server.silence()
        task.cancel()
        await ended(task)


async def test_events_of_another_workspace_are_left_to_whoever_serves_it(world: World) -> None:
    other = world.server.add_team("Other")
    elsewhere = world.server.add_bot("there", team=other, app_of=world.server.bot)
    bob = world.server.person("Bob", team=other)
    async with running(world.bot, world.desk):
        await world.up()
        said = world.server.say(world.server.im(bob, elsewhere), bob, "not for you")
        world.say("for you")
        await world.heard(1)
        assert not world.server.acked(said)
    assert world.words == ["for you"]
