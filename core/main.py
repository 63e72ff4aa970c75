"""The composition root: build, run, drain, stop. The only file that sees everything."""

from __future__ import annotations

import asyncio
import gc
import importlib.metadata
import shlex
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, Protocol

import structlog
from msgspec import Struct, field

from bots import open_bot
from bots.terminal.bot import TERMINAL, TerminalBot
from config.bots import BotSettings
from config.load import Loaded
from config.settings import Settings
from core.assembly import Premises, furnish
from core.chance import SystemRandom
from core.clock import SystemClock
from core.desk.desk import Desk
from core.errors import VerbFailed
from core.ports import Bot, Clock, Random, ServesHttp
from core.reload import Reading, Reload, Staff
from core.service import logs
from core.service.garbage import Garbage
from core.service.logs import Logs
from core.service.memory_guard import guard_memory
from core.service.notices import Notices
from core.service.notify import Notifier
from core.service.schedule import WATCH_S, Chores, Schedule
from core.service.signals import Signals
from core.service.socket import SOCKET_NAME, Json, Verb
from core.service.socket import serve as serve_socket
from core.service.socket_client import connect
from core.service.status import DaemonStatus, StoreStatus
from core.service.supervisor import BotHealth, Supervisor
from core.service.verbs import AtRest, AtWork, Verbs
from core.service.watching import watched
from core.store import facts
from core.store.engine import Store
from core.store.open import exists, open_store
from core.store.sql import Tx
from core.vocabulary import BotName

log = structlog.get_logger("frontdesk")

HISTORY = "terminal_history"
STOP_S = 15.0
"""From the end of draining to the end of the process, at most: owners, tool servers, the store."""


def version() -> str:
    """The installed version."""
    return importlib.metadata.version("frontdesk")


class OpensBots(Protocol):
    def __call__(self, name: BotName, settings: BotSettings, *, clock: Clock, random: Random) -> Bot:
        """Make one configured bot."""


class Wiring(Struct, frozen=True, kw_only=True):
    """What a daemon is built with besides its configuration; tests give it others. `watch_s`: how often it looks
    whether its clock was set."""

    clock: Clock = field(default_factory=SystemClock)
    open_bot: OpensBots = open_bot
    watch_s: float = WATCH_S


WIRING: Final = Wiring()


async def serve(loaded: Loaded, signals: Signals, *, stdin: bool, wiring: Wiring = WIRING) -> int:
    """Run the daemon until SIGTERM or SIGINT, or with `stdin` until that input has ended; the exit code.

    Raises `ConfigError` and `StoreError` with words that say what to do.
    """
    gc.disable()  # a collection over the imports' objects costs more than the start itself
    guard_memory()
    level = "WARNING" if stdin else "INFO"  # a person's screen is for answers
    logbook = logs.set_up(loaded.settings.secrets, level=level, journal=loaded.manager.journal)
    async with AsyncExitStack() as stack:
        store = open_store(loaded.settings.store.url_in(loaded.state_dir), loaded.state_dir)
        stack.callback(store.close)
        daemon = Daemon(loaded, store, logbook, signals, stdin=stdin, wiring=wiring)
        return await daemon.run(stack)


class Daemon:
    """One run of the desk."""

    def __init__(
        self, loaded: Loaded, store: Store, logbook: Logs, signals: Signals, *, stdin: bool, wiring: Wiring = WIRING
    ) -> None:
        self._loaded = loaded
        self._store = store
        self._logbook = logbook
        self._wiring = wiring
        self._clock = clock = wiring.clock
        self._random = SystemRandom(clock)
        self._stdin = stdin
        self._signals = signals
        self._notifier = Notifier(loaded.manager.socket)
        self._lost = False
        self.terminal = TerminalBot(
            BotName(loaded.settings.terminal or TERMINAL), clock=clock, random=self._random,
            history=loaded.state_dir / HISTORY, stdin=stdin,
        )  # fmt: skip
        spoken_to = [self._open_bot(BotName(name), bot) for name, bot in loaded.settings.spoken_to.items()]
        self.bots: dict[BotName, Bot] = {bot.name: bot for bot in (self.terminal, *spoken_to)}

    def _open_bot(self, name: BotName, settings: BotSettings) -> Bot:
        return self._wiring.open_bot(name, settings, clock=self._clock, random=self._random)

    def _read_again(self) -> Settings:
        settings = self._loaded.again().complete().settings
        self._logbook.mask.learn(settings.secrets)
        return settings

    async def run(self, stack: AsyncExitStack) -> int:
        """Start in the order of dependence; the stack undoes it backwards."""
        self._signals.listen()
        approve = f"frontdesk --state {shlex.quote(str(self._loaded.state_dir))} people approve"
        premises = Premises(approve_command=approve, state=self._loaded.state_dir, config=self._loaded.path)
        reading = Reading(
            settings=self._read_again, written=self._loaded.written, open_bot=self._open_bot, premises=premises
        )
        staff = await self._assemble(reading)
        reload = Reload(self._loaded.settings, reading, staff)
        status = DaemonStatus(staff.house, staff.health, reload, self._logbook.troubles)
        await self._start(stack, staff, reload, status)
        self._notifier.ready(status.line)
        staff.house.agents.warm()  # only now: to load SDKs would hold up the start
        if status.listener is not None:
            status.listener.begin()
        staff.health.on_change = lambda: self._notifier.status(status.line)
        reloads = self._begin(stack, self._reload_when_told(reload, status), "reload")
        if (watchdog_s := self._loaded.manager.watchdog_s) is not None:
            self._begin(stack, self._notifier.watch(watchdog_s), "watchdog")
        await self._signals.stop.wait()
        reloads.cancel()
        if self._lost:
            return 1
        await self._drain(staff.desk, reload.settings.desk.drain_s)
        return 0

    async def _assemble(self, reading: Reading) -> Staff:
        """Make the parts; nothing moves yet."""
        settings, clock, random = self._loaded.settings, self._clock, self._random
        house = furnish(settings, self._store, self.bots, clock=clock, random=random, premises=reading.premises)
        health = BotHealth(self.bots, await self._store.read(self._accounts))
        health.on_account = self._keep_account
        health.on_up, health.on_failed = house.outbox.open, house.outbox.hold
        desk = Desk(house, health, health.account_of, version(), health.heard)
        supervisor = Supervisor(self.bots, health, house.outbox, clock=clock, random=random)
        chores = Chores(house, desk, self._lose, Garbage(clock))
        return Staff(
            house=house, desk=desk, health=health, supervisor=supervisor,
            schedule=Schedule(chores, clock, settings.session.sweep_s, self._wiring.watch_s),
        )  # fmt: skip

    async def _start(self, stack: AsyncExitStack, staff: Staff, reload: Reload, status: DaemonStatus) -> None:
        house, desk, supervisor = staff.house, staff.desk, staff.supervisor
        for name in self.bots:
            house.outbox.hold(name)
        await self._listen(stack, staff, status)
        stack.push_async_callback(lambda: house.agents.close())  # those that a reload brought
        await desk.start()
        stack.push_async_callback(desk.close)
        verbs: Mapping[str, Verb] = Verbs(
            self._store, clock=self._clock, random=self._random, notices=house.notices,
            running=AtWork(status, desk, house),
        ).table()  # fmt: skip
        verbs = {**verbs, "reload": lambda args: self._load_anew(reload, status)}
        socket = self._loaded.state_dir / SOCKET_NAME
        await stack.enter_async_context(serve_socket(socket, verbs, self.terminal.attach))
        stack.push_async_callback(supervisor.stop)
        for bot in self.bots.values():
            task = supervisor.start(bot, desk)
            if bot is self.terminal and self._stdin:
                task.add_done_callback(lambda _: self._signals.stop.set())
        staff.schedule.begin()
        stack.push_async_callback(staff.schedule.stop)
        status.ready = True
        log.info("ready", bots=list(self.bots), state=str(self._loaded.state_dir))

    async def _listen(self, stack: AsyncExitStack, staff: Staff, status: DaemonStatus) -> None:
        """Before the desk starts and until after it has closed, so that both can be watched. Whoever sits at a terminal
        has asked for no port unless the file has one."""
        settings = self._loaded.settings
        served = any(isinstance(bot, ServesHttp) and bot.asgi for bot in self.bots.values())
        if self._stdin and not served and "listen" not in settings.model_fields_set:
            return
        watching = watched(settings.listen, staff.house, staff.desk, staff.health, version())
        status.listener = listener = await stack.enter_async_context(watching)
        staff.supervisor.on_begin, staff.supervisor.on_leave = listener.open_to, listener.close_to

    def _begin(self, stack: AsyncExitStack, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        """Go on with it until the end."""
        task = asyncio.create_task(work, name=name)
        stack.callback(task.cancel)
        return task

    async def _reload_when_told(self, reload: Reload, status: DaemonStatus) -> None:
        while not self._signals.stop.is_set():
            await self._signals.reload.wait()
            self._signals.reload.clear()
            try:
                await self._load_anew(reload, status)
            except Exception:  # reload: the desk goes on, and the next one may go better
                log.exception("reload_fault")

    async def _load_anew(self, reload: Reload, status: DaemonStatus) -> Json:
        """Which configuration holds then, and what is wrong with the one that does not."""
        self._notifier.reloading(self._clock.monotonic())
        try:
            state = await reload.reload()
            self._store.tally.reloaded(good=state.refused_at is None)
            if status.listener is not None:
                await status.listener.move(reload.settings.listen)
        finally:
            if not self._signals.stop.is_set():
                self._notifier.ready(status.line)
        return status.config

    async def _drain(self, desk: Desk, drain_s: float) -> None:
        """Nothing new comes in, what runs may end; a second signal hurries. Bots still send meanwhile."""
        desk.stop_intake()
        log.info("stopping")
        self._notifier.stopping(drain_s + STOP_S)
        drain = asyncio.create_task(desk.drain(drain_s))
        hurry = asyncio.create_task(self._signals.hurry.wait())
        await asyncio.wait({drain, hurry}, return_when=asyncio.FIRST_COMPLETED)
        drain.cancel()
        hurry.cancel()
        await desk.mark_stopped()

    def _lose(self) -> None:
        """Another daemon owns the store now: whatever runs here can write nothing any more."""
        self._lost = True
        self._signals.stop.set()

    def _accounts(self, tx: Tx) -> dict[BotName, str]:
        return {bot: facts.account_of(tx, bot) for bot in self.bots}

    def _keep_account(self, bot: BotName, account: str) -> None:
        self._kept = asyncio.ensure_future(self._store.write(lambda tx: facts.keep_account(tx, bot, account)))


@asynccontextmanager
async def offline(loaded: Loaded) -> AsyncIterator[Mapping[str, Verb]]:
    """The verbs, while no daemon runs: opens the store, and so holds its lock. Raises `StoreError`."""
    clock = SystemClock()
    url = loaded.settings.store.url_in(loaded.state_dir)
    if not exists(url, loaded.state_dir):
        raise VerbFailed(
            f"no desk has run here ({loaded.state_dir}); start one with `frontdesk run`, or the installed service with "
            "`systemctl start frontdesk`, or name another --state"
        )
    store, notices = open_store(url, loaded.state_dir), Notices(loaded.settings.desk.language)
    try:
        yield Verbs(
            store,
            clock=clock,
            random=SystemRandom(clock),
            notices=notices,
            running=AtRest(
                StoreStatus(store, clock.now), store, notices, owners=frozenset(map(str, loaded.settings.access.owners))
            ),
        ).table()
    finally:
        store.close()


async def attach(state: Path) -> int:
    """Chat with the daemon that runs on this state directory. Raises `NotRunning` before anything is shown."""
    from bots.terminal.client import chat

    async def open_stream(args: Mapping[str, bool]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer, _ = await connect(state / SOCKET_NAME, "attach", args)
        return reader, writer

    return await chat(open_stream, history=state / HISTORY)
