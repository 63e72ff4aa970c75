"""A screen in another process, attached over a socket: this end of it.

Each line of the wire is a JSON object with one member. From there: `say` (a line that was typed). To there: `kept`
(ticket or null, for each `say` in turn), `settled` (ticket), `show` ([message, text]), `settle`, `working` (bool),
`note` (words).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Final

from bots.terminal.outbound import from_wire, to_wire, visible
from bots.terminal.screen import Listener, ScreenGone
from core.vocabulary import MessageId

PATIENCE_S: Final = 10.0
"""A client that takes nothing for so long is let go, so that it holds up no other screen."""


class RemoteScreen:
    """See the module. `interactive` is what the other end says of itself."""

    def __init__(self, writer: asyncio.StreamWriter, *, interactive: bool) -> None:
        self.interactive = interactive
        self._writer = writer

    async def show(self, message: MessageId, text: str) -> None:
        await self._tell(show=[message, visible(text)])

    async def settle(self) -> None:
        await self._tell(settle=True)

    async def working(self, on: bool) -> None:
        await self._tell(working=on)

    async def note(self, words: str) -> None:
        await self._tell(note=words)

    async def kept(self, ticket: int | None) -> None:
        """The line was taken; None if there was nothing in it."""
        await self._tell(kept=ticket)

    async def settled(self, ticket: int) -> None:
        """The answer to this line was shown."""
        await self._tell(settled=ticket)

    async def _tell(self, **words: object) -> None:
        if self._writer.is_closing():
            raise ScreenGone("the client left")
        try:
            self._writer.write(to_wire(words))
            async with asyncio.timeout(PATIENCE_S):
                await self._writer.drain()
        except OSError as fault:  # a timeout is one too
            self._writer.transport.abort()
            raise ScreenGone("the client left") from fault


async def serve_lines(reader: asyncio.StreamReader, screen: RemoteScreen, listener: Listener) -> None:
    """Take the lines of an attached screen until it leaves or talks nonsense."""

    async def wait_for(ticket: int | None) -> None:
        if ticket is not None:
            await listener.settled(ticket)
            await screen.settled(ticket)

    waits: set[asyncio.Task[None]] = set()
    async with asyncio.TaskGroup() as group:
        with suppress(ScreenGone):
            while (line := await _next_line(reader)) is not None:
                ticket = await listener.offer(line)
                await screen.kept(ticket)
                wait = group.create_task(_while_there(wait_for(ticket)))
                waits.add(wait)
                wait.add_done_callback(waits.discard)
        for wait in tuple(waits):
            wait.cancel()


async def _while_there(work: Coroutine[None, None, None]) -> None:
    with suppress(ScreenGone):
        await work


async def _next_line(reader: asyncio.StreamReader) -> str | None:
    try:
        raw = await reader.readline()
        said = from_wire(raw)["say"] if raw else None
    except (OSError, ValueError, KeyError) as fault:
        raise ScreenGone("the client left, or does not speak as agreed") from fault
    return None if said is None else str(said)
