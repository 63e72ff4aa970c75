"""The HTTP client below the SDK: aiohttp, since the SDK's own (httpx) takes three to twelve times the CPU.

Errors of aiohttp hold addresses, and so the token: none of them leaves this module, not even as a cause.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import quote

import aiohttp
from aiohttp.payload import Payload
from msgspec import Struct
from telegram import error as sdk
from telegram.request import BaseRequest, RequestData

from bots.telegram.api import READ_TIMEOUT_S, HttpTrouble, Lost, NotLeft
from config.secret import Secret


class Timeouts(Struct, frozen=True, kw_only=True):
    """Of the phases of a request. `connect_s` is for one attempt; all attempts, with the wait for a free connection of
    the pool and what a proxy takes, last no longer than `connect_s` + `pool_s`. `read_s` is for each read where the
    caller names none, `write_s` for each piece of a file."""

    connect_s: float = 5.0
    pool_s: float = 10.0
    read_s: float = READ_TIMEOUT_S
    write_s: float = 60.0

    def of_aiohttp(self, read_s: float | None = None) -> aiohttp.ClientTimeout:
        return aiohttp.ClientTimeout(
            connect=self.pool_s + self.connect_s,
            sock_connect=self.connect_s,
            sock_read=self.read_s if read_s is None else read_s,
        )


TIMEOUTS: Final = Timeouts()
_NEVER_LEFT: Final = (
    aiohttp.ClientConnectorError,  # refused, name or TLS, of a proxy too
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,  # also while a connection is waited for
    aiohttp.InvalidURL,
)
_JSON: Final = {"Content-Type": "application/json"}
_UNFIT: Final = re.compile(r'["\x00-\x1f\x7f]')


def open_session(proxy: Secret | None, timeouts: Timeouts, *, connections: int) -> aiohttp.ClientSession:
    """A client with a pool of its own. It keeps no cookies and heeds no variable of the environment. TLS is aiohttp's
    one context, which all sessions share."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=connections),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": BaseRequest.USER_AGENT},
        proxy=proxy.reveal() if proxy else None,
        timeout=timeouts.of_aiohttp(),
    )


@contextmanager
def in_terms_of_the_sdk(session: aiohttp.ClientSession) -> Iterator[None]:
    """Within, a request of the session fails with `NotLeft` or `Lost`."""
    closed_before = session.closed
    if closed_before:
        raise NotLeft("the connection is closed")
    try:
        yield
    except _NEVER_LEFT as error:
        raise NotLeft(type(error).__name__) from None
    except (aiohttp.ClientError, TimeoutError) as error:
        raise Lost(type(error).__name__) from None
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if session.closed and task is not None and not task.cancelling():
            # Nobody cancelled this task: a session that closes cancels who waits for a connection or a name.
            raise NotLeft("the connection was closed") from None
        raise


class AiohttpRequest(BaseRequest):
    """`telegram.request.BaseRequest`. Of a call's own timeouts it heeds `read_timeout`. Redirects are not followed, and
    nothing is tried twice. `heard` is told the headers of each answer."""

    __slots__ = ("_connections", "_heard", "_proxy", "_session", "_timeouts")

    def __init__(
        self,
        proxy: Secret | None,
        timeouts: Timeouts = TIMEOUTS,
        *,
        connections: int,
        heard: Callable[[Mapping[str, str]], None] | None = None,
    ) -> None:
        self._proxy = proxy
        self._timeouts = timeouts
        self._connections = connections
        self._heard = heard
        self._session: aiohttp.ClientSession | None = None

    @property
    def read_timeout(self) -> float:
        return self._timeouts.read_s

    async def initialize(self) -> None:
        self._session = open_session(self._proxy, self._timeouts, connections=self._connections)

    async def shutdown(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: object = BaseRequest.DEFAULT_NONE,
        *_: object,
        **__: object,
    ) -> tuple[int, bytes]:
        session = self._session
        if session is None:
            raise NotLeft("the connection is not open yet")
        body = _body(request_data, self._timeouts.write_s)
        with in_terms_of_the_sdk(session):
            async with session.request(
                method,
                url,
                data=body,
                headers=_JSON if isinstance(body, bytes) else None,
                timeout=self._timeouts.of_aiohttp(read_timeout if isinstance(read_timeout, int | float) else None),
                allow_redirects=False,
            ) as answer:
                payload = await answer.read()
        if self._heard is not None:
            self._heard(answer.headers)
        if answer.status in {413, 429} or answer.status >= 500:
            raise HttpTrouble(answer.status, _retry_after_s(payload))
        return answer.status, payload

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        """Without what the SDK loses of an answer and logs of one."""
        try:
            answer = json.loads(payload.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            raise sdk.TelegramError("the answer is no JSON") from None
        if not isinstance(answer, dict) or not isinstance(answer.get("parameters", {}), dict):
            raise sdk.TelegramError("the answer is not the Bot API's")
        return {"result": None, **answer}


def _retry_after_s(payload: bytes) -> float | None:
    try:
        answer = AiohttpRequest.parse_json_payload(payload)
    except sdk.TelegramError:
        return None
    wait_s = answer.get("parameters", {}).get("retry_after")
    return float(wait_s) if isinstance(wait_s, int | float) and 0 < wait_s < 1e9 else None


def _body(data: RequestData | None, write_s: float) -> bytes | Payload | None:
    """JSON, where no file goes along (https://core.telegram.org/bots/api#making-requests)."""
    if data is None or not (data.contains_files or data.parameters):
        return None
    if data.contains_files:
        return _Upload(data, write_s)
    return json.dumps(data.parameters).encode()


class _Upload(Payload):
    """A form with files, which are read from disk piece by piece. The server takes each piece in time, or the call
    ends with `TimeoutError`: aiohttp itself waits for ever."""

    def __init__(self, data: RequestData, write_s: float) -> None:
        self._write_s = write_s
        form = aiohttp.FormData(quote_fields=False, default_to_multipart=True)
        for name, value in data.json_parameters.items():
            form.add_field(name, value)
        for name, (filename, content, media_type) in data.multipart_data.items():
            form.add_field(name, content, filename=_fit(filename), content_type=_fit(media_type))
        self._form = form()
        super().__init__(self._form, headers=self._form.headers)

    @property
    def size(self) -> int | None:
        return self._form.size

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return self._form.decode(encoding, errors)

    async def write(self, writer: Any) -> None:
        async def write(piece: bytes) -> None:
            async with asyncio.timeout(self._write_s):
                await writer.write(piece)

        await self._form.write(SimpleNamespace(write=write))  # type: ignore[arg-type]  # it only writes

    async def close(self) -> None:
        await self._form.close()


def _fit(words: str) -> str:
    """For a header of a part (https://html.spec.whatwg.org/multipage/form-control-infrastructure.html, "escape a
    multipart form data name")."""
    return _UNFIT.sub(lambda found: quote(found[0]), words)
