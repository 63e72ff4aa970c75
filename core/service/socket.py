"""The daemon's own socket: `STATE/frontdesk.sock`, for whoever may enter the state directory. JSON, one value a line.

A request is `{"verb": "status", "args": {...}}`, its answer `{"ok": true, "result": ...}` or
`{"ok": false, "error": "...", "code": 1}`; a connection may ask several times. After the verb `attach` was answered the
stream belongs to the terminal bot.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

from core.errors import ConfigError, FrontdeskError, VerbFailed

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
Verb: TypeAlias = Callable[[Mapping[str, Json]], Awaitable[Json]]
"""Raises `VerbFailed`, or another `FrontdeskError` whose text is fit to be shown."""
Attach: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter, Mapping[str, Json]], Awaitable[None]]
"""Takes the stream over; returns when it is done with it. Closing it is the server's."""

SOCKET_NAME: Final = "frontdesk.sock"
LINE_LIMIT: Final = 8 * 1024 * 1024
"""Bytes: a text of 1,000,000 characters of four bytes each, and its envelope."""
PATIENCE_S: Final = 10.0
"""For a client that does not take its answer."""
_ADDRESS_LIMIT: Final = 107
"""Bytes of a path in a socket address (sun_path, unix(7))."""


@asynccontextmanager
async def serve(path: Path, verbs: Mapping[str, Verb], attach: Attach | None) -> AsyncIterator[None]:
    """Listen while the body runs; on leaving, every connection is cut.

    Whoever calls holds the store's lock: a socket that is already there was left by a dead process and is replaced.
    Raises `ConfigError` if the place can't be had.
    """
    listening = _listen(path)
    identity = _identity(path)
    clients = _Clients(verbs, attach)
    try:
        server = await asyncio.start_unix_server(clients.serve, sock=listening, limit=LINE_LIMIT)
        try:
            yield
        finally:
            server.close()
            await clients.cut()
    finally:
        listening.close()
        _forget(path, identity)


@contextmanager
def address_of(path: Path) -> Iterator[str]:
    """A socket address for a path of any length, good while the body runs. Raises `OSError` if its folder is not
    there."""
    if len(os.fsencode(path)) <= _ADDRESS_LIMIT:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


class _Clients:
    """Every open connection, each served by a task of its own."""

    def __init__(self, verbs: Mapping[str, Verb], attach: Attach | None) -> None:
        self._verbs = verbs
        self._attach = attach
        self._tasks: set[asyncio.Task[None]] = set()

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """What asyncio calls for a new connection."""
        task = asyncio.create_task(self._serve(reader, writer), name="socket client")
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()):
            context = {"message": "a request over the socket failed", "exception": fault, "task": task}
            task.get_loop().call_exception_handler(context)

    async def cut(self) -> None:
        """End every connection."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(OSError):  # the client left
            while request := await _next_request(reader):
                if not await self._answer(request, reader, writer):
                    break

    async def _answer(self, request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection may ask again."""
        try:
            verb, args = _parsed(request)
            if verb == "attach" and self._attach:
                await _say(writer, {"ok": True, "result": None})
                await self._attach(reader, writer, args)
                return False
            answer: dict[str, Json] = {"ok": True, "result": await self._verbs.get(verb, _unknown)(args)}
        except VerbFailed as fault:
            answer = {"ok": False, "error": str(fault), "code": fault.code}
        except FrontdeskError as fault:
            answer = {"ok": False, "error": str(fault), "code": 1}
        await _say(writer, answer)
        return True


async def _unknown(args: Mapping[str, Json]) -> Json:
    raise VerbFailed("this daemon does not know that verb", code=2)


async def _next_request(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ValueError:  # longer than LINE_LIMIT
        return b""


def _parsed(request: bytes) -> tuple[str, Mapping[str, Json]]:
    try:
        asked = json.loads(request)
        verb, args = asked["verb"], asked.get("args") or {}
    except (ValueError, TypeError, KeyError, AttributeError) as fault:
        raise VerbFailed("not a request", code=2) from fault
    if not isinstance(verb, str) or not isinstance(args, dict):
        raise VerbFailed("not a request", code=2)
    return verb, args


async def _say(writer: asyncio.StreamWriter, answer: Json) -> None:
    writer.write(json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n")
    try:
        async with asyncio.timeout(PATIENCE_S):
            await writer.drain()
    except TimeoutError:
        writer.transport.abort()
        raise


def _listen(path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    try:
        if _identity(path):
            path.unlink()
        with address_of(path) as address:
            listening.bind(address)
        path.chmod(0o600)  # before it listens, so that nobody else ever got in
        listening.listen()
    except OSError as fault:
        listening.close()
        raise ConfigError(
            f"can't listen on {path}: {fault.strerror}; make room there or use another --state"
        ) from fault
    return listening


def _forget(path: Path, identity: tuple[int, int] | None) -> None:
    if _identity(path) == identity:
        path.unlink(missing_ok=True)


def _identity(path: Path) -> tuple[int, int] | None:
    """Which socket this is; None where there is none."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISSOCK(found.st_mode) else None
