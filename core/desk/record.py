"""The end of a turn: what was said, what it used, the rows' fate and the deliveries. One transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from core.desk import consent, offering
from core.desk.offering import Made
from core.store import buttons, conversations, deliveries, entries, history, inbox, sessions, turns
from core.store.consents import Ask
from core.store.conversations import ConversationId
from core.store.deliveries import Parcel, Posted
from core.store.entries import Draft, Entry, Kind
from core.store.sessions import Session
from core.store.sql import Tx
from core.store.turns import Turn
from core.vocabulary import Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """One message of a notice, with its buttons."""

    text: str
    made: tuple[Made, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """How a turn ended. `said` is what was said since the last entry that the turn committed itself; `reply` is the
    whole text as parts for the platform. `asks`: its calls that wait for somebody. `notice` is told after the reply, in
    the words of `told` if there are any. `at_once`: the first part is committed as `sending`, since the caller holds
    the chat's lane."""

    outcome: Outcome
    said: tuple[Draft, ...] = ()
    reply: tuple[str, ...] = ()
    notice: str = ""
    reference: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)
    preview: Posted | None = None
    shown: str | None = None
    called: bool = False
    asks: tuple[Ask, ...] = ()
    told: tuple[Told, ...] = ()
    at_once: bool = False

    @property
    def stands(self) -> bool:
        """The message that grew already says what it is to say: nothing more is sent for it."""
        grown = self.preview is not None and self.preview.message is not None and not self.preview.buttons
        return grown and (not self.reply or self.shown == self.reply[0])


@dataclass(frozen=True, kw_only=True, slots=True)
class Closed:
    """What closing a turn left: the session and the entries that it got, and parts to be sent."""

    session: Session
    added: tuple[Entry, ...]
    posted: tuple[Posted, ...]


_REASONS = {Outcome.CANCELLED: history.STOPPED, Outcome.FAILED: history.FAILED}
"""What a call that has no result gets for one, by how its turn ended."""


def record(tx: Tx, conversation: ConversationId, fence: int, turn: Turn, ending: Ending, now: datetime) -> Closed:
    """Close a turn as the conversation's owner. Raises `FenceLost`."""
    conversations.own(tx, conversation, fence)
    return close_turn(tx, turn, ending, now)


def close_turn(tx: Tx, turn: Turn, ending: Ending, now: datetime, *, keep_rows: bool = False) -> Closed:
    """Store the end of a turn whose conversation the caller holds. With `keep_rows` another turn goes on with them."""
    session = sessions.get(tx, turn.session)
    session, added = entries.append(tx, session, _drafts(tx, turn, ending), now)
    turns.close(tx, turn.id, ending.outcome, now, ending.usage, ending.reference)
    buttons.use(tx, offering.of_turn(turn.id))
    if ending.outcome is Outcome.SUSPENDED:
        consent.open_asks(tx, turn, ending.asks, now)
    elif not keep_rows:
        rows = inbox.taken_by(tx, turn.id)
        inbox.finish_turn(tx, turn.id, rows[-1].id if rows else None, now, ending.reference)
    return Closed(session=session, added=tuple(added), posted=tuple(_post(tx, turn, ending, now)))


def _drafts(tx: Tx, turn: Turn, ending: Ending) -> list[Draft]:
    drafts: list[Draft] = []
    if ending.called and ending.outcome is not Outcome.SUSPENDED:
        calls = history.open_calls(entries.of_session(tx, turn.session, after=turn.user_seq))
        reason = _REASONS.get(ending.outcome, history.CLOSED_BY_KILL)
        drafts += [
            Draft(
                kind=Kind.TOOL_RESULT,
                text=reason,
                data={"call": call.data.get("call"), "failed": True},
                turn=turn.id,
            )
            for call in calls
        ]
    drafts += ending.said
    if ending.notice:
        drafts.append(Draft(kind=Kind.NOTICE, text=ending.notice, turn=turn.id))
    return drafts


def _post(tx: Tx, turn: Turn, ending: Ending, now: datetime) -> list[Posted]:
    """The reply's parts, the first one in the preview's place, and the notice behind them."""
    posted: list[Posted] = []
    parts = list(ending.reply)
    preview = ending.preview
    if preview is not None:
        posted += _settle(tx, preview, parts, ending, now)
    begun = bool(posted) or (preview is not None and preview.message is not None)
    for number, text in enumerate(parts[1:] if begun else parts, start=2 if begun else 1):
        first = not posted and not begun and ending.at_once
        state = deliveries.SENDING if first else deliveries.QUEUED
        posted.append(deliveries.post(tx, _parcel(turn, deliveries.REPLY, number, text, state), now))
    for number, told in enumerate(ending.told or (Told(text=ending.notice),) if ending.notice else (), start=1):
        at_once = ending.at_once and not posted and preview is None
        state = deliveries.SENDING if at_once else deliveries.QUEUED
        parcel = _parcel(turn, deliveries.NOTICE, number, told.text, state)
        posted.append(deliveries.post(tx, replace(parcel, buttons=offering.keep(tx, told.made)), now))
    return posted


def _settle(tx: Tx, preview: Posted, parts: Sequence[str], ending: Ending, now: datetime) -> list[Posted]:
    """The message that grew becomes part 1: edited unless it already says that. One without a platform id may not be
    there, so it counts for nothing. One that nothing replaces keeps what it says."""
    if preview.message is None:
        deliveries.drop(tx, preview.id)
        return []
    if ending.stands:
        deliveries.settle(tx, preview, ending.shown or preview.text, deliveries.SENDING)
        deliveries.sent(tx, preview.id, preview.message, now)
        return []
    text = parts[0] if parts else ending.shown or preview.text
    deliveries.settle(tx, preview, text, deliveries.QUEUED)
    return [replace(preview, role=deliveries.REPLY, text=text, state=deliveries.QUEUED, buttons=())]


def _parcel(turn: Turn, role: str, part: int, text: str, state: str) -> Parcel:
    return Parcel(
        conversation=turn.conversation, turn=turn.id, role=role, part=part, address=turn.address, kind=turn.kind,
        text=text, state=state,
    )  # fmt: skip
