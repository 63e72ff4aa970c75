"""Admission: waiting rows become a turn in the right session. One transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from msgspec import Struct, field
from msgspec.structs import replace

from core.agents.agent import Answer
from core.desk import answering, bringing, coalesce, consent, offering, resets
from core.desk.answering import Offer
from core.desk.client_tools import tools_of
from core.desk.offering import Choice, Offered, Tokens
from core.desk.record import Ending, close_turn
from core.desk.resets import Policy, ResetReason
from core.faultpoints import faultpoint
from core.people.names import one_line
from core.service.notices import Notices
from core.store import attachments, consents, conversations, deliveries, entries, history, inbox, sessions, turns
from core.store.attachments import File
from core.store.buttons import Action
from core.store.conversations import Conversation, ConversationId, SessionId
from core.store.deliveries import Posted
from core.store.entries import Draft, Entry, Json, Kind
from core.store.inbox import Fate, Waiting
from core.store.people import Role
from core.store.sessions import ResetContext, Session
from core.store.sql import Tx
from core.store.turns import Turn
from core.tally import Limit
from core.vocabulary import Button, ChatKind, ClientTool, Outcome, RowId, TurnId

TURN_CHARS: Limit = "turn_chars"
RESUMABLE = timedelta(days=7)
"""How long the button under the announcement of a reset is good."""


class Intent(Struct, frozen=True, kw_only=True):
    """What an owner wants to admit. Ids are made by the caller, since a unit may run twice. `fence` is None in the
    owner's first unit. A turn does not go on by a row from before `stale_before`. `carry` is a turn that these rows
    interrupt: it is closed here, its rows go into this one. Rows that have more than `turn_chars` together become
    several turns, and one alone is cut."""

    conversation: ConversationId
    fence: int | None
    rows: tuple[RowId, ...]
    turn: TurnId
    session: SessionId
    agents: Offer
    policy: Policy
    zone: str
    now: datetime
    stale_before: datetime
    button: Tokens | None = None
    carry: tuple[Turn, Ending] | None = None
    turn_chars: int = 400_000


class Admitted(Struct, frozen=True, kw_only=True):
    """A turn that is open. `conversation` is as its author has it (`answering.Offer.holds`). `head` is the seq up to
    which the agent must have seen the session; `message` is the user entry. Where a turn goes on after its calls were
    answered, `since` is what its first part stored after the message, and `answers` what became of the calls."""

    conversation: Conversation
    session: Session
    turn: Turn
    head: int
    message: Entry
    rows: tuple[RowId, ...]
    posted: tuple[Posted, ...]
    since: tuple[Entry, ...] = ()
    answers: Mapping[str, Answer] = field(default_factory=dict)
    tools: tuple[ClientTool, ...] = ()
    received_at: datetime | None = None
    """Of the first row; None where an agent was asked for it before."""
    role: str = Role.GUEST
    """As what its author was heard."""
    is_cut: bool = False
    """The message was longer than a turn may be."""
    left: tuple[RowId, ...] = ()
    """Rows that were to be admitted too, and wait for the next turn."""
    entitled: bool = False
    """These words are the session's first title."""

    @property
    def spoken(self) -> bool:
        """The person asked by voice."""
        return bringing.is_spoken(self.message)


class NothingLeft(Struct, frozen=True, kw_only=True):
    """The rows have found their fate elsewhere (closed, stale)."""

    posted: tuple[Posted, ...] = ()
    fence: int
    carried: bool = False
    """The turn that was carried is closed all the same."""


def admit(tx: Tx, intent: Intent, notices: Notices) -> Admitted | NothingLeft:
    """Resolve the session as of the first row's arrival, open the turn and store what was said.

    Raises `FenceLost`.
    """
    conversation = conversations.own(tx, intent.conversation, intent.fence)
    rows = [row for row in (inbox.pending(tx, row) for row in intent.rows) if row is not None]
    if not rows:
        return NothingLeft(fence=conversation.fence)
    if rows[0].command == consent.GO_ON:
        return _go_on(tx, conversation, rows[0], intent, notices)
    posted = _tell_of_files(tx, conversation, rows, intent, notices)
    rows = [row for row in rows if not bringing.is_empty(row)]
    if not rows:
        return NothingLeft(fence=conversation.fence, posted=tuple(posted))
    behind, rows = rows, list(bringing.fitting(rows, intent.turn_chars))
    first, last = rows[0], rows[-1]
    if intent.carry is not None:
        posted += close_turn(tx, *intent.carry, intent.now, keep_rows=True).posted
    conversation, session, drafts = _session(tx, conversation, rows, intent, notices)
    if intent.carry is None:
        session = close_suspended(tx, conversation, session, intent.now)
    session, told = entries.append(tx, session, drafts, intent.now)
    for one in told:
        parcel = deliveries.notice(replace(first.address, reply_to=None), first.kind, one.text, conversation.id)
        resumable = _resume_button(tx, conversation, session, first, intent, notices) if one is told[-1] else ()
        posted.append(deliveries.post(tx, replace(parcel, buttons=resumable), intent.now))
    head, before, draft = session.model_head, session.title, _user_draft(session, rows, intent)
    session, said = entries.append(tx, session, [draft], intent.now)
    is_cut = TURN_CHARS in _limits_in(draft)
    if is_cut:
        told_cut = notices.say("turn_cut", limit=f"{intent.turn_chars:,}")
        posted.append(deliveries.say(tx, last.address, last.kind, told_cut, intent.now, conversation.id))
    heard = max(last.received_at, session.last_human_at)
    expires = resets.expires_at(intent.policy, session.started_at, heard)
    session = sessions.heard(tx, session, heard, expires)
    turn = _open(tx, conversation, session, said[0], last, intent)
    inbox.take(tx, [row.id for row in rows], turn.id)
    for row in rows:
        sessions.join(tx, session.id, row.identity)
        _keep_files(tx, session, said[0], row, intent.now)
    conversations.speak_from(tx, conversation, last.address, last.kind)
    faultpoint("admission.written", turn.id)
    return Admitted(
        conversation=intent.agents.holds(conversation, last.role),
        session=session,
        turn=turn,
        head=head,
        message=said[0],
        rows=tuple(row.id for row in (inbox.taken_by(tx, turn.id) if intent.carry is not None else rows)),
        posted=tuple(posted),
        tools=tools_of(rows),
        received_at=first.received_at,
        role=last.role,
        is_cut=is_cut,
        left=tuple(row.id for row in behind[len(rows) :]),
        entitled=session.title != before,
    )


def _resume_button(
    tx: Tx, conversation: Conversation, session: Session, first: Waiting, intent: Intent, notices: Notices
) -> tuple[Button, ...]:
    """Under the announcement of a reset, for the one who met it."""
    if session.reset is None or session.messages:
        return ()
    offered = Offered(
        question=f"reset:{session.id}", address=first.address, identity=first.identity,
        conversation=conversation.id, expires_at=intent.now + RESUMABLE,
    )  # fmt: skip
    choice = Choice(label="button_resume", action=Action.RESUME, target=session.reset.parent)
    return offering.keep(tx, offering.make(offered, [choice], intent.button, notices))


def _tell_of_files(
    tx: Tx, conversation: Conversation, rows: Sequence[Waiting], intent: Intent, notices: Notices
) -> list[Posted]:
    """The sender hears of files of which there is nothing; a message that has nothing else is not answered."""
    posted: list[Posted] = []
    for row in rows:
        told = bringing.faults(row, notices)
        if told:
            posted.append(deliveries.say(tx, row.address, row.kind, told, intent.now, conversation.id))
        if bringing.is_empty(row):
            inbox.finish(tx, row.id, Fate.REFUSED, intent.now, row.enclosed.files[0].fault)
    return posted


def _keep_files(tx: Tx, session: Session, said: Entry, row: Waiting, now: datetime) -> None:
    for file in row.enclosed.files:
        attachment = file.attachment
        if file.digest is not None and (attachment.ref or file.digest in attachments.of_session(tx, session.id)):
            kept = File(
                digest=file.digest, name=attachment.name, media_type=attachment.media_type, size=file.size or 0
            )  # fmt: skip
            attachments.add(tx, session.id, kept, now, said.seq)


def _go_on(
    tx: Tx, conversation: Conversation, row: Waiting, intent: Intent, notices: Notices
) -> Admitted | NothingLeft:
    """The calls of a suspended turn are answered: it goes on in its session, with its own message."""
    posted: list[Posted] = []
    if intent.carry is not None:
        posted += close_turn(tx, *intent.carry, intent.now).posted
    found = consent.going_on(tx, row)
    if found is None:
        inbox.finish(tx, row.id, Fate.ANSWERED, intent.now, consent.GO_ON)
        return NothingLeft(fence=conversation.fence, posted=tuple(posted), carried=intent.carry is not None)
    session = sessions.get(tx, found.turn.session)
    if row.received_at < intent.stale_before:
        close_suspended(tx, conversation, session, intent.now)
        inbox.finish(tx, row.id, Fate.STALE, intent.now)
        posted.append(deliveries.say(tx, row.address, row.kind, notices.say("stale", count=1), intent.now))
        return NothingLeft(fence=conversation.fence, posted=tuple(posted), carried=intent.carry is not None)
    asked = inbox.taken_by(tx, found.turn.id)
    role = answering.role_of(asked)
    turn = consent.begin(tx, found, row, intent.turn, intent.now)
    faultpoint("admission.written", turn.id)
    return Admitted(
        conversation=intent.agents.holds(conversation, role), session=session, turn=turn,
        head=session.model_head, message=found.message,
        rows=tuple(one.id for one in inbox.taken_by(tx, turn.id)), posted=tuple(posted), since=found.since,
        answers=found.answers, tools=tools_of(asked), received_at=row.received_at, role=role,
    )  # fmt: skip


def _session(
    tx: Tx, conversation: Conversation, rows: Sequence[Waiting], intent: Intent, notices: Notices
) -> tuple[Conversation, Session, list[Draft]]:
    """The session that was alive when the first row came, or a new one with its announcement."""
    first = rows[0]
    drafts: list[Draft] = []
    if conversation.told is not None:
        drafts.append(Draft(kind=Kind.NOTICE, text=conversation.told))
        conversations.leave_told(tx, conversation.id, ())
    if conversation.session is None:
        return *begin(tx, conversation, first, intent.session, intent.policy, None), drafts
    session = sessions.sound(tx, conversation.session)
    if session is None:
        sessions.end(tx, conversation.session, ResetReason.DAMAGED, first.received_at)
        drafts.append(Draft(kind=Kind.NOTICE, text=notices.say("reset_damaged")))
        return *begin(tx, conversation, first, intent.session, intent.policy, None), drafts
    at = max(first.received_at, session.last_human_at)
    reason = session.end_reason
    if session.ended_at is None:
        reason = resets.due(intent.policy, session.started_at, session.last_human_at, at)
        if reason is None or intent.carry is not None:
            return conversation, session, drafts
        sessions.end(tx, session.id, reason, at)
    context = ResetContext(
        reason=reason or ResetReason.COMMAND, parent=session.id, parent_last_at=session.last_human_at
    )
    if reason in (ResetReason.IDLE, ResetReason.DAILY) and intent.policy.announce:
        age = notices.age(at - session.last_human_at)
        drafts.append(Draft(kind=Kind.NOTICE, text=notices.say(f"reset_{reason}", age=age)))
    arrived = replace(first, received_at=at)
    return *begin(tx, conversation, arrived, intent.session, intent.policy, context), drafts


def begin(
    tx: Tx,
    conversation: Conversation,
    first: Waiting,
    session_id: SessionId,
    policy: Policy,
    context: ResetContext | None,
) -> tuple[Conversation, Session]:
    """Start a session at a row's arrival; the generation counts resets."""
    at = first.received_at
    session = Session(
        id=session_id,
        conversation=conversation.id,
        generation=conversation.generation + (context is not None),
        reset=context,
        started_at=at,
        last_human_at=at,
        touched_at=at,
        ended_at=None,
        end_reason=None,
        expires_at=resets.expires_at(policy, at, at),
        title=None,
        bot=first.address.bot,
        kind=first.kind,
        head=0,
        model_head=0,
        messages=0,
    )
    sessions.start(tx, session)
    return conversations.point(tx, conversation, session.id, session.generation), session


def close_suspended(tx: Tx, conversation: Conversation, session: Session, now: datetime) -> Session:
    """The conversation goes on: calls that still wait for somebody are answered "not answered"."""
    for turn in turns.suspended_in(tx, conversation.id):
        its = session if turn.session == session.id else sessions.get(tx, turn.session)
        calls = history.open_calls(entries.of_session(tx, its.id, after=turn.user_seq))
        its, _ = entries.append(tx, its, [result_of(call, history.NOT_ANSWERED) for call in calls], now)
        session = its if its.id == session.id else session
        turns.close(tx, turn.id, Outcome.DONE, now, turn.usage)
        consents.close(tx, turn.id, now)
        inbox.finish_turn(tx, turn.id, now)
    return session


def result_of(call: Entry, text: str) -> Draft:
    """A result that we give ourselves to a call without one."""
    return Draft(kind=Kind.TOOL_RESULT, text=text, data={"call": call.data.get("call"), "failed": True}, turn=call.turn)


def _user_draft(session: Session, rows: Sequence[Waiting], intent: Intent) -> Draft:
    """All rows as one message, with the line that the model reads before it: stored, so that it never changes."""
    first, last = rows[0], rows[-1]
    name = one_line(last.name)
    line = prompt_line(first, name, intent.zone)
    if session.reset is not None and session.messages == 0:
        line += f", new conversation ({session.reset.reason})"
    if answered := bringing.refers_to(first):
        line += f', in answer to your "{answered}"'
    text = coalesce.join([(bringing.words(row), row.more_likely and not row.enclosed.files) for row in rows])
    text, files, over = bringing.cut(text, bringing.files_of(rows), intent.turn_chars)
    data: dict[str, Json] = {"line": f"[{line}]", "files": files} if files else {"line": f"[{line}]"}
    if limits := _limits_met(rows, over=over):
        data["limits"] = limits
    return Draft(kind=Kind.USER, text=text, data=data, turn=intent.turn, sender=name)


def _limits_met(rows: Sequence[Waiting], *, over: bool) -> list[Json]:
    """Why something of the message is not there, for those who ask later."""
    faults = [file.fault for row in rows for file in row.enclosed.files]
    met: list[Json] = list(
        dict.fromkeys(bringing.FILE_LIMITS[fault] for fault in faults if fault in bringing.FILE_LIMITS)
    )
    return [*met, TURN_CHARS] if over else met


def _limits_in(draft: Draft) -> Sequence[Json]:
    limits = draft.data.get("limits")
    return limits if isinstance(limits, list) else ()


def prompt_line(row: Waiting, name: str, zone: str) -> str:
    """What the model reads before a message: when it came, and from whom where several people talk."""
    line = f"{row.received_at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M %Z}"
    return line if row.kind is ChatKind.DIRECT else f"{line}, {one_line(name)}"


def _open(tx: Tx, conversation: Conversation, session: Session, said: Entry, last: Waiting, intent: Intent) -> Turn:
    turn = Turn(
        id=intent.turn,
        conversation=conversation.id,
        session=session.id,
        state=turns.RUNNING,
        attempt=1,
        author=last.identity,
        address=last.address,
        kind=last.kind,
        user_seq=said.seq,
        agent=intent.agents.usual,
        opened_at=intent.now,
    )
    turns.start(tx, turn)
    if intent.carry is not None:
        inbox.move(tx, intent.carry[0].id, turn.id)
    return turn
