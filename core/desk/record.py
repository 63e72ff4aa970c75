"""The end of a turn: what was said, what it used, the rows' fate and the deliveries. One transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from core.desk import consent, offering
from core.desk.offering import Made
from core.faultpoints import faultpoint
from core.store import buttons, conversations, deliveries, entries, history, inbox, sessions, turns
from core.store.consents import Ask
from core.store.conversations import ConversationId
from core.store.deliveries import Parcel, Posted
from core.store.entries import Draft, Entry, Json, Kind
from core.store.sessions import Session
from core.store.sql import Tx
from core.store.turns import Turn
from core.tally import Limit
from core.vocabulary import Address, ChatKind, Outcome


class Told(Struct, frozen=True):
    """One message, with its buttons. `to`: somebody's direct chat; None: where the turn is."""

    text: str
    made: tuple[Made, ...] = ()
    to: Address | None = None


class Ending(Struct, frozen=True, kw_only=True):
    """How a turn ended. `said` is what was said since the last entry that the turn committed itself; `reply` is the
    whole text as parts for the platform. `asks`: its calls that wait for somebody. `notice` is told after the reply, in
    the words of `told` if there are any, the first of them where the turn is; `why` is what whoever runs the desk is
    told of it. `preview` is the message that grew, with what it is to say if there is no reply; `shown` is what it
    says, None where that is not certain. There is something to say where that is nothing. `at_once`: the first part is
    committed as `sending`, since the caller holds the chat's lane."""

    outcome: Outcome
    said: tuple[Draft, ...] = ()
    reply: tuple[str, ...] = ()
    notice: str = ""
    reference: str = ""
    limits: tuple[Limit, ...] = ()
    why: str = ""
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
        if self.preview is None or self.preview.message is None or self.preview.buttons:
            return False
        wanted = self.reply[0] if self.reply else self.preview.text
        return wanted != "" and self.shown == wanted

    @property
    def notices(self) -> tuple[Told, ...]:
        """What is told after the reply."""
        return (self.told or (Told(self.notice),)) if self.notice else ()


class _Piece(Struct, frozen=True, kw_only=True):
    """A part of what is said in the end."""

    role: str
    part: int
    told: Told


class Closed(Struct, frozen=True, kw_only=True):
    """What closing a turn left: the session and the entries that it got, and parts to be sent."""

    session: Session
    added: tuple[Entry, ...]
    posted: tuple[Posted, ...]


_REASONS = {Outcome.CANCELLED: history.STOPPED, Outcome.FAILED: history.FAILED}
"""What a call that has no result gets for one, by how its turn ended."""


def record(tx: Tx, conversation: ConversationId, fence: int, turn: Turn, ending: Ending, now: datetime) -> Closed:
    """Close a turn as the conversation's owner. Raises `FenceLost`."""
    conversations.own(tx, conversation, fence)
    closed = close_turn(tx, turn, ending, now)
    faultpoint("record.written", turn.id)
    return closed


def close_turn(tx: Tx, turn: Turn, ending: Ending, now: datetime, *, keep_rows: bool = False) -> Closed:
    """Store the end of a turn whose conversation the caller holds. With `keep_rows` another turn goes on with them."""
    session = sessions.get(tx, turn.session)
    session, added = entries.append(tx, session, _drafts(tx, turn, ending), now)
    turns.close(tx, turn.id, ending.outcome, now, ending.usage, ending.reference)
    buttons.use(tx, offering.of_turn(turn.id), now)
    if ending.outcome is Outcome.SUSPENDED:
        consent.open_asks(tx, turn, ending.asks, now)
    elif not keep_rows:
        inbox.finish_turn(tx, turn.id, now, ending.reference)
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
        data: dict[str, Json] = {"limits": list(ending.limits)} if ending.limits else {}
        if ending.why:
            data["why"] = ending.why
        drafts.append(Draft(kind=Kind.NOTICE, text=ending.notice, data=data, turn=turn.id))
    return drafts


def _post(tx: Tx, turn: Turn, ending: Ending, now: datetime) -> list[Posted]:
    """The reply's parts and the notice behind them. What there is of a preview becomes the first that is said."""
    posted: list[Posted] = []
    pieces = [*_numbered(deliveries.REPLY, map(Told, ending.reply)), *_numbered(deliveries.NOTICE, ending.notices)]
    preview, at_once = ending.preview, ending.at_once
    if preview is not None and preview.message is None and not preview.doubtful:
        deliveries.drop(tx, preview.id)
    elif preview is not None:
        own = _Piece(role=deliveries.REPLY, part=1, told=Told(preview.text))
        first = own if preview.text and not ending.reply else pieces.pop(0)
        posted += _settle(tx, preview, first, ending, now)
        at_once = False
    for piece in pieces:
        state = deliveries.SENDING if at_once and not posted else deliveries.QUEUED
        parcel = Parcel(
            conversation=turn.conversation, turn=turn.id, role=piece.role, part=piece.part, address=turn.address,
            kind=turn.kind, text=piece.told.text, state=state, buttons=offering.keep(tx, piece.told.made),
        )  # fmt: skip
        if piece.told.to is not None:  # another conversation's, but known by the turn that it is about
            parcel = replace(parcel, conversation=None, address=piece.told.to, kind=ChatKind.DIRECT)
        posted.append(deliveries.post(tx, parcel, now))
    return posted


def _numbered(role: str, told: Iterable[Told]) -> list[_Piece]:
    return [_Piece(role=role, part=number, told=one) for number, one in enumerate(told, start=1)]


def _settle(tx: Tx, preview: Posted, piece: _Piece, ending: Ending, now: datetime) -> list[Posted]:
    """The message that grew says this in the end: it is edited unless it does already."""
    said = replace(
        preview, role=piece.role, text=piece.told.text, state=deliveries.QUEUED,
        buttons=offering.keep(tx, piece.told.made),
    )  # fmt: skip
    if ending.stands:
        deliveries.settle(tx, replace(said, state=deliveries.SENDING))
        deliveries.sent(tx, preview.id, preview.message, now)
        return []
    deliveries.settle(tx, said)
    return [said]
