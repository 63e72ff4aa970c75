"""The HTTP side: one aiohttp application on loopback in front of a `Platform`.

Runs on the event loop that started it. The platform is used under its lock and never across an `await`.
"""

import asyncio
import json
import time
from dataclasses import dataclass

from aiohttp import web

from tests.fakes.faults import Answer, Delay, Drop, Fault, Hang
from tests.fakes.telegram.errors import ApiError, not_found, unauthorized
from tests.fakes.telegram.files import MAX_FILE, MAX_FILE_LOCAL, upload_notes
from tests.fakes.telegram.methods import GET_UPDATES, METHODS, Method
from tests.fakes.telegram.model import JsonObject, JsonValue, Upload
from tests.fakes.telegram.params import Params, form_values, json_values, normalised
from tests.fakes.telegram.platform import TOKEN, Platform
from tests.fakes.telegram.polling import Poll, begin_poll, poll_result

LOOK_S = 0.005  # how often a wait looks at a clock that is not the real one
OVERHEAD_BYTES = 1 << 20  # what a body holds beside its files
MOST_FILES = 10


@dataclass
class _Exchange:
    """One request on its way through."""

    request: web.Request
    method: Method
    number: int
    status: int = 0
    body: JsonObject | None = None

    @property
    def client_gone(self) -> bool:
        return self.request.transport is None or self.request.transport.is_closing()


class HttpFront:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None
        self._port = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiters: set[asyncio.Event] = set()
        self._stopping = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def start(self, port: int = 0) -> None:
        most = MAX_FILE if self._platform.local is None else MAX_FILE_LOCAL
        application = web.Application(client_max_size=most * MOST_FILES + OVERHEAD_BYTES)
        application.router.add_route("*", "/bot{token}/{method}", self._on_call)
        application.router.add_get("/file/bot{token}/{path:.+}", self._on_file)
        application.router.add_route("*", "/{anything:.*}", self._on_stray)
        self._loop = asyncio.get_running_loop()
        self._stopping = False
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        self._platform.listen(self.wake)
        await self.resume()

    async def stop(self) -> None:
        self._stopping = True
        self._platform.unlisten(self.wake)
        await self.pause()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def pause(self) -> None:
        """Stops listening and cuts every connection. The port stays reserved for `resume` in practice only."""
        if self._site is not None:
            await self._site.stop()
            self._site = None
        self.cut_connections()

    async def resume(self) -> None:
        if self._runner is None:
            raise RuntimeError("the server was not started")
        if self._site is None:
            self._site = web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True)
            await self._site.start()
            self._port = self._port or int(self._runner.addresses[0][1])

    def cut_connections(self) -> None:
        """On the server's loop."""
        server = self._runner.server if self._runner is not None else None
        for connection in list(server.connections) if server is not None else []:
            if connection.transport is not None:
                connection.transport.abort()
        self._set_waiters()

    def wake(self) -> None:
        """From any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._set_waiters)

    def _set_waiters(self) -> None:
        for waiter in self._waiters:
            waiter.set()

    async def _on_stray(self, _request: web.Request) -> web.Response:
        return _json_response(404, not_found().json())

    async def _on_file(self, request: web.Request) -> web.Response:
        with self._platform.lock:
            content = self._platform.files.get(request.match_info["path"])
            known = request.match_info["token"] == self._platform.token
        if content is None or not known:
            return _json_response(404, not_found().json())
        return web.Response(body=content, content_type="application/octet-stream")

    async def _on_call(self, request: web.Request) -> web.StreamResponse:
        method = METHODS.get(request.match_info["method"].lower())
        refusal = self._door(request.match_info["token"], method)
        refused: ApiError | None = None
        values: JsonObject = {}
        uploads: dict[str, Upload] = {}
        try:
            values, uploads = await _values(request)
        except ApiError as error:
            refused = error
        name = method.name if method is not None else request.match_info["method"]
        with self._platform.lock:
            number = self._platform.journal.arrived(name, {**values, **upload_notes(uploads)})
            if refused is not None and refusal is None:
                self._platform.refuse(number, refused)
        exchange = _Exchange(request, method or Method(name, None, frozenset()), number)
        return await self._with_faults(exchange, Params(values, number, uploads), refusal or refused)

    def _door(self, token: str, method: Method | None) -> ApiError | None:
        with self._platform.lock:
            if not TOKEN.fullmatch(token):
                return not_found()
            if token != self._platform.token:
                return unauthorized()
        return not_found() if method is None else None

    async def _with_faults(self, exchange: _Exchange, params: Params, refusal: ApiError | None) -> web.StreamResponse:
        with self._platform.lock:
            fault = self._platform.faults.take(exchange.method.name, params.values.get("chat_id"))
        effect = fault.effect if fault is not None else None
        self._platform.changed()
        if isinstance(effect, Answer):
            self._note(exchange, effect.status, "answered by a fault")
            self._platform.changed()
            return web.Response(status=effect.status, body=effect.body, content_type=effect.content_type)
        late = isinstance(effect, Delay) and not effect.applied
        if late and fault is not None:
            await self._hold(exchange, fault)
        if not isinstance(effect, Drop | Hang) or effect.applied:
            await self._process(exchange, params, refusal)
        self._platform.changed()
        if fault is not None and not late:
            await self._hold(exchange, fault)
        return self._finish(exchange, lost=isinstance(effect, Drop | Hang))

    async def _hold(self, exchange: _Exchange, fault: Fault) -> None:
        effect = fault.effect
        if not isinstance(effect, Delay | Hang):
            return
        seconds = effect.seconds if isinstance(effect, Delay) else None
        until = None if seconds is None else self._platform.clock() + seconds
        while not (self._stopping or fault.released.is_set() or exchange.client_gone):
            if until is not None and self._platform.clock() >= until:
                return
            await self._wait(until)

    async def _process(self, exchange: _Exchange, params: Params, refusal: ApiError | None) -> None:
        """Leaves the outcome in the exchange."""
        try:
            if refusal is not None:
                raise refusal
            if exchange.method.name.lower() == GET_UPDATES:
                result = await self._poll(exchange, params)
            else:
                result = self._apply(exchange, params)
        except ApiError as error:
            with self._platform.lock:
                if refusal is None:
                    self._platform.refuse(exchange.number, error)
            exchange.status, exchange.body = error.code, error.json()
        else:
            exchange.status, exchange.body = 200, {"ok": True, "result": result}

    def _apply(self, exchange: _Exchange, params: Params) -> JsonValue:
        if exchange.method.handler is None:
            raise not_found()
        with self._platform.lock:
            self._check_names(exchange, params)
            result = exchange.method.handler(self._platform, params)
            self._platform.journal.applied(exchange.number, result)
        return result

    def _check_names(self, exchange: _Exchange, params: Params) -> None:
        """Telegram overlooks parameters that it does not know, and with them the typing errors of the bot."""
        if unknown := sorted(params.values.keys() - exchange.method.parameters):
            call = self._platform.journal.calls[exchange.number]
            self._platform.journal.violated("unknown_parameter", call, ", ".join(unknown))

    async def _poll(self, exchange: _Exchange, params: Params) -> JsonValue:
        while self._is_held(params) and not self._stopping:
            if exchange.client_gone:
                return []
            await self._wait(None)
        with self._platform.lock:
            self._check_names(exchange, params)
            poll = begin_poll(self._platform, params)
        try:
            return await self._wait_for_updates(exchange, poll)
        finally:
            with self._platform.lock:
                self._platform.waiting_polls.discard(poll.number)

    def _is_held(self, params: Params) -> bool:
        """Such a poll is not heard for now; nothing is confirmed by it."""
        with self._platform.lock:
            return self._platform.offsets_held and self._platform.updates.confirms(params.integer("offset") or 0)

    async def _wait_for_updates(self, exchange: _Exchange, poll: Poll) -> JsonValue:
        announced = False
        while not (self._stopping or exchange.client_gone):
            with self._platform.lock:
                result = poll_result(self._platform, poll)
                if result is not None:
                    self._platform.journal.applied(exchange.number, result)
                    return result
                self._platform.waiting_polls.add(poll.number)
            if not announced:
                self._platform.changed()
                announced = True
            await self._wait(poll.until)
        return []

    async def _wait(self, until: float | None) -> None:
        """Until something changes, or (perhaps too early) the time has come."""
        timeout_s = LOOK_S
        if self._platform.clock is time.monotonic:
            timeout_s = 1.0 if until is None else max(0.0, min(1.0, until - time.monotonic()))
        changed = asyncio.Event()
        self._waiters.add(changed)
        try:
            await asyncio.wait_for(changed.wait(), timeout_s)
        except TimeoutError:
            return
        finally:
            self._waiters.discard(changed)

    def _finish(self, exchange: _Exchange, *, lost: bool) -> web.StreamResponse:
        transport = exchange.request.transport
        if lost or exchange.body is None or exchange.client_gone:
            with self._platform.lock:
                why = "connection cut by a fault" if lost else "the client had gone"
                self._platform.journal.unanswered(exchange.number, why)
            self._platform.changed()
            if transport is not None:
                transport.abort()
            return web.Response(status=500)
        description = exchange.body.get("description")
        self._note(exchange, exchange.status, description if isinstance(description, str) else None)
        self._platform.changed()
        return _json_response(exchange.status, exchange.body)

    def _note(self, exchange: _Exchange, status: int, description: str | None) -> None:
        with self._platform.lock:
            self._platform.journal.answered(exchange.number, status, description)


async def _values(request: web.Request) -> tuple[JsonObject, dict[str, Upload]]:
    """The parameters and the files of a call."""
    values = normalised(dict(request.query))
    if request.content_type == "multipart/form-data":
        form = await request.post()
        uploads = {
            name: Upload(name=part.filename, media_type=part.content_type, content=part.file.read())
            for name, part in form.items()
            if isinstance(part, web.FileField)
        }
        return normalised({name: value for name, value in form.items() if isinstance(value, str)}) | values, uploads
    body = await request.read()
    if not body:
        return values, {}
    if request.content_type == "application/json":
        return values | json_values(body), {}
    return values | form_values(body), {}


def _json_response(status: int, body: JsonObject) -> web.Response:
    return web.Response(status=status, text=json.dumps(body), content_type="application/json")
