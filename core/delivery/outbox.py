"""The way out: one lane per chat, so that a chat gets its parts in order and no chat waits for another."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial

import structlog
from msgspec import Struct

from core.delivery.lane import Lane
from core.delivery.pacing import Bucket, ChatPace
from core.delivery.split import split
from core.delivery.workshop import Workshop
from core.ports import Bot, Clock, Random
from core.service.notices import Notices
from core.store import deliveries
from core.store.deliveries import Posted
from core.store.engine import Store
from core.store.sql import Tx
from core.vocabulary import BotName, ChatId, ChatKind

log = structlog.get_logger("frontdesk.delivery")

LIMIT_WITHOUT_BOT = 2000
ASIDE_FROM = 2000
"""Characters from which splitting leaves the loop: rendering takes some microseconds per character."""


class Leftover(Struct, frozen=True, kw_only=True):
    """What the last process was sending when it died."""

    again: int
    unknown: int


class Outbox:
    """Holds the lanes. Lives on the main loop."""

    def __init__(
        self, store: Store, bots: Mapping[BotName, Bot], *, clock: Clock, random: Random, notices: Notices,
        give_up_s: float,
    ) -> None:  # fmt: skip
        self._bots = bots
        self._store = store
        self._clock = clock
        self._lanes: dict[tuple[BotName, ChatId], Lane] = {}
        self._paces: dict[tuple[BotName, ChatId], ChatPace] = {}
        self._accounts: dict[BotName, Bucket] = {}
        self.workshop = Workshop(
            store=store, bots=bots, clock=clock, random=random, notices=notices, give_up_s=give_up_s, tally=store.tally
        )

    def parts(self, bot: BotName, text: str) -> tuple[str, ...]:
        """How this bot splits the text. Where it can't (a fault in its renderer, or it is not configured any more), cut
        by length alone: nothing is lost. Pure and safe on any thread."""
        known = self._bots.get(bot)
        limit = known.capabilities.text_limit if known is not None else LIMIT_WITHOUT_BOT
        try:
            return known.parts(text) if known is not None else split(text, limit)
        except Exception:  # delivery: a fault in one bot's renderer must not keep an answer back
            log.exception("parts_fault", bot=bot, characters=len(text))
            return split(text, limit // 2)

    def first_part(self, bot: BotName, text: str) -> str:
        """What of a text fits one message; "" where there is nothing to see. The rest is not looked at."""
        known = self._bots.get(bot)
        limit = known.capabilities.text_limit if known is not None else LIMIT_WITHOUT_BOT
        return next(iter(self.parts(bot, text[: 2 * limit])), "")

    async def parts_aside(self, bot: BotName, text: str) -> tuple[str, ...]:
        """As `parts`; what takes long is done on a thread."""
        if len(text) <= ASIDE_FROM:
            return self.parts(bot, text)
        return await asyncio.to_thread(self.parts, bot, text)

    def lane(self, bot: BotName, chat: ChatId, kind: ChatKind) -> Lane:
        """The chat's lane; made on demand, gone when it rests with nothing to do."""
        lane = self._lanes.get((bot, chat))
        if lane is None:
            lane = Lane(self.workshop, bot, chat, partial(self._pace, bot, chat, kind), self._forget)
            self._lanes[bot, chat] = lane
        return lane

    def _pace(self, bot: BotName, chat: ChatId, kind: ChatKind) -> ChatPace | None:
        """Outlives the lane: a platform counts what was sent a moment ago."""
        known = self._bots.get(bot)
        if known is None:
            return None
        pace = self._paces.get((bot, chat))
        if pace is None:
            account = self._accounts.setdefault(bot, Bucket(known.capabilities.account_pace))
            pace = self._paces[bot, chat] = ChatPace(known.capabilities, kind, account)
        return pace

    def _forget(self, lane: Lane) -> None:
        self._lanes.pop((lane.bot, lane.chat), None)

    def prune(self) -> None:
        """Forget the pace of chats that could be written to at full speed again."""
        now = self._clock.monotonic()
        for key in [key for key, pace in self._paces.items() if pace.rested(now) and key not in self._lanes]:
            del self._paces[key]

    def push(self, posted: Iterable[Posted], answered_s: float | None = None) -> None:
        """Committed parts go on their way. `answered_s`: when what they say was complete, monotonic."""
        for one in posted:
            self.lane(one.address.bot, one.address.chat, one.kind).push(one, answered_s)
            answered_s = None

    def moved(self, bot: BotName, was: ChatId, chat: ChatId, kind: ChatKind) -> None:
        """A chat has another id, in the store already: what waits for it goes there, behind what is under way."""
        lane = self._lanes.get((bot, was))
        self.lane(bot, chat, kind).load(*(() if lane is None else (lane.leave(),)))

    def wake(self, bot: BotName, chat: ChatId) -> None:
        """Somebody is there again: a lane that rests tries at once."""
        lane = self._lanes.get((bot, chat))
        if lane is not None:
            lane.wake()

    async def start(self) -> Leftover:
        """Settle what the last process was sending, then send what waits. Raises `StoreError`."""
        now = self._clock.now()
        leftover = await self._store.write(lambda tx: self._settle(tx, now))
        for bot, chat, kind in await self._store.read(_waiting_chats):
            self.lane(bot, chat, kind).load()
        return leftover

    def _settle(self, tx: Tx, now: datetime) -> Leftover:
        """An edit is repeated, a send that the platform would recognise is repeated, any other is unknown. Previews
        belong to their turns."""
        again = unknown = 0
        for left in deliveries.left_sending(tx):
            if left.role == deliveries.PREVIEW:
                continue
            if left.message is not None or self.workshop.recognised(left):
                deliveries.later(tx, left.id, None, "interrupted")
                again += 1
            else:
                self.workshop.mark_unknown(tx, left, "interrupted", now)
                unknown += 1
        return Leftover(again=again, unknown=unknown)

    def hold(self, bot: BotName) -> None:
        """The bot can't send: its lanes wait, and no attempt is wasted."""
        self.workshop.held.setdefault(bot, asyncio.Event()).clear()

    def open(self, bot: BotName) -> None:
        """The bot is up."""
        held = self.workshop.held.get(bot)
        if held is not None:
            held.set()

    def is_up(self, bot: BotName) -> bool:
        """Is it configured, and not held?"""
        return bot in self._bots and not self.workshop.is_held(bot)

    async def up(self, bot: BotName) -> None:
        """Return once it is."""
        while not self.is_up(bot):
            if bot not in self._bots:
                self.hold(bot)  # until somebody configures it, and it is up
            await self.workshop.held[bot].wait()

    async def all_up(self) -> None:
        """Return once every bot is."""
        for bot in list(self._bots):
            await self.up(bot)

    async def at_rest(self, bot: BotName) -> None:
        """Return once nothing of this bot's is on its way to the platform; for a bot that is held."""
        for lane in [lane for lane in self._lanes.values() if lane.bot == bot]:
            async with lane.hold:
                pass

    def changed(self, bot: BotName) -> None:
        """Another bot of this name, or one where there was none: what it can do may differ, and what was sent a moment
        ago still counts."""
        capabilities, now = self._bots[bot].capabilities, self._clock.monotonic()
        if bot in self._accounts:
            self._accounts[bot].allow(capabilities.account_pace, now)
        for (named, _), pace in self._paces.items():
            if named == bot:
                pace.allow(capabilities, now)
        for lane in self._lanes.values():
            if lane.bot == bot:
                lane.wake()

    async def quiet(self, bot: BotName, chat: ChatId) -> None:
        """Return once nothing waits for this chat."""
        lane = self._lanes.get((bot, chat))
        if lane is not None:
            await lane.quiet()

    def moving(self) -> list[asyncio.Task[None]]:
        """The lanes that do something right now: neither empty, nor waiting for time or for somebody."""
        return [lane.task for lane in self._lanes.values() if lane.task is not None and not lane.still]

    async def close(self) -> None:
        """Stop sending. What is under way stays `sending` and is settled at the next start."""
        tasks = [lane.task for lane in self._lanes.values() if lane.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._lanes.clear()


def _waiting_chats(tx: Tx) -> list[tuple[BotName, ChatId, ChatKind]]:
    found = []
    for bot, chat in deliveries.chats(tx):
        first: list[Posted] = deliveries.unsent(tx, bot, chat, after=0, most=1)
        found += [(bot, chat, one.kind) for one in first]
    return found
