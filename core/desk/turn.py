"""A turn that runs: the agent's stream, what is shown of it meanwhile, and how it ends."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol, assert_never

import structlog

from core.agents.agent import AgentEvent, Suspend, Used
from core.agents.cache import CachedAgent
from core.delivery.preview import Preview
from core.delivery.split import is_blank
from core.desk import history
from core.desk.admit import Admitted
from core.desk.coalesce import Ref
from core.desk.commands.table import argument
from core.desk.house import House
from core.desk.pulse import BEAT_S
from core.desk.record import Ending
from core.errors import AgentError, FenceLost, SendError
from core.people.names import one_line, storable
from core.ports import CanType
from core.store import conversations, deliveries, entries, inbox, sessions, turns
from core.store.conversations import SessionId
from core.store.deliveries import Parcel, Posted
from core.store.entries import Draft, Entry, Json, Kind
from core.store.inbox import Fate, Waiting
from core.store.sql import Tx
from core.vocabulary import CallClosed, CallOpened, Outcome, RowId, TextDelta, ThinkingDelta, TurnId

log = structlog.get_logger("frontdesk.turn")

Committed = tuple[list[RowId], list[Entry]]
"""The rows that a unit of a turn took, and the entries that it added."""

TYPING_AFTER_S = 0.3
"""An answer that comes faster needs no typing sign."""
GRACE_S = 1.0
"""How long an agent that was told to stop may take."""


class Listener(Protocol):
    """The mailbox, as its running turn sees it."""

    def turn_over(self) -> None:
        """The turn waits for its recording."""

    def row_taken(self, row: RowId) -> None:
        """A waiting row was taken into the turn."""


class RunningTurn:
    """One turn's work, as the agent (`TurnContext`) and the owner see it. Lives on the main loop."""

    def __init__(
        self, house: House, admitted: Admitted, cached: CachedAgent, listener: Listener, inherited: Posted | None = None
    ) -> None:
        self.admitted = admitted
        self.cached = cached
        self.rows: list[RowId] = list(admitted.rows)
        self.over = False
        """The agent has ended, or is not waited for any more."""
        self._house = house
        self._listener = listener
        self._steers: deque[Ref] = deque()
        self._tail: list[str] = []
        self._said: list[str] = []
        self._usage: Counter[str] = Counter()
        self._added: list[Entry] = [admitted.message]
        self._commits: set[asyncio.Task[list[Entry]]] = set()
        self._called = False
        self._recorded = False
        self._outcome = Outcome.DONE
        self._notice = ""
        self._reference = ""
        self._asked_s = house.clock.monotonic()
        self._text_s: float | None = None
        self._typed_s = float("-inf")
        self._typing: asyncio.Task[None] | None = None
        self._lane = house.outbox.lane(self.turn.address.bot, self.turn.address.chat, self.turn.kind).lease()
        self._preview = Preview(house.outbox.workshop, self._lane, _preview_parcel(admitted), self._so_far, inherited)
        self._shows = self._preview.possible
        self._given_up_s: float | None = None
        self._task: asyncio.Task[None] = asyncio.create_task(self._consume(), name="turn")
        self._task.add_done_callback(self._end)
        house.pulse.add(self)

    def _end(self, task: asyncio.Task[None] | None = None) -> None:
        if task is not None and not task.cancelled() and self._recorded and task.exception() is not None:
            log.warning("agent_ended_late", turn=self.id)
        if not self.over:
            self.over = True
            self._listener.turn_over()

    # what the agent sees

    @property
    def turn(self) -> turns.Turn:
        return self.admitted.turn

    @property
    def id(self) -> TurnId:
        return self.turn.id

    @property
    def session(self) -> SessionId:
        return self.turn.session

    @property
    def number(self) -> int:
        return self.admitted.session.messages

    @property
    def history(self) -> Sequence[Entry]:
        return self.cached.history

    @property
    def message(self) -> Entry:
        return self.admitted.message

    async def opened(self, call: CallOpened, *, read_only: bool) -> None:
        tool = storable(call.tool)
        data: dict[str, Json] = {
            "call": storable(call.call), "tool": tool, "arguments": storable(call.arguments), "read_only": read_only
        }  # fmt: skip
        self._called = True
        drafts = [*self._unsaved(), Draft(kind=Kind.TOOL_CALL, text=tool, data=data, turn=self.id)]
        await self._append(drafts, len(self._tail))
        self._house.live.publish(self.rows, call)

    async def closed(self, call: CallClosed) -> None:
        data: dict[str, Json] = {"call": storable(call.call), "failed": call.failed}
        await self._append([Draft(kind=Kind.TOOL_RESULT, text=storable(call.result), data=data, turn=self.id)], 0)
        self._house.live.publish(self.rows, call)

    async def steering(self) -> Sequence[Entry]:
        if not self._steers:
            return ()
        refs, drafts = list(self._steers), self._unsaved()
        self._steers.clear()
        now = self._house.clock.now()
        added = await self._commit(lambda tx: self._take(tx, refs, drafts, now), len(self._tail))
        return [entry for entry in added if entry.kind is Kind.USER]

    def _take(self, tx: Tx, refs: Sequence[Ref], drafts: list[Draft], now: datetime) -> Committed:
        """Rows that still wait become entries of this turn; those that don't have found their fate elsewhere."""
        self._own(tx)
        rows = [row for row in (inbox.pending(tx, ref.id) for ref in refs) if row is not None and _words(row)]
        said = [Draft(kind=Kind.USER, text=_words(row), turn=self.id, sender=one_line(row.name)) for row in rows]
        session, added = entries.append(tx, sessions.get(tx, self.session), [*drafts, *said], now)
        if rows:
            turns.steered(tx, self.id, session.head)
        for row in rows:
            inbox.finish(tx, row.id, Fate.MERGED, now, self.id)
            sessions.join(tx, self.session, row.identity)
        return [row.id for row in rows], added

    def _own(self, tx: Tx) -> None:
        if self._recorded:
            raise FenceLost("the turn has ended; its agent is not heard any more")
        conversations.own(tx, self.turn.conversation, self.admitted.conversation.fence)

    def _unsaved(self) -> list[Draft]:
        """What was said since the last commit, as an entry to be."""
        text = "".join(self._tail)
        return [Draft(kind=Kind.ASSISTANT, text=text, turn=self.id)] if text.strip() else []

    async def _append(self, drafts: list[Draft], said: int) -> None:
        now = self._house.clock.now()

        def unit(tx: Tx) -> Committed:
            self._own(tx)
            return [], entries.append(tx, sessions.get(tx, self.session), drafts, now)[1]

        await self._commit(unit, said)

    async def _commit(self, unit: Callable[[Tx], Committed], said: int) -> list[Entry]:
        """Run a unit of this turn that stores the first `said` deltas of the tail. It is not taken back by a
        cancellation, so what it did is noted here also where the agent does not wait for it any more."""
        work = asyncio.create_task(self._store(unit, said), name="commit")
        self._commits.add(work)
        work.add_done_callback(self._committed)
        return await asyncio.shield(work)

    async def _store(self, unit: Callable[[Tx], Committed], said: int) -> list[Entry]:
        taken, added = await self._house.store.write(unit)
        del self._tail[:said]
        self._added += added
        self.rows += taken
        for row in taken:
            self._listener.row_taken(row)
        return added

    def _committed(self, work: asyncio.Task[list[Entry]]) -> None:
        self._commits.discard(work)
        if not work.cancelled() and (error := work.exception()) is not None:
            log.info("entry_not_stored", turn=self.id, why=type(error).__name__)

    # the stream

    async def _consume(self) -> None:
        try:
            await self._ask()
        except FenceLost:
            raise
        except asyncio.CancelledError:
            if not self._recorded and self._given_up_s is None:
                self._fail("agent_failed", AgentError("the agent cancelled itself"))
            raise
        except Exception as error:  # noqa: BLE001  # agent: whatever it raises fails this turn only, and is logged
            if self._given_up_s is None:
                self._fail("agent_failed", error)

    async def _ask(self) -> None:
        stream = self.cached.agent.run(self)
        try:
            async for event in stream:
                self._hear(event)
        finally:
            await _close(stream)

    def _hear(self, event: AgentEvent) -> None:
        if self._recorded:
            raise FenceLost("the turn has ended; its agent is not heard any more")
        match event:
            case TextDelta(text=text):
                clean = storable(text)
                self._tail.append(clean)
                self._said.append(clean)
                if self._text_s is None:
                    self._text_s = self._house.clock.monotonic()
                if self._preview.started:
                    self._preview.show()
                self._house.live.publish(self.rows, event)
            case ThinkingDelta():
                self._house.live.publish(self.rows, event)
            case Used(counts=counts):
                self._usage.update({storable(name): int(count) for name, count in counts.items()})
            case Suspend():
                if self._given_up_s is None:
                    self._outcome = Outcome.SUSPENDED
            case _:
                assert_never(event)

    def _fail(self, notice: str, error: BaseException | None) -> None:
        if self._given_up_s is not None:
            log.warning("agent_fault_while_stopping", turn=self.id, exc_info=error)
            return
        self._outcome = Outcome.FAILED
        self._reference = self._house.random.token(8)
        self._notice = self._house.notices.say(notice, reference=self._reference)
        log.error(notice, turn=self.id, reference=self._reference, exc_info=error)

    # what the owner does

    def steer(self, ref: Ref) -> None:
        """Offer a waiting row to the agent; it takes it at its next boundary, or the row goes on waiting."""
        self._steers.append(ref)

    def beat(self, now: float) -> None:
        if self._given_up_s is None and now - self._asked_s > self._house.rules.turn_timeout_s:
            self._fail("agent_timeout", None)
            self._give_up(now)
        if self._given_up_s is not None and not self.over and now - self._given_up_s > GRACE_S:
            log.error("agent_does_not_stop", turn=self.id)
            self._end()
        if self._text_s is not None and self._shows and not self._preview.started and now - self._text_s >= BEAT_S:
            self._preview.show()
        self._show_typing(now)

    def _show_typing(self, now: float) -> None:
        bot = self._house.bots.get(self.turn.address.bot)
        if bot is None:
            return
        every = bot.capabilities.typing_interval_s
        if every is None or now - self._asked_s < TYPING_AFTER_S or now - self._typed_s < every:
            return
        if isinstance(bot, CanType) and not self.over and (self._typing is None or self._typing.done()):
            self._typed_s = now
            self._typing = asyncio.create_task(_type(bot, self.turn), name="typing")

    def stop(self) -> None:
        """End the work; what was said so far stays. An agent that does not stop in time is left to itself: nothing it
        says is heard any more."""
        if self._given_up_s is None and not self.over:
            self._outcome = Outcome.CANCELLED
            self._give_up(self._house.clock.monotonic())

    def abandon(self) -> None:
        """The process ends: nothing is recorded, the next start settles it."""
        self._recorded = True
        self._house.pulse.remove(self)
        for work in (self._task, *self._commits):
            work.cancel()
        self._preview.abandon()
        self._lane.let_go()

    def _give_up(self, now: float) -> None:
        self._given_up_s = now
        self._task.cancel()

    async def ending(self, *, at_once: bool) -> Ending:
        """How it ended, ready to be recorded. With `at_once` the chat's lane is claimed if it is free.

        Raises `FenceLost` where the conversation has another owner.
        """
        self._recorded = True
        self._house.pulse.remove(self)
        if self._typing is not None:
            self._typing.cancel()
        task = self._task
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            raise error
        if self._commits:
            await asyncio.wait(self._commits)
        preview = await self._preview.close()
        text = self._so_far()
        if self._outcome is Outcome.SUSPENDED and not history.open_calls(self._added):
            self._outcome = Outcome.DONE  # there is nothing that anybody could answer
        if self._outcome is Outcome.DONE and is_blank(text):
            self._outcome, self._notice = Outcome.FAILED, self._house.notices.say("agent_empty")
        whole = self._outcome in (Outcome.DONE, Outcome.SUSPENDED) or preview is not None
        reply = await self._house.outbox.parts_aside(self.turn.address.bot, text) if whole else ()
        claimed = at_once and preview is None and bool(reply or self._notice) and self._lane.claim()
        return Ending(
            outcome=self._outcome,
            tail="".join(self._tail),
            reply=reply,
            notice=self._notice,
            reference=self._reference,
            usage=dict(self._usage),
            preview=preview,
            shown=self._preview.shown,
            called=self._called,
            at_once=claimed,
        )

    def unclaim(self) -> None:
        """The ending could not be recorded."""
        self._lane.release()

    def let_go(self) -> None:
        """It is recorded, and its parts are on their way."""
        self._lane.let_go()

    def learned(self, added: Sequence[Entry]) -> list[Entry]:
        """What the model has seen since its history: this turn's entries and those that closed it."""
        return [entry for entry in (*self._added, *added) if entry.kind is not Kind.NOTICE]

    def _so_far(self) -> str:
        return "".join(self._said)

    @property
    def text(self) -> str:
        """All that was said."""
        return self._so_far()


def _words(row: Waiting) -> str:
    """What a steering row tells the agent: of a `/steer` its text, of which there may be none."""
    return argument(row.text) if row.command else row.text


def _preview_parcel(admitted: Admitted) -> Parcel:
    turn = admitted.turn
    return Parcel(
        conversation=turn.conversation, turn=turn.id, role=deliveries.PREVIEW, part=1, address=turn.address,
        kind=turn.kind, text="",
    )  # fmt: skip


async def _type(bot: CanType, turn: turns.Turn) -> None:
    try:
        await bot.typing(replace(turn.address, reply_to=None))
    except SendError as error:
        log.debug("typing_not_shown", bot=turn.address.bot, why=str(error))


async def _close(stream: AsyncIterator[AgentEvent]) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()
