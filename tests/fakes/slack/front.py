"""The HTTP side: one aiohttp application on loopback in front of a `Platform`.

Runs on the event loop that started it. The platform is used under its lock and never across an `await`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web

from tests.fakes.faults import Answer, Delay, Drop, Fault, Hang
from tests.fakes.slack.calls import Incoming, carry_out, scopes_told
from tests.fakes.slack.errors import ApiError
from tests.fakes.slack.fileroom import downloaded, received
from tests.fakes.slack.model import JsonObject, JsonValue
from tests.fakes.slack.params import Params, form_values, json_values, normalised
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.posting import Postman
from tests.fakes.slack.responding import use_response_url
from tests.fakes.slack.sockets import SocketDoor
from tests.fakes.slack.waiting import Waiting

MAX_BODY_BYTES = 50 * 1024 * 1024
LOGIN_PAGE = "<!DOCTYPE html><html><head><title>Sign in | Slack</title></head><body>Sign in</body></html>"


@dataclass
class _Exchange:
    """One request on its way through. `work` applies it and returns the answer."""

    request: web.Request
    number: int
    method: str
    values: JsonObject
    work: Callable[[], web.Response]
    response: web.Response | None = None
    error: str | None = field(default=None)

    @property
    def place(self) -> JsonValue:
        """The channel that it is about, if any."""
        return self.values.get("channel", self.values.get("channel_id"))

    @property
    def client_gone(self) -> bool:
        return self.request.transport is None or self.request.transport.is_closing()


class HttpFront:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._waiting = Waiting(platform)
        self._door = SocketDoor(platform)
        self._postman = Postman(platform, self._waiting)
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None
        self._port = 0
        self._stopping = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def start(self, port: int = 0) -> None:
        application = web.Application(client_max_size=MAX_BODY_BYTES)
        application.router.add_route("*", "/api/{method}", self._on_call)
        application.router.add_get("/link/", self._on_link)
        application.router.add_post("/upload/v1/{ticket}", self._on_upload)
        application.router.add_get("/files-pri/{place}/{name:.+}", self._on_file)
        application.router.add_post("/hooks/{secret}", self._on_hook)
        application.router.add_route("*", "/{anything:.*}", self._on_stray)
        self._stopping = False
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        self._waiting.start()
        await self.resume()
        await self._postman.start()

    async def stop(self) -> None:
        self._stopping = True
        self._waiting.stop()
        await self._postman.stop()
        await self.pause()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def pause(self) -> None:
        """Stops listening and cuts every connection, sockets too. The port is taken again by `resume`."""
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
            with self._platform.lock:
                self._platform.url = self.url

    def cut_connections(self) -> None:
        """On the server's loop."""
        server = self._runner.server if self._runner is not None else None
        for connection in list(server.connections) if server is not None else []:
            if connection.transport is not None:
                connection.transport.abort()
        self._waiting.wake_here()

    # what may be asked

    async def _on_stray(self, request: web.Request) -> web.Response:
        with self._platform.lock:
            self._platform.journal.problem("stray", f"{request.method} {request.path}", "there is nothing here")
        return web.Response(status=404, text="not found")

    async def _on_link(self, request: web.Request) -> web.StreamResponse:
        exchange = self._arrived(request, "socket", {}, web.Response)
        with self._platform.lock:
            fault = self._platform.faults.take("socket", None)
        if fault is not None:
            return await self._through(exchange, fault)
        with self._platform.lock:
            ticket = self._door.redeem(request.query.get("ticket", ""))
        self._note(exchange, 403 if ticket is None else 101, None if ticket is not None else "invalid ticket")
        return await self._door.on_link(request, ticket)

    async def _on_call(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["method"]
        values, refusal = await _values(request)
        token = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        is_json = request.content_type == "application/json"
        call = Incoming(name, request.method, token, values, is_json, 0, refusal)
        exchange = self._arrived(request, name, values, lambda: self._call(call))
        call.number = exchange.number
        return await self._with_faults(exchange)

    async def _on_upload(self, request: web.Request) -> web.StreamResponse:
        ticket = request.match_info["ticket"]
        content = await _uploaded(request)
        exchange = self._arrived(
            request, "upload", {"bytes": len(content)}, lambda: received(self._platform, ticket, content)
        )
        return await self._with_faults(exchange)

    async def _on_file(self, request: web.Request) -> web.StreamResponse:
        place = request.match_info["place"]
        token = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()

        def work() -> web.Response:
            return downloaded(self._platform, place, token) or web.Response(text=LOGIN_PAGE, content_type="text/html")

        return await self._with_faults(self._arrived(request, "download", {"file": place}, work))

    async def _on_hook(self, request: web.Request) -> web.StreamResponse:
        secret = request.match_info["secret"]
        values, refusal = await _values(request)
        exchange = self._arrived(request, "response_url", values, lambda: self._hook(secret, refusal, exchange))
        return await self._with_faults(exchange)

    # what becomes of it

    def _call(self, call: Incoming) -> web.Response:
        try:
            return _json_response(200, carry_out(self._platform, call), scopes_told(self._platform, call))
        except ApiError as error:
            return self._refused(call.number, error, _json_response(error.status, error.json(), error.headers))

    def _hook(self, secret: str, refusal: ApiError | None, exchange: _Exchange) -> web.Response:
        try:
            if refusal is not None:
                raise refusal
            use_response_url(self._platform, secret, Params(exchange.values, exchange.number))
        except ApiError as error:
            status = error.status if error.status != 200 else 400
            return self._refused(exchange.number, error, _json_response(status, error.json()))
        self._platform.journal.applied(exchange.number, {})
        return web.Response(text="ok")

    def _refused(self, number: int, error: ApiError, response: web.Response) -> web.Response:
        self._platform.refuse(number, error)
        self._platform.journal.unanswered(number, error.error)
        return response

    def _arrived(
        self, request: web.Request, method: str, values: JsonObject, work: Callable[[], web.Response]
    ) -> _Exchange:
        with self._platform.lock:
            shown = {name: value for name, value in values.items() if name != "token"}
            return _Exchange(request, self._platform.journal.arrived(method, shown), method, values, work)

    async def _with_faults(self, exchange: _Exchange) -> web.StreamResponse:
        with self._platform.lock:
            fault = self._platform.faults.take(exchange.method, exchange.place)
        if fault is not None:
            return await self._through(exchange, fault)
        self._process(exchange)
        return self._finish(exchange, lost=False)

    async def _through(self, exchange: _Exchange, fault: Fault) -> web.StreamResponse:
        effect = fault.effect
        self._platform.changed()
        if isinstance(effect, Answer):
            self._note(exchange, effect.status, "answered by a fault")
            headers = dict(effect.headers)
            return web.Response(
                status=effect.status, body=effect.body, content_type=effect.content_type, headers=headers
            )
        late = isinstance(effect, Delay) and not effect.applied
        if late:
            await self._hold(exchange, fault)
        if not isinstance(effect, Drop | Hang) or effect.applied:
            self._process(exchange)
        self._platform.changed()
        if not late:
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
            changed = self._waiting.waiter()
            await self._waiting.pause(changed, until)

    def _process(self, exchange: _Exchange) -> None:
        """Leaves the outcome in the exchange."""
        with self._platform.lock:
            exchange.response = exchange.work()

    def _finish(self, exchange: _Exchange, *, lost: bool) -> web.StreamResponse:
        transport = exchange.request.transport
        response = exchange.response
        if lost or response is None or exchange.client_gone:
            with self._platform.lock:
                why = "connection cut by a fault" if lost else "the client had gone"
                self._platform.journal.unanswered(exchange.number, why)
            self._platform.changed()
            if transport is not None:
                transport.abort()
            return web.Response(status=500)
        with self._platform.lock:
            error = self._platform.journal.calls[exchange.number].error
        self._note(exchange, response.status, error)
        return response

    def _note(self, exchange: _Exchange, status: int, error: str | None) -> None:
        with self._platform.lock:
            self._platform.journal.answered(exchange.number, status, error)
            self._platform.changed()


async def _values(request: web.Request) -> tuple[JsonObject, ApiError | None]:
    """The parameters, and what was wrong with the body. A token in the query does not count."""
    query = normalised({name: value for name, value in request.query.items() if name != "token"})
    try:
        if request.content_type == "multipart/form-data":
            form = await request.post()
            return query | normalised({name: one for name, one in form.items() if isinstance(one, str)}), None
        body = await request.read()
        if not body:
            return query, None
        return query | (json_values(body) if request.content_type == "application/json" else form_values(body)), None
    except ApiError as error:
        return query, error


async def _uploaded(request: web.Request) -> bytes:
    """The bytes of the file: the body itself, or the first file of a form."""
    if request.content_type != "multipart/form-data":
        return await request.read()
    form = await request.post()
    for one in form.values():
        if isinstance(one, web.FileField):
            return one.file.read()
    return b""


def _json_response(status: int, body: JsonObject, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(status=status, text=json.dumps(body), content_type="application/json", headers=headers)
