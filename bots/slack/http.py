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

from bots.slack.intake import ANSWER_S
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
        self.take: Callable[[Json], asyncio.Task[Json | None]] | None = None
        """As `sockets.Ear.take`, and goes on also when nobody waits for it any more."""

    async def __call__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        """One request. Whatever is below the prefix is served alike."""
        if scope.get("type") != "http":
            return
        try:
            status, body = 200, await self._answer(scope, receive)
        except _Refused as refusal:
            status, body = refusal.status, {}
        payload = json.dumps(body).encode() if body else b""
        headers = [(b"content-length", str(len(payload)).encode()), (b"cache-control", b"no-store")]
        headers += [(b"content-type", b"application/json")] if payload else []
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": payload})

    async def _answer(self, scope: AsgiMessage, receive: AsgiReceive) -> Json:
        if scope.get("method") != "POST":
            raise _Refused(405)
        headers = _headers(scope)
        body = await _body(receive)
        if not self._is_slack(body, headers):
            raise _Refused(401)
        payload = _payload(body, headers.get("content-type", ""))
        if payload.get("type") == "url_verification":
            return {"challenge": payload.get("challenge")}
        return await self._hand_over(payload)

    def _is_slack(self, body: bytes, headers: Mapping[str, str]) -> bool:
        try:
            return self._verifier.is_valid_request(body, headers)
        except (OverflowError, TypeError, ValueError):  # a time, a signature or a body that Slack does not write
            return False

    async def _hand_over(self, payload: Json) -> Json:
        """Wait until it is stored, as long as Slack waits."""
        if self.take is None:
            raise _Refused(503)
        taking = self.take(payload)
        await asyncio.wait({taking}, timeout=ANSWER_S)
        answer = taking.result() if taking.done() and not taking.cancelled() else None
        if answer is None:
            raise _Refused(503)
        return answer


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


def _payload(body: bytes, content_type: str) -> Json:
    """The JSON object; a command's fields are a form. (Bolt's own reading of a form finds nothing in one that has the
    word "payload" somewhere else than as the name of its one field.)"""
    try:
        if content_type.partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
            return _object(body)
        fields = {name: values[0] for name, values in parse_qs(body.decode(), keep_blank_values=True).items()}
        return _object(fields["payload"].encode()) if "payload" in fields else dict(fields)
    except (ValueError, RecursionError):
        raise _Refused(400) from None


def _object(body: bytes) -> Json:
    found = json.loads(body)
    if not isinstance(found, dict):
        raise _Refused(400)
    return found
