"""One chat's way out: parts go one after the other, and each ends sent, failed or unknown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import assert_never

import structlog
from msgspec.structs import replace

from core.backoff import backoff_s
from core.delivery import trial
from core.delivery.backlog import Backlog
from core.delivery.handover import Fate, Sent, accepts, hand_over
from core.delivery.pacing import ChatPace
from core.delivery.trial import Trial
from core.delivery.workshop import Workshop
from core.errors import (
    ChatDead,
    FloodWait,
    NotSent,
    Rejected,
    SendError,
    StoreError,
    ThreadGone,
    Unknown,
    Unreachable,
)
from core.faultpoints import faultpoint
from core.store import deliveries
from core.store.deliveries import Posted
from core.store.sql import Tx
from core.vocabulary import BotName, ChatId, DeliveryId

log = structlog.get_logger("frontdesk.delivery")

LONGEST_BACKOFF_S = 60.0
NOTICE_AFTER_S = 2.0
"""What kept a platform from answering is often over by then; the notice about it is said once, so it is not risked."""
LONGEST_WAIT_S = 86_400.0
"""A wait that the last process wrote down is not believed beyond this: its clock may have been wrong."""


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
        self._backlog = Backlog(workshop.store, bot, chat)
        self._after: list[asyncio.Event] = []
        """What has to happen before the store is read."""
        self._trial: Trial | None = None
        self._left: asyncio.Event | None = None
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
        idle = not self._backlog and self.task is None and not self.hold.locked()
        if not idle or self._claims or self._workshop.is_held(self.bot):
            return False
        if (pace := self.pace) is None or pace.send_in(now) > 0:
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
        self._backlog.add([posted])
        self._start()

    async def quiet(self) -> None:
        """Return once nothing waits for the chat."""
        await self._quiet.wait()

    def load(self, *after: asyncio.Event) -> None:
        """Something waits in the store, maybe before what is queued here: it is read in its order, after all that."""
        self._resume_at = None
        self._after += after
        self._backlog.look()
        self._start()

    def leave(self) -> asyncio.Event:
        """What waits here waits in another lane, in the store already. Set once nothing is under way here."""
        self._resume_at = None
        self._backlog.empty()
        left = self._left or asyncio.Event()
        if self._backlog:
            self._left = left
        else:
            left.set()
        return left

    def wake(self) -> None:
        """The chat was heard of: a lane that rests goes on."""
        self._rested.set()

    def _start(self) -> None:
        self._quiet.clear()
        if self.task is None:
            self.task = asyncio.create_task(self._run(), name=f"lane {self.bot}")

    async def _run(self) -> None:
        try:
            while self._backlog:
                await self._step()
        finally:
            self.task = None
            self._quiet.set()
            self._leave()

    async def _step(self) -> None:
        try:
            if self._backlog.first is None:
                while self._after:
                    await self._still(self._after.pop().wait())
                await self._backlog.read()
            if (first := self._backlog.first) is not None:
                await self._deliver(first)
        except StoreError as fault:
            now = self._workshop.clock.monotonic()
            self._workshop.store.faults.met("lane_store_fault", fault, now, bot=self.bot)
            await self._pause(1.0)

    async def _deliver(self, posted: Posted) -> None:
        """Until the first part in the queue has its fate, or waits for another try."""
        faultpoint("delivery.dequeued", posted)
        if self._rests or self._workshop.bots.get(self.bot) is None:
            await self._rest()
            return
        await self._wait(posted)
        bot = self._workshop.bots.get(self.bot)
        if bot is None or not self._is_next(posted):  # it left meanwhile, or what waits goes elsewhere
            return
        if posted.role == deliveries.UNKNOWN_NOTICE and not await accepts(bot, posted):
            await self._later(posted, LONGEST_BACKOFF_S / 4, NotSent("the chat takes nothing yet"))
            return
        async with self.hold:
            if not self._is_next(posted):
                return
            posted = await self._begin(posted)
            tried = self._trial_of(posted).goes_on(self._workshop.clock.now())
            if (answered_s := self._answered.pop(posted.id, None)) is not None:
                self._workshop.tally.handed_over(self._workshop.clock.monotonic() - answered_s)
            await self._settle(posted, await hand_over(self._workshop, bot, posted, tried=tried))
        if self._left is not None:  # what is to be tried again is tried there
            self._backlog.forget(posted)
            self._left.set()
            self._left = None

    def _is_next(self, posted: Posted) -> bool:
        return self._backlog.first is posted

    def _trial_of(self, posted: Posted) -> Trial:
        if self._trial is None or self._trial.part != posted.id:
            self._trial = trial.begin(posted)
        return self._trial

    async def _begin(self, posted: Posted) -> Posted:
        """It is stored that it is being sent, before it is."""
        if posted.state == deliveries.SENDING:
            return posted
        begun = replace(posted, state=deliveries.SENDING, attempts=posted.attempts + 1, not_before=None)
        self._backlog.put(begun)
        try:
            await self._workshop.store.write(lambda tx: deliveries.sending(tx, posted.id))
        except StoreError:
            self._backlog.put(posted)
            raise
        self._resume_at = None
        return begun

    async def _wait(self, posted: Posted) -> None:
        """For the part's own time, then until the bot may send and for the chat's pace, which counts it at once: lanes
        share their account's. Waits are monotonic: a wall clock that jumps changes only what another process wrote."""
        clock = self._workshop.clock
        if posted.not_before is not None and self._resume_at is None:
            wait = min((posted.not_before - clock.now()).total_seconds(), LONGEST_WAIT_S)
            self._resume_at = clock.monotonic() + wait
        if self._resume_at is not None:
            await self._pause(self._resume_at - clock.monotonic())
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
        faultpoint("delivery.sent", posted)
        match fate:
            case Sent(message=message) if posted.doubtful and message is not None:
                await self._anew(replace(posted, message=message, doubtful=False))
            case Sent(message=message):
                await self._mark(posted, lambda tx, now: deliveries.sent(tx, posted.id, message, now))
                self._workshop.tally.delivered(self.bot, "sent")
            case Unreachable():
                self._rested.clear()
                self._rests = True
                await self._later(posted, None, fate)
            case FloodWait():
                if (pace := self.pace) is not None:
                    pace.obey(self._workshop.clock.monotonic(), fate)
                await self._later(posted, fate.wait_s, fate)
            case NotSent():
                await self._try_again(posted, fate)
            case Unknown():
                await self._perhaps(posted, fate)
            case ChatDead():
                await self._dead(posted, fate)
            case ThreadGone() if posted.message is None and posted.address.thread is not None:
                await self._leave_thread(posted)
            case Rejected() | SendError():
                await self._refused(posted, fate)
            case _:
                assert_never(fate)

    async def _mark(self, posted: Posted, mark: Callable[[Tx, datetime], None]) -> None:
        """Store its fate, after which it is done with."""
        await self._store(posted, mark)
        self._done(posted)

    def _done(self, posted: Posted) -> None:
        self._answered.pop(posted.id, None)
        self._backlog.done()

    async def _store(self, posted: Posted, unit: Callable[[Tx, datetime], None]) -> None:
        now = self._workshop.clock.now()
        while True:
            try:
                await self._workshop.store.write(lambda tx: unit(tx, now))
            except StoreError as fault:
                now_s = self._workshop.clock.monotonic()
                self._workshop.store.faults.met("delivery_not_marked", fault, now_s, bot=self.bot, delivery=posted.id)
                await self._pause(1.0)
            else:
                break

    async def _anew(self, posted: Posted) -> None:
        """It goes out once more, as this."""
        queued, self._trial = replace(posted, state=deliveries.QUEUED), None
        await self._store(posted, lambda tx, _: deliveries.settle(tx, queued))
        self._backlog.put(queued)

    async def _leave_thread(self, posted: Posted) -> None:
        """What waits for the thread goes to the chat around it, where it is said once why. The notice comes behind
        all that waits, as its row does."""
        notices: list[Posted] = []
        here = deliveries.in_chat(replace(posted, state=deliveries.QUEUED, attempts=0))
        gone = posted.address.thread
        said = self._workshop.notices.say("thread_gone")

        def unit(tx: Tx, now: datetime) -> None:
            deliveries.settle(tx, here)
            deliveries.leave_thread(tx, posted)
            notices[:] = [deliveries.say(tx, here.address, here.kind, said, now, posted.conversation)]

        log.warning("thread_gone", bot=self.bot, delivery=posted.id)
        await self._store(posted, unit)
        self._backlog.put(here)
        self._backlog.change(lambda one: deliveries.in_chat(one) if one.address.thread == gone else one)
        self._backlog.add(notices)

    async def _later(self, posted: Posted, seconds: float | None, why: SendError) -> None:
        """Back in the queue; it goes out that much later, or when the chat is heard of again."""
        clock = self._workshop.clock
        until = None if seconds is None else clock.now() + timedelta(seconds=seconds)
        self._resume_at = None if seconds is None else clock.monotonic() + seconds
        await self._workshop.store.write(lambda tx: deliveries.later(tx, posted.id, until, str(why)))
        self._workshop.tally.put_off(self.bot, why)
        self._backlog.put(replace(posted, state=deliveries.QUEUED, not_before=until))

    async def _try_again(self, posted: Posted, why: SendError) -> None:
        now = self._workshop.clock.now()
        if (now - posted.created_at).total_seconds() > self._workshop.give_up_s:
            doubtful = posted.message is None and self._trial_of(posted).doubtful
            await (self._lost(posted, why) if doubtful else self._refused(posted, why))
            return
        wait = backoff_s(posted.attempts, 0.5, LONGEST_BACKOFF_S) * self._workshop.random.uniform(0.75, 1.25)
        await self._later(posted, wait, why)

    async def _perhaps(self, posted: Posted, why: Unknown) -> None:
        """An edit may be repeated, and so may a send that is known again if it arrived."""
        tries = self._trial_of(posted)
        tries.doubtful = True
        repeats = not why.for_good and self._workshop.recognised(posted, tries.since)
        if posted.message is not None or repeats:
            await self._try_again(posted, why)
        else:
            await self._lost(posted, why)

    async def _lost(self, posted: Posted, why: SendError) -> None:
        """Nobody will ever know whether it arrived."""
        notices: list[Posted | None] = []

        def mark(tx: Tx, now: datetime) -> None:
            notices[:] = [self._workshop.mark_unknown(tx, posted, str(why), now)]

        log.warning("delivery_unknown", bot=self.bot, delivery=posted.id, why=str(why))
        await self._mark(posted, mark)
        self._workshop.tally.delivered(self.bot, "unknown")
        soon = self._workshop.clock.now() + timedelta(seconds=NOTICE_AFTER_S)
        self._backlog.add(replace(notice, not_before=soon) for notice in notices if notice is not None)

    async def _dead(self, posted: Posted, why: ChatDead) -> None:
        """The platform refuses the chat: nothing that waits for it can arrive. Its next inbound makes new parts."""
        gone: list[int] = []

        def mark(tx: Tx, now: datetime) -> None:
            gone[:] = [self._workshop.mark_dead(tx, posted, str(why), now)]

        log.warning("chat_dead", bot=self.bot, delivery=posted.id, why=str(why))
        await self._mark(posted, mark)
        self._workshop.tally.delivered(self.bot, "failed", sum(gone))
        self._answered.clear()
        self._resume_at = None
        self._backlog.empty()

    async def _refused(self, posted: Posted, why: SendError) -> None:
        """For good; but an edit that is refused becomes a message of its own, whether or not the other still stands."""
        if posted.message is not None and isinstance(why, Rejected):
            await self._anew(replace(posted, message=None, attempts=0))
            return
        log.warning("delivery_failed", bot=self.bot, delivery=posted.id, why=str(why))
        instead: list[Posted] = []

        def mark(tx: Tx, now: datetime) -> None:
            instead[:] = self._workshop.mark_failed(tx, posted, str(why), now)

        await self._mark(posted, mark)
        self._workshop.tally.delivered(self.bot, "failed")
        self._backlog.add(instead)
