"""/compact: a summary is made while the conversation waits, and stored with the command's fate in one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

import structlog
from msgspec import Struct

from core.desk.admit import close_suspended
from core.desk.commands.table import argument
from core.desk.house import House
from core.store import conversations, deliveries, entries, history, inbox, sessions
from core.store.conversations import Conversation, ConversationId, SessionId
from core.store.deliveries import Posted
from core.store.entries import Draft, Kind
from core.store.inbox import Fate
from core.store.sql import Tx
from core.vocabulary import RowId

if TYPE_CHECKING:
    from core.agents.compaction import Summed
    from core.desk.coalesce import Ref

log = structlog.get_logger("frontdesk.desk")


class Compacted(Struct, frozen=True, kw_only=True):
    """What came of it. `summed` is None where there was nothing to sum up, or it failed; `said` is the notice's key."""

    session: SessionId | None = None
    summed: Summed | None = None
    said: str


class Compacting:
    """The work of one command, on the main loop. Nothing is stored before `finish`, so a killed one is begun again."""

    def __init__(self, house: House, conversation: ConversationId, ref: Ref, over: Callable[[], None]) -> None:
        self.ref = ref
        self._house = house
        self._conversation = conversation
        self._task: asyncio.Task[Compacted] = asyncio.create_task(self._sum_up(), name="compacting")
        self._task.add_done_callback(lambda _: over())

    @property
    def over(self) -> bool:
        return self._task.done()

    def stop(self) -> None:
        """It is not wanted any more."""
        self._task.cancel()

    async def _sum_up(self) -> Compacted:
        house = self._house
        agents = house.agents
        conversation, row = await house.store.read(self._read)
        if conversation.session is None or row is None:
            return Compacted(said="compact_nothing")
        session_id = conversation.session
        offer = house.policies.agents(self.ref.address.bot)
        conversation = offer.holds(conversation, self.ref.role)
        spec = await agents.fresh(conversation.agent, offer.usual, conversation.model)
        if not agents.sums_up(spec):
            return Compacted(said="compact_no_model")
        session, log_ = await house.store.read(
            lambda tx: (sessions.get(tx, session_id), entries.of_session(tx, session_id))
        )
        shown = history.for_model(log_)
        if session.ended_at is not None or not any(entry.kind is Kind.USER for entry in shown):
            return Compacted(said="compact_nothing")
        summed = await agents.sum_up(spec, shown, argument(row.text))
        said = "compact_done" if summed is not None else "compact_failed"
        return Compacted(session=session.id, summed=summed, said=said)

    def _read(self, tx: Tx) -> tuple[Conversation, inbox.Waiting | None]:
        return conversations.get(tx, self._conversation), inbox.pending(tx, self.ref.id)

    def result(self) -> Compacted | None:
        """What came of it; None if it was stopped."""
        if self._task.cancelled():
            return None
        error = self._task.exception()
        if error is not None:
            log.error("compaction_broke", conversation=self._conversation, exc_info=error)
            return Compacted(said="compact_failed")
        return self._task.result()


class Finish(Struct, frozen=True, kw_only=True):
    """What is to be stored."""

    conversation: ConversationId
    fence: int | None
    row: RowId
    done: Compacted
    reply: str
    now: datetime


def finish(tx: Tx, order: Finish) -> tuple[int, list[Posted]]:
    """Summary, reply and fate; the fence and what is to be sent. Raises `FenceLost`."""
    conversation = conversations.own(tx, order.conversation, order.fence)
    row, done = inbox.pending(tx, order.row), order.done
    if row is None:
        return conversation.fence, []
    if done.summed is not None and done.session is not None and done.session == conversation.session:
        session = close_suspended(tx, conversation, sessions.get(tx, done.session), order.now)
        mark = Draft(kind=Kind.COMPACTION, text=done.summed.text, data={"upto": done.summed.upto})
        entries.append(tx, session, [mark], order.now)
    inbox.finish(tx, row.id, Fate.ANSWERED, order.now, "compact")
    return conversation.fence, [deliveries.say(tx, row.address, row.kind, order.reply, order.now, conversation.id)]
