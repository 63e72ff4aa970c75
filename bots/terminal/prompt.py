"""The screen of a person: a prompt at the bottom, and above it answers that grow while they are written.

What of an answer can't change any more is printed for good; the rest stands between it and the prompt, as part of the
prompt, and is drawn anew by prompt_toolkit.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.application.run_in_terminal import in_terminal
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output
from prompt_toolkit.output.vt100 import Vt100_Output

from bots.terminal.outbound import visible
from bots.terminal.rendering import finished, to_ansi
from core.vocabulary import MessageId

STOP: Final = "/stop"
QUIT: Final = ("/quit", "/exit")
"""Lines that leave, as Ctrl-D does; they are for the prompt, not for the desk."""
HINT: Final = "Ctrl-D or /quit leaves, Ctrl-C stops an answer"
_PROMPT: Final = "> "
_WORKING: Final = "…"
_TAIL_CHARACTERS: Final = 4_000
"""Of a block that is still being written, more than this is drawn without markup, so that drawing stays quick."""
_PARSED_CHARACTERS: Final = 20_000
"""A block that is still being written and longer than this is not looked at again before it is final."""


class _Growing:
    """A message on its way: `printed` is the part of its source that stands above the prompt for good."""

    def __init__(self, message: MessageId) -> None:
        self.message = message
        self.text = ""
        self.printed = ""

    @property
    def rest(self) -> str:
        return self.text[len(self.printed) :]


class PromptScreen:
    """See the module. Ctrl-C stops what runs, or clears the line, or says how to leave; Ctrl-D leaves."""

    interactive = True

    def __init__(self, *, history: Path | None) -> None:
        self._input: Input = Vt100Input(sys.stdin)
        # No cursor position requests: a terminal that answers late would type its answers into the prompt.
        output = Vt100_Output.from_pty(sys.stdout)
        output.enable_cpr = False
        self._output: Output = output
        self._session: PromptSession[str] = PromptSession(
            self._above_and_prompt,
            history=_history(history),
            key_bindings=self._keys(),
            reserve_space_for_menu=0,
            input=self._input,
            output=self._output,
        )
        self._typed: asyncio.Queue[str | None] = asyncio.Queue()
        self._drawing = asyncio.Lock()
        self._growing: _Growing | None = None
        self._tail = ""
        self._waiting = 0
        self._working = False

    async def lines(self) -> AsyncGenerator[str, None]:
        await self.note(HINT)
        asking = asyncio.create_task(self._ask())
        try:
            while (line := await self._typed.get()) is not None:
                yield line
            await asking
        finally:
            asking.cancel()
            await asyncio.wait((asking,))

    def waiting(self, lines: int) -> None:
        self._waiting = lines
        if not lines:
            self._working = False
        self._session.app.invalidate()

    async def gone(self) -> None:
        await asyncio.Event().wait()

    async def show(self, message: MessageId, text: str) -> None:
        async with self._drawing:
            if self._growing is None or self._growing.message != message:
                await self._finish()
                self._growing = _Growing(message)
            self._working = False
            await self._grow(self._growing, visible(text))

    async def settle(self) -> None:
        async with self._drawing:
            await self._finish()
        self._working = False
        self._session.app.invalidate()

    async def working(self, on: bool) -> None:
        self._working = on
        self._session.app.invalidate()

    async def note(self, words: str) -> None:
        async with self._drawing:
            await self._print(f"({visible(words)})\n")

    async def _ask(self) -> None:
        try:
            with suppress(EOFError):
                while True:
                    await self._ask_once()
        finally:
            self._typed.put_nowait(None)

    async def _ask_once(self) -> None:
        with suppress(KeyboardInterrupt):
            # The signals and the loop belong to whoever runs this process.
            line = await self._session.prompt_async(handle_sigint=False, set_exception_handler=False)
            if line.strip() in QUIT:
                raise EOFError
            self._typed.put_nowait(line)

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        def _stop_or_clear(event: KeyPressEvent) -> None:
            if self._waiting or self._working:
                self._typed.put_nowait(STOP)
            elif event.current_buffer.text:
                event.current_buffer.reset()
            else:
                event.app.create_background_task(self.note(HINT))

        return keys

    def _above_and_prompt(self) -> ANSI:
        if self._session.app.is_done:
            return ANSI(_PROMPT)
        sign = _WORKING if self._working else ""
        rows = (self._tail or sign).rstrip("\n").split("\n")[-max(1, self._output.get_size().rows - 3) :]
        return ANSI("\n".join([*rows, _PROMPT]) if rows != [""] else _PROMPT)

    async def _grow(self, growing: _Growing, text: str) -> None:
        if not text.startswith(growing.printed):
            growing.printed = ""  # it became another text: that one is shown whole
        growing.text = text
        rest = growing.rest
        if len(rest) <= _PARSED_CHARACTERS and (length := await asyncio.to_thread(finished, rest)):
            self._tail = ""
            await self._print(await self._rendered(rest[:length]) + "\n")
            growing.printed = text[: len(growing.printed) + length]
        rest = growing.rest
        self._tail = await self._rendered(rest) if len(rest) <= _TAIL_CHARACTERS else rest[-_TAIL_CHARACTERS:]
        self._session.app.invalidate()

    async def _finish(self) -> None:
        growing = self._growing
        if growing is None:
            return
        if growing.rest.strip():
            ansi = await self._rendered(growing.rest)
            self._tail = ""
            await self._print(ansi + "\n")
            growing.printed = growing.text
        self._tail = ""

    async def _rendered(self, text: str) -> str:
        return await asyncio.to_thread(to_ansi, text, self._output.get_size().columns)

    async def _print(self, ansi: str) -> None:
        async with in_terminal():
            self._output.write_raw(ansi.replace("\n", "\r\n"))
            self._output.flush()


def _history(path: Path | None) -> History:
    """Kept in a file that only its owner reads; where it can't be kept, for this time."""
    if path is None:
        return InMemoryHistory()
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
        path.chmod(0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
