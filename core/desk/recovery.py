"""What the last process left: turns that ran, rows that waited. Nothing is lost, and nothing is done twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import structlog
from msgspec import Struct
from msgspec.structs import replace

from core.desk.admit import Admitted, result_of
from core.desk.coalesce import Ref, ref_of
from core.desk.consent import GO_ON
from core.desk.house import House
from core.desk.owner import Unfinished
from core.desk.record import Ending, close_turn
from core.desk.refuse import refuse_stale
from core.desk.router import Router
from core.desk.scribe import BREAK
from core.faultpoints import faultpoint
from core.store import conversations, deliveries, entries, history, inbox, processes, sessions, turns
from core.store.conversations import ConversationId
from core.store.deliveries import Posted
from core.store.entries import Draft, Entry, Kind
from core.store.inbox import Lane, Waiting
from core.store.sql import Tx
from core.store.turns import Turn
from core.vocabulary import Outcome, RowId

log = structlog.get_logger("frontdesk.recovery")

MOST_ATTEMPTS = 3
PAGE = 500


class Settled(Struct, frozen=True, kw_only=True):
    """A turn is not tried again; this is said."""

    posted: tuple[Posted, ...]
    outcome: Outcome


class _Left(Struct, frozen=True):
    """A row that waits, without what it says."""

    ref: Ref
    lane: Lane
    conversation: ConversationId | None


def take_up(tx: Tx, turn: Turn, reference: str, now: datetime, house: House, *, died: bool) -> Unfinished | Settled:
    """Another attempt at a turn whose process died, if nothing of it can have been seen or done; else its honest end.

    The third death that it is blamed for ends it.
    """
    say = house.notices.say
    conversation = conversations.own(tx, turn.conversation, None)
    log_ = entries.of_turn(tx, turn.session, turn.id)
    preview, shown = _left_standing(house, deliveries.preview_of(tx, turn.id), log_)
    ending = Ending(
        outcome=Outcome.INTERRUPTED, notice=say("interrupted"), reference=reference, preview=preview, shown=shown,
        called=True,
    )  # fmt: skip
    before, turn = turn, turns.after_death(turn) if died else turn
    if turn.attempt > MOST_ATTEMPTS:
        poison = replace(ending, outcome=Outcome.FAILED, notice=say("poison", reference=reference))
        return _settle(tx, before, poison, now)
    said = next((entry for entry in log_ if entry.seq == turn.user_seq), None)
    if said is None or _acted(log_) or deliveries.of_turn(tx, turn.id):  # without its message: an answered call ran
        return _settle(tx, turn, ending, now)
    turns.take_up(tx, turn)
    session = sessions.get(tx, turn.session)
    if session.head > turn.user_seq:
        closed = [result_of(call, history.CLOSED_BY_KILL) for call in history.open_calls(log_)]
        mark = Draft(kind=Kind.REWIND, text="attempt", data={"to": turn.user_seq + 1}, turn=turn.id)
        session, _ = entries.append(tx, session, [*closed, mark], now)
    if preview is not None and preview.message is None and not preview.doubtful:
        deliveries.drop(tx, preview.id)
        preview = None
    rows = inbox.taken_by(tx, turn.id)
    admitted = Admitted(
        conversation=conversation,
        session=session,
        turn=turn,
        head=session.model_head,
        message=said,
        rows=tuple(row.id for row in rows),
        posted=(),
        role=rows[-1].role if rows else "",
    )
    faultpoint("recovery.written", turn.id)
    return Unfinished(admitted=admitted, preview=preview, shown=shown, again=True)


def _left_standing(house: House, preview: Posted | None, log_: Sequence[Entry]) -> tuple[Posted | None, str | None]:
    """The message that grew, with what it is to say where nothing replaces that; and what it says, None where it has to
    be edited for it, or told that it has ended.

    While tools ran it said so, and that is to go: all that was said before is in the log. Of words that came after them
    the log has none, and the row has their beginning, so they stay as they were read.
    """
    if preview is None:
        return None, None
    preview = house.outbox.workshop.doubted(preview)
    log_ = history.for_people(log_)
    stored = BREAK.join(entry.text.strip() for entry in log_ if entry.kind is Kind.ASSISTANT)
    before = house.outbox.first_part(preview.address.bot, stored)
    called = any(entry.kind is Kind.TOOL_CALL for entry in log_)
    went_on = not history.open_calls(log_) and len(preview.text) > len(before)
    if not called or went_on:
        return preview, None if house.outbox.workshop.streams(preview.address) else preview.text
    return replace(preview, text=before or preview.text), None


def _acted(log_: list[Entry]) -> bool:
    """Was a call stored that may have changed something?"""
    return any(entry.kind is Kind.TOOL_CALL and entry.data.get("read_only") is not True for entry in log_)


def _settle(tx: Tx, turn: Turn, ending: Ending, now: datetime) -> Settled:
    return Settled(posted=close_turn(tx, turn, ending, now).posted, outcome=ending.outcome)


async def recover(house: House, router: Router, instant: Callable[[RowId], None]) -> None:
    """Queue everything that the last process left. Turns first: each one's owner goes on with it before anything
    that waited behind it. Raises `StoreError`.

    Between queueing the first turn and the last row there is no await, so that a command that was accepted for a turn
    is heard before the turn's agent is asked again.
    """
    died = await house.store.write(processes.start)
    ran = await house.store.read(turns.running)
    unfinished = [found for turn in ran if (found := await _take_up(house, turn, died=died)) is not None]
    waiting = await _waiting_rows(house)
    _go_on(router, unfinished)
    for left in waiting:
        if left.lane is Lane.INSTANT or left.conversation is None:
            instant(left.ref.id)
        else:
            router.put(left.conversation, left.ref, left.lane)


async def recover_conversation(house: House, router: Router, conversation: ConversationId) -> None:
    """Take one conversation up anew, after a commit in it that may have happened or not. Raises `StoreError`."""
    turn = await house.store.read(lambda tx: turns.running_in(tx, conversation))
    unfinished = await _take_up(house, turn, died=False) if turn is not None else None
    waiting = await house.store.read(lambda tx: inbox.pending_in(tx, conversation))
    _go_on(router, [unfinished] if unfinished is not None else [])
    for row in waiting:
        router.put(conversation, ref_of(row), row.lane)
    for bot, chat, kind in await house.store.read(lambda tx: deliveries.unsent_chats(tx, conversation)):
        house.outbox.lane(bot, chat, kind).load()


async def _take_up(house: House, turn: Turn, *, died: bool) -> Unfinished | None:
    """The turn for another attempt; None if it has been settled."""
    reference, now = house.random.token(8), house.clock.now()
    found = await house.store.write(lambda tx: take_up(tx, turn, reference, now, house, died=died))
    match found:
        case Unfinished():
            return found
        case Settled(posted=posted, outcome=outcome):
            log.warning("turn_not_again", turn=turn.id, outcome=str(outcome), reference=reference)
            house.tally.turn_ended(turn.address.bot, outcome)
            house.outbox.push(posted)
            return None


def _go_on(router: Router, unfinished: Sequence[Unfinished]) -> None:
    for one in unfinished:
        turn = one.admitted.turn
        log.warning("turn_again", turn=turn.id, attempt=turn.attempt, retry=turn.retry)
        router.go_on(turn.conversation, one)


def _is_stale(row: Waiting, before: datetime) -> bool:
    """The row by which a suspended turn goes on ends that turn first, so that its owner has to see to it."""
    return row.received_at < before and row.command != GO_ON


async def _waiting_rows(house: House) -> list[_Left]:
    """What waits, in order of acceptance; rows that are too old are closed, with one notice per chat."""
    now = house.clock.now()
    before = house.stale_before(now)
    waiting: list[_Left] = []
    stale: list[Ref] = []
    after = 0
    while page := await house.store.read(lambda tx: inbox.pending_after(tx, after, PAGE)):  # noqa: B023  # run at once
        after = page[-1].id
        stale += [ref_of(row) for row in page if _is_stale(row, before)]
        waiting += [_Left(ref_of(row), row.lane, row.conversation) for row in page if not _is_stale(row, before)]
    if stale:
        log.warning("rows_stale", count=len(stale))
        house.outbox.push(await house.store.write(lambda tx: refuse_stale(tx, stale, now, house.notices)))
    return waiting
