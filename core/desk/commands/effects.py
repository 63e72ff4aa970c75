"""What a command does that the conversation's owner carries out: effect, reply and fate in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from core.agents.registry import Agents
from core.desk import bringing, resets
from core.desk.admit import begin, close_suspended
from core.desk.answering import Offer
from core.desk.commands.table import Reach
from core.desk.resets import Policy, ResetReason
from core.people.access import user_of
from core.people.names import plain_line
from core.service.notices import Notices
from core.store import conversations, deliveries, entries, history, inbox, lost, sessions, turns
from core.store.conversations import Conversation, ConversationId, SessionId
from core.store.deliveries import Parcel, Posted
from core.store.enclosures import Enclosed
from core.store.entries import Draft, Entry, Kind
from core.store.inbox import Waiting
from core.store.people import Role
from core.store.sessions import TITLE_LIMIT, ResetContext, Session
from core.store.sql import Tx
from core.vocabulary import ChatKind

LISTED = 20
"""Sessions that /sessions shows and /resume NUMBER counts."""
MOST_RESUMABLE = 500
"""Sessions of a person among which /resume looks."""
PAGE = 200


class Case(Struct, frozen=True, kw_only=True):
    """A command, as its owner carries it out. `conversation` is locked. `stopped`: a turn ran and was ended by it;
    `closed`: how many waiting rows it closed. `reach`: how much of the conversation is the sender's to end.
    `new_session` is an id that may be used."""

    conversation: Conversation
    row: Waiting
    argument: str
    now: datetime
    policy: Policy
    notices: Notices
    new_session: SessionId
    parts: Callable[[str], tuple[str, ...]]
    agents: Agents
    offer: Offer
    stopped: bool = False
    closed: int = 0
    reach: Reach = Reach.ALL

    def session(self, tx: Tx) -> Session | None:
        return sessions.sound(tx, self.conversation.session) if self.conversation.session is not None else None


class Effect(Struct, frozen=True, kw_only=True):
    """`message`: the row goes on as an ordinary message with this text; `brings` is what comes with it, where that is
    not what came with the command. `evict`: no cached agent is good any more.
    `opened`: rows that it made. `detail`: what the row ends with, in place of the command's name. `title`: what is
    talked about there from now on."""

    reply: str = ""
    message: str | None = None
    brings: Enclosed | None = None
    evict: bool = False
    posted: tuple[Posted, ...] = ()
    opened: tuple[Waiting, ...] = ()
    detail: str = ""
    title: str | None = None


def stop(tx: Tx, case: Case) -> Effect:
    if case.reach is Reach.WAITING:  # what another began goes on
        some = case.notices.say("closed_waiting", count=case.closed)
        return Effect(reply=some if case.closed else case.notices.say("stopped_nothing"))
    session = case.session(tx)
    open_calls = session is not None and bool(turns.suspended_in(tx, case.conversation.id))
    if session is not None:
        close_suspended(tx, case.conversation, session, case.now)
    stopped = case.stopped or open_calls or case.closed > 0
    return Effect(reply=_and_closed(case, case.notices.say("stopped" if stopped else "stopped_nothing")))


def _and_closed(case: Case, said: str) -> str:
    return said if not case.closed else f"{said} {case.notices.say('closed_waiting', count=case.closed)}"


def reset(tx: Tx, case: Case) -> Effect:
    session = case.session(tx)
    message = case.argument or None
    if session is None or (session.messages == 0 and session.ended_at is None):
        return Effect(reply=_and_closed(case, case.notices.say("reset_first")), message=message)
    session = close_suspended(tx, case.conversation, session, case.now)
    if session.ended_at is None:
        sessions.end(tx, session.id, ResetReason.COMMAND, case.now)
    context = ResetContext(reason=ResetReason.COMMAND, parent=session.id, parent_last_at=session.last_human_at)
    at = max(case.row.received_at, session.last_human_at)
    begin(tx, case.conversation, replace(case.row, received_at=at), case.new_session, case.policy, context)
    _tell_rest(tx, case, lost_ones=True)
    return Effect(reply=_and_closed(case, case.notices.say("reset_command")), message=message, evict=True)


def steer(tx: Tx, case: Case) -> Effect:
    """Nothing runs (any more): an ordinary message."""
    if not case.argument:
        return Effect(reply=case.notices.say("steer_usage"))
    return Effect(message=case.argument)


def queue(tx: Tx, case: Case) -> Effect:
    if not case.argument:
        return Effect(reply=case.notices.say("queue_usage"))
    return Effect(message=case.argument)


def title(tx: Tx, case: Case) -> Effect:
    session = case.session(tx)
    name = plain_line(case.argument, TITLE_LIMIT + 1)
    if session is None:
        return Effect(reply=case.notices.say("no_session"))
    if not name:
        return Effect(reply=case.notices.say("title_is", title=session.title or case.notices.say("untitled")))
    if len(name) > TITLE_LIMIT:
        return Effect(reply=case.notices.say("title_usage", limit=TITLE_LIMIT))
    sessions.entitle(tx, session.id, name, case.now)
    return Effect(reply=case.notices.say("title_set", title=name), title=name)


def from_end(tx: Tx, session: Session, kind: Kind, *, past_clear: bool = False) -> Entry | None:
    """The last entry of a kind that stands."""
    return next(_standing(tx, session, kind, past_clear=past_clear), None)


def _standing(tx: Tx, session: Session, kind: Kind, *, past_clear: bool = False) -> Iterator[Entry]:
    """Entries of a kind that were not taken back, nor cleared, the last one first. Reads the log from its end, as far
    as it is asked for."""
    hidden_from = session.head + 1
    for entry in _backwards(tx, session):
        if entry.seq >= hidden_from:
            continue
        if entry.kind is Kind.CLEAR and not past_clear:
            return
        if entry.kind is Kind.REWIND:
            hidden_from = min(hidden_from, history.mark_target(entry))
        elif entry.kind is kind:
            yield entry


def _backwards(tx: Tx, session: Session) -> Iterator[Entry]:
    before = session.head + 1
    while before > 1:
        page = entries.last(tx, session.id, PAGE, before=before)
        yield from reversed(page)
        before = page[0].seq if page else 1


def _theirs(tx: Tx, case: Case, said: Sequence[Entry]) -> bool:
    """Is all of this the sender's to take back? Who asked for a turn answers for what joined it."""
    asked = {entry.turn for entry in said if entry.turn is not None}
    return case.reach is Reach.ALL or all(turns.get(tx, turn).author == case.row.identity for turn in asked)


def _rewind(tx: Tx, session: Session, to: Entry, now: datetime, why: str) -> None:
    mark = Draft(kind=Kind.REWIND, text=why, data={"to": to.seq})
    entries.append(tx, session, [mark], now)


def undo(tx: Tx, case: Case) -> Effect:
    count = (
        int(case.argument) if case.argument.isdecimal() and len(case.argument) < 6 else 1 if not case.argument else 0
    )
    session = case.session(tx)
    if count < 1:
        return Effect(reply=case.notices.say("undo_usage"))
    going = session is not None and session.ended_at is None
    said = list(islice(_standing(tx, session, Kind.USER), count)) if session is not None and going else []
    if session is None or len(said) < count:
        return Effect(reply=case.notices.say("undo_few" if said else "undo_none"))
    if not _theirs(tx, case, said):
        return Effect(reply=case.notices.say("not_yours"))
    _rewind(tx, close_suspended(tx, case.conversation, session, case.now), said[-1], case.now, "undo")
    return Effect(reply=case.notices.say("undone", count=count), evict=True)


def retry(tx: Tx, case: Case) -> Effect:
    session = case.session(tx)
    user = from_end(tx, session, Kind.USER) if session is not None and session.ended_at is None else None
    if session is None or user is None:
        return Effect(reply=case.notices.say("retry_none"))
    if not _theirs(tx, case, [user]):
        return Effect(reply=case.notices.say("not_yours"))
    _rewind(tx, close_suspended(tx, case.conversation, session, case.now), user, case.now, "retry")
    return Effect(message=user.text, brings=bringing.again(user), evict=True)


def clear(tx: Tx, case: Case) -> Effect:
    session = case.session(tx)
    if session is None or session.ended_at is not None:
        return Effect(reply=case.notices.say("no_session"))
    session = close_suspended(tx, case.conversation, session, case.now)
    entries.append(tx, session, [Draft(kind=Kind.CLEAR, text="clear")], case.now)
    return Effect(reply=case.notices.say("cleared"), evict=True)


def again(tx: Tx, case: Case) -> Effect:
    """What may not have arrived here, and of this conversation what did not; else the last reply."""
    address, missing = case.row.address, lost.parts(tx, case.conversation.id)
    asker = user_of(case.row.identity)
    perhaps = [part for part in lost.perhaps(tx, address) if part.alone in (None, asker)]
    missed = sorted([*perhaps, *missing], key=lambda part: part.id)
    said = [(part.text, part.files, part.alone) for part in missed if part.text or part.files]
    session = case.session(tx)
    if not said and session is not None:
        answered = from_end(tx, session, Kind.ASSISTANT, past_clear=True)
        said = [(part, (), None) for part in case.parts(answered.text)] if answered is not None else []
    if not said:
        return Effect(reply=case.notices.say("again_none"))
    lost.asked_again(tx, missed, case.now)
    _tell_rest(tx, case, lost_ones=False)
    posted = [
        deliveries.post(
            tx,
            Parcel(
                conversation=case.conversation.id, turn=None, role=deliveries.REPLY, part=number,
                address=address, kind=case.row.kind, text=text, files=files, alone=alone,
            ),
            case.now,
        )
        for number, (text, files, alone) in enumerate(said, start=1)
    ]  # fmt: skip
    return Effect(posted=tuple(posted))


def _tell_rest(tx: Tx, case: Case, *, lost_ones: bool) -> None:
    """Of what the next message was to be met with: words about lost answers, or all but those. The other is known
    now."""
    words = {case.notices.say(notice) for notice in lost.TOLD.values()}
    rest = [line for line in case.conversation.told_lines if (line in words) is lost_ones]
    conversations.leave_told(tx, case.conversation.id, rest)


def resume(tx: Tx, case: Case) -> Effect:
    current = case.session(tx)
    found = _wanted(tx, case, current)
    if isinstance(found, str):
        return Effect(reply=found)
    if current is not None and found.id == current.id and current.ended_at is None:
        return Effect(reply=case.notices.say("resume_here"))
    elsewhere = sessions.current_elsewhere(tx, found.id, case.conversation.id)
    if elsewhere is not None:
        other = conversations.lock(tx, elsewhere)
        if other.session == found.id:
            if in_use(tx, other):
                where = f"{other.address.bot}"
                return Effect(reply=case.notices.say("resume_in_use", title=_title(case, found), where=where))
            conversations.point(tx, other, None, other.generation + 1)
            conversations.tell(tx, other.id, case.notices.say("resumed_away", title=_title(case, found)))
    if current is not None and current.id != found.id and current.ended_at is None:
        sessions.end(tx, close_suspended(tx, case.conversation, current, case.now).id, "resumed_away", case.now)
    _move(tx, case, found)
    said = case.notices.say("resumed", title=_title(case, found), messages=found.messages)
    return Effect(reply=said, evict=True, title=found.title)


def _title(case: Case, session: Session) -> str:
    return session.title or case.notices.say("untitled")


def in_use(tx: Tx, conversation: Conversation) -> bool:
    """Has it waiting, running, suspended or undelivered work?"""
    return (
        inbox.waiting_in(tx, conversation.id, 1) > 0
        or turns.open_in(tx, conversation.id) > 0
        or deliveries.unsent_in(tx, conversation.id) > 0
    )


def _move(tx: Tx, case: Case, session: Session) -> None:
    """The session lives on here, with its clocks started anew."""
    at = case.row.received_at
    moved = replace(
        session,
        conversation=case.conversation.id,
        generation=case.conversation.generation + 1,
        started_at=at,
        last_human_at=at,
        expires_at=resets.expires_at(case.policy, at, at),
        bot=case.row.address.bot,
        kind=case.row.kind,
    )
    sessions.reopen(tx, moved)
    conversations.point(tx, case.conversation, session.id, moved.generation)
    _tell_rest(tx, case, lost_ones=True)


def _wanted(tx: Tx, case: Case, current: Session | None) -> Session | str:
    """The session that is meant, or what to say instead. Only those that the asker took part in exist."""
    name = " ".join(case.argument.split())
    mine = resumable(tx, case.conversation.id, case.row.identity, case.row.role)
    others = [
        session for session in mine if current is None or session.id != current.id or current.ended_at is not None
    ]
    if not name:
        return _latest(case, others, current)
    if name.isdecimal() and 1 <= int(name) <= min(LISTED, len(mine)):
        return mine[int(name) - 1]
    exact = [session for session in mine if session.id == name.lower()]
    titled = [session for session in mine if session.title is not None]
    named = [s for s in titled if (s.title or "").casefold() == name.casefold()]
    like = [s for s in titled if name.casefold() in (s.title or "").casefold()]
    fits = exact or named or like
    if not fits:
        return case.notices.say("resume_not_found", name=name[:TITLE_LIMIT])
    return fits[0] if len(fits) == 1 else case.notices.say("resume_many", name=name[:TITLE_LIMIT])


def resumable(tx: Tx, here: ConversationId | None, identity: str, role: str) -> list[Session]:
    """What somebody may resume in a conversation, latest first. What several people share stays where they are; only an
    owner may take it elsewhere."""
    return [
        session
        for session in sessions.of_person(tx, here, identity, MOST_RESUMABLE)
        if session.conversation == here or session.kind is ChatKind.DIRECT or role == Role.OWNER
    ]


def _latest(case: Case, others: list[Session], current: Session | None) -> Session | str:
    """Without a name: what this conversation was before, else the asker's latest other one."""
    wanted = None
    if current is not None:
        wanted = current.id if current.ended_at is not None else current.reset.parent if current.reset else None
    before = [session for session in others if session.id == wanted]
    here = [session for session in others if session.conversation == case.conversation.id and session.messages > 0]
    fits = before or here
    return fits[0] if fits else case.notices.say("resume_none")


EFFECTS: dict[str, Callable[[Tx, Case], Effect]] = {
    "stop": stop,
    "reset": reset,
    "steer": steer,
    "queue": queue,
    "title": title,
    "undo": undo,
    "retry": retry,
    "clear": clear,
    "again": again,
    "resume": resume,
}
