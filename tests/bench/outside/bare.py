"""`python -m tests.bench.outside.bare`: a turn's I/O in one process, without a daemon around it.

For each message that arrives: a share of the units of work that the daemon stores, the same model's answer streamed by
pydantic-ai, and the same calls of the platform. The first order is the setup, every later one says what a turn makes:
`{"units": 4.0, "kinds": {"typing": 0.5, "preview": 1.0}}`, each per turn; what is not whole is made up for over turns.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sqlite3
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Mapping
from contextlib import AsyncExitStack, closing
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

from aiohttp import ClientSession, TCPConnector
from pydantic_ai.messages import ModelMessage

from tests.bench.alone import Alone, alone
from tests.bench.outside.clients import CLIENTS, Client
from tests.bench.provider import Provider

LISTENING_S: Final = 30.0
TABLE: Final = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE units (id INTEGER, at TEXT);"
BEGUN: Final = 0.5
"""The share of a turn's units that is stored before its model is asked."""


class Commits(threading.Thread):
    """One row for each unit of work, `synchronous=FULL`; units that wait at the same time share a commit."""

    def __init__(self, file: Path) -> None:
        super().__init__(daemon=True)
        self._file = file
        self._units: SimpleQueue[asyncio.Future[None]] = SimpleQueue()
        self._loop = asyncio.get_running_loop()

    async def unit(self) -> None:
        """Returns once it is stored."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._units.put(done)
        await done

    def run(self) -> None:
        with closing(sqlite3.connect(self._file, isolation_level=None)) as connection:
            connection.executescript(TABLE)
            while True:
                waiting = self._gathered()
                connection.execute("BEGIN IMMEDIATE")
                for number, _ in enumerate(waiting):
                    connection.execute("INSERT INTO units VALUES (?, ?)", (number, "2026-06-01T12:00:00Z"))
                connection.execute("COMMIT")
                self._loop.call_soon_threadsafe(_finish, waiting)

    def _gathered(self) -> list[asyncio.Future[None]]:
        waiting = [self._units.get()]
        while True:
            try:
                waiting.append(self._units.get_nowait())
            except Empty:
                return waiting


def _finish(waiting: list[asyncio.Future[None]]) -> None:
    for done in waiting:
        done.set_result(None)


class Plan:
    """What a turn makes, on average."""

    def __init__(self) -> None:
        self._per_turn: Mapping[str, float] = {}
        self._owed: defaultdict[str, float] = defaultdict(float)

    def set(self, order: Mapping[str, Any]) -> None:
        self._per_turn = {**order["kinds"], "begun": order["units"] * BEGUN, "ended": order["units"] * (1 - BEGUN)}
        self._owed.clear()

    def take(self, what: str) -> int:
        """How many of these this turn makes."""
        self._owed[what] += self._per_turn.get(what, 0.0)
        whole = int(self._owed[what] + 1e-9)
        self._owed[what] -= whole
        return whole


class Bare:
    def __init__(self, plan: Plan, commits: Commits, model: Alone | None) -> None:
        self._plan = plan
        self._commits = commits
        self._model = model
        self._histories: dict[str, list[ModelMessage]] = {}
        self._turns: set[asyncio.Task[None]] = set()

    def heard(self, client: Client, chat: str, text: str) -> None:
        turn = asyncio.create_task(self._turn(client, chat, text))
        self._turns.add(turn)
        turn.add_done_callback(self._ended)

    def _ended(self, turn: asyncio.Task[None]) -> None:
        self._turns.discard(turn)
        turn.result()

    async def _turn(self, client: Client, chat: str, text: str) -> None:
        plan = self._plan
        for _ in range(plan.take("begun")):
            await self._commits.unit()
        for _ in range(plan.take("typing")):
            await client.typing(chat)
        previews = _Previews(client, chat, plan.take("preview"))
        answer = text
        if self._model is not None:
            answer = await self._answer(self._model, chat, text, previews)
        else:
            previews.hear(text)
        shown = await previews.shown()
        for _ in range(plan.take("ended")):
            await self._commits.unit()
        await client.send(chat, answer, shown)

    async def _answer(self, model: Alone, chat: str, text: str, previews: _Previews) -> str:
        history = self._histories.get(chat, [])
        self._histories[chat] = await model.answer(history, previews.hear, text)
        return previews.text


class _Previews:
    """So many of one answer's beginning, from its first piece on."""

    def __init__(self, client: Client, chat: str, number: int) -> None:
        self._client = client
        self._chat = chat
        self._number = number
        self._showing: asyncio.Task[str | None] | None = None
        self.text = ""

    def hear(self, piece: str) -> None:
        self.text += piece
        if self._number and self._showing is None:
            self._showing = asyncio.create_task(self._show())

    async def _show(self) -> str | None:
        shown = None
        for _ in range(self._number):
            shown = await self._client.preview(self._chat, self.text.split(" ")[0], shown)
        return shown

    async def shown(self) -> str | None:
        return await self._showing if self._showing is not None else None


async def _line() -> dict[str, Any] | None:
    """The next order; None at the end of standard input."""
    text = await asyncio.to_thread(sys.stdin.readline)
    if not text:
        return None
    order: dict[str, Any] = json.loads(text)
    return order


async def main() -> None:
    setup = await _line()
    assert setup is not None
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="frontdesk-bench-")))
        session = await stack.enter_async_context(ClientSession(connector=TCPConnector(limit=0)))
        model = None
        if setup["model"] is not None:
            source = Provider(url=setup["model"]["url"], key=setup["model"]["key"])
            opened = alone(source, setup["model"]["name"], over_aiohttp=setup["over_aiohttp"])
            model = await stack.enter_async_context(opened)
        plan, commits = Plan(), Commits(folder / "bare.db")
        commits.start()
        bare = Bare(plan, commits, model)
        clients = [CLIENTS[setup["platform"]](session, account) for account in setup["accounts"]]
        running = [asyncio.create_task(_run(client, bare)) for client in clients]
        async with asyncio.timeout(LISTENING_S):
            for client in clients:
                await client.listening.wait()
        gc.collect()
        gc.freeze()
        print("{}", flush=True)
        while (order := await _line()) is not None:
            plan.set(order)
            print("{}", flush=True)
        for task in running:
            task.cancel()


async def _run(client: Client, bare: Bare) -> None:
    await client.run(lambda chat, text: bare.heard(client, chat, text))


if __name__ == "__main__":
    asyncio.run(main())
