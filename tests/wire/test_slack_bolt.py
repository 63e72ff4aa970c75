"""Bolt between Slack and the listeners: what is acknowledged, what is heard, and that it asks, says and reads nothing
itself. The real Bolt against the strict double, by socket and by HTTP."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager

import pytest

from config.secret import Secret
from core.errors import StoreError
from core.ports import Principal
from core.vocabulary import Edit, Inbound, Receipt
from tests.contract.doubles import running
from tests.fakes.slack.model import JsonObject, Said
from tests.wire.slack_world import SlackDesk, World, opened
from tests.wire.test_slack_http import mounted

MODES = ("socket", "http")


def deep(levels: int) -> JsonObject:
    return {"elements": [deep(levels - 1)]} if levels else {}


SPOILED: tuple[JsonObject, ...] = (
    {"event": "a text"},
    {"event": ["type"]},
    {"event": {"type": 7}},
    {"event": deep(200)},
    {"event": {"type": "message", "user": "U1", "channel": "D1", "ts": "1.2", "blocks": [deep(200)]}},
    {"event": {"type": "message", "channel": {"id": 1}, "user": ["U"]}},
    {"authorizations": 7},
    {"authorizations": "x"},
    {"authorizations": [7]},
    {"authorizations": {"a": 1}},
    {"team_id": None, "enterprise": 7},
    {"type": "block_actions", "actions": []},
    {"type": "block_actions", "actions": [7], "user": "U"},
    {"type": "view_submission", "view": "frontdesk_command"},
    {"type": "block_suggestion", "action_id": ["x"]},
    {"command": 7, "user_id": {}},
    {"command": "/frontdesk", "response_urls": [7]},
)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


@asynccontextmanager
async def listening(world: World, mode: str) -> AsyncIterator[None]:
    """The bot is up and has nothing to catch up with."""
    if mode == "socket":
        async with running(world.another(catch_up=0), world.desk):
            await world.up()
            yield
        return
    secret = Secret(world.server.bot.signing_secret)
    bot = world.another(mode="http", signing_secret=secret, app_token=None, catch_up=0)
    ((prefix, app),) = bot.asgi.items()
    async with mounted(app) as root, running(bot, world.desk):
        await world.desk.until(lambda: world.desk.health.last == "up")
        world.server.use_http(root + prefix)
        await world.server.until(lambda: world.server.app().request_url_verified)
        yield


async def acked(world: World, said: Said) -> None:
    await world.server.until(lambda: world.server.acked(said))


def hand_over(world: World, kind: str, payload: JsonObject) -> None:
    """Any payload at all."""
    with world.server.platform.lock:
        world.server.platform.courier.add(world.server.bot.app_id, kind, payload)  # type: ignore[arg-type]
        world.server.platform.changed()


class Failing(SlackDesk):
    """Reading what is said in a channel fails, so often."""

    def __init__(self, often: int) -> None:
        super().__init__()
        self.left = often

    async def hears(self, principal: Principal) -> bool:
        if self.left:
            self.left -= 1
            raise RuntimeError("a fault of ours")
        return await super().hears(principal)


class Refusing(SlackDesk):
    """The store takes nothing, so often."""

    def __init__(self, often: int) -> None:
        super().__init__()
        self.left = often

    async def receive(self, batch: Sequence[Inbound]) -> tuple[Receipt, ...]:
        if self.left:
            self.left -= 1
            self.changed()
            raise StoreError("no room")
        return await super().receive(batch)


@pytest.mark.parametrize("mode", MODES)
async def test_what_a_listener_fails_on_is_not_acknowledged_and_the_others_are(
    world: World, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    world.desk = Failing(often=1)
    async with listening(world, mode):
        said = world.say(f"{world.server.bot} fragile", world.general)
        await acked(world, world.say("sound"))
        (failed,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
        assert failed.exc_info is not None
        world.clock.advance(3)
        fragile = [world.server.delivery(event) for event in said.event_ids]
        await world.server.until(lambda: all(len(one.attempts) > 1 or one.state == "acked" for one in fragile))
        await acked(world, said)
    assert sorted(world.words) == ["fragile", "sound"]
    assert any(attempt.outcome != "ok" for one in fragile for attempt in one.attempts)


async def test_by_http_what_the_store_refuses_is_answered_with_an_error_and_stored_once_when_it_comes_again(
    world: World,
) -> None:
    world.desk = desk = Refusing(often=1)
    async with listening(world, "http"):
        said = world.say("kept")
        delivery = world.server.delivery(said.event_ids[0])
        await world.server.until(lambda: len(delivery.attempts) == 2)
        assert desk.left == 0
        assert world.words == []
        world.clock.advance(2)
        await acked(world, said)
        await acked(world, world.say("and more"))
    assert [attempt.status for attempt in delivery.attempts] == [503, 200]
    assert world.words == ["kept", "and more"]


async def test_what_the_store_refuses_and_then_takes_is_stored_once_and_acknowledged_then(world: World) -> None:
    world.desk = desk = Refusing(often=1)
    async with listening(world, "socket"):
        said = world.say("kept")
        await desk.until(lambda: desk.left == 0)
        assert not world.server.acked(said)
        await world.hurry(1)
        await acked(world, said)
    assert world.words == ["kept"]


@pytest.mark.parametrize("mode", MODES)
async def test_what_nobody_listens_to_is_acknowledged(world: World, mode: str) -> None:
    user: JsonObject = {"user": {"id": world.ada.id, "team_id": world.server.team.id}}
    team: JsonObject = {"team": {"id": world.server.team.id}, **user}
    action: JsonObject = {"action_id": "of_another_app", "block_id": "b", "action_ts": "1.2", "type": "button"}
    async with listening(world, mode):
        world.server.send_event({"type": "kind_of_tomorrow"})
        world.server.send_event({"type": "assistant_thread_context_changed", "assistant_thread": {}})
        hand_over(world, "events_api", {"type": "app_rate_limited", "team_id": world.server.team.id})
        unknown: tuple[JsonObject, ...] = (
            {"type": "block_actions", "actions": [action]},
            {"type": "message_action", "callback_id": "another"},
            {"type": "shortcut", "callback_id": "another"},
            {"type": "view_submission", "view": {"type": "modal", "callback_id": "another", "id": "V1"}},
            {"type": "view_closed", "view": {"callback_id": "frontdesk_command", "id": "V1"}},
            {"type": "block_suggestion", "action_id": "another", "value": ""},
            {"type": "dialog_submission", "callback_id": "another"},
            {"type": "of_tomorrow"},
        )
        for payload in unknown:
            hand_over(world, "interactive", {**team, **payload})
        await world.acked()
    assert world.desk.heard == []


@pytest.mark.parametrize("mode", MODES)
async def test_what_has_not_the_shape_of_slacks_is_acknowledged_and_dropped(world: World, mode: str) -> None:
    async with listening(world, mode):
        for payload in SPOILED:
            team: JsonObject = {"team_id": world.server.team.id}
            hand_over(world, "events_api", {"type": "event_callback", **team, **payload})
        await world.acked()
        await acked(world, world.say("sound"))
    assert world.words == ["sound"]


@pytest.mark.parametrize("authorizations", [7, "x", [7], {"a": 1}])
async def test_what_people_say_is_heard_though_what_slack_tells_about_it_can_not_be_read(
    world: World, authorizations: int | str | list[object] | dict[str, object]
) -> None:
    async with listening(world, "socket"):
        said = world.say("hear me")
        await world.heard(1)
        payload = dict(world.server.delivery(said.event_ids[0]).payload)
        event = payload["event"]
        assert isinstance(event, dict)
        spoiled = {**payload, "event_id": "Ev2", "authorizations": authorizations}
        hand_over(world, "events_api", {**spoiled, "event": {**event, "ts": "1767225600.000900"}})  # type: ignore[dict-item]
        await world.heard(2)
        await world.acked()
    assert world.words == ["hear me", "hear me"]


async def test_bolt_asks_nothing_of_slack(world: World) -> None:
    world.desk.unheard.add(world.ada.id)
    async with listening(world, "socket"):
        asked = len(world.server.calls)
        for number in range(5):
            await acked(world, world.say(f"{world.server.bot} {number}", world.general))
        slash = world.server.slash(world.general, world.ada, "/frontdesk", "stop")
        await world.server.until(lambda: world.server.acked(slash))
        assert len(world.server.calls) == asked


async def test_an_edit_in_a_thread_of_the_assistant_arrives(world: World) -> None:
    async with listening(world, "socket"):
        thread = world.server.open_assistant(world.ada)
        said = world.say("helo", world.chat, thread)
        await world.heard(1)
        world.server.edit(world.chat, said, "hello")
        await world.heard(2)
        await world.acked()
    (edit,) = [one for one in world.desk.heard if isinstance(one, Edit)]
    assert (edit.message, edit.text, edit.address.thread) == (said.ts, "hello", thread.ts)


@pytest.mark.parametrize(("passed_s", "in_time"), [(2.75, True), (2.85, False)])
async def test_after_more_than_two_seconds_and_eight_tenths_nothing_is_acknowledged(
    world: World, passed_s: float, in_time: bool
) -> None:
    async with listening(world, "socket"):
        world.desk.open.clear()
        said = world.say("slowly")
        await world.desk.until(lambda: world.desk.waiting == 1)
        world.clock.advance(passed_s)
        world.desk.open.set()
        await world.heard(1)
        await acked(world, world.say("another"))
        assert world.server.acked(said) is in_time


async def test_what_came_over_a_socket_that_died_is_acknowledged_over_the_other(world: World) -> None:
    """Slack takes that, as was seen, though it does not say so."""
    world.server.platform.cross_socket_acks = True
    async with listening(world, "socket"):
        world.desk.open.clear()
        said = world.say("slowly")
        await world.desk.until(lambda: world.desk.waiting == 1)
        delivery = world.server.delivery(said.event_ids[0])
        (first,) = [one for one in world.server.sockets() if one.id == delivery.attempts[0].via]
        world.server.cut_sockets(only=first)
        await world.server.until(lambda: world.server.connected(2))
        world.desk.open.set()
        await acked(world, said)
    assert [attempt.outcome for attempt in delivery.attempts] == ["ok"]
    assert world.words == ["slowly"]


@pytest.mark.parametrize("text", ["reset the payload", "reset payload=7&x", "payload"])
async def test_a_command_by_http_may_have_any_words(world: World, text: str) -> None:
    async with listening(world, "http"):
        slash = world.server.slash(world.chat, world.ada, "/frontdesk", text)
        await world.server.until(lambda: world.server.acked(slash))
    assert world.words == [text if text == "payload" else f"/{text}"]


async def test_slack_may_look_whether_somebody_takes_commands(world: World) -> None:
    async with listening(world, "http"):
        hand_over(world, "slash_commands", {"ssl_check": "1", "token": "legacy-verification-token"})
        hand_over(world, "slash_commands", {"ssl_check": "1"})
        await world.acked()
    assert world.desk.heard == []


def talk_of(world: World) -> Callable[[], Coroutine[None, None, None]]:
    """A bit of everything, of which some fails."""

    async def talk() -> None:
        await acked(world, world.say("a secret word"))
        slash = world.server.slash(world.chat, world.ada, "/frontdesk", "status of a secret word")
        await world.server.until(lambda: world.server.acked(slash))
        hand_over(world, "interactive", {"type": "shortcut", "callback_id": "a secret word"})
        hand_over(world, "events_api", {"event": "a secret word", "team_id": world.server.team.id})
        await world.acked()

    return talk


@pytest.mark.parametrize("mode", MODES)
async def test_bolt_writes_no_line_into_the_log(world: World, mode: str, caplog: pytest.LogCaptureFixture) -> None:
    """Neither what people say nor a token."""
    caplog.set_level(logging.DEBUG)
    async with listening(world, mode):
        await talk_of(world)()
    bot = world.server.bot
    assert [one.name for one in caplog.records if one.name.startswith("slack_bolt")] == []
    for secret in ("a secret word", bot.token, bot.app_token, bot.signing_secret):
        assert [one.name for one in caplog.records if secret in f"{one.getMessage()} {one.__dict__}"] == []


@pytest.mark.parametrize("mode", MODES)
async def test_slacks_variables_in_the_environment_change_nothing(
    world: World, mode: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "slack_bolt")
    for name in (
        "BOT_TOKEN", "SIGNING_SECRET", "VERIFICATION_TOKEN", "CLIENT_ID", "CLIENT_SECRET", "SCOPES", "USER_SCOPES",
        "REDIRECT_URI", "INSTALL_PATH", "REDIRECT_URI_PATH", "APP_TOKEN",
    ):  # fmt: skip
        monkeypatch.setenv(f"SLACK_{name}", "legacy-verification-token")
    async with listening(world, mode):
        await talk_of(world)()
        if mode == "http":
            hand_over(world, "slash_commands", {"ssl_check": "1", "token": "legacy-verification-token"})
            await world.acked()
    assert world.words == ["a secret word", "/status of a secret word"]
    ours = {"auth.test", "apps.connections.open", "socket", "users.info", "conversations.open"}
    assert {call.method for call in world.server.calls} <= ours
    assert [one.name for one in caplog.records if one.name.startswith("slack_bolt")] == []
