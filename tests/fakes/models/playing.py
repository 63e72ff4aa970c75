"""Plays one answer into one HTTP exchange, part by part."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import assert_never

from aiohttp import web

from tests.fakes.models.dialect import ApiError, Dialect, Finish, Wire
from tests.fakes.models.provider import Provider
from tests.fakes.models.record import Outcome, Request
from tests.fakes.models.replies import (
    Answer,
    Call,
    Cut,
    Delayed,
    Empty,
    Fail,
    Filtered,
    Garbage,
    Gate,
    Hang,
    Paced,
    Part,
    Raw,
    Say,
    Think,
    Truncated,
)

HTML = "<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>"
HALF_A_HEADER = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Con"
STREAM_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


class Over(Exception):
    """The answer ended before its last part. `response` is what aiohttp should finish, if anything."""

    def __init__(self, response: web.StreamResponse | None = None) -> None:
        super().__init__()
        self.response = response


class Exchange:
    """One request that is being answered, on the server's loop."""

    def __init__(self, http: web.Request, provider: Provider, stopped: asyncio.Event) -> None:
        self.http = http
        self.provider = provider
        self.stopped = stopped

    async def wait_for(self, holds: Callable[[], bool]) -> None:
        """Until the condition holds; raises `Over` when the server stops. Cancelled when the client goes."""
        changed = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(changed.set)

        self.provider.listen(wake)
        try:
            while not holds():
                if self.stopped.is_set():
                    self.cut()
                await changed.wait()
                changed.clear()
        finally:
            self.provider.unlisten(wake)

    def cut(self) -> None:
        """Closes the connection. Never returns."""
        if self.http.transport is not None:
            self.http.transport.abort()
        raise Over


class Player:
    """Plays the parts of one answer. Streams, or collects and answers at once, as the request wants it."""

    def __init__(self, exchange: Exchange, dialect: Dialect, request: Request, headers: Mapping[str, str]) -> None:
        self._exchange = exchange
        self._dialect = dialect
        self._request = request
        self._headers = headers
        self._wire: Wire = dialect.wire(request)
        self._stream: web.StreamResponse | None = None
        self._finish: Finish = "stop"
        self._breaks: dict[int, Part] = {}
        self._deltas = 0
        self._spoke = False

    async def play(self, answer: Answer) -> web.StreamResponse:
        """The response, complete. Raises `ApiError` for an error that is to be the whole answer."""
        self._breaks = {
            part.after_deltas: part
            for part in answer
            if isinstance(part, Cut | Hang | Garbage) and part.after_deltas is not None
        }
        provider = self._exchange.provider
        try:
            for part in answer:
                await self._play(part)
            return await self._complete()
        except Over as over:
            if over.response is None:
                self._note("cut")
                return web.Response(status=500)
            self._note("answered")
            return over.response
        finally:
            with provider.lock:
                provider.open_streams -= self._stream is not None
            provider.note(self._request.number, deltas=self._deltas)

    async def _play(self, part: Part) -> None:
        match part:
            case Say():
                await self._send(self._wire.say(part.pieces))
            case Think():
                await self._send(self._wire.think(part.pieces))
            case Call():
                await self._send(self._wire.call(part))
            case Paced():
                await self._send_paced(part)
            case Delayed():
                await asyncio.sleep(part.seconds)
                await self._send(self._wire.say((part.text,)))
            case Empty():
                self._spoke = True
            case Truncated():
                self._finish = "length"
            case Filtered():
                self._finish = "filter"
            case Gate():
                await self._wait_at(part.name)
            case Cut() | Hang() | Garbage():
                if part.after_deltas is None:
                    await self._break(part)
            case Raw():
                stream = await self._open(as_it_is=True)
                await stream.write(part.body)
                await stream.write_eof()
                raise Over(stream)
            case Fail():
                await self._fail(part)
            case _:
                assert_never(part)

    async def _open(self, *, as_it_is: bool = False) -> web.StreamResponse:
        """The stream, with its headers sent and everything that comes before the first token, unless `as_it_is`."""
        if self._stream is None:
            self._stream = web.StreamResponse(headers={**STREAM_HEADERS, **self._headers})
            with self._exchange.provider.lock:
                self._exchange.provider.open_streams += 1
            await self._stream.prepare(self._exchange.http)
            if not as_it_is:
                await self._stream.write(self._wire.begin())
            self._exchange.provider.note(self._request.number, status=200)
        return self._stream

    async def _send(self, chunks: Iterable[bytes]) -> None:
        stream = await self._open() if self._request.stream else None
        self._spoke = True
        for chunk in chunks:
            if self._deltas in self._breaks:
                await self._break(self._breaks.pop(self._deltas))
            if stream is not None:
                await stream.write(chunk)
            self._deltas += 1

    async def _send_paced(self, part: Paced) -> None:
        """Absolute times, so that a late delta does not delay the ones after it."""
        if not self._request.stream:
            await asyncio.sleep(part.tokens / part.per_s)
            await self._send(self._wire.say(part.pieces))
            return
        await self._open()
        loop = asyncio.get_running_loop()
        start = loop.time()
        for index, chunk in enumerate(self._wire.say(part.pieces), start=1):
            await asyncio.sleep(start + index / part.per_s - loop.time())
            await self._send((chunk,))

    async def _wait_at(self, name: str) -> None:
        provider = self._exchange.provider
        latch = provider.latch(name)
        with provider.lock:
            latch.waiting += 1
        provider.changed()
        try:
            await self._exchange.wait_for(lambda: latch.is_set)
        finally:
            with provider.lock:
                latch.waiting -= 1
            provider.changed()

    async def _break(self, part: Part) -> None:
        match part:
            case Cut():
                self._note("cut")
                await self._cut(part)
            case Hang():
                await self._hang(part)
            case Garbage():
                await self._garble()
            case _:
                raise TypeError(part)

    async def _cut(self, part: Cut) -> None:
        if not part.clean or not self._request.stream:
            self._exchange.cut()
        stream = await self._open()
        await stream.write_eof()
        raise Over(stream)

    async def _hang(self, part: Hang) -> None:
        transport = self._exchange.http.transport
        if part.where == "headers" and self._stream is None and transport is not None:
            transport.write(HALF_A_HEADER)
        if part.where in ("first_token", "mid_stream") and self._request.stream:
            await self._open()
        self._exchange.provider.note(self._request.number, deltas=self._deltas)
        while part.ping_s is not None and self._stream is not None and not self._exchange.stopped.is_set():
            await self._stream.write(self._wire.ping())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._exchange.stopped.wait(), part.ping_s)
        await self._exchange.wait_for(lambda: False)

    async def _garble(self) -> None:
        if not self._spoke:
            raise Over(web.Response(text=HTML, content_type="text/html"))
        if not self._request.stream:
            raise Over(web.Response(text='{"id": "half of a', content_type="application/json"))
        stream = await self._open()
        await stream.write(self._wire.garbage())
        await stream.write_eof()
        raise Over(stream)

    async def _fail(self, part: Fail) -> None:
        if part.what == "content_filter" and (self._spoke or self._request.api == "messages"):
            self._finish = "filter"
            return
        error = self._dialect.failure(part, self._request)
        if self._stream is None:
            raise error
        self._exchange.provider.note(self._request.number, error=error.words)
        await self._stream.write(self._wire.error(error))
        await self._stream.write_eof()
        raise Over(self._stream)

    async def _complete(self) -> web.StreamResponse:
        last = self._breaks.pop(self._deltas, None)
        if last is not None:
            await self._break(last)
        if not self._request.stream:
            self._note("answered")
            return json_response(200, self._wire.body(self._finish), self._headers)
        stream = await self._open()
        await stream.write(self._wire.end(self._finish))
        self._note("answered")
        await stream.write_eof()
        return stream

    def _note(self, outcome: Outcome) -> None:
        """The status of an answer that was cut before its headers stays 0."""
        sent = 200 if outcome == "answered" or self._stream is not None else 0
        self._exchange.provider.note(self._request.number, outcome=outcome, deltas=self._deltas, status=sent)


def json_response(status: int, body: object, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(status=status, text=json.dumps(body), content_type="application/json", headers=headers)


def error_response(error: ApiError, headers: Mapping[str, str]) -> web.Response:
    every = {**headers, **error.headers}
    if isinstance(error.body, str):
        return web.Response(status=error.status, text=error.body, content_type="text/html", headers=every)
    return json_response(error.status, error.body, every)
