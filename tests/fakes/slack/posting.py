"""The one task that hands deliveries out, to sockets or to request URLs, in their order. On the server's loop.

HTTP: https://docs.slack.dev/apis/events-api/using-http-request-urls,
https://docs.slack.dev/authentication/verifying-requests-from-slack.
"""

import asyncio
import contextlib
import hashlib
import hmac
import json
from dataclasses import dataclass
from urllib.parse import urlencode

import aiohttp

from tests.fakes.slack.delivery import Attempt, Delivery
from tests.fakes.slack.model import JsonValue, text_of
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.records import App
from tests.fakes.slack.responding import take_answer
from tests.fakes.slack.sockets import live_sockets, ping_sockets, send_envelope
from tests.fakes.slack.waiting import Waiting

REAL_PATIENCE_S = 30.0  # real seconds, so that no request outlives a test; the answer's own time is the clock's
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, kw_only=True)
class Signing:
    """How a request is signed. Defaults: with the app's secret, now. `signature` replaces the computed one."""

    secret: str | None = None
    age_s: float = 0.0
    signature: str | None = None


def signed_headers(app: App, body: bytes, now: float, signing: Signing) -> dict[str, str]:
    stamp = str(int(now - signing.age_s))
    secret = app.signing_secret if signing.secret is None else signing.secret
    digest = hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signing.signature or f"v0={digest}"}


def request_of(app: App, delivery: Delivery, now: float, signing: Signing) -> tuple[dict[str, str], bytes]:
    """Headers and body of a first attempt."""
    if delivery.kind == "slash_commands":
        fields = {name: value for name, value in delivery.payload.items() if isinstance(value, str)}
        body, kind = urlencode(fields).encode(), FORM
    elif delivery.kind == "interactive":
        body, kind = urlencode({"payload": json.dumps(delivery.payload)}).encode(), FORM
    else:
        body, kind = json.dumps(delivery.payload).encode(), "application/json"
    headers = {"Content-Type": kind, "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)"}
    return {**headers, **signed_headers(app, body, now, signing)}, body


class Postman:
    def __init__(self, platform: Platform, waiting: Waiting) -> None:
        self._platform = platform
        self._waiting = waiting
        self._task: asyncio.Task[None] | None = None
        self._posts: set[asyncio.Task[None]] = set()
        self._session: aiohttp.ClientSession | None = None
        self._turn = 0

    async def start(self) -> None:
        patience = aiohttp.ClientTimeout(total=REAL_PATIENCE_S)
        self._session = aiohttp.ClientSession(timeout=patience, trust_env=False)
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        tasks = [*self._posts, *([self._task] if self._task is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    async def _run(self) -> None:
        while True:
            changed = self._waiting.waiter()
            with self._platform.lock:
                moves = self._platform.courier.moves
                for delivery in self._platform.courier.due():
                    self._hand_out(delivery)
                times = [self._platform.courier.next_at(), ping_sockets(self._platform)]
                until = min((one for one in times if one is not None), default=None)
                if self._platform.courier.moves != moves:
                    self._platform.changed()
            await self._waiting.pause(changed, until)

    def _hand_out(self, delivery: Delivery) -> None:
        app = self._platform.apps[delivery.app_id]
        if delivery.kind == "url_verification" or not app.socket_mode:
            self._post(app, delivery)
            return
        sockets = live_sockets(self._platform, app.id)
        if not sockets:
            attempt = self._platform.courier.begin(delivery, "none")
            self._platform.courier.failed(delivery, attempt, "connection_failed")
            return
        self._turn += 1
        socket = sockets[self._turn % len(sockets)]
        send_envelope(socket, delivery, self._platform.courier.begin(delivery, socket.id))

    def _post(self, app: App, delivery: Delivery) -> None:
        attempt = self._platform.courier.begin(delivery, "http")
        headers, body = request_of(app, delivery, self._platform.clock(), Signing())
        if attempt.number and delivery.reason:
            headers |= {"X-Slack-Retry-Num": str(attempt.number), "X-Slack-Retry-Reason": delivery.reason}
        attempt.sent = (headers, body)
        task = asyncio.create_task(self._sent(app, delivery, attempt))
        self._posts.add(task)
        task.add_done_callback(self._posts.discard)

    async def _sent(self, app: App, delivery: Delivery, attempt: Attempt) -> None:
        assert self._session is not None and attempt.sent is not None
        headers, body = attempt.sent
        kind = "options" if delivery.payload.get("type") == "block_suggestion" else delivery.kind
        try:
            async with self._session.post(app.url_for(kind), data=body, headers=headers) as response:
                answer = await response.read()
                attempt.status = response.status
                self._answered(app, delivery, attempt, answer, response)
        except (aiohttp.ClientError, TimeoutError, ValueError):
            with self._platform.lock:
                self._platform.courier.failed(delivery, attempt, "connection_failed")
        self._platform.changed()

    def _answered(
        self, app: App, delivery: Delivery, attempt: Attempt, body: bytes, response: aiohttp.ClientResponse
    ) -> None:
        answer = _decoded(body, response.content_type)
        with self._platform.lock:
            courier = self._platform.courier
            if not 200 <= response.status < 300:
                attempt.answered_at = self._platform.clock()
                no_retry = response.headers.get("X-Slack-No-Retry") == "1"
                courier.failed(delivery, attempt, "http_error", no_retry=no_retry)
            elif delivery.kind == "url_verification":
                self._verified(app, delivery, attempt, answer)
            elif courier.answered(delivery, attempt, answer):
                take_answer(self._platform, delivery, answer if delivery.accepts_payload else None)
            else:
                detail = f"{delivery.kind} after {attempt.delay_s:.1f} s"
                self._platform.journal.problem("late_ack", "request_url", detail)

    def _verified(self, app: App, delivery: Delivery, attempt: Attempt, answer: JsonValue) -> None:
        challenge = text_of(delivery.payload, "challenge")
        said = text_of(answer, "challenge") or text_of(answer, "text")
        app.request_url_verified = said == challenge and self._platform.courier.answered(delivery, attempt, answer)
        if not app.request_url_verified:
            self._platform.courier.failed(delivery, attempt, "challenge_failed")


def _decoded(body: bytes, content_type: str) -> JsonValue:
    """A JSON object, or {"text": ...} of anything else."""
    if content_type == "application/json":
        with contextlib.suppress(ValueError):
            found: JsonValue = json.loads(body)
            return found
    text = body.decode(errors="replace").strip()
    return {"text": text} if text else None
