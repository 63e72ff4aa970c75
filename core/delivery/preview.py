"""An answer while it is being made: one message that grows by edits and becomes part 1 of the reply."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from enum import Enum, auto
from typing import NamedTuple, Protocol

import structlog
from msgspec import Struct
from msgspec.structs import replace

from core.delivery.handover import Sent, hand_over
from core.delivery.lane import Lane
from core.delivery.workshop import Workshop
from core.errors import ChatDead, FloodWait, NotSent, Rejected, SendError, StoreError, Unknown
from core.faultpoints import faultpoint
from core.ports import Bot, CanDraft, CanEdit
from core.store import deliveries
from core.store.deliveries import Parcel, Posted
from core.store.sql import Tx
from core.vocabulary import ChatKind

log = structlog.get_logger("frontdesk.delivery")


HELD_S = 1.0
"""How often a preview looks whether its bot may send again."""


class _Stage(Enum):
    WAITING = auto()
    SENDING = auto()
    EDITING = auto()
    OVER = auto()


class Answer(Protocol):
    @property
    def text(self) -> str:
        """All that was said so far."""

    @property
    def doing(self) -> str:
        """What it waits for, in a few words; "" for nothing in particular."""


class _Part(NamedTuple):
    """What one message holds: of what was `said`, and as it is `shown`, with the line of what is being done."""

    said: str
    shown: str


class Beginning(Struct, frozen=True, kw_only=True):
    """How a preview comes to be, and whose answer it is. `post` stores it; `drafts`: what vanishes by itself, or only
    gains, does as well as a message that is edited."""

    parcel: Parcel
    post: Callable[[Tx, Parcel, datetime], Posted] = deliveries.post
    drafts: bool = True


class Preview:
    """Owned by one running turn. `show` may be called for every delta; what is sent is always the latest text of the
    answer."""

    def __init__(
        self, workshop: Workshop, lane: Lane, begin: Beginning, answer: Answer, inherited: Posted | None = None
    ) -> None:
        """`inherited`: what the last process showed."""
        self._workshop = workshop
        self._lane = lane
        self._parcel = begin.parcel
        self._begin = begin
        self._row = inherited
        self._answer = answer
        self._shown: str | None = "" if inherited is None else None  # it may have grown since its text was stored
        self._split: tuple[Bot, str, tuple[str, ...]] | None = None
        """What was split last, and into which parts."""
        self._worked_at: int | None = None
        """How much was said when the message last said what is being done, until it shows more than that."""
        self._growing = False
        """As it was last handed over: what is growing is to be told that it has ended."""
        self._changed = asyncio.Event()
        self._stage = _Stage.WAITING
        self._task: asyncio.Task[None] | None = None
        self._beginning: asyncio.Task[None] | None = None
        """The task, if it had sent nothing yet when the answer was complete."""

    @property
    def started(self) -> bool:
        return self._task is not None

    @property
    def possible(self) -> bool:
        """Can the bot show something that grows?"""
        bot = self._bot()
        return bot is not None and isinstance(bot, CanEdit) and bot.capabilities.edit_interval_s is not None

    def _bot(self) -> Bot | None:
        return self._workshop.bots.get(self._parcel.address.bot)

    def show(self) -> None:
        """The answer has grown."""
        if self._is(_Stage.OVER):
            return
        self._changed.set()
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="preview")

    def end(self) -> None:
        """The answer is complete: what still waits to be shown is dropped."""
        if self._stage in (_Stage.WAITING, _Stage.SENDING):
            self._beginning = self._task
        if self._is(_Stage.WAITING) and self._task is not None:
            self._task.cancel()
        self._stage = _Stage.OVER
        self._changed.set()

    async def close(self) -> Posted | None:
        """The preview's row, if one was committed. Waits for a first send that is under way, since its id is needed; an
        edit that is under way keeps the lane until it has ended."""
        self.end()
        if self._beginning is not None:
            await asyncio.gather(self._beginning, return_exceptions=True)
        self._task = self._beginning = None
        return None if self._row is None else self._workshop.doubted(self._row)

    def move(self, lane: Lane, begin: Beginning) -> None:
        """The chat has another id, under which what was shown is not known: it is shown anew. A first send that is
        under way may arrive there."""
        self._lane, self._begin, self._parcel = lane, begin, begin.parcel
        if self._stage in (_Stage.SENDING, _Stage.OVER):
            return
        self.abandon()
        self._task = self._row = self._worked_at = None
        self._shown, self._stage = "", _Stage.WAITING

    def abandon(self) -> None:
        """The process ends; what is under way stays as it is stored."""
        if self._task is not None:
            self._task.cancel()

    @property
    def shown(self) -> str | None:
        """What the message says; None while that is not certain, or where it is to be told that this is all."""
        return None if self._lane.hold.locked() or self._growing else self._shown

    def _is(self, stage: _Stage) -> bool:
        return self._stage is stage

    async def _run(self) -> None:
        bot = self._bot()
        if bot is None or self._lane.pace is None:
            return
        try:
            if self._row is None and self._drafts(bot):
                await self._draft(bot)
            if self._is(_Stage.OVER):
                return
            if self._row is not None and self._row.message is not None:
                self._stage = _Stage.EDITING
            while self._is(_Stage.WAITING):
                await self._send_first(bot)
            while self._is(_Stage.EDITING):
                await self._edit_next()
        except StoreError:
            log.exception("preview_store_fault", bot=bot.name)

    def _grows(self) -> bool:
        """Does the message only gain?"""
        return self._begin.drafts and self._workshop.streams(self._parcel.address)

    def _part(self, bot: Bot, *, only_gains: bool = False) -> _Part:
        """What fits one message; the rest is not looked at."""
        said = self._answer.text[: 2 * bot.capabilities.text_limit]
        silent = only_gains or self._workshop.shows_work(self._parcel.address)
        parts, doing = self._parts(bot, said), "" if silent else self._answer.doing
        first = parts[0] if parts else ""
        longer = bot.parts(f"{said}\n\n*{doing}*") if doing and len(parts) <= 1 else ()
        return _Part(first, longer[0] if len(longer) == 1 else first)

    def _parts(self, bot: Bot, said: str) -> tuple[str, ...]:
        """Found once for an answer that has grown beyond what a message shows of it: its beginning stays as it is."""
        if self._split is None or self._split[0] is not bot or self._split[1] != said:
            self._split = (bot, said, bot.parts(said))
        return self._split[2]

    async def _send_first(self, bot: Bot) -> None:
        await self._changed.wait()
        self._changed.clear()
        await self._lane.quiet()
        await self._may(edit=False)
        bot, growing = self._bot() or bot, self._grows()
        part = self._part(bot, only_gains=growing)
        if self._lane.pace is None:
            self._stage = _Stage.OVER
        if self._lane.pace is None or not part.shown:  # the bot is gone, or the tool that was to be shown has ended
            return
        self._spend()
        self._stage = _Stage.SENDING
        again = self._row is not None
        row = self._row = await self._stored(part)
        self._growing = growing
        async with self._lane.hold:
            tried = row.created_at if again else None
            faultpoint("preview.committed", row.id)
            fate = await hand_over(self._workshop, bot, replace(row, text=part.shown), growing, tried)
            faultpoint("preview.sent", row.id)
        match fate:
            case Sent(message=message) if message is not None:
                self._row = replace(row, address=self._parcel.address, message=message)
                self._saw(part)
                if again:  # what was sent before may be what stands there
                    self._shown = None
                    self._changed.set()
                await self._workshop.store.write(lambda tx: deliveries.hold(tx, row.id, message))
                if self._is(_Stage.SENDING):
                    self._stage = _Stage.EDITING
            case Unknown():
                self._stage = _Stage.OVER
            case _:
                self._note(fate)
                self._stage = _Stage.OVER
                if not again:
                    await self._workshop.store.write(lambda tx: deliveries.drop(tx, row.id))
                    self._row = None  # not before: a row that could not be dropped is the record's to drop

    async def _stored(self, part: _Part) -> Posted:
        """The row of the first send. One that the last process left is sent again: a platform that still knows it tells
        the id that was not stored."""
        left = self._row
        if left is not None:
            await self._workshop.store.write(lambda tx: deliveries.sending(tx, left.id))
            return replace(left, attempts=left.attempts + 1)
        parcel, now = replace(self._parcel, text=part.said, state=deliveries.SENDING), self._workshop.clock.now()
        return await self._workshop.store.write(lambda tx: self._begin.post(tx, parcel, now))

    def _drafts(self, bot: Bot) -> bool:
        """Does the platform show here what an answer is like so far, without a message?"""
        direct = self._parcel.kind is ChatKind.DIRECT
        return self._begin.drafts and direct and bot.capabilities.drafts and isinstance(bot, CanDraft)

    async def _draft(self, bot: Bot) -> None:
        """Until the answer is over, or the platform shows no drafts after all. Nothing of it stays."""
        shown = ""
        while not self._is(_Stage.OVER) and self._drafts(bot):
            await self._changed.wait()
            self._changed.clear()
            await self._may(edit=True)
            bot = self._bot() or bot
            text = self._part(bot).shown
            if self._is(_Stage.OVER) or text in ("", shown) or not self._drafts(bot) or not isinstance(bot, CanDraft):
                continue
            self._spend()
            try:
                await bot.draft(self._parcel.address, text)
                shown = text
            except SendError as fate:
                self._note(fate)
                if isinstance(fate, NotSent):  # it is shown once it may be, also if nothing more is said
                    self._changed.set()
        self._changed.set()

    async def _edit_next(self) -> None:
        faultpoint("preview.identified", self)
        await self._changed.wait()
        self._changed.clear()
        await self._may(edit=True)
        bot, row = self._bot(), self._row
        if bot is None or self._is(_Stage.OVER) or row is None:
            return
        growing = self._grows()
        part = self._part(bot, only_gains=growing)
        if part.shown in ("", self._shown):
            return
        self._spend()
        if growing:  # its end is an edit, which must take away nothing that was read
            await self._workshop.store.write(lambda tx: deliveries.grown(tx, row.id, part.said))
        async with self._lane.hold:
            if self._is(_Stage.OVER):
                return
            self._growing = growing
            fate = await hand_over(self._workshop, bot, replace(row, text=part.shown), growing)
            faultpoint("preview.edited", row.id)
        if isinstance(fate, Sent):
            if self._saw(part):
                await self._workshop.store.write(lambda tx: deliveries.grown(tx, row.id, part.said))
        else:
            self._shown = None if isinstance(fate, Unknown) else self._shown
            self._note(fate)
            self._changed.set()
        if isinstance(fate, Rejected | ChatDead):
            self._stage = _Stage.OVER

    def _saw(self, part: _Part) -> bool:
        """People see this. Is it the first that shows more than was said while tools ran? Then it is worth storing: a
        recovery can't tell from the log whether words came after them."""
        self._shown, before = part.shown, self._worked_at
        if part.shown != part.said:
            self._worked_at = len(part.said)
            return False
        goes_on = before is not None and len(part.said) > before
        self._worked_at = None if goes_on else before
        return goes_on

    def _note(self, fate: object) -> None:
        if isinstance(fate, FloodWait) and self._lane.pace is not None:
            self._lane.pace.obey(self._workshop.clock.monotonic(), fate)
        log.info("preview_not_shown", bot=self._parcel.address.bot, why=str(fate))

    def _spend(self) -> None:
        """Right after `_may`, before anybody else can look: lanes share their account's pace."""
        if self._lane.pace is not None:
            self._lane.pace.spend(self._workshop.clock.monotonic())

    async def _may(self, *, edit: bool) -> None:
        """Wait until the bot may send, and for the chat's pace."""
        clock = self._workshop.clock
        while (pace := self._lane.pace) is not None and not self._is(_Stage.OVER):
            now = clock.monotonic()
            wait = pace.edit_in(now) if edit else pace.send_in(now)
            if self._workshop.is_held(self._lane.bot):
                wait = max(wait, HELD_S)
            if wait <= 0:
                return
            await clock.sleep(wait)
