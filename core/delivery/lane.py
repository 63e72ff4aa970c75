"""One chat's way out: parts go one after the other, and each ends sent, failed or unknown."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

import structlog

from core.delivery.pacing import ChatPace
from core.delivery.workshop import Workshop
from core.errors import (
    ChatDead,
    FloodWait,
    NotSent,
    Rejected,
    SendError,
    StoreError,
    Unknown,
    Unreachable,
)
from core.ports import Bot, CanEdit, CanType
from core.store import deliveries
from core.store.deliveries import Posted
from core.store.sql import Tx
from core.vocabulary import Address, BotName, ChatId, Delivery, DeliveryId, MessageId

log = structlog.get_logger("frontdesk.delivery")

LONGEST_BACKOFF_S = 60.0
NOTICE_AFTER_S = 2.0
"""What kept a platform from answering is often over by then; the notice about it is said once, so it is not risked."""
LONGEST_WAIT_S = 86_400.0
"""A wait that the last process wrote down is not believed beyond this: its clock may have been wrong."""
PAGE = 100
"""Parts that a lane reads from the store at once."""


@dataclass(frozen=True, slots=True)
class Sent:
    message: MessageId | None


Fate = Sent | SendError


class Lane:
    """Sends to one chat. `hold` lets a preview use the chat while no part is under way."""

    def __init__(
        self, workshop: Workshop, bot: BotName, chat: ChatId, pace: Callable[[], ChatPace | None],
        gone: Callable[[Lane], None],
    ) -> None:  # fmt: skip
        self.bot = bot
        self.chat = chat
        self._pace_of = pace
        self.hold = asyncio.Lock()
        self.task: asyncio.Task[None] | None = None
        self.still = False
        """Nothing moves until time passes or somebody comes back."""
        self._workshop = workshop
        self._gone = gone
        self._queue: deque[Posted] = deque()
        self._stored = False
        self._last = 0
        self._claims = 0
        self._users = 0
        self._rests = False
        self._answered: dict[DeliveryId, float] = {}
        self._resume_at: float | None = None
        self._rested = asyncio.Event()
        self._quiet = asyncio.Event()
        self._quiet.set()

    @property
    def pace(self) -> ChatPace | None:
        """The chat's; None while its bot is not configured."""
        return self._pace_of()

    def claim(self) -> bool:
        """May the caller commit its first part as `sending`, since nothing is before it? Then it pushes or releases."""
        now = self._workshop.clock.monotonic()
        idle = not self._queue and not self._stored and self.task is None and not self.hold.locked()
        if not idle or self._claims or self._workshop.is_held(self.bot):
            return False
        pace = self.pace
        if pace is None or pace.send_in(now) > 0:
            return False
        self._claims += 1
        return True

    def release(self) -> None:
        """The claim comes to nothing."""
        self._claims = 0

    def lease(self) -> Lane:
        """Keep this very lane for the chat until `let_go`, also while nothing waits."""
        self._users += 1
        return self

    def let_go(self) -> None:
        self._users -= 1
        self._leave()

    def _leave(self) -> None:
        if not self._users and self.task is None:
            self._gone(self)

    def push(self, posted: Posted, answered_s: float | None = None) -> None:
        """Send a committed part after all that were pushed before it; one that is `sending` was claimed. `answered_s`:
        when the answer that it begins was complete."""
        if answered_s is not None:
            self._answered[posted.id] = answered_s
        if posted.state == deliveries.SENDING:
            self._claims = 0
        self._queue.append(posted)
        self._start()

    async def quiet(self) -> None:
        """Return once nothing waits for the chat."""
        await self._quiet.wait()

    def load(self) -> None:
        """Something waits in the store."""
        self._stored = True
        self._start()

    def empty(self) -> None:
        """What waits here is sent elsewhere; a part that is under way ends here."""
        under_way = [one for one in self._queue if one.state == deliveries.SENDING][:1]
        self._queue.clear()
        self._queue.extend(under_way)
        self._stored = False

    def wake(self) -> None:
        """The chat was heard of: a lane that rests goes on."""
        self._rested.set()

    def _start(self) -> None:
        self._quiet.clear()
        if self.task is None:
            self.task = asyncio.create_task(self._run(), name=f"lane {self.bot}")

    async def _run(self) -> None:
        try:
            while self._queue or self._stored:
                await self._step()
        finally:
            self.task = None
            self._quiet.set()
            self._leave()

    async def _step(self) -> None:
        try:
            if self._stored and (not self._queue or not self._last):
                await self._read()
            if self._queue:
                await self._deliver(self._queue[0])
        except StoreError as fault:
            now = self._workshop.clock.monotonic()
            self._workshop.store.faults.met("lane_store_fault", fault, now, bot=self.bot)
            await self._pause(1.0)

    async def _read(self) -> None:
        """The next page, in order with what was pushed meanwhile; what lies behind a full page is read later."""
        page = await self._workshop.store.read(
            lambda tx: deliveries.unsent(tx, self.bot, self.chat, after=self._last, most=PAGE)
        )
        self._stored = len(page) == PAGE
        merged = {one.id: one for one in (*page, *self._queue)}
        last = page[-1].id if self._stored else max(merged, default=0)
        self._queue = deque(merged[key] for key in sorted(merged) if key <= last)
        self._last = max(self._last, page[0].id - 1 if page else 0, 1)

    async def _deliver(self, posted: Posted) -> None:
        """Until the first part in the queue has its fate, or waits for another try."""
        if self._rests or self._workshop.bots.get(self.bot) is None:
            await self._rest()
            return
        await self._wait(posted)
        bot, posted = self._workshop.bots.get(self.bot), self._queue[0]
        if bot is None:  # it left meanwhile
            return
        if posted.role == deliveries.UNKNOWN_NOTICE and not await accepts(bot, posted):
            await self._later(posted, LONGEST_BACKOFF_S / 4, NotSent("the chat takes nothing yet"))
            return
        async with self.hold:
            if posted.state != deliveries.SENDING:
                await self._workshop.store.write(lambda tx: deliveries.sending(tx, posted.id))
                posted = self._queue[0] = replace(posted, state=deliveries.SENDING, attempts=posted.attempts + 1)
            if (answered_s := self._answered.pop(posted.id, None)) is not None:
                self._workshop.tally.handed_over(self._workshop.clock.monotonic() - answered_s)
            await self._settle(posted, await hand_over(self._workshop, bot, posted))

    async def _wait(self, posted: Posted) -> None:
        """For the part's own time, then until the bot may send and for the chat's pace, which counts it at once: lanes
        share their account's. Waits are monotonic: a wall clock that jumps changes only what another process wrote."""
        clock = self._workshop.clock
        if posted.not_before is not None and self._resume_at is None:
            wait = min((posted.not_before - clock.now()).total_seconds(), LONGEST_WAIT_S)
            self._resume_at = clock.monotonic() + wait
        if self._resume_at is not None:
            await self._pause(self._resume_at - clock.monotonic())
            self._resume_at = None
            self._queue[0] = replace(posted, not_before=None)
        while (pace := self.pace) is not None:
            if self._workshop.is_held(self.bot):
                await self._still(self._workshop.held[self.bot].wait())
            now = clock.monotonic()
            wait = pace.send_in(now)
            if wait <= 0:
                pace.spend(now)
                return
            await self._pause(wait)

    async def _pause(self, seconds: float) -> None:
        if seconds > 0:
            await self._still(self._workshop.clock.sleep(seconds))

    async def _still(self, waiting: Awaitable[object]) -> None:
        self.still = True
        try:
            await waiting
        finally:
            self.still = False

    async def _rest(self) -> None:
        """Nobody is there: go on when the chat is heard of again."""
        await self._still(self._rested.wait())
        self._rests = False
        self._rested.clear()

    async def _settle(self, posted: Posted, fate: Fate) -> None:
        """Store what became of it. Until that is stored, the part is not sent again: a fate that can't be stored is
        tried until it can."""
        match fate:
            case Sent(message=message):
                await self._mark(posted, lambda tx, now: deliveries.sent(tx, posted.id, message, now))
                self._workshop.tally.delivered(self.bot, "sent")
            case Unreachable():
                self._rested.clear()
                self._rests = True
                await self._later(posted, None, fate)
            case FloodWait():
                if (pace := self.pace) is not None:
                    pace.block(self._workshop.clock.monotonic(), fate.wait_s)
                await self._later(posted, fate.wait_s, fate)
            case NotSent():
                await self._try_again(posted, fate)
            case Unknown():
                await self._perhaps(posted, fate)
            case ChatDead():
                await self._dead(posted, fate)
            case Rejected() | SendError():
                await self._refused(posted, fate)
            case _:
                assert_never(fate)

    async def _mark(self, posted: Posted, mark: Callable[[Tx, datetime], None]) -> None:
        now = self._workshop.clock.now()
        while True:
            try:
                await self._workshop.store.write(lambda tx: mark(tx, now))
            except StoreError as fault:
                now_s = self._workshop.clock.monotonic()
                self._workshop.store.faults.met("delivery_not_marked", fault, now_s, bot=self.bot, delivery=posted.id)
                await self._pause(1.0)
            else:
                break
        self._done(posted)

    def _done(self, posted: Posted) -> None:
        self._last = max(self._last, posted.id)
        self._queue.popleft()

    async def _later(self, posted: Posted, seconds: float | None, why: SendError) -> None:
        """Back in the queue; it goes out that much later, or when the chat is heard of again."""
        clock = self._workshop.clock
        until = None if seconds is None else clock.now() + timedelta(seconds=seconds)
        self._resume_at = None if seconds is None else clock.monotonic() + seconds
        await self._workshop.store.write(lambda tx: deliveries.later(tx, posted.id, until, str(why)))
        self._workshop.tally.put_off(self.bot, why)
        self._queue[0] = replace(posted, state=deliveries.QUEUED, not_before=until)

    async def _try_again(self, posted: Posted, why: SendError) -> None:
        now = self._workshop.clock.now()
        if (now - posted.created_at).total_seconds() > self._workshop.give_up_s:
            await self._refused(posted, why)
            return
        wait = min(LONGEST_BACKOFF_S, 2.0 ** min(posted.attempts, 10) / 2) * self._workshop.random.uniform(0.75, 1.25)
        await self._later(posted, wait, why)

    async def _perhaps(self, posted: Posted, why: Unknown) -> None:
        """An edit may be repeated, and so may a send that the platform recognises; else it is unknown for good."""
        if posted.message is not None or self._workshop.recognised(posted, self._workshop.clock.now()):
            await self._try_again(posted, why)
            return
        notices: list[Posted | None] = []

        def mark(tx: Tx, now: datetime) -> None:
            notices[:] = [self._workshop.mark_unknown(tx, posted, str(why), now)]

        log.warning("delivery_unknown", bot=self.bot, delivery=posted.id, why=str(why))
        await self._mark(posted, mark)
        self._workshop.tally.delivered(self.bot, "unknown")
        soon = self._workshop.clock.now() + timedelta(seconds=NOTICE_AFTER_S)
        self._queue.extend(replace(notice, not_before=soon) for notice in notices if notice is not None)

    async def _dead(self, posted: Posted, why: ChatDead) -> None:
        """The platform refuses the chat: nothing that waits for it can arrive. Its next inbound makes new parts."""

        gone: list[int] = []

        def mark(tx: Tx, now: datetime) -> None:
            deliveries.failed(tx, posted.id, str(why), now)
            gone[:] = [deliveries.fail_chat(tx, self.bot, self.chat, posted.id, str(why), now)]

        log.warning("chat_dead", bot=self.bot, delivery=posted.id, why=str(why))
        await self._mark(posted, mark)
        self._workshop.tally.delivered(self.bot, "failed", 1 + sum(gone))
        self._queue.clear()
        self._answered.clear()
        self._stored = False

    async def _refused(self, posted: Posted, why: SendError) -> None:
        """For good; but an edit of a message that is gone becomes a message."""
        if posted.message is not None and isinstance(why, Rejected):
            await self._mark_anew(posted)
            return
        log.warning("delivery_failed", bot=self.bot, delivery=posted.id, why=str(why))
        await self._mark(posted, lambda tx, now: deliveries.failed(tx, posted.id, str(why), now))
        self._workshop.tally.delivered(self.bot, "failed")

    async def _mark_anew(self, posted: Posted) -> None:
        anew = replace(posted, message=None)
        await self._workshop.store.write(
            lambda tx: deliveries.settle(tx, anew, posted.text, deliveries.QUEUED, posted.role)
        )
        self._queue[0] = replace(anew, state=deliveries.QUEUED)


async def accepts(bot: Bot, posted: Posted) -> bool:
    """Does the platform take anything for this chat? Asked with what leaves no trace, before what is said only once."""
    if not isinstance(bot, CanType):
        return True
    try:
        await bot.typing(_address(posted))
    except (Rejected, ChatDead):
        return True  # it answers; what becomes of the notice is the notice's to find out
    except SendError:
        return False
    return True


async def hand_over(workshop: Workshop, bot: Bot, posted: Posted) -> Fate:
    """Give one part to the bot: an edit if the platform's id is known, else a send."""
    files = workshop.files_of(posted)
    if len(files) < len(posted.files) and not posted.text.strip():
        return Rejected("a file of it is not kept any more")
    delivery = Delivery(
        id=posted.id, address=_address(posted), kind=posted.kind, text=posted.text, buttons=posted.buttons, files=files,
        attempt=max(1, posted.attempts),
    )  # fmt: skip
    try:
        if posted.message is None:
            return Sent(await bot.send(delivery))
        if isinstance(bot, CanEdit):
            await bot.edit(delivery, posted.message)
            return Sent(posted.message)
        return Rejected("this bot can't edit")
    except SendError as error:
        return error
    except Exception as error:  # delivery lane: a fault in one bot stops no other; it may have gone out
        log.exception("bot_fault", bot=posted.address.bot, delivery=posted.id)
        return Unknown(f"fault in the bot: {type(error).__name__}")


def _address(posted: Posted) -> Address:
    """Only the first part replies to the question."""
    return posted.address if posted.part == 1 else replace(posted.address, reply_to=None)
