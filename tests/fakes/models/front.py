"""The HTTP side: one aiohttp application on loopback in front of a `Provider`, on the loop that started it."""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from tests.fakes.models.chat import ChatDialect
from tests.fakes.models.dialect import ApiError, Dialect, Reading
from tests.fakes.models.messages import MessagesDialect
from tests.fakes.models.openai_errors import openai_error
from tests.fakes.models.payload import JsonObject, as_text, count_tokens
from tests.fakes.models.playing import Exchange, Player, error_response, json_response
from tests.fakes.models.provider import Provider
from tests.fakes.models.record import Request
from tests.fakes.models.responses import ResponsesDialect

MAX_BODY_BYTES = 32 * 1024 * 1024  # https://docs.claude.com/en/api/errors: "32 MB for standard API endpoints"

CREATED, CREATED_AT = 1_767_225_600, "2026-01-01T00:00:00Z"  # any time will do


class _Silence(asyncio.Protocol):
    """A connection that is accepted and never served."""

    def __init__(self, silent: set[asyncio.BaseTransport]) -> None:
        self._silent = silent
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._silent.add(transport)

    def connection_lost(self, _: Exception | None) -> None:
        if self._transport is not None:
            self._silent.discard(self._transport)


class HttpFront:
    """Listens from `start` to `stop`."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._runner: web.AppRunner | None = None
        self._listener: asyncio.Server | None = None
        self._port = 0
        self._stopped = asyncio.Event()
        self._silent: set[asyncio.BaseTransport] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def start(self, port: int = 0) -> None:
        application = web.Application(client_max_size=MAX_BODY_BYTES)
        application.router.add_post("/v1/chat/completions", self._endpoint(ChatDialect()))
        application.router.add_post("/v1/responses", self._endpoint(ResponsesDialect()))
        application.router.add_post("/v1/messages", self._endpoint(MessagesDialect()))
        application.router.add_get("/v1/models", self._on_models)
        application.router.add_route("*", "/{anything:.*}", self._on_stray)
        self._stopped.clear()
        self._runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
        await self._runner.setup()
        self._port = port
        await self.resume()

    async def stop(self) -> None:
        self._stopped.set()
        self._provider.changed()
        await self.pause()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def pause(self) -> None:
        """Stops listening and cuts every connection: connections are refused. The script and the record stay."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        self.cut_connections()

    async def resume(self) -> None:
        """Listens again, on the same port."""
        if self._listener is None:
            loop = asyncio.get_running_loop()
            self._listener = await loop.create_server(self._accept, "127.0.0.1", self._port, reuse_address=True)
            self._port = int(self._listener.sockets[0].getsockname()[1])

    def cut_connections(self) -> None:
        """On the server's loop."""
        self._provider.note_open_as_cut()
        for silent in tuple(self._silent):
            silent.close()
        server = self._runner.server if self._runner is not None else None
        for connection in list(server.connections) if server is not None else []:
            if connection.transport is not None:
                connection.transport.abort()

    def _accept(self) -> asyncio.Protocol:
        server = self._runner.server if self._runner is not None else None
        with self._provider.lock:
            self._provider.connections += 1
            held = self._provider.connections_held
        self._provider.changed()
        return _Silence(self._silent) if held or server is None else server()

    def _endpoint(self, dialect: Dialect) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def answer(http: web.Request) -> web.StreamResponse:
            request_id = f"req_{secrets.token_hex(12)}"
            return await self._on_call(http, dialect, {"x-request-id": request_id, "request-id": request_id})

        return answer

    async def _on_call(self, http: web.Request, dialect: Dialect, headers: Mapping[str, str]) -> web.StreamResponse:
        text = await http.text()
        with self._provider.lock:
            request, refusal = self._arrived(http, dialect, text)
            self._provider.record(request)
            self._provider.in_flight += 1
        self._provider.changed()
        try:
            if refusal is not None:
                raise refusal
            with self._provider.lock:
                answer = self._provider.script.answer(request)
            exchange = Exchange(http, self._provider, self._stopped)
            return await Player(exchange, dialect, request, headers).play(answer)
        except ApiError as error:
            self._provider.note(request.number, status=error.status, error=error.words, outcome="refused")
            return error_response(error, headers)
        except (asyncio.CancelledError, ConnectionResetError):
            self._provider.note(request.number, outcome="disconnected")
            raise
        finally:
            with self._provider.lock:
                self._provider.in_flight -= 1
            self._provider.changed()

    def _arrived(self, http: web.Request, dialect: Dialect, text: str) -> tuple[Request, ApiError | None]:
        """The record of a request, and why it is refused, if it is."""
        headers = {name.lower(): value for name, value in http.headers.items()}
        body: JsonObject = {}
        reading, refusal = Reading(messages=(), tools=()), None
        try:
            dialect.check_key(headers, self._provider.key)
            body = _parsed(text, dialect)
            reading = dialect.read(body, headers)
            self._check_model(body, dialect)
        except ApiError as error:
            refusal = error
        request = Request(
            number=len(self._provider.requests) + 1,
            api=dialect.api,
            model=as_text(body.get("model")),
            stream=body.get("stream") is True,
            body=body,
            headers=headers,
            messages=reading.messages,
            tools=reading.tools,
            dropped=reading.dropped,
            tokens=count_tokens(body),
        )
        return request, refusal

    def _check_model(self, body: JsonObject, dialect: Dialect) -> None:
        model, tokens, limit = as_text(body.get("model")), count_tokens(body), self._provider.context_tokens
        if self._provider.models is not None and model not in self._provider.models:
            raise dialect.unknown_model(model)
        if limit is not None and tokens > limit:
            raise dialect.too_long(tokens, limit)

    async def _on_models(self, http: web.Request) -> web.StreamResponse:
        """Both providers have this path. Who says which version of the API it speaks is Anthropic's client."""
        headers = {name.lower(): value for name, value in http.headers.items()}
        anthropic = "anthropic-version" in headers
        dialect: Dialect = MessagesDialect() if anthropic else ChatDialect()
        try:
            dialect.check_key(headers, self._provider.key)
        except ApiError as error:
            return error_response(error, {})
        names = self._provider.models or ()
        if not anthropic:
            listed = [{"id": name, "object": "model", "created": CREATED, "owned_by": "double"} for name in names]
            return json_response(200, {"object": "list", "data": listed})
        models = [{"type": "model", "id": name, "display_name": name, "created_at": CREATED_AT} for name in names]
        first, last = (names[0], names[-1]) if names else (None, None)
        return json_response(200, {"data": models, "has_more": False, "first_id": first, "last_id": last})

    async def _on_stray(self, http: web.Request) -> web.StreamResponse:
        return error_response(openai_error(404, f"Invalid URL ({http.method} {http.path})"), {})


def _parsed(text: str, dialect: Dialect) -> JsonObject:
    try:
        body = json.loads(text)
    except ValueError as error:
        raise dialect.broken_json() from error
    if not isinstance(body, dict):
        raise dialect.broken_json()
    return body
