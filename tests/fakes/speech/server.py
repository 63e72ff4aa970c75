"""The double to start: on the test's own loop."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from enum import Enum, auto
from types import TracebackType
from typing import Self

from aiohttp import web

from tests.fakes.models.dialect import ApiError
from tests.fakes.models.openai_errors import bad, openai_error
from tests.fakes.models.payload import JsonObject
from tests.fakes.speech.strict import MAX_FILE, SOUNDS, Heard, Spoken, read_speech, read_transcription
from tests.secrets import keep

KEY = "sk-speech-0123456789abcdefghijklmnop"
DEEP = 200_000
"""Brackets within brackets: no reader of JSON that calls itself comes to their end."""


class Fault(Enum):
    """What happens to one request that kept the rules."""

    STATUS_500 = auto()
    STATUS_429 = auto()
    NO_JSON = auto()
    HTML = auto()
    NOT_UTF8 = auto()
    NO_TEXT = auto()
    TEXT_IS_NO_TEXT = auto()
    A_LIST = auto()
    DEEP_JSON = auto()
    ENDLESS = auto()
    EMPTY = auto()
    CUT = auto()
    HANG = auto()
    HANG_IN_BODY = auto()


BODIES = {
    Fault.NO_JSON: b"what was said",
    Fault.HTML: b"<html>Bad gateway</html>",
    Fault.NOT_UTF8: b'{"text": "\xff\xfe"}',
    Fault.NO_TEXT: b'{"words": "what was said"}',
    Fault.TEXT_IS_NO_TEXT: b'{"text": {"a": 1}}',
    Fault.A_LIST: b'["text"]',
    Fault.DEEP_JSON: b"[" * DEEP,
    Fault.EMPTY: b"",
}


class SpeechServer:
    """`heard` and `spoken` are the requests that kept the rules, `refusals` what the others were told."""

    def __init__(self, key: str = KEY) -> None:
        self.heard: list[Heard] = []
        self.spoken: list[Spoken] = []
        self.refusals: list[str] = []
        self.waiting = 0
        """Requests that hang."""
        self.sound = b"OggS sound"
        self._key = keep(key)
        self._texts: deque[str] = deque()
        self._faults: deque[Fault] = deque()
        self._stopped = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._port = 0
        self.gate: asyncio.Event | None = None
        """Answers wait for it."""
        self.reached = asyncio.Event()

    @property
    def url(self) -> str:
        """What `base_url` is."""
        return f"http://127.0.0.1:{self._port}/v1"

    def hears(self, *texts: str) -> None:
        """What the next transcriptions say; behind them "what was said"."""
        self._texts.extend(texts)

    def fail(self, *faults: Fault) -> None:
        """The next requests meet these, in order."""
        self._faults.extend(faults)

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=4 * MAX_FILE)
        application.router.add_post("/v1/audio/transcriptions", self._on_transcription)
        application.router.add_post("/v1/audio/speech", self._on_speech)
        self._runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _on_transcription(self, http: web.Request) -> web.StreamResponse:
        try:
            self._check_key(http)
            self.heard.append(await read_transcription(http))
        except ApiError as refusal:
            return self._refused(refusal)
        body = json.dumps({"text": self._texts.popleft() if self._texts else "what was said"}).encode()
        return await self._answer(http, body, "application/json")

    async def _on_speech(self, http: web.Request) -> web.StreamResponse:
        try:
            self._check_key(http)
            self.spoken.append(read_speech(await _object(http)))
        except ApiError as refusal:
            return self._refused(refusal)
        return await self._answer(http, self.sound, SOUNDS[self.spoken[-1].format])

    def _check_key(self, http: web.Request) -> None:
        if http.headers.get("Authorization") != f"Bearer {self._key}":
            raise openai_error(401, "Incorrect API key provided.", code="invalid_api_key")

    def _refused(self, refusal: ApiError) -> web.StreamResponse:
        self.refusals.append(refusal.words)
        return web.json_response(refusal.body, status=refusal.status)

    async def _answer(self, http: web.Request, body: bytes, media_type: str) -> web.StreamResponse:
        self.reached.set()
        fault = self._faults.popleft() if self._faults else None
        if self.gate is not None:
            await self.gate.wait()
        match fault:
            case None:
                return web.Response(body=body, content_type=media_type)
            case Fault.STATUS_500 | Fault.STATUS_429:
                status = 500 if fault is Fault.STATUS_500 else 429
                return web.json_response({"error": {"message": "Try later.", "type": "server_error"}}, status=status)
            case Fault.HANG:
                await self._hang()
                return web.Response(status=503)
            case Fault.CUT | Fault.HANG_IN_BODY | Fault.ENDLESS:
                return await self._broken(http, body, fault)
            case _:
                return web.Response(body=BODIES[fault], content_type=media_type)

    async def _broken(self, http: web.Request, body: bytes, fault: Fault) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(http)
        await response.write(body[:5])
        if fault is Fault.HANG_IN_BODY:
            await self._hang()
        while fault is Fault.ENDLESS and not self._stopped.is_set():
            await response.write(b" " * 1_000_000)
        if http.transport is not None:
            http.transport.abort()
        return response

    async def _hang(self) -> None:
        self.waiting += 1
        try:
            await self._stopped.wait()
        finally:
            self.waiting -= 1


async def _object(http: web.Request) -> JsonObject:
    if http.content_type != "application/json":
        raise bad(f"Unsupported content type: {http.content_type}")
    try:
        body = json.loads(await http.text())
    except ValueError as error:
        raise bad("We could not parse the JSON body of your request.") from error
    if not isinstance(body, dict):
        raise bad("The body is no object.")
    return body


class ThreadedSpeechServer:
    """`with ThreadedSpeechServer() as server`: the same double on a loop of its own, for clients in other processes."""

    def __init__(self) -> None:
        self.server = SpeechServer()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="speech-double", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.server.__aenter__(), self._loop).result(timeout=10.0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self.server.__aexit__(kind, error, trace), self._loop).result(timeout=10.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
