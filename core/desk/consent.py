"""Calls that wait for somebody: they are answered one by one, and with the last answer their turn goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from core.agents.agent import Allowed, Answer, Told
from core.people.names import one_line
from core.service.notices import Notices
from core.store import consents, conversations, entries, history, inbox, sessions, turns
from core.store.consents import Ask, Consent, ConsentState, Waits
from core.store.conversations import Conversation, ConversationId
from core.store.entries import Draft, Entry, Json, Kind
from core.store.inbox import Arrival, Fate, Lane, Waiting
from core.store.sql import Tx
from core.store.turns import Turn
from core.vocabulary import Outcome, TurnId

GO_ON = "go_on"
"""The command of a row of our own making: a suspended turn, whose id is its text, goes on."""
ACCOUNT = "desk"
"""Of rows of our own making, in place of a platform's account."""
EXPIRES_AFTER = timedelta(minutes=15)
SHOWN_CHARS = 6000
"""Of a call's arguments that a person is shown."""
VALUE_CHARS = (SHOWN_CHARS, 1500, 300, 60, 12)
"""Of one value in them: as many as let all of them be shown."""
NAME_CHARS = 60


class Verdict(Struct, frozen=True, kw_only=True):
    """What becomes of a call. `result` is what the model is told where it is not carried out here."""

    state: ConsentState
    result: str = ""


def open_asks(tx: Tx, turn: Turn, asks: Sequence[Ask], now: datetime) -> None:
    """Let the calls of a turn that is suspended wait."""
    for ask in asks:
        consents.open_(tx, turn, ask, now, now + EXPIRES_AFTER)


def answer(tx: Tx, conversation: Conversation, consent: Consent, verdict: Verdict, now: datetime) -> Waiting | None:
    """Settle one open call of a conversation that the caller holds; the row by which its turn goes on, if it was the
    last one."""
    consents.settle(tx, consent, verdict.state, now)
    turn = turns.get(tx, consent.turn)
    if verdict.state is not ConsentState.APPROVED:
        draft = Draft(
            kind=Kind.TOOL_RESULT, text=verdict.result, data={"call": consent.call, "failed": True}, turn=turn.id
        )  # fmt: skip
        entries.append(tx, sessions.get(tx, turn.session), [draft], now)
    if any(one.state is ConsentState.OPEN for one in consents.of_turn(tx, turn.id)):
        return None
    return _go_on_row(tx, conversation, turn, now)


def _go_on_row(tx: Tx, conversation: Conversation, turn: Turn, now: datetime) -> Waiting | None:
    arrival = Arrival(
        account=ACCOUNT, dedupe=f"e:{GO_ON}:{turn.id}", message=None, address=turn.address, kind=turn.kind,
        identity=turn.author, name="", role="", text=turn.id, lane=Lane.ORDERED, command=GO_ON, more_likely=False,
        sent_at=now,
    )  # fmt: skip
    row = inbox.arrive(tx, arrival, conversation.id, now)
    return inbox.pending(tx, row) if row is not None else None


def expire(tx: Tx, conversation_id: ConversationId, fence: int, now: datetime) -> list[Waiting]:
    """Settle what was not answered in time. Raises `FenceLost`."""
    conversation = conversations.own(tx, conversation_id, fence)
    rows: list[Waiting] = []
    for consent in consents.open_in(tx, conversation.id):
        if consent.expires_at <= now:
            verdict = Verdict(state=ConsentState.EXPIRED, result=history.EXPIRED)
            row = answer(tx, conversation, consent, verdict, now)
            rows += [row] if row is not None else []
    return rows


class GoingOn(Struct, frozen=True, kw_only=True):
    """A suspended turn whose calls are all answered. `since`: what it stored after its message."""

    turn: Turn
    message: Entry
    since: tuple[Entry, ...]
    answers: Mapping[str, Answer]


def going_on(tx: Tx, row: Waiting) -> GoingOn | None:
    """The turn that a row lets go on; None if it was closed since."""
    turn = turns.get(tx, TurnId(row.text))
    if turn.state != Outcome.SUSPENDED:
        return None
    log_ = entries.of_session(tx, turn.session, after=turn.user_seq - 1)
    message, seen = log_[0], [entry for entry in history.for_model(log_) if entry.kind is not Kind.COMPACTION]
    answers: dict[str, Answer] = {
        one.call: Allowed() if one.state is ConsentState.APPROVED else Told() for one in consents.of_turn(tx, turn.id)
    }
    return GoingOn(turn=turn, message=message, since=tuple(seen[1:]), answers=answers)


def begin(tx: Tx, found: GoingOn, row: Waiting, turn: TurnId, now: datetime) -> Turn:
    """Another turn, with the rows of the first one; the one that lets it go on has done its work."""
    turns.close(tx, found.turn.id, Outcome.DONE, now, found.turn.usage)
    further = replace(found.turn, id=turn, state=turns.RUNNING, attempt=1, retry=None, opened_at=now, usage={})
    turns.start(tx, further)
    inbox.move(tx, found.turn.id, further.id)
    inbox.finish(tx, row.id, Fate.MERGED, now, further.id)
    return further


# what people say to it


def wanted(calls: Sequence[tuple[Ask, Entry]]) -> list[tuple[Ask, Entry]]:
    """The calls that wait for a person's word."""
    return [(ask, call) for ask, call in calls if ask.waits is Waits.CONSENT]


def asked(calls: Sequence[tuple[Ask, Entry]], notices: Notices, head: str, foot: str) -> str:
    """The question between these, with every call exactly as it will be made."""
    return "\n\n".join([head, *(shown(ask, call, notices) for ask, call in calls), foot])


def shown(ask: Ask, call: Entry, notices: Notices) -> str:
    """One call."""
    head = notices.say("consent_call", id=ask.id, tool=one_line(call.text))
    return f"{head}\n\n{_fenced(str(call.data.get('arguments') or '{}'), notices)}"


def how(notices: Notices) -> str:
    """What to say to it."""
    return notices.say("consent_how", minutes=int(EXPIRES_AFTER.total_seconds() // 60))


def how_elsewhere(notices: Notices) -> str:
    """What an owner says to it who is asked for somebody else."""
    return notices.say("consent_how_elsewhere", minutes=int(EXPIRES_AFTER.total_seconds() // 60))


def _fenced(arguments: str, notices: Notices) -> str:
    """Every argument, so that none hides behind another: long values are cut one by one, what can't be seen is
    spelled."""
    shown = _all_of(arguments, notices)
    cut = ""
    if len(shown) > SHOWN_CHARS:
        shown, cut = shown[:SHOWN_CHARS], f"\n{notices.say('consent_cut', chars=len(shown))}"
    fence = "```"
    while fence in shown:
        fence += "`"
    return f"{fence}json\n{shown}\n{fence}{cut}"


def _all_of(arguments: str, notices: Notices) -> str:
    """JSON as people read it, with values as long as lets all be shown; what is none, or too deep, stays as it is."""
    shown = arguments
    for most in VALUE_CHARS:
        try:
            shortened = _shortened(json.loads(arguments), most, notices)
            shown = json.dumps(shortened, indent=2, ensure_ascii=False)
        except (ValueError, RecursionError):
            break
        if len(shown) <= SHOWN_CHARS:
            break
    return _spelled(shown)


def _shortened(value: Json, most: int, notices: Notices) -> Json:
    match value:
        case str():
            return _cut(value, most, notices)
        case Mapping():
            return {
                _cut(name, NAME_CHARS, notices): _shortened(inner, most, notices) for name, inner in value.items()
            }  # fmt: skip
        case Sequence():
            return [_shortened(inner, most, notices) for inner in value]
        case _:
            return value


def _cut(text: str, most: int, notices: Notices) -> str:
    return text if len(text) <= most else f"{text[:most]}{notices.say('consent_value_cut', chars=len(text))}"


def _spelled(text: str) -> str:
    """Invisible characters and those that turn the direction of writing, as JSON spells them."""
    return "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)
