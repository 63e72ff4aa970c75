"""The HTTP side: one aiohttp application on loopback in front of a `Platform`.

Runs on the event loop that started it. The platform is used under its lock and never across an `await`.
"""

import json
from dataclasses import dataclass

from aiohttp import hdrs, web

from tests.fakes.discord.bodies import Body, read_body
from tests.fakes.discord.errors import ApiError, no_such_route, unauthorized, wrong_method
from tests.fakes.discord.model import Call
from tests.fakes.discord.platform import Account, Platform
from tests.fakes.discord.request import Reply, Request
from tests.fakes.discord.routes import DOWNLOAD, IN_WORDS, Route, find_route
from tests.fakes.discord.sockets import GatewayFront
from tests.fakes.discord.waiting import Waiters
from tests.fakes.faults import Answer, Delay, Drop, Fault, Hang

VERSION = "/api/v10"
MAX_BODY_BYTES = 100 * 1024 * 1024


@dataclass
class _Exchange:
    """One request on its way through."""

    request: web.Request
    route: Route | None
    asked: Request
    major: str
    channel_id: int | None
    reply: Reply | None = None
    error: ApiError | None = None

    @property
    def name(self) -> str:
        return self.asked.route

    @property
    def number(self) -> int:
        return self.asked.number

    @property
    def token(self) -> str:
        return self.asked.account.token if self.asked.account is not None else ""

    @property
    def client_gone(self) -> bool:
        return self.request.transport is None or self.request.transport.is_closing()


class HttpFront:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._waiters = Waiters(platform)
        self._gateway = GatewayFront(platform, self._waiters)
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def start(self, port: int = 0) -> None:
        application = web.Application(client_max_size=MAX_BODY_BYTES)
        for path in ("/gateway", "/gateway/", "/"):
            application.router.add_get(path, self._gateway.on_connect)
        application.router.add_route("*", "/{anything:.*}", self._on_call)
        self._port = port
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        self._waiters.start()
        await self.resume()

    async def stop(self) -> None:
        self._waiters.stop()
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
            self._platform.root = self.url

    def cut_connections(self) -> None:
        """On the server's loop."""
        server = self._runner.server if self._runner is not None else None
        for connection in list(server.connections) if server is not None else []:
            if connection.transport is not None:
                connection.transport.abort()
        self._waiters.wake_here()

    async def _on_call(self, request: web.Request) -> web.StreamResponse:
        body, refused = Body(), None
        try:
            body = await read_body(request)
        except ApiError as error:
            refused = error
        path = request.rel_url.raw_path.removeprefix(VERSION)
        known = request.rel_url.raw_path.startswith((VERSION + "/", "/cdn/"))
        route, match, path_known = find_route(request.method, path) if known else (None, None, False)
        with self._platform.lock:
            exchange = self._open(request, route, match.groupdict() if match else {}, body)
            refusal = self._door(exchange, path_known=path_known) or refused
            if refused is not None and refusal is refused:
                self._platform.refuse(exchange.number, refused)
        return await self._with_faults(exchange, refusal)

    def _open(self, request: web.Request, route: Route | None, found: dict[str, str], body: Body) -> _Exchange:
        journal = self._platform.journal
        account = self._account(request)
        ids = {name: int(value) for name, value in found.items() if name not in IN_WORDS}
        words = {name: value for name, value in found.items() if name not in ids}
        path = request.rel_url.raw_path.removeprefix(VERSION)
        name = route.name if route is not None else f"{request.method} {path}"
        channel_id = ids.get("channel") or self._channel_of(ids, words)
        call = Call(
            number=len(journal.calls),
            route=name,
            method=request.method,
            path=path,
            query=dict(request.query),
            body=body.logged(),
            bot_id=None if account is None else account.user_id,
            at=self._platform.clock(),
            channel_id=channel_id,
        )
        journal.calls.append(call)
        if not request.headers.get(hdrs.USER_AGENT):
            journal.problem("user_agent", f"{call.method} {call.path}", "no User-Agent", call.bot_id)
        asked = Request(
            number=call.number,
            route=name,
            ids=ids,
            words=words,
            query=dict(request.query),
            body=body.values,
            items=body.items,
            uploads=body.uploads,
            account=account,
        )
        major = "/".join(found[part] for part in ("channel", "guild", "application", "interaction") if part in found)
        return _Exchange(request, route, asked, f"{major}/{found.get('token', '')}", channel_id)

    def _channel_of(self, ids: dict[str, int], words: dict[str, str]) -> int | None:
        known = self._platform.interactions
        found = known.get(ids.get("interaction", 0))
        if found is None and "token" in words:
            found = next((one for one in known.values() if one.token == words["token"]), None)
        return None if found is None else found.channel_id

    def _account(self, request: web.Request) -> Account | None:
        scheme, _, token = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
        return self._platform.account_of(token) if scheme == "Bot" else None

    def _door(self, exchange: _Exchange, *, path_known: bool) -> ApiError | None:
        if exchange.route is None:
            other_version = exchange.request.rel_url.raw_path.startswith("/api/") and not path_known
            error = wrong_method() if path_known else no_such_route()
            if other_version and not exchange.request.rel_url.raw_path.startswith(VERSION + "/"):
                error = ApiError(400, 50041, "Invalid API version provided", rule="route")
            self._platform.refuse(exchange.number, error)
            return error
        return unauthorized() if exchange.asked.account is None and not exchange.route.open else None

    async def _with_faults(self, exchange: _Exchange, refusal: ApiError | None) -> web.StreamResponse:
        with self._platform.lock:
            fault = self._platform.faults.take(exchange.name, exchange.channel_id)
        effect = fault.effect if fault is not None else None
        self._platform.changed()
        if isinstance(effect, Answer):
            with self._platform.lock:
                self._platform.journal.answered(exchange.number, effect.status)
                self._platform.changed()
            heads = {**dict(effect.headers), hdrs.CONTENT_TYPE: effect.content_type}
            return web.Response(status=effect.status, body=effect.body, headers=heads)
        late = isinstance(effect, Delay) and not effect.applied
        if late and fault is not None:
            await self._hold(exchange, fault)
        if not isinstance(effect, Drop | Hang) or effect.applied:
            with self._platform.lock:
                self._apply(exchange, refusal)
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
        while not (self._waiters.stopping or fault.released.is_set() or exchange.client_gone):
            if until is not None and self._platform.clock() >= until:
                return
            await self._waiters.wait(self._waiters.waiter(), until)

    def _apply(self, exchange: _Exchange, refusal: ApiError | None) -> None:
        """Leaves the outcome in the exchange."""
        platform = self._platform
        try:
            if refusal is not None:
                raise refusal
            assert exchange.route is not None
            if exchange.name != DOWNLOAD:
                platform.limiter.admit(exchange.token, exchange.name, exchange.major, exchange.channel_id)
            self._check_keys(exchange, exchange.route)
            exchange.reply = exchange.route.handler(platform, exchange.asked)
        except ApiError as error:
            if refusal is None:
                platform.refuse(exchange.number, error)
            exchange.reply, exchange.error = Reply(status=error.status, body=error.json()), error
        else:
            platform.journal.applied(exchange.number, exchange.reply.body)

    def _check_keys(self, exchange: _Exchange, route: Route) -> None:
        """Discord overlooks fields that it does not know, and with them the typing errors of the bot."""
        if route.keys is not None and (strange := sorted(exchange.asked.body.keys() - route.keys)):
            call = self._platform.journal.calls[exchange.number]
            self._platform.journal.problem(
                "unknown_field", f"{call.method} {call.path}", ", ".join(strange), call.bot_id
            )

    def _finish(self, exchange: _Exchange, *, lost: bool) -> web.StreamResponse:
        transport, reply = exchange.request.transport, exchange.reply
        if lost or reply is None or exchange.client_gone:
            self._platform.changed()
            if transport is not None:
                transport.abort()
            return web.Response(status=500)
        with self._platform.lock:
            code = None if exchange.error is None else exchange.error.code
            self._platform.journal.answered(exchange.number, reply.status, code)
            heads = self._platform.limiter.headers(exchange.token, exchange.name, exchange.major, exchange.error)
            self._platform.changed()
        content = reply.content
        if content is None and reply.body is not None:
            content = json.dumps(reply.body).encode()
        if content is not None:
            # JSON goes out as exactly this type: with a charset the real SDK takes the body for text.
            heads[hdrs.CONTENT_TYPE] = reply.content_type
        return web.Response(status=reply.status, body=content, headers=heads)
