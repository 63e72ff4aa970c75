"""The Slack bot behind an HTTP address: what the double posts, through a server, to the application."""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from bots.slack.bot import SlackBot
from config.secret import Secret
from core.errors import BotRejected
from core.ports import AsgiApp, AsgiMessage
from core.vocabulary import Button
from tests.contract.doubles import running
from tests.fakes.slack.posting import Signing
from tests.wire.slack_world import World, opened
from tests.wire.world import ended

STOP = Button(label="Stop", data="STOPSTOP")


class Served:
    """The bot in the mode "http", and where it is served."""

    def __init__(self, world: World, bot: SlackBot) -> None:
        self.world = world
        self.bot = bot
        self.url = ""

    async def post(self, body: bytes, headers: Mapping[str, str], method: str = "POST") -> tuple[int, bytes]:
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, self.url, data=io.BytesIO(body), headers=headers) as response,
        ):
            return response.status, await response.read()

    async def forged(self, signing: Signing) -> tuple[int, bytes]:
        """An event that would be heard, signed like that."""
        said = self.world.say("forged")
        headers, body = self.world.server.request(self.world.server.delivery(said.event_ids[0]), signing)
        return await self.post(body, headers)


@asynccontextmanager
async def mounted(app: AsgiApp) -> AsyncIterator[str]:
    """The application on a port of this machine, as the listener would serve it."""

    async def serve(request: web.Request) -> web.Response:
        body, sent = await request.read(), list[AsgiMessage]()
        pieces = [body[:100], body[100:]]

        async def receive() -> AsgiMessage:
            return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

        async def send(message: AsgiMessage) -> None:
            sent.append(message)

        scope = {
            "type": "http", "method": request.method, "path": request.path,
            "headers": [(name.lower(), value) for name, value in request.raw_headers],
        }  # fmt: skip
        await app(scope, receive, send)
        start, end = sent
        status, payload = start["status"], end["body"]
        assert isinstance(status, int)
        assert isinstance(payload, bytes)
        return web.Response(status=status, body=payload, content_type="application/json" if payload else "text/plain")

    runner = web.AppRunner(served := web.Application(client_max_size=8 * 1024**2), shutdown_timeout=0.1)
    served.router.add_route("*", "/{anything:.*}", serve)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with opened() as world:
        secret = Secret(world.server.bot.signing_secret)
        bot = world.another(mode="http", signing_secret=secret, app_token=None)
        ((prefix, app),) = bot.asgi.items()
        assert prefix == "/slack/slack"
        made = Served(world, bot)
        async with mounted(app) as root:
            made.url = root + prefix
            yield made


async def test_slack_verifies_the_address_and_is_heard_there(served: Served) -> None:
    world = served.world
    async with running(served.bot, world.desk):
        await world.desk.until(lambda: world.desk.health.last == "up")
        world.server.use_http(served.url)
        await world.server.until(lambda: world.server.app().request_url_verified)
        said = world.say(f"{world.server.bot} hello", world.general)
        await world.heard(1)
        await world.server.until(lambda: world.server.acked(said))
        message = await served.bot.send(world.delivery("may I?", buttons=(STOP,)))
        click = world.server.click(world.chat, message, world.ada, "fd:STOPSTOP")
        await world.desk.until(lambda: bool(world.presses))
        await world.server.until(lambda: world.server.acked(click))
        world.server.slash(world.chat, world.ada, "/frontdesk", "reset a=b&c")
        await world.heard(3)
        world.server.slash(world.general, world.ada, "/frontdesk", "reset")
        await world.server.until(lambda: len(world.server.ephemerals(world.ada)) == 1)
    assert world.words == ["hello", "/reset a=b&c"]
    assert not world.server.sockets()


async def test_what_is_not_stored_in_time_slack_is_asked_to_bring_again(served: Served) -> None:
    world = served.world
    world.server.use_http(served.url)
    async with running(served.bot, world.desk):
        await world.desk.until(lambda: world.desk.health.last == "up")
        world.desk.open.clear()
        said = world.say("keep me")
        delivery = world.server.delivery(said.event_ids[0])
        await world.server.until(lambda: len(delivery.attempts) == 2)
        assert delivery.attempts[0].status == 503
        world.desk.open.set()
        await world.heard(1)
        await world.server.until(lambda: delivery.state == "acked")
    assert world.words == ["keep me"]


async def test_while_nobody_listens_slack_is_asked_to_come_again(served: Served) -> None:
    world = served.world
    assert (await served.forged(Signing()))[0] == 503
    async with running(served.bot, world.desk):
        await world.desk.until(lambda: world.desk.health.last == "up")
        assert await served.forged(Signing()) == (200, b"")


@pytest.mark.parametrize(
    "signing",
    [
        Signing(secret="another"),
        Signing(age_s=301),
        Signing(age_s=-301),
        Signing(signature="v1=x"),
        Signing(signature="v0=é"),
        Signing(signature="v0=" + "0" * 64),
    ],
    ids=["secret", "old", "ahead", "version", "strange", "wrong"],
)
async def test_what_slack_did_not_sign_just_now_is_refused(served: Served, signing: Signing) -> None:
    async with running(served.bot, served.world.desk):
        await served.world.desk.until(lambda: served.world.desk.health.last == "up")
        assert (await served.forged(signing))[0] == 401


@pytest.mark.parametrize("stamp", ["", "soon", "1e9", "9" * 400, "-1", "١٢٣"])
async def test_a_strange_time_is_refused(served: Served, stamp: str) -> None:
    headers, body = served.world.server.request(
        served.world.server.delivery(served.world.say("x").event_ids[0]), Signing()
    )
    if stamp.isascii():
        assert (await served.post(body, {**headers, "X-Slack-Request-Timestamp": stamp}))[0] == 401


async def test_a_body_is_bounded_and_has_to_be_what_slack_posts(served: Served) -> None:
    world = served.world
    headers, _ = world.server.request(world.server.delivery(world.say("x").event_ids[0]), Signing())
    assert (await served.post(b"x" * (1024**2 + 1), headers))[0] == 413
    assert (await served.post(b"", headers, "GET"))[0] == 405
    assert (await served.post(b"", {}))[0] == 401


@pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded"])
@pytest.mark.parametrize("body", [b"", b"{", b"[" * 200_000, b"\xff", b"payload=%FF", b"x" * 1024**2])
async def test_what_is_not_signed_is_refused_unread(
    served: Served, body: bytes, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "bots")
    stamp = str(int(served.world.clock.now().timestamp()))
    signs = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": "v0=" + "0" * 64}
    for headers in ({}, signs):
        assert await served.post(body, {"Content-Type": kind, **headers}) == (401, b"")
    assert [one for one in caplog.records if one.name.startswith("bots")] == []


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"[" * 200_000, "application/json", 400),
        (b"\xff", "application/x-www-form-urlencoded", 401),
        (b"payload=%FF", "application/x-www-form-urlencoded", 400),
        (b"payload=%7B", "application/x-www-form-urlencoded", 400),
        (b"{}", "application/json", 503),
        (json.dumps({"type": "url_verification", "challenge": "abc"}).encode(), "application/json; charset=utf-8", 200),
    ],
)
async def test_signed_nonsense_is_refused(served: Served, body: bytes, content_type: str, status: int) -> None:
    stamp = str(int(served.world.clock.now().timestamp()))
    secret = served.world.server.bot.signing_secret.encode()
    digest = hmac.new(secret, b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    headers = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}", "Content-Type": content_type}
    assert (await served.post(body, headers))[0] == status


async def test_a_token_revoked_meanwhile_is_noticed_within_minutes(served: Served) -> None:
    world = served.world
    with pytest.raises(BotRejected, match="token_revoked"):
        async with running(served.bot, world.desk) as task:
            await world.desk.until(lambda: world.desk.health.last == "up")
            await world.clock.asleep(1)
            world.server.set_token_state("token_revoked")
            world.clock.advance(300)
            await ended(task)


async def test_by_socket_nothing_is_served(served: Served) -> None:
    assert served.world.bot.asgi == {}
