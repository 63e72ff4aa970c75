"""A turn that runs: the agent's stream, what is shown of it meanwhile, and how it ends."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import assert_never

import structlog
from msgspec.structs import replace

from core.agents.agent import AgentEvent, Answer, DeskTools, Remark, Responded, Silent, Suspend, Unsaid, Used
from core.agents.cache import CachedAgent
from core.delivery.preview import Beginning, Preview
from core.delivery.split import is_blank
from core.desk import consent, moving, offering, questions
from core.desk.admit import Admitted
from core.desk.coalesce import Ref
from core.desk.house import House
from core.desk.offering import Choice, Offered
from core.desk.pulse import BEAT_S
from core.desk.record import Ending
from core.desk.scribe import Listener, Scribe
from core.desk.signs import NOTHING_SHOWN_S, Signs
from core.desk.turn_desk import TurnDesk
from core.errors import AgentError, DayLimit, FenceLost
from core.faultpoints import faultpoint
from core.people.names import storable
from core.ports import Bot
from core.store import deliveries, history, turns
from core.store.buttons import Action
from core.store.consents import Ask, ConsentId, Waits
from core.store.conversations import SessionId
from core.store.deliveries import Parcel, Posted
from core.store.entries import Entry, Json, Kind
from core.store.sql import Tx
from core.tally import Limit
from core.vocabulary import (
    CallClosed,
    CallOpened,
    ClientTool,
    Moved,
    Outcome,
    RowId,
    TextDelta,
    ThinkingDelta,
    TurnId,
)

log = structlog.get_logger("frontdesk.turn")

STOPPABLE = timedelta(days=1)
"""Longer than any turn may take."""
CONSENT_CHARS = 6
"""Of an id that a person types; it is looked up among what waits in one conversation."""
GRACE_S = 1.0
"""How long an agent that was told to stop may take."""


class RunningTurn:
    """One turn's work, as the agent (`TurnContext`) and the owner see it. Lives on the main loop."""

    def __init__(
        self, house: House, admitted: Admitted, cached: CachedAgent, listener: Listener, inherited: Posted | None = None
    ) -> None:
        self.admitted = admitted
        self.cached = cached
        self.over = False
        """The agent has ended, or is not waited for any more."""
        self.answered_s: float | None = None
        """When it came to its end by itself, monotonic."""
        self._house = house
        self._listener = listener
        self._scribe = Scribe(house, admitted, listener)
        self._desk = TurnDesk(house, admitted)
        self._usage: Counter[str] = Counter()
        self._outcome = Outcome.DONE
        self._notice = ""
        self._reference = ""
        self._limits: tuple[Limit, ...] = ()
        self._why = ""
        self._silent = False
        self._asked_s = house.clock.monotonic()
        self._timeout_s = house.rules.turn_timeout_s
        self._text_s: float | None = None
        self._signs = Signs(self.turn)
        self._lane = house.outbox.lane(self.turn.address.bot, self.turn.address.chat, self.turn.kind).lease()
        self._preview = Preview(house.outbox.workshop, self._lane, _beginning(house, admitted), self._scribe, inherited)
        self._shows = self._preview.possible
        self._given_up_s: float | None = None
        self._task: asyncio.Task[None] = asyncio.create_task(self._consume(), name="turn")
        self._task.add_done_callback(self._end)
        house.pulse.add(self)

    def _end(self, task: asyncio.Task[None] | None = None) -> None:
        if task is not None and not task.cancelled() and self._scribe.closed and task.exception() is not None:
            log.warning("agent_ended_late", turn=self.id)
        if not self.over:
            self.over = True
            self._signs.stop()
            self._preview.end()
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

    @property
    def entries(self) -> Sequence[Entry]:
        return self._scribe.added

    @property
    def answers(self) -> Mapping[str, Answer]:
        return self.admitted.answers

    @property
    def client_tools(self) -> Sequence[ClientTool]:
        return self.admitted.tools

    @property
    def desk(self) -> DeskTools:
        return self._desk

    async def opened(self, calls: Sequence[CallOpened]) -> None:
        faultpoint("response.completed")
        await self._scribe.opened(calls)
        faultpoint("tool_call.committed")
        for call in calls:
            self._house.live.publish(self.rows, call)
        self._show_work()

    async def closed(self, call: CallClosed, part: Mapping[str, Json] | None = None) -> None:
        faultpoint("tool_call.returned")
        await self._scribe.result(call, part)
        faultpoint("tool_result.committed")
        self._house.live.publish(self.rows, call)
        self._show_work()

    def _show_work(self) -> None:
        """Which tools run has changed."""
        if self._preview.started:
            self._preview.show()

    async def compacted(self, summary: str, upto: int) -> None:
        entry = await self._scribe.compacted(summary, upto)
        faultpoint("compaction.committed")
        self.cached.learn(history.compacted([*self.cached.history, entry]))

    async def steering(self) -> Sequence[Entry]:
        return await self._scribe.steering()

    # the stream

    async def _consume(self) -> None:
        try:
            await self._ask()
        except FenceLost:
            raise
        except asyncio.CancelledError:
            if not self._scribe.closed and self._given_up_s is None:
                self._fail("agent_failed", AgentError("the agent cancelled itself"))
            if self._given_up_s is None:
                raise
        except (Exception, SystemExit) as error:  # noqa: BLE001  # agent: whatever it raises fails this turn only, and is logged
            if self._given_up_s is None:
                self._fail(error.user_notice if isinstance(error, AgentError) else "agent_failed", error)

    async def _ask(self) -> None:
        house, received_at = self._house, self.admitted.received_at
        house.tally.asked(None if received_at is None else (house.clock.now() - received_at).total_seconds())
        stream = self.cached.agent.run(self)
        try:
            async for event in stream:
                self._hear(event)
            self.answered_s = house.clock.monotonic()
            house.tally.answered(self.answered_s - self._asked_s)
        finally:
            await _close(stream)

    def _hear(self, event: AgentEvent) -> None:
        faultpoint("agent.heard", self, event)
        if self._scribe.closed:
            raise FenceLost("the turn has ended; its agent is not heard any more")
        match event:
            case TextDelta(text=text):
                shown = self._scribe.hear(text)
                if self._text_s is None:
                    self._text_s = self._house.clock.monotonic()
                    self._house.tally.spoke(self._text_s - self._asked_s)
                if self._preview.started:
                    self._preview.show()
                if shown:
                    self._house.live.publish(self.rows, TextDelta(text=shown))
            case ThinkingDelta(text=thought):
                self._scribe.ponder(thought)
                self._house.live.publish(self.rows, event)
            case Unsaid(shown=shown_thought):
                self._scribe.unsay(shown=shown_thought)
                if self._preview.started:
                    self._preview.show()
            case Responded(data=data):
                self._scribe.responded(data)
            case Used(counts=counts):
                self._usage.update({storable(name): int(count) for name, count in counts.items()})
            case Remark(notice=notice):
                self._notice = self._house.notices.say(notice)
            case Silent(text=instead):
                self._silent = True
                self._scribe.keep(instead)
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
        if isinstance(error, DayLimit):
            self._limits = ("tokens_per_day",)
            self._house.tally.limits_met(self._limits, self._house.clock.now())
        self._reference = self._house.random.token(8)
        self._notice = self._house.notices.say(notice, reference=self._reference)
        self._why = storable(str(error)) if isinstance(error, AgentError) else type(error).__name__ if error else ""
        if isinstance(error, AgentError) and type(error) is not AgentError:  # it says by its kind what there is to say
            log.warning(notice, turn=self.id, reference=self._reference, why=str(error))
        else:
            log.error(notice, turn=self.id, reference=self._reference, exc_info=error)

    # what the owner does

    def steer(self, ref: Ref) -> None:
        """Offer a waiting row to the agent; it takes it at its next boundary, or the row goes on waiting."""
        self._scribe.steer(ref)

    def beat(self, now: float) -> None:
        if self._given_up_s is None and now - self._asked_s > self._timeout_s:
            self._fail("agent_timeout", None)
            self._give_up(now)
        if self._given_up_s is not None and not self.over and now - self._given_up_s > GRACE_S:
            log.error("agent_does_not_stop", turn=self.id)
            self._end()
        bot = self._house.bots.get(self.turn.address.bot)
        if bot is not None and not self.over:
            self._show(bot, now)

    def _show(self, bot: Bot, now: float) -> None:
        doing = self._scribe.doing
        works_long = self._signs.works_long(bot, doing, now)  # counts from the first look
        if now - self._asked_s < NOTHING_SHOWN_S:
            return
        speaks = self._text_s is not None and now - self._text_s >= BEAT_S
        if self._shows and not self._preview.started and (works_long or speaks):
            self._preview.show()
        pace = self._lane.pace
        if pace is not None and not pace.blocked(now):
            self._signs.look(bot, doing, now)

    def stop(self) -> None:
        """End the work; what was said so far stays. An agent that does not stop in time is left to itself: nothing it
        says is heard any more."""
        if self._given_up_s is None and not self.over:
            self._outcome = Outcome.CANCELLED
            self._give_up(self._house.clock.monotonic())

    def move(self, moved: Moved) -> None:
        """A chat has another id: what this turn still says, goes there."""
        there = moving.turn(self.turn, moved)
        if there == self.turn:
            return
        self.admitted = replace(self.admitted, turn=there)
        self._desk.move(there)
        self._signs.stop()
        self._signs = Signs(there)
        lane, self._lane = self._lane, self._house.outbox.lane(there.address.bot, moved.to, there.kind).lease()
        self._preview.move(self._lane, _beginning(self._house, self.admitted))
        lane.let_go()

    def abandon(self) -> None:
        """The process ends: nothing is recorded, the next start settles it."""
        self._scribe.abandon()
        self._desk.close()
        self._house.pulse.remove(self)
        self._task.cancel()
        self._preview.abandon()
        self._lane.let_go()

    def _give_up(self, now: float) -> None:
        self._given_up_s = now
        self._task.cancel()

    async def ending(self, *, at_once: bool) -> Ending:
        """How it ended, ready to be recorded. With `at_once` the chat's lane is claimed if it is free.

        Raises `FenceLost` where the conversation has another owner.
        """
        self._scribe.closed = True
        self._house.pulse.remove(self)
        self._signs.stop()
        task = self._task
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            raise error
        await self._scribe.settle()
        preview, text = await self._preview.close(), self.text
        if self._outcome is Outcome.SUSPENDED and not self._scribe.waits:
            self._outcome = Outcome.DONE  # there is nothing that anybody could answer
        if self._outcome is Outcome.DONE and is_blank(text) and not self._silent:
            self._outcome, self._notice = Outcome.FAILED, self._house.notices.say("agent_empty")
        whole = self._outcome in (Outcome.DONE, Outcome.SUSPENDED) or preview is not None
        reply = await self._house.outbox.parts_aside(self.turn.address.bot, text) if whole else ()
        if preview is not None and not (preview.text or reply or self._notice or self._outcome is Outcome.SUSPENDED):
            reply = (self._house.notices.say("answer_stopped"),)
        asks = self._asks() if self._outcome is Outcome.SUSPENDED else []
        wanted = consent.wanted(asks)
        now, name = self._house.clock.now(), self.message.sender or ""
        told = await questions.ask(self._house, self.turn, self.admitted.role, name, wanted, now)
        if asks:
            self._notice = "\n\n".join(one.text for one in told if one.to is None)
        claimed = at_once and preview is None and bool(reply or self._notice) and self._lane.claim()
        return Ending(
            outcome=self._outcome,
            said=tuple(self._scribe.unsaved("" if self._outcome is Outcome.DONE else str(self._outcome))),
            reply=reply,
            notice=self._notice,
            reference=self._reference,
            limits=self._limits,
            why=self._why,
            usage=dict(self._usage),
            preview=preview,
            shown=self._preview.shown,
            called=self._scribe.called,
            asks=tuple(ask for ask, _ in asks),
            told=told,
            at_once=claimed,
        )

    def _asks(self) -> list[tuple[Ask, Entry]]:
        """Whom each open call waits for."""
        brought = {tool.name for tool in self.client_tools}
        return [
            (
                Ask(
                    id=ConsentId(self._house.random.token(CONSENT_CHARS)), call=str(call.data.get("call")),
                    waits=Waits.CLIENT if call.text in brought else Waits.CONSENT,
                ),
                call,
            )
            for call in history.open_calls(self._scribe.added)
        ]  # fmt: skip

    def unclaim(self) -> None:
        """The ending could not be recorded."""
        self._lane.release()

    def let_go(self) -> None:
        """It is recorded, and its parts are on their way."""
        self._desk.close()
        self._lane.let_go()

    def learned(self, added: Sequence[Entry]) -> list[Entry]:
        """What the model has seen since its history: this turn's entries and those that closed it."""
        return [entry for entry in (*self._scribe.added, *added) if entry.kind is not Kind.NOTICE]

    @property
    def text(self) -> str:
        """All that was said."""
        return self._scribe.text

    @property
    def rows(self) -> list[RowId]:
        """The inbox rows that it answers."""
        return self._scribe.rows


def _beginning(house: House, admitted: Admitted) -> Beginning:
    turn = admitted.turn
    parcel = Parcel(
        conversation=turn.conversation, turn=turn.id, role=deliveries.PREVIEW, part=1, address=turn.address,
        kind=turn.kind, text="",
    )  # fmt: skip
    if not house.policies.manners(turn.address.bot).stop_button or house.button_ids(turn.address.bot) is None:
        return Beginning(parcel=parcel)
    return Beginning(parcel=parcel, post=partial(_post_stoppable, house, turn), drafts=False)


def _post_stoppable(house: House, turn: turns.Turn, tx: Tx, parcel: Parcel, now: datetime) -> Posted:
    """With a button that stops the turn."""
    offered = Offered(
        question=offering.of_turn(turn.id), address=turn.address, identity=turn.author,
        conversation=turn.conversation, expires_at=now + STOPPABLE,
    )  # fmt: skip
    choice = Choice(label="button_stop", action=Action.STOP, target=turn.id, style="bad")
    made = offering.make(offered, [choice], house.button_ids(turn.address.bot), house.notices)
    return deliveries.post(tx, replace(parcel, buttons=offering.keep(tx, made)), now)


async def _close(stream: AsyncIterator[AgentEvent]) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()
