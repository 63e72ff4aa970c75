"""The composition root: build, run, drain, stop. The only file that sees everything."""

from __future__ import annotations

import asyncio
import gc
import importlib.metadata
import shlex
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import structlog

from bots import open_bot
from bots.terminal.bot import TERMINAL, TerminalBot
from config.load import Loaded
from config.settings import TerminalSettings
from core.assembly import furnish
from core.chance import SystemRandom
from core.clock import SystemClock
from core.desk.desk import Desk
from core.errors import VerbFailed
from core.ports import Bot
from core.service import logs, schedule
from core.service.garbage import Garbage
from core.service.notices import Notices
from core.service.notify import Notifier
from core.service.schedule import Chores
from core.service.socket import SOCKET_NAME, Verb
from core.service.socket import serve as serve_socket
from core.service.socket_client import connect
from core.service.status import DaemonStatus, StoreStatus
from core.service.supervisor import BotHealth, Supervisor
from core.service.verbs import Verbs
from core.store import facts
from core.store.engine import Store
from core.store.open import exists, open_store
from core.store.sql import Tx
from core.vocabulary import BotName

log = structlog.get_logger("frontdesk")

HISTORY = "terminal_history"
ACCOUNT = "account:"
STOP_S = 15.0
"""From the end of draining to the end of the process, at most: owners, tool servers, the store."""


def version() -> str:
    """The installed version."""
    return importlib.metadata.version("frontdesk")


async def serve(loaded: Loaded, *, stdin: bool) -> int:
    """Run the daemon until SIGTERM or SIGINT, or with `stdin` until that input has ended; the exit code.

    Raises `ConfigError` and `StoreError` with words that say what to do.
    """
    gc.disable()  # a collection over the imports' objects costs more than the start itself
    logs.set_up(loaded.settings.secrets, level="WARNING" if stdin else "INFO")  # a person's screen is for answers
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        store = open_store(loaded.settings.store.url_in(loaded.state_dir), loaded.state_dir)
        stack.callback(store.close)
        daemon = Daemon(loaded, store, clock, stdin=stdin)
        return await daemon.run(stack)


class Daemon:
    """One run of the desk."""

    def __init__(self, loaded: Loaded, store: Store, clock: SystemClock, *, stdin: bool) -> None:
        self._loaded = loaded
        self._settings = loaded.settings
        self._store = store
        self._clock = clock
        self._random = SystemRandom(clock)
        self._stdin = stdin
        self._stop = asyncio.Event()
        self._hurry = asyncio.Event()
        self._lost = False
        self._notifier = Notifier(loaded.manager.socket)
        self.terminal = self._open_terminal()
        self.bots: dict[BotName, Bot] = self._open_bots()

    def _open_terminal(self) -> TerminalBot:
        named = [name for name, bot in self._settings.bots.items() if isinstance(bot, TerminalSettings)]
        return TerminalBot(
            BotName(named[0]) if named else TERMINAL,
            clock=self._clock,
            random=self._random,
            history=self._loaded.state_dir / HISTORY,
            stdin=self._stdin,
        )

    def _open_bots(self) -> dict[BotName, Bot]:
        bots: dict[BotName, Bot] = {self.terminal.name: self.terminal}
        for name, settings in self._settings.bots.items():
            if not isinstance(settings, TerminalSettings):
                through = settings.proxy or self._settings.network.proxy
                own = settings.model_copy(update={"proxy": through})
                bots[BotName(name)] = open_bot(BotName(name), own, clock=self._clock, random=self._random)
        return bots

    async def run(self, stack: AsyncExitStack) -> int:
        """Start in the order of dependence; the stack undoes it backwards."""
        approve = f"frontdesk --state {shlex.quote(str(self._loaded.state_dir))} people approve"
        house = furnish(self._settings, self._store, self.bots, self._clock, self._random, approve)
        health = BotHealth(self.bots, await self._store.read(lambda tx: _accounts(tx, list(self.bots))))
        desk = Desk(house, health, health.account_of, version(), health.heard)
        health.on_account = self._keep_account
        health.on_up, health.on_failed = house.outbox.open, house.outbox.hold
        for name in self.bots:
            house.outbox.hold(name)
        status = DaemonStatus(house, health)
        garbage = Garbage(self._clock)
        chores = Chores(house, desk, self._lose, garbage)
        stack.push_async_callback(house.agents.close)
        await desk.start()
        stack.push_async_callback(desk.close)
        verbs = Verbs(
            self._store, clock=self._clock, random=self._random, notices=house.notices, running=status,
            has_owners=bool(self._settings.access.owners),
        ).table()  # fmt: skip
        await stack.enter_async_context(serve_socket(self._loaded.state_dir / SOCKET_NAME, verbs, self.terminal.attach))
        supervisor = Supervisor(health, clock=self._clock, random=self._random)
        stack.push_async_callback(supervisor.stop)
        for bot in self.bots.values():
            task = supervisor.start(bot, desk)
            if bot is self.terminal and self._stdin:
                task.add_done_callback(lambda _: self._stop.set())
        stack.push_async_callback(schedule.start(chores, self._clock, self._settings.session.sweep_s).stop)
        self._listen_to_signals()
        status.ready = True
        garbage.begin()
        house.agents.warm()
        log.info("ready", bots=list(self.bots), state=str(self._loaded.state_dir))
        self._tell_manager(stack)
        await self._stop.wait()
        if self._lost:
            return 1
        await self._drain(desk)
        return 0

    async def _drain(self, desk: Desk) -> None:
        """Nothing new comes in, what runs may end; a second signal hurries. Bots still send meanwhile."""
        desk.stop_intake()
        log.info("stopping")
        self._notifier.stopping(self._settings.desk.drain_s + STOP_S)
        drain = asyncio.create_task(desk.drain(self._settings.desk.drain_s))
        hurry = asyncio.create_task(self._hurry.wait())
        await asyncio.wait({drain, hurry}, return_when=asyncio.FIRST_COMPLETED)
        drain.cancel()
        hurry.cancel()

    def _tell_manager(self, stack: AsyncExitStack) -> None:
        self._notifier.ready(f"bots: {', '.join(self.bots)}")
        watchdog_s = self._loaded.manager.watchdog_s
        if watchdog_s is not None:
            watching = asyncio.create_task(self._notifier.watch(watchdog_s), name="watchdog")
            stack.callback(watching.cancel)

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled)

    def _signalled(self) -> None:
        if self._stop.is_set():
            self._hurry.set()
        self._stop.set()

    def _lose(self) -> None:
        """Another daemon owns the store now: whatever runs here can write nothing any more."""
        self._lost = True
        self._stop.set()

    def _keep_account(self, bot: BotName, account: str) -> None:
        self._kept = asyncio.ensure_future(self._store.write(lambda tx: facts.put(tx, ACCOUNT + bot, account)))


def _accounts(tx: Tx, bots: list[BotName]) -> dict[BotName, str]:
    return {bot: facts.get(tx, ACCOUNT + bot) or "" for bot in bots}


@asynccontextmanager
async def offline(loaded: Loaded) -> AsyncIterator[Mapping[str, Verb]]:
    """The verbs, while no daemon runs: opens the store, and so holds its lock. Raises `StoreError`."""
    clock = SystemClock()
    url = loaded.settings.store.url_in(loaded.state_dir)
    if not exists(url, loaded.state_dir):
        raise VerbFailed(
            f"no desk has run here ({loaded.state_dir}); start one with `frontdesk run`, or name another --state"
        )
    store = open_store(url, loaded.state_dir)
    try:
        yield Verbs(
            store,
            clock=clock,
            random=SystemRandom(clock),
            notices=Notices(loaded.settings.desk.language),
            running=StoreStatus(store, clock.now),
            has_owners=bool(loaded.settings.access.owners),
        ).table()
    finally:
        store.close()


async def attach(loaded: Loaded) -> int:
    """Chat with the daemon that runs. Raises `NotRunning` before anything is shown."""
    from bots.terminal.client import chat

    async def open_stream(args: Mapping[str, bool]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer, _ = await connect(loaded.state_dir / SOCKET_NAME, "attach", args)
        return reader, writer

    return await chat(open_stream, history=loaded.state_dir / HISTORY)
