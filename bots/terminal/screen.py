"""What a screen is, and how one is attended to: its lines are offered, and their answers waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing, suppress
from typing import Protocol

from msgspec import Struct

from bots.terminal.outbound import visible
from bots.terminal.streams import lines_of, write_all
from core.errors import BotError
from core.vocabulary import MessageId


class ScreenGone(BotError):
    """Nobody can read here any more: the pipe's reader left, the client vanished."""


class Screen(Protocol):
    """One place where the owner reads. Several tasks call it. Every method may raise `ScreenGone`."""

    @property
    def interactive(self) -> bool:
        """Whether text may still change once it is shown."""

    async def show(self, message: MessageId, text: str) -> None:
        """The text of a message as it is now; the message shown before it will not change any more."""

    async def settle(self) -> None:
        """What is shown is final."""

    async def working(self, on: bool) -> None:
        """An answer is being made, or no longer."""

    async def note(self, words: str) -> None:
        """A word of the terminal itself, no answer."""


class OwnScreen(Screen, Protocol):
    """A screen of this process, which also has the keyboard."""

    def lines(self) -> AsyncGenerator[str, None]:
        """What is typed, until the end of input."""

    def waiting(self, lines: int) -> None:
        """This many of its lines have no answer yet."""

    async def gone(self) -> None:
        """Return when nobody can read here any more."""


class Listener(Protocol):
    """Who takes the lines of a screen: the bot, or a client in the bot's place."""

    async def offer(self, line: str) -> int | None:
        """Return a ticket once the line is kept for good, None if there was nothing in it. One line at a time."""

    async def settled(self, ticket: int) -> None:
        """Return once the line is answered and all of it was shown."""


async def attend(screen: OwnScreen, listener: Listener) -> None:
    """Serve a screen until its end of input. Without a person at it, each line waits for the answer to the last, so
    that order and answers of a script are always the same, and the end waits for all. Raises `ScreenGone`."""
    try:
        if screen.interactive:
            await _converse(screen, listener)
        else:
            await _read_through(screen, listener)
    finally:
        with suppress(ScreenGone):
            await screen.settle()


async def _read_through(screen: OwnScreen, listener: Listener) -> None:
    async with aclosing(screen.lines()) as lines:
        async for line in lines:
            ticket = await listener.offer(line)
            if ticket is not None:
                await _unless_gone(screen, listener.settled(ticket))


async def _converse(screen: OwnScreen, listener: Listener) -> None:
    tickets: set[int] = set()

    async def wait_for(ticket: int) -> None:
        await listener.settled(ticket)
        tickets.discard(ticket)
        screen.waiting(len(tickets))

    async with asyncio.TaskGroup() as group, aclosing(screen.lines()) as lines:
        waits = []
        async for line in lines:
            ticket = await listener.offer(line)
            if ticket is None:
                continue
            tickets.add(ticket)
            screen.waiting(len(tickets))
            waits.append(group.create_task(wait_for(ticket)))
            waits = [wait for wait in waits if not wait.done()]
        for wait in waits:
            wait.cancel()


async def _unless_gone(screen: OwnScreen, work: Coroutine[None, None, None]) -> None:
    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(screen.gone())
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ScreenGone("nobody reads the answers")
        await working
    finally:
        working.cancel()
        gone.cancel()


class _Shown(Struct, frozen=True, kw_only=True):
    message: MessageId
    text: str


class PlainScreen:
    """Lines in, answers out, nothing else; the terminal's own words go where errors go."""

    interactive = False

    def __init__(self, *, input_fd: int, output_fd: int, error_fd: int) -> None:
        self._input, self._output, self._error = input_fd, output_fd, error_fd
        self._open: _Shown | None = None
        self._last: _Shown | None = None
        self._gone = asyncio.Event()
        self._writing = asyncio.Lock()

    def lines(self) -> AsyncGenerator[str, None]:
        return lines_of(self._input)

    def waiting(self, lines: int) -> None:
        pass

    async def gone(self) -> None:
        await self._gone.wait()

    async def show(self, message: MessageId, text: str) -> None:
        if self._gone.is_set():
            raise ScreenGone("nobody reads the answers")
        async with self._writing:
            if self._open and self._open.message != message:
                await self._print()
            shown = _Shown(message=message, text=text)
            self._open = None if shown == self._last else shown

    async def settle(self) -> None:
        async with self._writing:
            await self._print()

    async def working(self, on: bool) -> None:
        pass

    async def note(self, words: str) -> None:
        with suppress(OSError):
            await write_all(self._error, f"{visible(words)}\n".encode())

    async def _print(self) -> None:
        shown, self._open = self._open, None
        if shown is None:
            return
        try:
            await write_all(self._output, f"{visible(shown.text)}\n".encode())
        except OSError as fault:
            self._gone.set()
            raise ScreenGone("nobody reads the answers") from fault
        self._last = shown
