"""The HTTP transport of models' SDKs: aiohttp under httpx2.

httpx2's own looks at every pooled connection at each request and wakes its caller for every piece of a stream; this one
takes a fraction of the CPU. Events of a stream are gathered here, see `event_merging`.
"""

from __future__ import annotations

import asyncio
import io
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import aiohttp
import httpx2

from core.agents.event_merging import EventMerger

GATHER_S = 0.05
"""How long deltas of one stream are gathered, but for the first."""
MOST_CONNECTIONS = 1000
LARGE_BYTES = 1024 * 1024
"""aiohttp writes a larger body in pieces, if it comes as a file."""
AS_GIVEN = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""Headers that aiohttp would add."""

_ERRORS: tuple[tuple[type[Exception], type[httpx2.RequestError]], ...] = (
    (aiohttp.ConnectionTimeoutError, httpx2.ConnectTimeout),
    (aiohttp.SocketTimeoutError, httpx2.ReadTimeout),
    (TimeoutError, httpx2.ReadTimeout),
    (aiohttp.ClientProxyConnectionError, httpx2.ProxyError),
    (aiohttp.ClientHttpProxyError, httpx2.ProxyError),
    (aiohttp.ClientConnectorError, httpx2.ConnectError),
    (aiohttp.ServerDisconnectedError, httpx2.RemoteProtocolError),
    (aiohttp.ClientPayloadError, httpx2.RemoteProtocolError),
    (aiohttp.ClientResponseError, httpx2.RemoteProtocolError),
    (aiohttp.InvalidURL, httpx2.UnsupportedProtocol),
    (aiohttp.NonHttpUrlClientError, httpx2.UnsupportedProtocol),
    (aiohttp.ClientError, httpx2.ReadError),
    (OSError, httpx2.ReadError),
)
"""The first one that fits: narrower kinds first."""


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (aiohttp.ClientError, OSError) as error:
        raise next(theirs for ours, theirs in _ERRORS if isinstance(error, ours))(str(error)) from error


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """Used on one loop. Timeouts are the request's: to connect, and to wait for the next byte."""

    def __init__(self, tls: ssl.SSLContext, proxy: str | None) -> None:
        self._tls = tls
        self._proxy = proxy
        self._session: aiohttp.ClientSession | None = None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=self._tls, limit=MOST_CONNECTIONS),
                cookie_jar=aiohttp.DummyCookieJar(),  # httpx2 keeps them
                skip_auto_headers=AS_GIVEN,
                auto_decompress=False,
                trust_env=False,
            )
        return self._session

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        limits = request.extensions.get("timeout", {})
        timeout = aiohttp.ClientTimeout(connect=limits.get("connect"), sock_read=limits.get("read"))
        body = await request.aread()
        with _translated():
            response = await self._open().request(
                request.method,
                str(request.url),
                headers=request.headers.multi_items(),
                data=io.BytesIO(body) if len(body) >= LARGE_BYTES else body or None,
                timeout=timeout,
                proxy=self._proxy,
                allow_redirects=False,
            )
        merged = response.content_type == "text/event-stream" and "Content-Encoding" not in response.headers
        return httpx2.Response(
            response.status,
            headers=list(response.raw_headers),
            stream=_EventStream(response) if merged else _Stream(response),
            extensions={"http_version": b"HTTP/1.1", "reason_phrase": (response.reason or "").encode()},
        )

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()


class _Stream(httpx2.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translated():
            while received := await self._response.content.readany():
                yield received

    async def aclose(self) -> None:
        self._response.close()  # a connection whose response was read to its end went back before


class _EventStream(_Stream):
    """The first delta goes on at once, later ones every `GATHER_S`. A response whose end does not come is an error,
    also where the connection is closed as it should be."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        merger, due, loop = EventMerger(), 0.0, asyncio.get_running_loop()
        try:
            while (received := await self._until(due if merger.holds else None)) != b"":
                ready = b"" if received is None else merger.take(received)
                if merger.holds and loop.time() >= due:
                    ready += merger.flush()
                    due = loop.time() + GATHER_S
                if ready:
                    yield ready
        except httpx2.RequestError:
            if left := merger.end():
                yield left
            raise
        if left := merger.end():
            yield left
        if merger.is_cut:
            raise httpx2.RemoteProtocolError("the stream ended before the response did")

    async def _until(self, due: float | None) -> bytes | None:
        """What came next, b"" at the end; None: nothing by then."""
        with _translated():
            try:
                async with asyncio.timeout_at(due) as waiting:
                    return await self._response.content.readany()
            except TimeoutError:
                if not waiting.expired():
                    raise
                return None
