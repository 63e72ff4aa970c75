"""Test agents for the real daemon: `backend = "tests.fakes.agents_crash:make"`, `options = {journal = FILE}`.

A message is "KIND MARK"; the answer is `begin(MARK) ... end(MARK)`, so a whole answer can be told from a piece of one.
Every run adds the line "run MARK" to the journal, every use of the tool "tool MARK".

    fast    one delta, one part           long    one answer of two parts
    slow    words, 0.6 s: shown           crawl   more words, 2 s: shown, then edited while it grows
    tool    a call that writes            look    a call that only reads, and says so
    work    slow, then a call that writes
    hold    words, and then never an end          die     kills the process at once
    count   how many characters the message has, and nothing of it
    mass    the same after two seconds, in which more may come
    shrink  the first time a fast answer that goes on as crawl does, then only what it began with
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from core.agents.agent import Agent, AgentEvent, AgentSpec, TurnContext
from core.vocabulary import CallClosed, CallOpened, TextDelta

WORDS: Final = 30
PAUSE_S: Final = 0.02
MANY_WORDS: Final = 100
LINES: Final = 110
"""Some 5,500 characters: more than one Telegram message takes."""


def opening(mark: str) -> str:
    return f"begin({mark})"


def closing(mark: str) -> str:
    return f"end({mark})"


class CrashAgent:
    def __init__(self, journal: Path) -> None:
        self._journal = journal

    async def run(self, turn: TurnContext) -> AsyncIterator[AgentEvent]:
        kind, _, mark = turn.message.text.partition(" ")
        if kind in ("count", "mass"):
            await asyncio.sleep(2.0 if kind == "mass" else 0.0)
            yield TextDelta(text=f"counted {len(turn.message.text)}")
            return
        again = f"run {mark}" in self._noted()
        self._note("run", mark)
        if kind == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind in ("tool", "look"):
            await self._use_tool(turn, mark, read_only=kind == "look")
        yield TextDelta(text=f"{opening(mark)} ")
        if kind == "shrink":
            yield TextDelta(text=closing(mark))
        if kind in ("slow", "work", "crawl", "hold") or (kind == "shrink" and not again):
            for word in range(MANY_WORDS if kind in ("crawl", "shrink") else WORDS):
                await asyncio.sleep(PAUSE_S)
                yield TextDelta(text=f"word{word} ")
        if kind == "hold":
            await asyncio.Event().wait()
        if kind == "work":
            await self._use_tool(turn, mark, read_only=False)
        if kind == "long":
            yield TextDelta(text="\n".join(f"{mark} line {line:03} of a long answer to this." for line in range(LINES)))
            yield TextDelta(text="\n")
        if kind != "shrink":
            yield TextDelta(text=closing(mark))

    async def _use_tool(self, turn: TurnContext, mark: str, *, read_only: bool) -> None:
        await turn.opened([CallOpened(call=f"call-{mark}", tool="write", arguments="{}", read_only=read_only)])
        if not read_only:
            self._note("tool", mark)
        await turn.closed(CallClosed(call=f"call-{mark}", result="done", failed=False))

    def _noted(self) -> list[str]:
        return self._journal.read_text().splitlines() if self._journal.exists() else []

    def _note(self, what: str, mark: str) -> None:
        """In one write, so that a kill leaves a whole line or none."""
        file = os.open(self._journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, f"{what} {mark}\n".encode())
        finally:
            os.close(file)


def make(spec: AgentSpec) -> Agent:
    return CrashAgent(Path(str(spec.options["journal"])))
