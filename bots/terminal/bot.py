"""The terminal as a platform: one chat, that of the machine's owner, on any number of screens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from bots.terminal.inbound import CHAT, message_of
from bots.terminal.outbound import TEXT_LIMIT, parts_of
from bots.terminal.remote import RemoteScreen, serve_lines
from bots.terminal.screen import Screen, ScreenGone, attend
from bots.terminal.seat import own_screen
from core.errors import StoreError, Unreachable
from core.ports import Clock, Desk, Random
from core.vocabulary import Address, BotName, Capabilities, ChatKind, Delivery, Message, MessageId, RowId, TextUnit

TERMINAL: Final = BotName("terminal")
_EDIT_INTERVAL_S: Final = 0.05
_TYPING_S: Final = 5.0
_AGAIN_S: Final = 1.0
"""Between two attempts to have a line stored."""
_PLAIN: Final = Capabilities(text_limit=TEXT_LIMIT, text_unit=TextUnit.CODE_POINTS)
_INTERACTIVE: Final = Capabilities(
    text_limit=TEXT_LIMIT,
    text_unit=TextUnit.CODE_POINTS,
    edit_interval_s=_EDIT_INTERVAL_S,
    typing_interval_s=_TYPING_S,
)


class TerminalBot:
    """`ports.Bot`. A delivery goes to every screen that is there; with none, nobody can be reached.

    `stdin` makes the process's own terminal, or its pipe, a screen; `run` then ends with its input. Other screens
    come through `attach`.
    """

    platform = "terminal"

    def __init__(
        self,
        name: BotName = TERMINAL,
        *,
        clock: Clock,
        random: Random,
        history: Path | None = None,
        stdin: bool = False,
    ) -> None:
        self.name = name
        self._clock, self._random = clock, random
        self._history, self._stdin = history, stdin
        self._screens: list[Screen] = []
        self._unsettled = 0
        self._growing: MessageId | None = None
        self._desk: asyncio.Future[Desk] | None = None

    @property
    def capabilities(self) -> Capabilities:
        """Those of the screens that are there now."""
        return _INTERACTIVE if self._someone_watches else _PLAIN

    async def run(self, desk: Desk) -> None:
        """Serve the screens; returns only when the process's own input has ended."""
        self._opened().set_result(desk)
        try:
            desk.health.account(self.name, CHAT)
            desk.health.up(self.name)
            if not self._stdin:
                await asyncio.Event().wait()
            screen = own_screen(history=self._history)
            with suppress(ScreenGone):
                async with self._showing(screen, desk):
                    await attend(screen, self)
        finally:
            self._desk = None

    async def attach(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, args: Mapping[str, object]
    ) -> None:
        """Serve a screen at the other end of this stream until it leaves; the caller closes the stream."""
        desk = await asyncio.shield(self._opened())
        screen = RemoteScreen(writer, interactive=args.get("interactive") is True)
        with suppress(ScreenGone):
            async with self._showing(screen, desk):
                await serve_lines(reader, screen, self)

    def parts(self, text: str) -> tuple[str, ...]:
        return parts_of(text)

    async def send(self, delivery: Delivery) -> MessageId:
        message = MessageId(str(delivery.id))
        await self._show(message, delivery.text)
        return message

    async def edit(self, delivery: Delivery, message: MessageId) -> None:
        await self._show(message, delivery.text)

    async def typing(self, address: Address) -> None:
        await self._on_screens(lambda screen: screen.working(True))

    async def offer(self, line: str) -> int | None:
        """Have a line stored, however long that takes; the ticket is its row."""
        said = message_of(line, bot=self.name, unique=self._random.uuid7(), at=self._clock.now())
        if said is None:
            return None
        return await self._stored(said)

    async def settled(self, ticket: int) -> None:
        """Wait until a stored line was answered, on the screens too."""
        desk = await asyncio.shield(self._opened())
        self._unsettled += 1
        try:
            await desk.settled(RowId(ticket))
        finally:
            self._unsettled -= 1
        if not self._unsettled:  # else what is shown may still grow
            self._growing = None
            await self._on_screens(lambda screen: screen.settle())

    @property
    def _someone_watches(self) -> bool:
        return any(screen.interactive for screen in self._screens)

    def _opened(self) -> asyncio.Future[Desk]:
        if self._desk is None:
            self._desk = asyncio.get_running_loop().create_future()
        return self._desk

    async def _stored(self, said: Message) -> RowId:
        desk = await asyncio.shield(self._opened())
        told = False
        while True:
            try:
                (receipt,) = await desk.receive([said])
            except StoreError as fault:
                if not told:
                    await self._note(f"not stored yet, trying again: {fault}")
                told = True
                await self._clock.sleep(_AGAIN_S)
            else:
                return receipt.row

    async def _show(self, message: MessageId, text: str) -> None:
        if self._someone_watches:
            self._growing = message
        if not self._screens or not await self._on_screens(lambda screen: screen.show(message, text)):
            raise Unreachable("no screen is attached")
        if message != self._growing:  # nobody watches, so it was not sent before it was whole
            await self._on_screens(lambda screen: screen.settle())

    async def _note(self, words: str) -> None:
        await self._on_screens(lambda screen: screen.note(words))

    async def _on_screens(self, do: Callable[[Screen], Awaitable[None]]) -> int:
        """How many screens did it; those that can't any more are taken away."""
        done = 0
        for screen in tuple(self._screens):
            try:
                await do(screen)
                done += 1
            except ScreenGone:
                self._take_away(screen)
        return done

    @asynccontextmanager
    async def _showing(self, screen: Screen, desk: Desk) -> AsyncIterator[None]:
        self._screens.append(screen)
        desk.arrived(self.name, CHAT, ChatKind.DIRECT)
        try:
            yield
        finally:
            self._take_away(screen)

    def _take_away(self, screen: Screen) -> None:
        if screen in self._screens:
            self._screens.remove(screen)
