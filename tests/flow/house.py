"""The whole desk over a real store, with a clock, a bot and an agent that a test holds in its hands."""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ParamSpec, TypedDict, TypeVar, Unpack

from msgspec.structs import replace

from config.settings import Settings
from core.assembly import Premises, furnish
from core.desk.desk import Desk
from core.desk.house import House as CoreHouse
from core.service.schedule import Chores
from core.service.status import DaemonStatus
from core.service.supervisor import BotHealth
from core.service.verbs import AtWork, Verbs
from core.store import checks, conversations, entries, sessions
from core.store.conversations import Conversation, SessionId
from core.store.entries import Entry
from core.store.sessions import Session
from core.store.sql import Tx
from core.vocabulary import (
    Address,
    BotName,
    ChatId,
    ChatKind,
    Edit,
    EventId,
    Inbound,
    Message,
    MessageId,
    Receipt,
    RowId,
    Sender,
    ThreadId,
    UserId,
    Verdict,
)
from tests.clock import DeskClock
from tests.fakes.agents import STAGES, Stage
from tests.flow.bot import AdminBot, FakeBot
from tests.flow.clock import START, FakeRandom
from tests.flow.rows import Row, all_deliveries, all_rows
from tests.flow.store import WatchedStore, open_watched

T = TypeVar("T")
P = ParamSpec("P")

PATIENCE_S = 30.0
"""Real seconds after which a barrier gives up."""
QUIET_ROUNDS = 30
"""Rounds of the loop without a unit of work after which nothing moves any more."""
OWNER = "1"
GROUP = "-100"

_names = itertools.count(1)


class How(TypedDict, total=False):
    """How a message differs from the usual one."""

    bot: str
    kind: ChatKind
    thread: str | None
    message: str
    name: str
    sent_at: datetime
    addressed: bool
    is_bot: bool
    more_likely: bool


class InlineExecutor(concurrent.futures.ThreadPoolExecutor):
    """What is put aside on a thread is done at once, so that nothing moves behind a barrier's back."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> concurrent.futures.Future[T]:
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  # it belongs to the one who waits
            future.set_exception(error)
        return future


@dataclass(frozen=True, kw_only=True)
class Said:
    """A message that was offered, and its receipt."""

    message: Message
    receipt: Receipt

    @property
    def row(self) -> RowId:
        return self.receipt.row


class House:
    """One process of the desk after the other, over one store file. `options` are as in the config file."""

    def __init__(self, state: Path, options: dict[str, object], bots: Sequence[FakeBot]) -> None:
        self.state = state
        self.clock = DeskClock(START)
        self.clock.settle = self.idle
        self.random = FakeRandom()
        self.bots = {bot.name: bot for bot in bots}
        self.options = options
        self.premises = Premises(state=state, config=state.with_name("config") / "frontdesk.toml")
        self.stage_name = f"stage {next(_names)}"
        self.stage = STAGES[self.stage_name] = Stage()
        self.store: WatchedStore
        self.core: CoreHouse
        self.desk: Desk
        self.chores: Chores
        self.daemon: DaemonStatus
        self.verbs: Verbs
        self._ids = itertools.count(1)

    @property
    def bot(self) -> FakeBot:
        return next(iter(self.bots.values()))

    def settings(self) -> Settings:
        agent = {"backend": "tests.fakes.agents:make", "options": {"stage": self.stage_name}}
        groups = [int(GROUP), -200]
        tables: dict[str, object] = {
            "access": {"direct": "open", "owners": [f"telegram:{OWNER}"], "consent_by": "asker"},
            "agents": {"default": agent},
            "bots": {
                name: {
                    "platform": "telegram",
                    "token": f"1:{name}",
                    "groups": groups,
                    "agents": list(self._agents()),
                }
                for name in self.bots
            },
        }
        merged = _merged(tables, {name: table for name, table in self.options.items() if name != "agents"})
        return Settings.model_validate({**merged, "agents": self.options.get("agents", tables["agents"])})

    def _agents(self) -> dict[str, object]:
        """Those of the options; everybody may choose any of them, unless the options say otherwise."""
        named = self.options.get("agents", {})
        assert isinstance(named, dict)
        return named

    # one process

    async def open(self) -> None:
        """Start a process."""
        asyncio.get_running_loop().set_default_executor(InlineExecutor())
        self.store = open_watched(self.state)
        await self._furnish()
        await self.start()

    async def _furnish(self) -> None:
        settings = self.settings()
        self.core = furnish(
            settings, self.store, self.bots, clock=self.clock, random=self.random, premises=self.premises
        )
        health = BotHealth(self.bots, {})
        self.desk = Desk(self.core, health, health.account_of, "1.0", health.heard)
        self.chores = Chores(self.core, self.desk)
        self.daemon = DaemonStatus(self.core, health)
        self.verbs = Verbs(
            self.store,
            clock=self.clock,
            random=self.random,
            notices=self.core.notices,
            running=AtWork(self.daemon, self.desk, self.core),
        )

    async def start(self) -> None:
        await self.desk.start()
        await self.chores.redate()
        for bot in self.bots:
            self._ready(bot)

    def _ready(self, bot: BotName) -> None:
        self.desk.health.up(bot)
        if hasattr(self.desk, "ready"):
            self.desk.ready(bot)

    async def die(self) -> None:
        """The process is killed: what it had not committed is gone, and nothing is said to anybody."""
        self.store.dead = True
        await self.desk.close()
        await self.core.agents.close()
        await self.store.flushed()
        self.store.close()
        self.clock.forget_sleepers()
        for bot in self.bots.values():
            bot.reborn()
        await asyncio.sleep(0)

    async def stop(self) -> None:
        """The process is told to end, and what runs does not end by itself."""
        self.desk.stop_intake()
        await self.desk.mark_stopped()
        await self.die()

    async def restart(self, *, settle: bool = True) -> None:
        """Killed, and started again."""
        await self.die()
        await self.open()
        if settle:
            await self.idle()

    async def idle(self) -> None:
        """Return once nothing moves: what is left waits for time, people, the bot or the agent."""
        async with asyncio.timeout(PATIENCE_S):
            quiet, begun = 0, -1
            while quiet < QUIET_ROUNDS:
                await asyncio.sleep(0)
                if self.store.dead:
                    return
                if self.store.under_way or self.store.begun != begun:
                    begun, quiet = self.store.begun, 0
                    await self.store.flushed()
                else:
                    quiet += 1

    async def idle_dead(self) -> None:
        """As `idle`, also where the process dies meanwhile."""
        for _ in range(200):
            if self.store.dead:
                return
            await asyncio.sleep(0)
            await self.idle()
            if not self.store.under_way:
                return

    async def advance(self, seconds: float) -> None:
        await self.clock.advance(seconds)

    # people

    def message(self, text: str, *, user: str = "7", chat: str | None = None, **how: Unpack[How]) -> Message:
        """A direct message unless `how` says otherwise."""
        number = next(self._ids)
        thread = how.get("thread")
        return Message(
            event=EventId(f"{number}"),
            message=MessageId(how.get("message", f"{number}")),
            address=Address(
                bot=BotName(how.get("bot", "main")),
                chat=ChatId(chat or user),
                thread=None if thread is None else ThreadId(thread),
            ),
            kind=how.get("kind", ChatKind.DIRECT),
            sender=Sender(
                user=UserId(user) if user else None,
                name=how.get("name", f"user {user}"),
                is_bot=how.get("is_bot", False),
            ),
            text=text,
            sent_at=how.get("sent_at", self.clock.now()),
            addressed=how.get("addressed", True),
            more_likely=how.get("more_likely", False),
        )

    def group_message(self, text: str, *, user: str = "7", chat: str = GROUP, **how: Unpack[How]) -> Message:
        how["kind"] = ChatKind.GROUP if how.get("thread") is None else ChatKind.THREAD
        return self.message(text, user=user, chat=chat, **how)

    async def receive(self, *batch: Inbound) -> tuple[Receipt, ...]:
        return await self.desk.receive(batch)

    async def offer(self, message: Message) -> Said:
        """Hand it in; what it sets in motion may still move."""
        (receipt,) = await self.desk.receive([message])
        return Said(message=message, receipt=receipt)

    async def say(self, text: str, *, user: str = "7", chat: str | None = None, **how: Unpack[How]) -> Said:
        """A direct message, and all that comes of it by itself."""
        said = await self.offer(self.message(text, user=user, chat=chat, **how))
        await self.idle()
        return said

    async def ask(self, text: str, *, user: str = "7", chat: str | None = None, **how: Unpack[How]) -> Said:
        """A direct message to an agent that takes its time; returns when its turn has ended and nothing moves."""
        said = await self.offer(self.message(text, user=user, chat=chat, **how))
        await self.ended(said)
        return said

    async def until(self, holds: Callable[[], bool]) -> None:
        """Returns when it holds; for what happens on other threads."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds():  # noqa: ASYNC110  # nobody tells of what a test may ask for
                await asyncio.sleep(0.002)

    async def ended(self, said: Said) -> None:
        """The message has its fate, and nothing moves."""
        async with asyncio.timeout(PATIENCE_S):
            await self.desk.settled(said.row)
        await self.idle()

    async def say_in_group(self, text: str, *, user: str = "7", chat: str = GROUP, **how: Unpack[How]) -> Said:
        said = await self.offer(self.group_message(text, user=user, chat=chat, **how))
        await self.idle()
        return said

    async def edit(self, said: Said, text: str, *, user: str | None = None) -> Receipt:
        message = said.message
        sender = message.sender if user is None else replace(message.sender, user=UserId(user))
        edit = Edit(
            event=EventId(f"edit {next(self._ids)}"),
            message=message.message,
            address=message.address,
            sender=sender,
            text=text,
            edited_at=self.clock.now(),
        )
        (receipt,) = await self.desk.receive([edit])
        await self.idle()
        return receipt

    async def redeliver(self, said: Said) -> Receipt:
        (receipt,) = await self.desk.receive([said.message])
        await self.idle()
        assert receipt.verdict is Verdict.DUPLICATE
        assert receipt.row == said.row
        return receipt

    def seen(self, chat: str = "7", bot: str | None = None) -> list[str]:
        return (self.bot if bot is None else self.bots[BotName(bot)]).seen(chat)

    def heard_since(self, before: list[str], chat: str = "7") -> list[str]:
        return self.seen(chat)[len(before) :]

    # what is stored

    async def row(self, said: Said | RowId) -> Row:
        wanted = said.row if isinstance(said, Said) else said
        return next(row for row in await self.rows() if row.id == wanted)

    async def fate(self, said: Said) -> str | None:
        return (await self.row(said)).fate

    async def rows(self) -> list[Row]:
        return await self.store.read(all_rows)

    async def conversation(self, key: str = "main/dm/7") -> Conversation:
        def unit(tx: Tx) -> Conversation:
            found = conversations.find(tx, key)
            assert found is not None, f"no conversation {key}"
            return conversations.get(tx, found)

        return await self.store.read(unit)

    async def session(self, key: str = "main/dm/7") -> Session:
        conversation = await self.conversation(key)
        wanted = conversation.session
        assert wanted is not None
        return await self.store.read(lambda tx: sessions.get(tx, wanted))

    async def sessions(self) -> list[Session]:
        return await self.store.read(lambda tx: sessions.latest(tx, 10_000))

    async def log(self, key: str = "main/dm/7") -> list[Entry]:
        return await self.entries_of((await self.session(key)).id)

    async def entries_of(self, session: SessionId) -> list[Entry]:
        return await self.store.read(lambda tx: entries.of_session(tx, session))

    async def told(self, key: str = "main/dm/7") -> list[tuple[str, str]]:
        """(kind, text) of the current session's entries."""
        return [(str(entry.kind), entry.text) for entry in await self.log(key)]

    async def deliveries(self, chat: str = "7") -> list[tuple[str, str]]:
        """(state, role) in order."""
        return await self.store.read(lambda tx: all_deliveries(tx, chat))

    async def sound(self) -> None:
        """The store's own checks, and what must hold at any moment."""
        findings = await self.store.read(checks.check)
        assert findings == []
        for bot in self.bots.values():
            assert bot.at_once == []

    async def status(self) -> dict[str, Any]:
        """What `frontdesk status --json` prints."""
        shown: dict[str, Any] = json.loads(json.dumps(await self.daemon.status()))
        return shown

    async def expire(self) -> None:
        """One round of the sweep."""
        await self.chores.sweep()
        await self.idle()


def _merged(tables: dict[str, object], more: dict[str, object]) -> dict[str, object]:
    merged = dict(tables)
    for name, value in more.items():
        below = merged.get(name)
        merged[name] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


@asynccontextmanager
async def opened(state: Path, options: dict[str, object] | None = None, *bots: FakeBot) -> AsyncIterator[House]:
    """A house that is sound at its end."""
    house = House(state, options or {}, bots or (AdminBot(),))
    await house.open()
    try:
        yield house
        if not house.store.dead:
            await house.sound()
    finally:
        await house.die()
        del STAGES[house.stage_name]


HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
NOON = START
