"""Events, commands and interactions at a request URL: signatures, retries, forgeries."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import parse_qs

import pytest
from aiohttp import web as http_server
from slack_sdk.signature import SignatureVerifier

from tests.fakes.slack import Channel, ManualClock, Person, Signing, SlackServer


@dataclass
class Receiver:
    """An app's request URL. It keeps what it got and answers with `status` and `body`."""

    url: str = ""
    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    wait: asyncio.Event | None = None

    async def take(self, request: http_server.Request) -> http_server.Response:
        body = await request.read()
        self.got.append((dict(request.headers), body))
        self.queries.append(request.query_string)
        if request.content_type == "application/json" and b"url_verification" in body:
            return http_server.json_response({"challenge": json.loads(body)["challenge"]})
        if self.wait is not None:
            await self.wait.wait()
        return http_server.Response(status=self.status, text=self.body, headers=self.headers)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    taken = Receiver()
    application = http_server.Application()
    application.router.add_post("/slack/events", taken.take)
    runner = http_server.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = http_server.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    taken.url = f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events"
    yield taken
    await runner.cleanup()


async def test_a_request_url_is_verified_and_gets_signed_events(
    server: SlackServer, receiver: Receiver, ada: Person, general: Channel
) -> None:
    server.use_http(receiver.url)
    await server.until(lambda: server.app().request_url_verified)
    said = server.say(general, ada, "hello")
    command = server.slash(general, ada, "/ask", "me")
    await server.until(server.acked)
    verifier = SignatureVerifier(server.bot.signing_secret)
    assert all(verifier.is_valid_request(body, headers) for headers, body in receiver.got)
    event = json.loads(receiver.got[1][1])
    assert (event["type"], event["event_id"], event["event"]["text"]) == ("event_callback", said.event_ids[0], "hello")
    form = {name: value[0] for name, value in parse_qs(receiver.got[2][1].decode()).items()}
    assert (form["command"], form["response_url"]) == ("/ask", command.response_url)
    server.global_shortcut(ada, "new")
    await server.until(server.acked)
    shortcut = json.loads(parse_qs(receiver.got[3][1].decode())["payload"][0])
    assert shortcut["callback_id"] == "new"


async def test_failed_posts_are_tried_again_with_number_and_reason(
    server: SlackServer, receiver: Receiver, clock: ManualClock, ada: Person, general: Channel
) -> None:
    server.use_http(receiver.url)
    await server.until(server.acked)
    receiver.status = 500
    server.say(general, ada, "hello")
    await server.until(lambda: len(receiver.got) == 3)
    receiver.status, receiver.wait = 200, asyncio.Event()
    await server.until(lambda: server.deliveries[1].state == "waiting")
    clock.advance(60)
    await server.until(lambda: len(receiver.got) == 4)
    clock.advance(3)
    await server.until(lambda: server.deliveries[1].attempts[2].outcome == "http_timeout")
    receiver.wait.set()
    receiver.wait = None
    clock.advance(300)
    await server.until(server.acked)
    retries = [
        (headers.get("X-Slack-Retry-Num"), headers.get("X-Slack-Retry-Reason")) for headers, _ in receiver.got[1:]
    ]
    assert retries == [(None, None), ("1", "http_error"), ("2", "http_error"), ("3", "http_timeout")]


async def test_commands_and_interactions_can_have_urls_of_their_own(
    server: SlackServer, receiver: Receiver, ada: Person, general: Channel
) -> None:
    server.use_http(f"{receiver.url}?a", commands=f"{receiver.url}?b", interactivity=f"{receiver.url}?c")
    server.say(general, ada, "hello")
    server.slash(general, ada, "/ask")
    server.global_shortcut(ada, "new")
    await server.until(server.acked)
    assert sorted(receiver.queries) == ["a", "a", "b", "c"]


async def test_an_app_can_forbid_retries(
    server: SlackServer, receiver: Receiver, ada: Person, general: Channel
) -> None:
    server.use_http(receiver.url)
    await server.until(server.acked)
    receiver.status, receiver.headers = 503, {"X-Slack-No-Retry": "1"}
    said = server.say(general, ada, "hello")
    await server.until(lambda: server.settled(said))
    assert (server.deliveries[1].state, len(server.deliveries[1].attempts)) == ("lost", 1)


async def test_requests_can_be_forged_and_aged(server: SlackServer, ada: Person, general: Channel) -> None:
    said = server.say(general, ada, "hello")
    delivery = server.delivery(said.event_ids[0])
    verifier = SignatureVerifier(server.bot.signing_secret)
    wrong = [Signing(secret="other"), Signing(age_s=301), Signing(signature="v0=00")]
    for signing, valid in [(None, True), *((one, False) for one in wrong)]:
        headers, body = server.request(delivery, signing)
        assert verifier.is_valid_request(body, headers) is valid
    headers, body = server.request(delivery)
    base = b"v0:" + headers["X-Slack-Request-Timestamp"].encode() + b":" + body
    digest = hmac.new(server.bot.signing_secret.encode(), base, hashlib.sha256).hexdigest()
    assert headers["X-Slack-Signature"] == f"v0={digest}"
