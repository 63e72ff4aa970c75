"""What Slack hands over, on its way into the desk: in order of arrival in each place, stored before acknowledged."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from bots.slack.envelopes import ANSWER_S, Envelope
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
_BATCH: Final = 50
_MOST_UNDER_WAY: Final = 2_000
"""More than that are left to Slack, which tries again, and to the catching up."""
_MOST_HELD: Final = 1_000
"""With so many here, what would wait for the catching up of its place is left to that: the others find room."""
_REMEMBERED: Final = 4_096
_PASSES: Final = 4
"""Of the loop, so that all sockets have been read."""
_TS_CHARS: Final = 17
_STORE_REFUSES: Final = "the store takes no messages; they wait at Slack"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What an envelope means. `answer` says what goes out with the acknowledgement, given the receipt if there is an
    inbound."""

    inbound: Inbound | None = None
    answer: Callable[[Receipt | None], Json | None] = lambda receipt: None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Item:
    """`envelopes` grows while Slack hands the same over again, and is empty for what was fetched. `at` is Slack's time
    of it, of one length, so that it sorts as text; "" for what is no event. `places`: where later ones wait for it."""

    envelopes: list[Envelope]
    reading: asyncio.Future[Reading]
    at: str
    places: frozenset[Place] = frozenset()


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

    def hear(self, envelope: Envelope, reading: asyncio.Future[Reading], places: Sequence[Place] = ()) -> None:
        """In its place in the order of those places, though its reading may take a moment."""
        item = _Item(envelopes=[envelope], reading=reading, at=_sent_at(envelope), places=frozenset(places))
        reading.add_done_callback(lambda _: self._moved.set())
        if envelope.event_id:
            self._under_way[envelope.event_id] = item
        self._live.append(item)
        self._moved.set()

    def has(self, envelope: Envelope) -> bool:
        """Is it under way, so that it need not be read again? Then it is acknowledged together with that; or there is
        no room for it."""
        if (same := self._under_way.get(envelope.event_id)) is not None and envelope.event_id:
            same.envelopes.append(envelope)
            return True
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
            read: asyncio.Future[Reading] = asyncio.get_running_loop().create_future()
            read.set_result(Reading(inbound=message, answer=self._keeping))
            self._live.append(_Item(envelopes=[], reading=read, at=str(message.message)))
        self._offered += len(missed)
        self._moved.set()

    async def kept(self, but: int) -> None:
        """Once no more than so many of what was offered are still to be stored."""
        while self._offered > but:
            self._kept.clear()
            await self._kept.wait()

    def _keeping(self, receipt: Receipt | None) -> None:
        self._offered -= 1
        self._kept.set()

    def hold(self, held: bool) -> None:
        """Whether what arrives now waits, so that what was missed comes before it."""
        self._held = held
        self._moved.set()

    def hold_place(self, place: Place, held: bool) -> None:
        """The same for what arrives in one place."""
        (self._held_places.add if held else self._held_places.discard)(place)
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
        read = [(item.reading.result(), item) for item in items]
        receipts = await self._store([(reading.inbound, item) for reading, item in read])
        for (reading, item), receipt in zip(read, receipts, strict=True):
            if item.envelopes:
                self._under_way.pop(item.envelopes[0].event_id, None)
            await self._acknowledge(item, reading.answer(receipt))
        if self._overflowed_at is not None and len(self._live) < _BATCH:
            since, self._overflowed_at = self._overflowed_at, None
            self.on_room(since)

    async def _acknowledge(self, item: _Item, answer: Json | None) -> None:
        """Those that Slack still waits for; what came too late for it, it hands over again."""
        for envelope in item.envelopes:
            if self._clock.monotonic() - envelope.arrived_s <= ANSWER_S:
                await envelope.acknowledge(answer)

    async def _store(self, offered: Sequence[tuple[Inbound | None, object]]) -> list[Receipt | None]:
        """The receipts of those that were stored now."""
        fresh: dict[str, Inbound] = {}
        for inbound, _ in offered:
            if inbound is not None and (key := _key(inbound)) not in self._stored:
                fresh.setdefault(key, inbound)
        receipts = dict(zip(fresh, await self._receive(tuple(fresh.values())), strict=True))
        for key in fresh:
            self._stored.put(key, None)
        return [receipts.get(_key(inbound)) if inbound is not None else None for inbound, _ in offered]

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


def _sent_at(envelope: Envelope) -> str:
    event = event_of(envelope.payload)
    at = event.get("event_ts") or event.get("ts")
    return at if isinstance(at, str) and len(at) == _TS_CHARS else ""


def _key(inbound: Inbound) -> str:
    """By what the desk knows it again."""
    if isinstance(inbound, Message):
        return f"m:{inbound.address.chat}:{inbound.message}"
    return f"e:{inbound.event}"
