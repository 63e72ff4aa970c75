"""The way to the desk: everything that Discord says, in order, each batch stored before the next is offered.

Discord hands nothing over twice. After a gap what was missed is fetched (`catching_up`), and what comes live meanwhile
in the same channel waits behind it. What people do with buttons and commands waits for a moment only: it has three
seconds.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct

from bots.discord import inbound, interactions
from bots.discord.errands import Errands
from bots.discord.inbound import Scene, Us
from bots.discord.inquiries import Inquiries
from bots.discord.interactions import Asking, Pressed, Said
from bots.discord.places import DIRECT, TEXT
from bots.discord.replies import Open
from bots.discord.voice import Voice
from core.backoff import Backoff
from core.errors import BotError, BotRejected, ChatDead, FloodWait, Rejected, StoreError
from core.fields import Json, Unreadable
from core.ports import Desk
from core.vocabulary import ChatKind, Inbound, Message, Receipt, Verdict

_LOG: Final = logging.getLogger(__name__)

_BATCH: Final = 100
_MOST_WAITING: Final = 10_000
_MOST_CHANNELS: Final = 10_000
_WAIT_S: Final = (2.0, 30.0)
_USE_WAITS_S: Final = 1.5
_STORE_REFUSES: Final = "the store takes no messages; they are fetched from Discord once it does"


class Item(Struct, frozen=True, kw_only=True):
    """Something that waits to be read. `what` is the gateway's event; `direct`: known to be of a direct chat."""

    what: str
    data: object
    channel: str | None = None
    direct: bool = False


class _Read(Struct, frozen=True, kw_only=True):
    inbound: Inbound
    opened: Open | None = None


class Intake:
    """One for each run. `hear` and what holds and releases channels are called on the loop, and never wait."""

    def __init__(self, us: Us, desk: Desk, inquiries: Inquiries, voice: Voice, waits: Backoff) -> None:
        self._us = us
        self._desk = desk
        self._inquiries = inquiries
        self._voice = voice
        self._waits = waits
        self._errands = Errands()
        self._queue: deque[Item | Callable[[], None]] = deque()
        self._stirred = asyncio.Event()
        self._drained = asyncio.Event()
        self._released = asyncio.Event()
        self._held: dict[str, list[Item]] = {}
        self._undecided: list[Item] | None = None
        self._placeless: dict[str, list[Item]] = {}
        """What waits until it is known where its channel is."""
        self._refusal: BotRejected | None = None
        self._newest: OrderedDict[str, str] = OrderedDict()
        self.on_overflow: Callable[[Item], None] = lambda item: None
        """A message was let go of, since too many wait: it is to be fetched."""

    # what comes in

    def hear(self, event: str, data: object) -> None:
        """A message, a changed one, or an interaction."""
        channel = inbound.channel_of(data)
        if channel is None:
            return
        if event == "INTERACTION_CREATE":
            self._inquiries.replies.comes(data.get("id") if isinstance(data, dict) else None)
            used = Item(what=event, data=data, channel=channel)
            if self._is_held(channel):
                self._errands.start(self._put_soon(used))
            else:
                self._put(used)
            return
        direct = isinstance(data, dict) and data.get("guild_id") is None
        self._sort(Item(what=event, data=data, channel=channel, direct=direct))

    def hold_all(self) -> None:
        """A gap: until it is known which channels it concerns, no message goes on."""
        if self._undecided is None:
            self._undecided = []

    def hold_only(self, channels: Iterable[str]) -> None:
        """Messages of these channels wait until `release`."""
        for channel in channels:
            self._held.setdefault(channel, [])
        undecided, self._undecided = self._undecided or [], None
        for item in undecided:
            self._sort(item)
        self._released.set()

    def release(self, channel: str, missed: Sequence[Item]) -> None:
        """What was missed there goes on, then what came since. Some of that may have been fetched too."""
        fetched = {_message_of(item) for item in missed}
        for item in missed:
            self._put(item)
        for item in self._held.pop(channel, ()):
            if item.what != "MESSAGE_CREATE" or _message_of(item) not in fetched:
                self._put(item)
        self._released.set()

    def afterwards(self, act: Callable[[], None]) -> None:
        """Once all that was put so far is stored."""
        self._put(act)

    async def drained(self) -> None:
        """Once little waits."""
        while len(self._queue) > _BATCH:
            self._drained.clear()
            await self._drained.wait()

    def newest(self, channel: str) -> str | None:
        """The newest message that was stored in this run, there."""
        return self._newest.get(channel)

    def _is_held(self, channel: str) -> bool:
        return self._undecided is not None or channel in self._held

    async def _put_soon(self, used: Item) -> None:
        """Behind what was missed in its channel, if that comes in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_USE_WAITS_S):
                while self._is_held(used.channel or ""):
                    self._released.clear()
                    await self._released.wait()
        self._put(used)

    def _sort(self, item: Item) -> None:
        if self._undecided is not None:
            waiting: list[Item] | None = self._undecided
        else:
            waiting = self._held.get(item.channel or "")
        if waiting is None:
            self._put(item)
        elif len(waiting) < _MOST_WAITING:
            waiting.append(item)
        else:
            self.on_overflow(item)

    def _put(self, item: Item | Callable[[], None]) -> None:
        if len(self._queue) >= _MOST_WAITING and isinstance(item, Item):
            self.on_overflow(item)
            return
        self._queue.append(item)
        self._stirred.set()

    # on to the desk

    async def run(self) -> None:
        """Until cancelled. Raises `BotRejected`."""
        try:
            while self._refusal is None:
                await self._stirred.wait()
                await self._pass_on()
            raise self._refusal
        finally:
            await self._errands.close()

    async def _pass_on(self) -> None:
        batch: list[_Read] = []
        while self._queue and len(batch) < _BATCH:
            item = self._queue.popleft()
            if isinstance(item, Item):
                batch += await self._read(item)
            else:
                await self._offer(batch)
                batch = []
                item()
        await self._offer(batch)
        self._drained.set()
        if not self._queue:
            self._stirred.clear()

    async def _offer(self, batch: Sequence[_Read]) -> None:
        if not batch:
            return
        receipts = await self._store([one.inbound for one in batch])
        for one, receipt in zip(batch, receipts, strict=True):
            if isinstance(one.inbound, Message) and one.opened is None:
                self._note(one.inbound)
            if one.opened is not None:
                self._errands.start(self._see_to(one.opened, receipt, button=not isinstance(one.inbound, Message)))

    async def _see_to(self, opened: Open, receipt: Receipt, *, button: bool) -> None:
        """Until something is said to it, or, as to one that was closed or merged, nothing will be."""
        replies, heard = self._inquiries.replies, _is_heard(receipt)
        await replies.acknowledge(opened, button=button, heard=heard)
        if heard and not button:
            with suppress(StoreError):  # then the sign stays for its quarter of an hour
                await self._desk.settled(receipt.row)
                await replies.pass_over(opened)

    async def _store(self, batch: Sequence[Inbound]) -> Sequence[Receipt]:
        while True:
            try:
                receipts = await self._desk.receive(batch)
            except StoreError:
                wait_s = self._waits.next_s(*_WAIT_S)
                self._voice.trouble("store", _STORE_REFUSES)
                await self._waits.clock.sleep(wait_s)
            else:
                self._waits.failures = 0
                self._voice.well_again("store")
                return receipts

    def _note(self, message: Message) -> None:
        channel = str(message.address.thread or message.address.chat)
        if channel == message.message:  # its thread begins with it
            channel = message.address.chat
        if int(message.message) > int(self._newest.get(channel, "0")):
            self._newest[channel] = message.message
            self._newest.move_to_end(channel)
        while len(self._newest) > _MOST_CHANNELS:
            self._newest.popitem(last=False)

    # reading

    async def _read(self, item: Item) -> Sequence[_Read]:
        if item.what == "INTERACTION_CREATE":
            return await self._used(item.data)
        scene = self._scene(item)
        if scene is None:
            self._wait_for_place(item)
            return ()
        if item.what == "MESSAGE_UPDATE":
            changed = inbound.edit(item.data, self._us, scene)
            return () if changed is None else (_Read(inbound=changed),)
        said = inbound.message(item.data, self._us, scene)
        if isinstance(said, Message) and said.kind is ChatKind.THREAD:
            self._inquiries.threads.foresee(said)
        return () if said is None else (_Read(inbound=said),)

    async def _used(self, data: object) -> Sequence[_Read]:
        """A button or a command becomes something said; what only asks is answered beside."""
        scene = self._scene_of_use(data)
        if scene is None:
            return ()
        if (about := interactions.asked_about(data)) is not None:
            target = await self._inquiries.target(*about)
            use: interactions.Use | None = interactions.submitted(data, self._us, scene, target)
        else:
            use = interactions.read(data, self._us, scene, self._inquiries.commands)
        match use:
            case Said():
                opened = self._inquiries.replies.expect(use.token, private=use.private)
                return (_Read(inbound=use.message, opened=opened),)
            case Pressed():
                opened = self._inquiries.replies.expect(use.token, private=False)
                return (_Read(inbound=use.press, opened=opened),)
            case Asking():
                self._errands.start(self._inquiries.ask(use, self._desk))
            case interactions.Typing():
                self._errands.start(self._inquiries.suggest(use, self._desk))
            case None:
                pass
        return ()

    def _scene_of_use(self, data: object) -> Scene | None:
        channel = inbound.channel_of(data)
        if channel is None or not isinstance(data, dict):
            return None
        places = self._inquiries.places
        place = places.get(channel)
        if place is None:
            try:
                place = places.remember(interactions.channel_of(data) or _bare(data, channel))
            except Unreadable:
                return None
        return Scene(place=place, places=places)

    def _scene(self, item: Item) -> Scene | None:
        """Where it was said; None where that has to be asked for."""
        channel, places = item.channel or "", self._inquiries.places
        place = places.get(channel)
        if place is None and item.direct:
            place = places.remember({"id": channel, "type": DIRECT})
        if place is None or channel in self._placeless:
            return None
        return Scene(place=place, places=places, auto_thread=self._inquiries.threads.each_question)

    def _wait_for_place(self, item: Item) -> None:
        """Nothing else waits meanwhile."""
        channel = item.channel or ""
        waiting = self._placeless.get(channel)
        if waiting is None:
            self._placeless[channel] = [item]
            self._errands.start(self._find(channel))
        elif len(waiting) < _MOST_WAITING:
            waiting.append(item)
        else:
            self.on_overflow(item)

    async def _find(self, channel: str) -> None:
        """A channel that the gateway did not tell of is asked for, until there is an answer. What was said there then
        goes on, before all that came later."""
        found = False
        try:
            found = await self._is_found(channel)
        except BotRejected as refusal:
            self._refusal = refusal
        waiting = self._placeless.pop(channel)
        if found:
            self._queue.extendleft(reversed(waiting))
        self._stirred.set()

    async def _is_found(self, channel: str) -> bool:
        """Raises `BotRejected`."""
        while True:
            try:
                self._inquiries.places.remember(await self._inquiries.channel(channel))
            except (Rejected, ChatDead, Unreadable):
                _LOG.warning("a message of a channel that can't be read", extra={"bot": self._us.bot})
                return False
            except BotRejected:
                raise
            except BotError as trouble:
                wait_s = trouble.wait_s if isinstance(trouble, FloodWait) else self._waits.next_s(*_WAIT_S)
                await self._waits.clock.sleep(wait_s)
            else:
                return True


def _bare(data: Json, channel: str) -> Json:
    """An interaction that tells nothing of its channel is in a direct chat if it is in no server."""
    return {"id": channel, "type": DIRECT if data.get("guild_id") is None else TEXT, "guild_id": data.get("guild_id")}


def _message_of(item: Item) -> object:
    return item.data.get("id") if isinstance(item.data, dict) else None


def _is_heard(receipt: Receipt) -> bool:
    return receipt.verdict in (Verdict.ACCEPTED, Verdict.DUPLICATE)
