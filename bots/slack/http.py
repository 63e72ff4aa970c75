"""Events, interactions and commands by HTTP, as an ASGI application
(https://docs.slack.dev/apis/events-api/using-http-request-urls)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import parse_qs

from slack_sdk.signature import Clock as SdkClock
from slack_sdk.signature import SignatureVerifier

from bots.slack.envelopes import ANSWER_S, Envelope
from core.fields import Json
from core.ports import AsgiMessage, AsgiReceive, AsgiSend, Clock

_BODY_LIMIT: Final = 1024 * 1024
_BODY_S: Final = 5.0


class _Refused(Exception):
    """The request gets this status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Door:
    """The address that Slack posts to. While nobody listens Slack is asked to come again."""

    def __init__(self, secret: str, clock: Clock) -> None:
        self._clock = clock
        self._verifier = SignatureVerifier(secret, clock=_SdkTime(clock))
        self.hear: Callable[[Envelope], None] | None = None

    async def __call__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        """One request. Whatever is below the prefix is served alike."""
        if scope.get("type") != "http":
            return
        try:
            status, body = 200, await self._answer(scope, receive)
        except _Refused as refusal:
            status, body = refusal.status, None
        payload = b"" if body is None else json.dumps(body).encode()
        headers = [(b"content-length", str(len(payload)).encode()), (b"cache-control", b"no-store")]
        headers += [(b"content-type", b"application/json")] if payload else []
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": payload})

    async def _answer(self, scope: AsgiMessage, receive: AsgiReceive) -> Json | None:
        if scope.get("method") != "POST":
            raise _Refused(405)
        headers = _headers(scope)
        body = await _body(receive)
        if not self._is_slack(body, headers):
            raise _Refused(401)
        payload, kind = _payload(body, headers.get("content-type", ""))
        if payload.get("type") == "url_verification" and kind == "event":
            return {"challenge": payload.get("challenge")}
        return await self._hand_over(payload, kind)

    def _is_slack(self, body: bytes, headers: Mapping[str, str]) -> bool:
        stamp, signature = headers.get("x-slack-request-timestamp", ""), headers.get("x-slack-signature", "")
        if not stamp.isascii() or not stamp.isdigit() or len(stamp) > 15 or not signature.isascii():
            return False
        try:
            return self._verifier.is_valid(body, stamp, signature)
        except UnicodeDecodeError:  # Slack writes UTF-8
            return False

    async def _hand_over(self, payload: Json, kind: str) -> Json | None:
        """Wait until it is stored, as long as Slack waits."""
        if self.hear is None:
            raise _Refused(503)
        answered: asyncio.Future[Json | None] = asyncio.get_running_loop().create_future()

        async def acknowledge(answer: Json | None) -> None:
            if not answered.done():
                answered.set_result(answer)

        now_s = self._clock.monotonic()
        match kind:
            case "event":
                self.hear(Envelope(kind="event", payload=payload, arrived_s=now_s, acknowledge=acknowledge))
            case "interaction":
                self.hear(Envelope(kind="interaction", payload=payload, arrived_s=now_s, acknowledge=acknowledge))
            case _:
                self.hear(Envelope(kind="command", payload=payload, arrived_s=now_s, acknowledge=acknowledge))
        try:
            async with asyncio.timeout(ANSWER_S):
                return await answered
        except TimeoutError:
            raise _Refused(503) from None


class _SdkTime(SdkClock):
    """Our clock, as the SDK's verifier asks one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> float:
        return self._clock.now().timestamp()


def _headers(scope: AsgiMessage) -> dict[str, str]:
    listed = scope.get("headers")
    pairs = listed if isinstance(listed, list | tuple) else ()
    return {bytes(name).decode("latin-1").lower(): bytes(value).decode("latin-1") for name, value in pairs}


async def _body(receive: AsgiReceive) -> bytes:
    """The whole body. Raises `_Refused` for one that is too long, too slow or broken off."""
    body, more = b"", True
    try:
        async with asyncio.timeout(_BODY_S):
            while more:
                message = await receive()
                piece, more = message.get("body", b""), bool(message.get("more_body", False))
                body += _checked(message, piece, len(body))
    except TimeoutError:
        raise _Refused(408) from None
    return body


def _checked(message: AsgiMessage, piece: object, so_far: int) -> bytes:
    if message.get("type") != "http.request" or not isinstance(piece, bytes):
        raise _Refused(400)
    if so_far + len(piece) > _BODY_LIMIT:
        raise _Refused(413)
    return piece


def _payload(body: bytes, content_type: str) -> tuple[Json, str]:
    """The JSON object and what kind of thing it is; a command's fields are a form."""
    try:
        if content_type.partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
            return _object(body), "event"
        fields = {name: values[0] for name, values in parse_qs(body.decode(), keep_blank_values=True).items()}
        if "payload" in fields:
            return _object(fields["payload"].encode()), "interaction"
    except (ValueError, RecursionError):
        raise _Refused(400) from None
    return dict(fields), "command"


def _object(body: bytes) -> Json:
    found = json.loads(body)
    if not isinstance(found, dict):
        raise _Refused(400)
    return found
