"""What was said while the bot was away: Discord redelivers nothing, so it is fetched from the channels' history.

At the start and after each gap (a new session in place of a resumed one), for every direct chat and every conversation
that the bot takes part in, bounded in age by the desk and in number by the configuration. The desk drops what it has.
https://docs.discord.com/developers/resources/message#get-channel-messages
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeVar

from msgspec import Struct

from bots.discord.http import Http
from bots.discord.inbound import Us
from bots.discord.inquiries import Inquiries
from bots.discord.intake import Intake, Item
from bots.discord.reading import is_snowflake, made_at, snowflake_of
from bots.discord.trouble import in_our_words
from core.backoff import Backoff
from core.errors import BotError, BotRejected, ChatDead, FloodWait, Rejected, StoreError, Unknown
from core.fields import Json
from core.ports import Desk, Haunt
from core.vocabulary import ChatKind

_LOG: Final = logging.getLogger(__name__)
_T = TypeVar("_T")

_PAGE: Final = 100
"""The most that Discord gives at once."""
_HAUNTS: Final = 2_000
"""The conversations that are looked at, the latest first: Discord gives some 40 a second."""
_AT_ONCE: Final = 4
_SLACK: Final = timedelta(minutes=5)
"""How far before the last stored message: some may have been on their way to the store when the process ended."""
_ENDLESS: Final = 2**64
_NOTE: Final = "behind since"
_WAIT_S: Final = (2.0, 60.0)


class _Channel(Struct, frozen=True, kw_only=True):
    """Where something may have been missed, after the message `after`."""

    id: str
    after: str
    direct: bool


class Gap(Struct, frozen=True, kw_only=True):
    """A session began on this shard: what was said to it before is unknown. `shard` None: on any."""

    shard: int | None
    count: int


class CatchingUp:
    """For one run. `most` messages in each channel; with 0 nothing is fetched."""

    def __init__(self, us: Us, line: Http, desk: Desk, intake: Intake, inquiries: Inquiries) -> None:
        self._us = us
        self._line = line
        self._desk = desk
        self._intake = intake
        self._places = inquiries.places
        self._each_question = inquiries.threads.each_question
        self._gaps: list[Gap] = []
        self._lost: dict[str, _Channel] = {}
        self._noticed = asyncio.Event()
        intake.on_overflow = self._overflowed

    def gap(self, gap: Gap) -> None:
        """On the loop, before any event that comes after the gap."""
        self._gaps.append(gap)
        self._intake.hold_all()
        self._noticed.set()

    def _overflowed(self, item: Item) -> None:
        """The earliest of what was let go of tells from where on to fetch."""
        channel = item.channel or ""
        message = item.data.get("id") if isinstance(item.data, dict) else None
        if is_snowflake(message):
            known = self._lost.get(channel)
            after = str(min(int(str(message)) - 1, int(known.after) if known is not None else _ENDLESS))
            self._lost[channel] = _Channel(id=channel, after=after, direct=item.direct)
        self._intake.hold_all()
        self._noticed.set()

    async def run(self, most: int, waits: Backoff) -> None:
        """Until cancelled. Raises `BotRejected`."""
        while True:
            await self._noticed.wait()
            self._noticed.clear()
            channels = await self._due(waits) if most else {}
            lost, self._gaps, self._lost = self._lost, [], {}
            channels = {**channels, **lost}
            self._intake.hold_only(channels)
            if channels:
                await self._catch_up([*channels.values()], most or _PAGE, waits)

    async def _due(self, waits: Backoff) -> dict[str, _Channel]:
        """For all gaps so far, also those that came while the desk was asked."""
        gaps: list[Gap] = []
        channels: dict[str, _Channel] = {}
        while self._gaps:
            gaps += self._gaps
            self._gaps.clear()
            channels = await self._patiently(functools.partial(self._concerned, gaps), waits)
        return channels

    async def _catch_up(self, channels: Sequence[_Channel], most: int, waits: Backoff) -> None:
        """Several channels at once; one that Discord does not give now comes again behind the others. What is not
        stored when the process ends is missed again by the next."""
        waiting = deque(channels)
        counts: list[int] = []

        async def work() -> None:
            while waiting:
                await self._intake.drained()
                channel = waiting.popleft()
                try:
                    counts.append(await self._one(channel, most))
                    waits.failures = 0
                except BotRejected:
                    raise
                except BotError as trouble:
                    waiting.append(channel)
                    wait_s = trouble.wait_s if isinstance(trouble, FloodWait) else waits.next_s(*_WAIT_S)
                    await waits.clock.sleep(wait_s)

        await asyncio.gather(*(work() for _ in range(_AT_ONCE)))
        stored = asyncio.Event()
        self._intake.afterwards(stored.set)
        await stored.wait()
        if not self._noticed.is_set():
            await self._patiently(lambda: self._desk.note(self._us.bot, _NOTE, ""), waits)
        _LOG.info("caught up", extra={"bot": self._us.bot, "channels": len(counts), "messages": sum(counts)})

    async def _one(self, channel: _Channel, most: int) -> int:
        """What was missed in one channel goes on, then what came there since. How much was missed. Raises `BotError`
        where Discord does not say now."""
        missed: Sequence[Json] = ()
        try:
            missed = await self._missed(channel, most)
        except (Rejected, ChatDead) as refusal:  # the bot is not in it any more
            _LOG.info("not caught up", extra={"bot": self._us.bot, "why": str(refusal)})
        made = [Item(what="MESSAGE_CREATE", data=one, channel=channel.id, direct=channel.direct) for one in missed]
        self._intake.release(channel.id, made)
        return len(made)

    async def _missed(self, channel: _Channel, most: int) -> Sequence[Json]:
        """The latest `most` messages after the known one, oldest first. Raises `BotError`."""
        limit = min(_PAGE, most)
        page = await self._page(channel.id, {"after": channel.after, "limit": str(limit)})
        if len(page) < limit:
            return page
        found: list[Json] = []
        bounds: dict[str, str] = {}
        while len(found) < most:
            limit = min(_PAGE, most - len(found))
            page = await self._page(channel.id, {**bounds, "limit": str(limit)})
            fresh = [one for one in page if int(str(one["id"])) > int(channel.after)]
            found = [*fresh, *found]
            if len(fresh) < limit:
                break
            bounds = {"before": str(found[0]["id"])}
        return found

    async def _page(self, channel: str, query: dict[str, str]) -> list[Json]:
        """Discord gives the newest first; here the oldest is."""
        with in_our_words():
            told = await self._line.history(channel, query)
        if not isinstance(told, list):
            raise Unknown("the answer is not Discord's")
        return [one for one in reversed(told) if isinstance(one, dict) and is_snowflake(one.get("id"))]

    # where

    async def _concerned(self, gaps: Sequence[Gap]) -> dict[str, _Channel]:
        """Raises `StoreError`."""
        noted = await self._desk.recall(self._us.bot, _NOTE)
        behind = datetime.fromisoformat(noted) if noted else None
        found: dict[str, _Channel] = {}
        haunts = await self._desk.haunts(self._us.bot, _HAUNTS)
        if len(haunts) == _HAUNTS:
            _LOG.warning("in older conversations nobody looks for what was missed", extra={"newest": _HAUNTS})
        for haunt in haunts:
            since = max(self._desk.oldest, min(haunt.heard_at - _SLACK, behind or haunt.heard_at))
            for channel in self._channels(haunt):
                if self._is_concerned(channel, haunt, gaps):
                    found.setdefault(channel, self._from(channel, since, direct=haunt.kind is ChatKind.DIRECT))
        if found:
            earliest = min(made_at(one.after) for one in found.values())
            await self._desk.note(self._us.bot, _NOTE, min(earliest, behind or earliest).isoformat())
        return found

    def _from(self, channel: str, since: datetime, *, direct: bool) -> _Channel:
        newest = self._intake.newest(channel)
        oldest = snowflake_of(self._desk.oldest)
        after = snowflake_of(since) if newest is None else max(newest, oldest, key=int)
        return _Channel(id=channel, after=after, direct=direct)

    def _channels(self, haunt: Haunt) -> Sequence[str]:
        """Where a thread begins with each question, the next question is in the channel."""
        address = haunt.address
        if address.thread is None:
            return (address.chat,)
        return (address.thread, address.chat) if self._each_question else (address.thread,)

    def _is_concerned(self, channel: str, haunt: Haunt, gaps: Sequence[Gap]) -> bool:
        """https://docs.discord.com/developers/events/gateway#sharding: direct chats are told of on the first shard."""
        if not gaps:
            return False
        guild = self._places.guild_of(channel)
        if guild is None and haunt.kind is not ChatKind.DIRECT:
            return True
        number = int(guild or "0") >> 22
        return any(gap.shard is None or number % gap.count == gap.shard for gap in gaps)

    async def _patiently(self, step: Callable[[], Awaitable[_T]], waits: Backoff) -> _T:
        """Until the desk's store takes it."""
        while True:
            try:
                done = await step()
            except StoreError:
                await waits.clock.sleep(waits.next_s(*_WAIT_S))
            else:
                waits.failures = 0
                return done
