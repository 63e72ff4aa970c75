"""The desk, as bots and chores see it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime

import structlog

from core.desk import intake, recovery
from core.desk.arrivals import Offer
from core.desk.commands.menu import menu
from core.desk.completing import complete, hears
from core.desk.house import House
from core.desk.instants import Instants
from core.desk.intake import Accepted
from core.desk.manners import Manner
from core.desk.router import Router
from core.errors import StoreError, StoreFull
from core.faultpoints import faultpoint
from core.ports import Choice, CommandHelp, Haunt, Health, Principal
from core.store import conversations, facts, inbox, processes
from core.store.conversations import ConversationId
from core.store.inbox import Kept, Lane
from core.vocabulary import (
    BotName,
    ChatId,
    ChatKind,
    Inbound,
    Message,
    Moved,
    Outcome,
    Receipt,
    RowId,
    TurnEnded,
    TurnEvent,
)

log = structlog.get_logger("frontdesk.desk")

STORE_PAUSE_S = 1.0


class Desk:
    """Implements `ports.Desk`. Lives on the main loop."""

    def __init__(
        self,
        house: House,
        health: Health,
        account: Callable[[BotName], str],
        version: str,
        heard: Callable[[BotName, datetime], None],
    ) -> None:
        """`heard` is told when a bot's platform brought something."""
        self.health = health
        self._heard = heard
        self.router = Router(house, self._take_up)
        self._takings: set[asyncio.Task[None]] = set()
        self._intakes: set[asyncio.Task[tuple[Receipt, ...]]] = set()
        self._house = house
        self._instants = Instants(house, version)
        self._manner = Manner(house)
        self._account = account
        self._closed = False
        self.recovered = False
        """What the last process left is settled or queued."""

    async def start(self) -> None:
        """Settle and queue what the last process left. Raises `StoreError`."""
        leftover = await self._house.outbox.start()
        if leftover.unknown or leftover.again:
            log.warning("deliveries_left", unknown=leftover.unknown, again=leftover.again)
        await recovery.recover(self._house, self.router, self._instants.answer)
        self.recovered = True

    def _take_up(self, conversation: ConversationId) -> None:
        task = asyncio.create_task(self._until_taken_up(conversation), name="take up")
        self._takings.add(task)
        task.add_done_callback(self._takings.discard)

    async def _until_taken_up(self, conversation: ConversationId) -> None:
        while not self._closed:
            try:
                await recovery.recover_conversation(self._house, self.router, conversation)
            except StoreError as fault:
                now_s = self._house.clock.monotonic()
                self._house.store.faults.met("conversation_not_taken_up", fault, now_s, conversation=conversation)
                await self._house.clock.sleep(STORE_PAUSE_S)
            else:
                return

    @property
    def commands(self) -> Sequence[CommandHelp]:
        return menu(self._house.notices)

    async def complete(self, principal: Principal, command: str, typed: str) -> Sequence[Choice]:
        return await complete(self._house, principal, command, typed)

    async def hears(self, principal: Principal) -> bool:
        return await hears(self._house, principal)

    async def haunts(self, bot: BotName, most: int) -> Sequence[Haunt]:
        found = await self._house.store.read(lambda tx: conversations.last_heard(tx, bot, most))
        return [Haunt(address=one.address, kind=one.kind, heard_at=at) for one, at in found]

    @property
    def oldest(self) -> datetime:
        return self._house.stale_before(self._house.clock.now())

    async def recall(self, bot: BotName, name: str) -> str | None:
        return await self._house.store.read(lambda tx: facts.get(tx, f"bot:{bot}:{name}"))

    async def note(self, bot: BotName, name: str, value: str) -> None:
        await self._house.store.write(lambda tx: facts.put(tx, f"bot:{bot}:{name}", value))

    async def receive(self, batch: Sequence[Inbound]) -> tuple[Receipt, ...]:
        """A bot that is stopped meanwhile takes nothing back: what is stored finds its owner."""
        faultpoint("inbound.received", batch)
        if self._closed:
            raise StoreError("the desk is closing; nothing more is taken in")
        task = asyncio.create_task(self._take_in(batch), name="intake")
        self._intakes.add(task)
        task.add_done_callback(self._taken_in)
        return await asyncio.shield(task)

    def _taken_in(self, task: asyncio.Task[tuple[Receipt, ...]]) -> None:
        self._intakes.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            log.debug("not_taken_in", why=str(fault))  # its bot was told, if it is still there

    async def _take_in(self, batch: Sequence[Inbound]) -> tuple[Receipt, ...]:
        house = self._house
        offers = [
            intake.offer(house, inbound, self._account(inbound.address.bot), loops=loops)
            for inbound, loops in zip(batch, house.breaker.look(batch), strict=True)
        ]
        terms, now = intake.terms(house), house.clock.now()
        try:
            accepted = await house.store.write(lambda tx: intake.accept(tx, offers, terms, house.notices, now))
        except StoreFull:
            await self._say_full(offers)
            raise
        faultpoint("inbox.committed", accepted.receipts)
        house.full.over()
        house.tally.limits_met(accepted.limits, now)
        self._dispatch(accepted)
        self._manner.see_to(batch, accepted)
        house.breaker.heard(batch, accepted.receipts)
        for inbound, receipt in zip(batch, accepted.receipts, strict=True):
            house.tally.received(inbound.address.bot, receipt.verdict)
            if isinstance(inbound, Moved):
                log.warning("chat_moved", bot=inbound.address.bot, was=inbound.address.chat, now=inbound.to)
                self.router.move(inbound)
                house.outbox.moved(inbound.address.bot, inbound.address.chat, inbound.to, ChatKind.GROUP)
            self._heard(inbound.address.bot, now)
            house.outbox.wake(inbound.address.bot, inbound.address.chat)
        return accepted.receipts

    def _dispatch(self, accepted: Accepted) -> None:
        self._house.outbox.push(accepted.posted)
        for one in accepted.strangers:
            let_in = f"{self._house.rules.approve_command} {one.code}"
            log.warning(
                "stranger_waits", name=one.name, platform=one.identity.partition(":")[0], bot=one.bot,
                let_in_with=let_in,
            )  # fmt: skip
        for taken in accepted.taken:
            if taken.lane is Lane.INSTANT or taken.conversation is None:
                self._instants.answer(taken.ref.id)
            else:
                self.router.put(taken.conversation, taken.ref, taken.lane)

    async def _say_full(self, offers: Sequence[Offer]) -> None:
        """Those who would have been answered hear why they are not."""
        terms = intake.terms(self._house)
        welcome = await self._house.store.read(
            lambda tx: [one.inbound for one in offers if intake.standing(tx, one, terms) is not None]
        )
        for message in welcome:
            if isinstance(message, Message):
                self._house.full.tell(message.address, message.kind)

    async def follow(self, row: RowId) -> AsyncIterator[TurnEvent]:
        live = self._house.live
        queue = live.subscribe(row)
        kept = await self._house.store.read(lambda tx: inbox.kept(tx, row))
        if kept is None or kept.fate is not None:
            live.leave(row, queue)
            yield TurnEnded(outcome=_outcome(kept), text="")
            return
        async for event in live.events(row, queue):
            yield event

    async def settled(self, row: RowId) -> None:
        async for _ in self.follow(row):
            pass
        address = await self._house.store.read(lambda tx: inbox.came_from(tx, row))
        if address is not None:
            await self._house.outbox.quiet(address.bot, address.chat)

    def arrived(self, bot: BotName, chat: ChatId, kind: ChatKind) -> None:
        self._house.outbox.lane(bot, chat, kind).load()
        self._house.outbox.wake(bot, chat)

    async def idle(self) -> None:
        """Return once nothing moves: what is left waits for time, for people or for an agent. For tests and chores."""
        while (moving := self._moving()) or self.router.carries:
            if moving:
                await asyncio.wait(moving, timeout=0.01, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0 if moving else 0.001)

    def _moving(self) -> list[asyncio.Task[None]]:
        desk = (*self._instants.moving(), *self._takings, *self._house.gestures.moving(), *self._house.voices.moving())
        return [*self.router.moving(), *self._house.outbox.moving(), *desk]

    @property
    def closing(self) -> bool:
        """Nothing more is taken in."""
        return self._closed

    def stop_intake(self) -> None:
        """From now on bots are told that nothing is stored; platforms keep what they have."""
        self._closed = True

    async def drain(self, seconds: float) -> None:
        """Let running turns end and what is ready go out, for that long."""
        clock = self._house.clock
        deadline = clock.monotonic() + seconds
        await self.router.drain(seconds)
        while self._moving() and clock.monotonic() < deadline:
            await clock.sleep(0.01)

    async def mark_stopped(self) -> None:
        """What still runs, after draining, goes on in the next process as if nothing had happened."""
        reading = self._house.porter.reading
        try:
            await self._house.store.write(lambda tx: processes.stop(tx, reading))
        except StoreError as fault:
            self._house.store.faults.met("stop_not_marked", fault, self._house.clock.monotonic())

    async def close(self) -> None:
        """Stop all work where it is; the next start settles it."""
        self._closed = True
        for task in (*self._takings, *self._intakes):
            task.cancel()
        await self._instants.close()
        await self._house.voices.close()
        await self.router.close()
        self._house.retries.close()
        await self._house.gestures.close()  # until here somebody may still ask for one
        await self._house.outbox.close()
        await self._house.pulse.close()


def _outcome(kept: Kept | None) -> Outcome:
    return Outcome.DONE if kept is not None and kept.fate in ("answered", "merged") else Outcome.CANCELLED
