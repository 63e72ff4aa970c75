"""The one place where HTTP comes in (`[listen]`): keeps a server at the address, and waits for one that is taken.

Nothing here imports a server: that is done on a thread once the desk is ready, so that a start does not wait for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import socket
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal, Protocol

import structlog
from msgspec import Struct

from config.settings import ListenSettings
from core.backoff import backoff_s
from core.ports import AsgiApp, Bot, Clock, Random, ServesHttp
from core.service.hosts import OwnNames

if TYPE_CHECKING:
    from core.service.web import Server

log = structlog.get_logger("frontdesk.listener")

State = Literal["starting", "up", "waiting", "stopped"]

AGAIN_S = (1.0, 60.0)
"""An address that can't be had is tried again after this long, each time twice as long, at most the second."""
READY_S = 5.0
"""A start that takes longer is worth watching: the listener comes up before it is over."""
BACKLOG = 128


class ListenerStatus(Struct, frozen=True, kw_only=True):
    """`address` is HOST:PORT, the real port once it is up; `detail` says what is wrong and what to do, or nothing."""

    address: str
    state: State
    detail: str = ""


class Site(Protocol):
    """What the server serves besides the mounted applications."""

    def load(self) -> None:
        """Import what it takes; blocking, on a thread."""

    def app(self, mounted: Mapping[str, AsgiApp]) -> AsgiApp:
        """The whole of it, once it is loaded; what is mounted later shows up in the same mapping."""


class Listener:
    """Lives on the main loop."""

    def __init__(self, settings: ListenSettings, site: Site, *, clock: Clock, random: Random) -> None:
        self.status = ListenerStatus(address=_shown(settings.host, settings.port), state="starting")
        self._settings = settings
        self._site = site
        self._clock = clock
        self._random = random
        self._mounted: dict[str, AsgiApp] = {}
        self._platforms: set[str] = set()
        """Prefixes that platforms call: their bots verify each request."""
        self._begun = asyncio.Event()
        self._moved = asyncio.Event()
        self._server: Server | None = None

    def mount(self, prefix: str, app: AsgiApp) -> None:
        """Serve an application below a path such as `/v1` from now on, at any time; "" is whatever nothing else serves.
        Raises `ValueError` if the place is taken."""
        if prefix and (not prefix.startswith("/") or prefix.endswith("/")):
            raise ValueError(f"{prefix!r} is no prefix; it begins with a slash and does not end with one")
        if prefix in self._mounted:
            raise ValueError(f"{prefix} is served already")
        self._mounted[prefix] = app

    def unmount(self, prefix: str) -> None:
        """Serve nothing there any more; requests that run end as they began."""
        self._mounted.pop(prefix, None)
        self._platforms.discard(prefix)

    def open_to(self, bot: Bot) -> None:
        """Serve what a bot has to be reached by."""
        if isinstance(bot, ServesHttp):
            for prefix, app in bot.asgi.items():
                self.mount(prefix, app)
                self._platforms.add(prefix)

    def close_to(self, bot: Bot) -> None:
        """The bot has left."""
        if isinstance(bot, ServesHttp):
            for prefix in bot.asgi:
                self.unmount(prefix)

    def begin(self) -> None:
        """The desk is ready: nobody waits for what the listener has to load any more."""
        self._begun.set()

    async def move(self, settings: ListenSettings) -> None:
        """Another address, or other proxies, from now on; the same again changes nothing."""
        if settings == self._settings:
            return
        self._settings = settings
        self._moved.set()
        if self._server is not None:
            self._server.leave()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Listen while the body runs, from `begin` on; leaving cuts every connection within half a second."""
        keeping = asyncio.create_task(self._keep(), name="listener")
        keeping.add_done_callback(self._ended)
        try:
            yield
        finally:
            if self._server is not None:
                await self._server.stop()
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            self._say("stopped")

    async def _keep(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(READY_S):
                await self._begun.wait()
        await asyncio.to_thread(_load, self._site)
        app, failures = self._site.app(self._mounted), 0
        while True:
            self._moved.clear()
            settings = self._settings
            try:
                await self._serve(app, settings, await bind(settings.host, settings.port))
                failures = 0
            except OSError as error:
                self._wait_for_address(error)
                await self._pause(failures)
                failures = 0 if self._moved.is_set() else failures + 1

    async def _serve(self, app: AsgiApp, settings: ListenSettings, sockets: Sequence[socket.socket]) -> None:
        """Until the server is told to leave; not at all if that is not where to listen any more."""
        from core.service.web import Server

        if settings is not self._settings:
            _close(sockets)
            return
        self._server = Server(OwnNames(app, settings, self._verifies), settings)
        self._say("up", port=int(sockets[0].getsockname()[1]))
        log.info("listening", address=self.status.address)
        await self._server.serve(sockets=list(sockets))

    def _verifies(self, path: str) -> bool:
        prefix = mounted_at(path, self._mounted)
        return prefix in self._platforms and prefix != ""  # below "" are the pages, too

    def _wait_for_address(self, error: OSError) -> None:
        detail = _why(error, self._settings)
        if detail != self.status.detail:
            log.warning("not_listening", address=_shown(self._settings.host, self._settings.port), why=detail)
        self._say("waiting", detail)

    async def _pause(self, failures: int) -> None:
        """Before the next try; a new address is tried at once."""
        least, most = AGAIN_S
        wait = backoff_s(failures, least, most) * self._random.uniform(0.75, 1.0)
        moved = asyncio.create_task(self._moved.wait())
        slept = asyncio.create_task(self._clock.sleep(wait))
        try:
            await asyncio.wait({moved, slept}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            moved.cancel()
            slept.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (fault := task.exception()) is not None:
            log.error("listener_fault", exc_info=fault)
            self._say("stopped", f"fault in the listener ({type(fault).__name__}); the log says more, a restart helps")

    def _say(self, state: State, detail: str = "", *, port: int | None = None) -> None:
        address = _shown(self._settings.host, self._settings.port if port is None else port)
        self.status = ListenerStatus(address=address, state=state, detail=detail)


def mounted_at(path: str, mounted: Iterable[str]) -> str | None:
    """The prefix of the application that is asked: the longest that fits."""
    return max((one for one in mounted if path == one or path.startswith(f"{one}/")), key=len, default=None)


async def bind(host: str, port: int) -> list[socket.socket]:
    """A socket for each address that the host has; port 0 is the same free one for all. Raises `OSError` if a port is
    taken, or none of the addresses is this machine's."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except UnicodeError as error:  # no name that could be asked for
        raise socket.gaierror(socket.EAI_NONAME, str(error)) from error
    sockets: list[socket.socket] = []
    missing: OSError = OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
    for family, _, _, _, address in dict.fromkeys(found):
        taken = sockets[0].getsockname()[1] if sockets else port
        try:
            sockets.append(_bound(family, (address[0], taken, *address[2:])))
        except OSError as error:
            missing = error
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                _close(sockets)
                raise
    if not sockets:
        raise missing
    return sockets


def _close(sockets: Sequence[socket.socket]) -> None:
    for one in sockets:
        one.close()


def _bound(family: int, address: tuple[str | int, ...]) -> socket.socket:
    kind = socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
    bound = socket.socket(family, kind, socket.IPPROTO_TCP)  # named, or asyncio would leave Nagle's delay on
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # else a restart waits for old connections
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # `::` leaves `0.0.0.0` to its own socket
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError:
        bound.close()
        raise
    return bound


def _shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _why(error: OSError, settings: ListenSettings) -> str:
    where = _shown(settings.host, settings.port)
    if isinstance(error, socket.gaierror):
        return f"[listen] host {settings.host} is not known here; write an address of this machine"
    match error.errno:
        case errno.EADDRINUSE:
            return f"another program listens on {where}; end it, or choose another [listen] port; it is tried again"
        case errno.EACCES:
            return f"{where} may not be had by this user; choose a [listen] port of 1024 or more"
        case errno.EADDRNOTAVAIL:
            return f"[listen] host {settings.host} is no address of this machine; it is tried again"
        case _:
            return f"{where} can't be had ({error.strerror or error}); it is tried again"


def _load(site: Site) -> None:
    collecting = gc.isenabled()
    gc.disable()  # a collection in the middle of the imports would hold up the main loop
    try:
        site.load()
    finally:
        gc.freeze()
        if collecting:
            gc.enable()
