"""The other end of an attached screen: the terminal of a process that is not the daemon."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

from bots.terminal.outbound import from_wire, to_wire
from bots.terminal.screen import OwnScreen, ScreenGone, attend
from bots.terminal.seat import own_screen, someone_sits_here
from core.vocabulary import MessageId

OpenStream = Callable[[Mapping[str, bool]], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
"""Have the daemon agree to an attached screen with these arguments, and return the stream."""


async def chat(open_stream: OpenStream, *, history: Path | None) -> int:
    """Make this process's terminal a screen of the daemon until its input ends; returns the exit code.

    `history` is the file that typed lines are kept in. Raises what `open_stream` raises, before anything is shown.
    """
    reader, writer = await open_stream({"interactive": someone_sits_here()})
    screen = own_screen(history=history)
    if await attach(reader, writer, screen):
        return 0
    await screen.note("the daemon left; what it took it still answers. Come back with: frontdesk chat")
    return 1


async def attach(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, screen: OwnScreen) -> bool:
    """Be the daemon's screen until the end of input, and until the answers have come if no person sits there.
    Returns False if the daemon left first."""
    daemon = _Daemon(reader, writer, screen)
    attending = asyncio.create_task(attend(screen, daemon))
    following = asyncio.create_task(daemon.follow())
    try:
        await asyncio.wait((attending, following), return_when=asyncio.FIRST_COMPLETED)
        with suppress(ScreenGone):
            await (attending if attending.done() else following)
            return attending.done()
        return True
    finally:
        await _end(attending, following)
        writer.close()


class _Daemon:
    """The daemon as the listener of this screen."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, screen: OwnScreen) -> None:
        self._reader, self._writer, self._screen = reader, writer, screen
        self._kept: deque[asyncio.Future[int | None]] = deque()
        self._settled: dict[int, asyncio.Future[None]] = {}

    async def offer(self, line: str) -> int | None:
        kept: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._kept.append(kept)
        self._writer.write(to_wire({"say": line}))
        with suppress(OSError):  # `follow` sees the end
            await self._writer.drain()
        return await kept

    async def settled(self, ticket: int) -> None:
        try:
            await self._settlement(ticket)
        finally:
            self._settled.pop(ticket, None)

    async def follow(self) -> None:
        """Carry out what the daemon says, in its order, until it leaves."""
        with suppress(OSError, ValueError):
            while raw := await self._reader.readline():
                for verb, value in from_wire(raw).items():
                    await self._obey(verb, value)

    async def _obey(self, verb: str, value: object) -> None:
        match verb, value:
            case "show", [str(message), str(text)]:
                await self._screen.show(MessageId(message), text)
            case "settle", True:
                await self._screen.settle()
            case "working", bool(on):
                await self._screen.working(on)
            case "note", str(words):
                await self._screen.note(words)
            case "kept", int() | None:
                if self._kept:
                    self._kept.popleft().set_result(value)
            case "settled", int(ticket):
                self._settlement(ticket).set_result(None)
            case _:
                pass  # a newer daemon's word: nothing to do here

    def _settlement(self, ticket: int) -> asyncio.Future[None]:
        return self._settled.setdefault(ticket, asyncio.get_running_loop().create_future())


async def _end(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
