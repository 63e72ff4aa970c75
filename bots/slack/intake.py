"""What Slack hands over, on its way into the desk: in order of arrival in each place, stored before acknowledged."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from bots.slack.history import Place
from bots.slack.inbound import event_of
from bots.slack.recent import Recent
from bots.slack.voice import Voice
from core.backoff import Backoff
from core.errors import StoreError
from core.fields import Json
from core.ports import Clock, Desk
from core.vocabulary import Inbound, Message, Receipt

_LOG: Final = logging.getLogger(__name__)
ANSWER_S: Final = 2.8
"""Slack takes an acknowledgement within three seconds (https://docs.slack.dev/apis/events-api/#responding)."""
_BATCH: Final = 50
_MOST_UNDER_WAY: Final = 2_000
"""More than that are left to Slack, which tries again, and to the catching up."""
_MOST_HELD: Final = 1_000
"""With so many here, what would wait for the catching up of its place is left to that: the others find room."""
_REMEMBERED: Final = 4_096
_PASSES: Final = 5
"""Of the loop, so that all sockets have been read."""
_TS_CHARS: Final = 17
_STORE_REFUSES: Final = "the store takes no messages; they wait at Slack"


class NotTaken(Exception):
    """It is left to Slack, which brings it again, or has it in its history."""


def _unsettled() -> asyncio.Future[Receipt | None]:
    return asyncio.get_running_loop().create_future()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Item:
    """`reading`: what it means, None if nothing. `at` is Slack's time of it, of one length, so that it sorts as text;
    "" for what is no event. `places`: where later ones wait for it. `stored`: what the desk says of it, None if it had
    it already."""

    reading: asyncio.Future[Inbound | None]
    at: str
    event_id: str = ""
    places: frozenset[Place] = frozenset()
    stored: asyncio.Future[Receipt | None] = field(default_factory=_unsettled)


class Intake:
    """For one `run`."""

    def __init__(self, desk: Desk, voice: Voice, clock: Clock, waits: Backoff) -> None:
        self._desk = desk
        self._voice = voice
        self._clock = clock
        self._waits = waits
        self._live: deque[_Item] = deque()
        self._under_way: dict[str, _Item] = {}
        self._stored: Recent[str, None] = Recent(_REMEMBERED)
        self._moved = asyncio.Event()
        self._held = False
        self._held_places: set[Place] = set()
        self._offered = 0
        self._kept = asyncio.Event()
        self._overflowed_at: datetime | None = None
        self.on_room: Callable[[datetime], None] = lambda since: None
        """There is room again; what came since then was left to Slack, because there was too much at once."""

    def take(
        self, payload: Json, reading: asyncio.Future[Inbound | None], places: Sequence[Place] = ()
    ) -> asyncio.Future[Receipt | None]:
        """In its place in the order of those places, though its reading may take a moment. Done once it is stored."""
        event_id = event_id_of(payload)
        item = _Item(reading=reading, at=_sent_at(payload), event_id=event_id, places=frozenset(places))
        reading.add_done_callback(lambda _: self._moved.set())
        if event_id:
            self._under_way[event_id] = item
        self._live.append(item)
        self._moved.set()
        return item.stored

    def under_way(self, payload: Json) -> asyncio.Future[Receipt | None] | None:
        """What Slack brings again while it is not stored yet need not be read again."""
        same = self._under_way.get(event_id_of(payload))
        return same.stored if same is not None else None

    def is_full(self) -> bool:
        """Then what comes is left to Slack, and to the catching up."""
        full = len(self._live) >= _MOST_UNDER_WAY
        if full and self._overflowed_at is None:
            self._overflowed_at = self._clock.now()
        return full

    def holds_enough(self) -> bool:
        """Is there room only for what waits for nothing but the store?"""
        return len(self._live) >= _MOST_HELD

    def offer(self, missed: Sequence[Message]) -> None:
        """What was said while nobody listened: it takes its place among what waits here."""
        for message in missed:
            read: asyncio.Future[Inbound | None] = asyncio.get_running_loop().create_future()
            read.set_result(message)
            item = _Item(reading=read, at=str(message.message))
            item.stored.add_done_callback(self._keeping)
            self._live.append(item)
        self._offered += len(missed)
        self._moved.set()

    async def kept(self, but: int) -> None:
        """Once no more than so many of what was offered are still to be stored."""
        while self._offered > but:
            self._kept.clear()
            await self._kept.wait()

    def _keeping(self, _: object) -> None:
        self._offered -= 1
        self._kept.set()

    def hold(self, held: bool) -> None:
        """Whether what arrives now waits, so that what was missed comes before it."""
        self._held = held
        self._moved.set()

    def hold_place(self, place: Place) -> bool:
        """What arrives there waits until `release_place`. False: it does already."""
        was_free = place not in self._held_places
        self._held_places.add(place)
        return was_free

    def release_place(self, place: Place) -> None:
        self._held_places.discard(place)
        self._moved.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            if not self._held and any(item.reading.done() for item in self._live):
                await self._gathered()
                if taken := self._taken():
                    await self._take(taken)
                    continue
            self._moved.clear()
            await self._moved.wait()

    def _taken(self) -> list[_Item]:
        """The first that wait for nothing: neither to be understood, nor for what was said before in the same place."""
        taken: list[_Item] = []
        left: deque[_Item] = deque()
        waiting = set(self._held_places)
        for item in self._live:
            if len(taken) < _BATCH and item.reading.done() and waiting.isdisjoint(item.places):
                taken.append(item)
            else:
                left.append(item)
                waiting |= item.places
        self._live = left
        return taken

    async def _gathered(self) -> None:
        """Slack hands one message to one socket and the next to another: what is here already is put in order."""
        for _ in range(_PASSES):
            await asyncio.sleep(0)
        latest, keyed = "", []
        for item in self._live:
            latest = item.at or latest
            keyed.append((latest, item))
        self._live = deque(item for _, item in sorted(keyed, key=lambda pair: pair[0]))

    async def _take(self, items: Sequence[_Item]) -> None:
        """What reading it raised is for whoever brought it; the others are stored."""
        sound = []
        for item in items:
            fault = item.reading.exception()
            if fault is None:
                sound.append(item)
            else:
                self._under_way.pop(item.event_id, None)
                item.stored.set_exception(fault)
        receipts = await self._store([item.reading.result() for item in sound])
        for item, receipt in zip(sound, receipts, strict=True):
            self._under_way.pop(item.event_id, None)
            await self._acknowledge(item, receipt)
        if self._overflowed_at is not None and len(self._live) < _BATCH:
            since, self._overflowed_at = self._overflowed_at, None
            self.on_room(since)

    async def _acknowledge(self, item: _Item, receipt: Receipt | None) -> None:
        """Whoever brought it goes on."""
        item.stored.set_result(receipt)

    async def _store(self, offered: Sequence[Inbound | None]) -> list[Receipt | None]:
        """The receipts of those that were stored now."""
        fresh: dict[str, Inbound] = {}
        for inbound in offered:
            if inbound is not None and (key := _key(inbound)) not in self._stored:
                fresh.setdefault(key, inbound)
        receipts = dict(zip(fresh, await self._receive(tuple(fresh.values())), strict=True))
        for key in fresh:
            self._stored.put(key, None)
        return [receipts.get(_key(inbound)) if inbound is not None else None for inbound in offered]

    async def _receive(self, batch: Sequence[Inbound]) -> Sequence[Receipt]:
        """However long it takes."""
        while batch:
            try:
                receipts = await self._desk.receive(batch)
            except StoreError as trouble:
                wait_s = self._waits.next_s()
                self._voice.down(_STORE_REFUSES)
                _LOG.warning("slack's messages wait", extra={"why": type(trouble).__name__})
                await self._clock.sleep(wait_s)
            else:
                self._waits.worked()
                self._voice.up()
                return receipts
        return ()


def event_id_of(payload: Json) -> str:
    """The same each time that Slack tries; "" if there is none."""
    value = payload.get("event_id")
    return value if isinstance(value, str) else ""


def _sent_at(payload: Json) -> str:
    event = event_of(payload)
    at = event.get("event_ts") or event.get("ts")
    return at if isinstance(at, str) and len(at) == _TS_CHARS else ""


def _key(inbound: Inbound) -> str:
    """By what the desk knows it again."""
    if isinstance(inbound, Message):
        return f"m:{inbound.address.chat}:{inbound.message}"
    return f"e:{inbound.event}"
