"""One conversation's mailbox: decides what its owner does next, and waits.

All that can be lost with it is in the store, and its next owner starts from there. Whatever waits here waits on one
event, so a command is heard while a turn runs, while it waits for a slot, and while the rest of a paste is awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import structlog

from core.desk import coalesce, hands
from core.desk.carry_out import CLOSING
from core.desk.coalesce import Ref
from core.desk.commands.table import Reach
from core.desk.consent import GO_ON
from core.desk.house import House
from core.desk.owner import Owner, Unfinished, rows_of
from core.desk.permission import reach
from core.desk.retry_queue import Place
from core.desk.tray import Tray
from core.errors import FenceLost, StoreError, StoreFull, StoreUncertain
from core.store.conversations import ConversationId
from core.store.inbox import Lane
from core.store.people import Role
from core.vocabulary import ChatKind, Moved, RowId

log = structlog.get_logger("frontdesk.desk")

STORE_PAUSE_S = 1.0
TRIES = 3
"""How often a row may break its owner before it is refused."""
PATIENCE_S = 5.0
"""How long somebody waits for a slot before the place in the line is told."""


class Mailbox:
    """Made by the router when something comes in; `gone` is called when nothing is left to do."""

    def __init__(self, house: House, conversation: ConversationId, gone: Callable[[Mailbox], None]) -> None:
        self.conversation = conversation
        self.owner = Owner(house, conversation)
        self.lost = False
        """A commit may have happened or not: the conversation has to be taken up anew from the store."""
        self._house = house
        self._gone = gone
        self._unfinished: Unfinished | None = None
        self._retry: Place | None = None
        """Of the turn that ran when the process died."""
        self._seen: frozenset[RowId] = frozenset()
        """What was here before the turn was opened; the rest came while it runs."""
        self._interrupting = False
        self._nominated = False
        self._place: hands.Place | None = None
        self._place_since = 0.0
        self._told_place = False
        self._faults: dict[RowId, int] = {}
        self._at: Ref | None = None
        self._condemned: Ref | None = None
        self._wake = asyncio.Event()
        self._tray = Tray(house, self._wake.set)
        self._blocked = False
        self.task: asyncio.Task[None] = asyncio.create_task(self._run(), name=f"mailbox {conversation}")

    # what others may do; none of it waits

    def put(self, ref: Ref, lane: Lane) -> None:
        """A row was accepted for this conversation; one that is here already is not taken twice."""
        if not self._tray.put(ref, lane):
            return
        if lane is not Lane.CONTROL:
            self._while_running(ref)
        self._wake.set()

    def move(self, moved: Moved) -> None:
        """A chat has another id, in the store already."""
        self._tray.move(moved)
        self._unfinished = self._unfinished and self._unfinished.there(moved)
        self.owner.move(moved)

    def nominate(self) -> None:
        """The sweep thinks that the session's end has come."""
        self._nominated = True
        self._wake.set()

    def go_on(self, unfinished: Unfinished) -> None:
        """First of all, the turn that the last process did not finish: taking it up made its taker the owner."""
        self.owner.fence = unfinished.admitted.conversation.fence
        self._unfinished = unfinished
        if unfinished.admitted.turn.retry is not None:
            self._retry = self._house.retries.join(unfinished.admitted.turn, self._wake.set)
        self._wake.set()

    def turn_over(self) -> None:
        self._wake.set()

    def row_taken(self, row: RowId) -> None:
        self._drop({row})

    @property
    def still(self) -> bool:
        """Nothing moves here until time passes or something comes in."""
        return self._blocked and not self._wake.is_set()

    @property
    def carries(self) -> bool:
        """Files are being fetched or read."""
        return self._tray.carries

    def _while_running(self, ref: Ref) -> None:
        turn = self.owner.turn
        if turn is None or turn.over or ref.command is not None:
            return
        if self._house.rules.busy == "steer":
            # Files are seen to before their message can join anything.
            if not ref.brings and (ref.kind is ChatKind.DIRECT or ref.identity == turn.turn.author):
                turn.steer(ref)
        elif self._house.rules.busy == "interrupt" and self._may_interrupt(turn.turn.author):
            self._interrupting = True
            turn.stop()

    def _may_interrupt(self, author: str) -> bool:
        """Among others only who asked, and with what is next: the question goes on in the turn that answers that."""
        return all(one.kind is ChatKind.DIRECT or one.identity == author for one in self._tray.waiting)

    # the owner's life

    async def _run(self) -> None:
        try:
            while await self._guarded():
                pass
        except FenceLost:
            log.warning("conversation_taken_over", conversation=self.conversation)
        except StoreUncertain:
            log.exception("owner_uncertain", conversation=self.conversation)
            self.lost = True
        finally:
            self._give_back_slot()
            self._leave_retries()
            self._tray.close()
            self._gone(self)

    async def _guarded(self) -> bool:
        try:
            return await self._step()
        except (FenceLost, StoreUncertain):
            raise
        except StoreError as fault:
            now_s = self._house.clock.monotonic()
            self._house.store.faults.met("owner_store_fault", fault, now_s, conversation=self.conversation)
            self._tell_if_full(fault)
        except Exception:  # mailbox loop: one bad row must not stop the conversation
            log.exception("owner_fault", conversation=self.conversation)
            self._blame()
        await self._sleep(STORE_PAUSE_S)
        return True

    def _tell_if_full(self, fault: StoreError) -> None:
        """Whoever waits here hears why, once; the work is tried until there is room."""
        turn, waits = self.owner.turn, self._at
        if isinstance(fault, StoreFull) and turn is not None:
            self._house.full.tell(turn.turn.address, turn.turn.kind)
        elif isinstance(fault, StoreFull) and waits is not None:
            self._house.full.tell(waits.address, waits.kind)

    def _blame(self) -> None:
        """The row at hand has broken its owner; the third time it is refused."""
        ref, self._at = self._at, None
        if ref is not None:
            self._faults[ref.id] = self._faults.get(ref.id, 0) + 1
            if self._faults[ref.id] >= TRIES:
                self._condemned = ref
                self._drop({ref.id})

    async def _step(self) -> bool:
        """One thing at a time, the most urgent first; False: nothing is left to do."""
        turn = self.owner.turn
        if self._condemned is not None:
            await self.owner.refuse(self._condemned)
            self._condemned = None
        elif self._tray.controls:
            await self._control(self._tray.controls[0])
        elif turn is not None:
            await (self._close_turn() if turn.over else self._sleep())
        elif self.owner.compacting is not None:
            await (self._close_compacting() if self.owner.compacting.over else self._sleep())
        elif self._unfinished is not None:
            await self._go_on(self._unfinished)
        elif self._tray.waiting:
            await self._front(self._tray.waiting[0])
        elif self.owner.carries:
            await self.owner.close_carried()
        elif self._nominated:
            self._nominated = False
            for row in await self.owner.expire():
                self.put(row, Lane.ORDERED)
        else:
            return False
        return True

    async def _sleep(self, seconds: float | None = None) -> None:
        """Until something comes in, or that long."""
        self._blocked = True
        try:
            await (self._wake.wait() if seconds is None else self._woken_within(seconds))
        finally:
            self._blocked = False
            self._wake.clear()

    async def _woken_within(self, seconds: float) -> None:
        either = {asyncio.create_task(self._wake.wait()), asyncio.create_task(self._house.clock.sleep(seconds))}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in either:
                task.cancel()

    def _drop(self, rows: Iterable[RowId]) -> None:
        gone = set(rows)
        self._tray.drop(gone)
        for row in gone:
            self._faults.pop(row, None)

    # commands

    async def _control(self, ref: Ref) -> None:
        """A command that does not wait for its turn."""
        self._at = ref
        far = await self._reach(ref)
        turn = self.owner.turn
        if ref.command == "steer" and far is not Reach.NONE and turn is not None and not turn.over and not ref.brings:
            self._tray.put_in_order(ref)
            turn.steer(ref)
            return
        ends = far in (Reach.OWN, Reach.ALL) and ref.command in CLOSING and self._is_meant(ref)
        if ends and turn is not None and not turn.over:
            turn.stop()
            while not turn.over:
                await self._sleep()
        if ends and self.owner.compacting is not None:
            self.owner.compacting.stop()
            while not self.owner.compacting.over:
                await self._sleep()
            await self._close_compacting()
        if ends and self._unfinished is not None:
            self.owner.set_aside(self._unfinished)
            self._unfinished = None
        await self._carry_out(ref, far)

    async def _reach(self, ref: Ref) -> Reach:
        if ref.command == "steer" and self.owner.turn is None:  # a message, and everybody may write one
            return Reach.ALL
        return await reach(self._house, ref, self.conversation, self.owner.at_work, self._tray.waiting)

    def _is_meant(self, ref: Ref) -> bool:
        """A stop that names a turn is for that one only."""
        turn, unfinished = self.owner.turn, self._unfinished
        open_ = turn.id if turn is not None else unfinished.admitted.turn.id if unfinished is not None else None
        return ref.turn in (None, open_)

    async def _carry_out(self, ref: Ref, far: Reach) -> None:
        had_turn = self.owner.turn is not None
        done = await self.owner.command(ref, far)
        self._drop(done.closed)
        if not done.live_on:
            self._drop({ref.id})
        if self.owner.turn is None and self._unfinished is None:
            self._leave_retries()
        if self.owner.turn is None and (had_turn or not self._tray.waiting):
            self._give_back_slot()
        for row in done.opened:
            self.put(row, Lane.ORDERED)
        if done.live_on:
            self._tray.become_message(ref.id)

    async def _compact(self, ref: Ref) -> None:
        far = await self._reach(ref)
        if far is Reach.NONE:
            await self._carry_out(ref, far)
        elif await self._slot(ref.identity, ref.role):
            self._tray.take_up(ref)
            self.owner.compact(ref, self.turn_over)

    async def _close_compacting(self) -> None:
        work = self.owner.compacting
        await self.owner.close_compacting()
        self._give_back_slot()
        if work is not None:
            self._drop({work.ref.id})

    # messages

    async def _front(self, ref: Ref) -> None:
        """What is to be done with the row that is next."""
        self._at = ref
        before = self._house.stale_before(self._house.clock.now())
        if ref.received_at < before and ref.command != GO_ON:
            old = [one for one in self._tray.waiting if one.received_at < before and one.command != GO_ON]
            await self.owner.drop_stale(old)
            self._drop(rows_of(old))
        elif ref.command == "compact":
            await self._compact(ref)
        elif ref.command and ref.command != GO_ON:
            await self._carry_out(ref, await self._reach(ref))
        else:
            await self._message()

    async def _message(self) -> None:
        tray = self._tray
        run = coalesce.batch(tray.waiting, self._house.rules.debounce)
        wait = self._patience(run, whole=len(run) < len(tray.waiting))
        if wait > 0:
            await self._sleep(wait)
        elif any(map(tray.is_carried, run)):
            self._hurry(run)
            await self._sleep()
        elif await self._slot(run[-1].identity, run[-1].role):
            self._seen = tray.rows
            self._unfinished = await self.owner.admit(run)
            left = self._unfinished.admitted.left if self._unfinished is not None else ()
            self._drop(rows_of(run) - set(left))
            self._interrupting = False
            if self._unfinished is None:
                self._give_back_slot()

    def _hurry(self, run: list[Ref]) -> None:
        """Files wait for a bot that is away, and whoever writes by another one does not wait for that."""
        if any(ref.address.bot != run[0].address.bot for ref in self._tray.waiting):
            for ref in run:
                self._house.porter.hurry(ref.id)

    def _patience(self, run: list[Ref], *, whole: bool) -> float:
        patience = coalesce.patience_s(run, whole, self._house.rules.debounce)
        if patience <= 0:
            return 0.0
        return min(patience - self._tray.age_s(run[-1]), coalesce.MOST_WAIT_S - self._tray.age_s(run[0]))

    async def _go_on(self, unfinished: Unfinished) -> None:
        retry = self._retry
        if retry is not None and not retry.called:
            await self._sleep()
        elif await self._slot(unfinished.admitted.turn.author, unfinished.admitted.role):
            if retry is not None:
                await self._house.retries.count(retry)
            await self.owner.go_on(unfinished, self)
            self._unfinished = None
            for ref in [late for late in self._tray.waiting if late.id not in self._seen]:
                self._while_running(ref)

    async def _close_turn(self) -> None:
        await self.owner.close(carry=self._interrupting and bool(self._tray.waiting))
        self._give_back_slot()
        self._leave_retries()

    async def _slot(self, identity: str, role: str) -> bool:
        """A turn slot is theirs. If not, wait for one, or for anything else that comes in."""
        slots, clock = self._house.slots, self._house.clock
        whose = (identity, self.conversation) if role == Role.OWNER else identity  # an owner's turns are not counted
        if self._place is not None and not self._place.granted() and self._place.whose != (whose,):
            self._give_back_slot()
        if self._place is None:
            self._place = place = slots.ask(whose)
            if place.granted():
                return True
            self._place_since, self._told_place = clock.monotonic(), False
            place.ready.add_done_callback(lambda _: self._wake.set())
            if slots.is_held_back(place):
                self._house.tally.limit_met("turns_at_once", clock.now())
        if self._place.granted():
            return True
        await self._sleep(None if self._told_place else PATIENCE_S)
        waited = clock.monotonic() - self._place_since
        if not self._place.granted() and not self._told_place and waited >= PATIENCE_S and self._tray.waiting:
            self._told_place = True
            await self.owner.tell(self._tray.waiting[0], self._in_line(self._place))
        return False

    def _in_line(self, place: hands.Place) -> str:
        slots, say = self._house.slots, self._house.notices.say
        if slots.is_held_back(place):
            return say("queued_own", count=slots.has(place))
        return say("queued_place", place=slots.ahead(place) + 1)

    def _give_back_slot(self) -> None:
        if self._place is not None:
            self._house.slots.leave(self._place)
            self._place = None

    def _leave_retries(self) -> None:
        if self._retry is not None:
            self._house.retries.leave(self._retry)
            self._retry = None
