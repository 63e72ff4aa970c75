"""What became of something, in one plain sentence each, for whoever runs the desk. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import unquote

from msgspec import Struct

from core.desk.commands.ended import DELETED, END
from core.desk.commands.forget import ASKED, FORGOTTEN
from core.desk.commands.table import UNKNOWN
from core.desk.consent import GO_ON
from core.desk.restored import RESTORED
from core.store.lookups import Happened, Received, Sent
from core.store.sessions import Session
from core.store.turns import Retry

_IGNORED = {
    "bot": "another bot sent it, and bots are not answered (`allow_bots` is off, or it did not mention this one)",
    "bot_loop": "bots had spoken there several times in a row without a person between them",
    "not_a_person": "no person stands behind it: a channel, or somebody anonymous",
    "blocked": "the sender is blocked (`frontdesk people role ID user` lets them in again)",
    "empty": "there is nothing in it that could be answered",
    "direct_off": "this bot takes no direct messages (`direct` is off)",
    "not_allowed": "the sender is not in [access] allow, and this bot lets in nobody else (`direct` is allow)",
    "group_not_listed": "the group is not listed in the bot's `groups`",
    "not_addressed": "it was not meant for the bot: no mention, no reply to it, no command",
    "edit": "it is the edit of a message; one that still waited got its new text",
}
_REFUSED = {
    "stranger": (
        "the sender was not let in; they were sent a code, and `frontdesk people approve CODE` lets them in "
        "(`frontdesk people list` shows codes that are still good)"
    ),
    "stranger_waits": (
        "the sender was not let in; they had been sent a code before that was still good, so they were told nothing"
    ),
    "full": "too many messages waited there already ([mailbox] limit)",
    "conversations_per_hour": (
        "the sender was not let in, and had begun as many conversations as a guest may within an hour "
        "([access.guests] conversations_per_hour), which they were told once"
    ),
    "expired": "the button was used already, too old, or somebody else's",
    "file_too_large": "its file was too large ([desk] attachment_mib, or the platform's own), which the chat was told",
    "file_lost": "its file could not be fetched from the platform, which the chat was told",
    "file_quota": (
        "its sender was not let in and had sent as much as a guest may within 24 hours ([access.guests] "
        "file_mib_per_day), so that its file was not fetched, which the chat was told"
    ),
    "file_no_room": "its file was not fetched because the disk was almost full, which the chat was told",
    "picture_too_large": "its picture was too large for a model, which the chat was told",
    "voice_unheard": "it was a voice message, and there is no [speech.transcribe], which the chat was told",
    "voice_failed": "its voice could not be transcribed, which the chat was told; the log says why",
    "voice_timeout": "its voice was not transcribed in time ([speech.transcribe] timeout_s), which the chat was told",
    "voice_empty": "nothing was heard in its voice message, which the chat was told",
}
_EVENTS = {
    "moved": "told that the chat got another id, which was followed",
    "let_in": "let in the stranger whom its button named",
}
_LIMITS = {
    "turn_chars": "what was said was longer than a turn may be ([mailbox] turn_chars), so its end was cut",
    "file_mib_per_day": (
        "a file was not fetched, since its sender was not let in and had sent as much as a guest may within 24 hours "
        "([access.guests] file_mib_per_day)"
    ),
    "disk_free": "a file was not fetched, since the disk was almost full",
    "tokens_per_day": (
        "it would have used more tokens than the sender may in a day ([access.guests] tokens_per_day for whoever was "
        "not let in, person_day_tokens in the agent's limits for everybody)"
    ),
}
_TURN = {
    "running": "runs",
    "suspended": "waits for somebody to allow or answer its calls",
    "done": "was answered",
    "failed": "failed, which the chat was told",
    "cancelled": "was stopped",
    "interrupted": "was interrupted when the desk ended, which the chat was told",
}
_UNSENT = {
    "done": "was answered, but not all of the answer was sent",
    "failed": "failed, which the chat could not be told",
    "cancelled": "was stopped, and not all that it had said until then was sent",
    "interrupted": "was interrupted when the desk ended, which the chat could not be told",
}
_RESETS = {
    "command": "somebody asked for a new one",
    "idle": "the one before had rested for too long",
    "daily": "the daily hour had passed",
    "resumed_away": "the one before was resumed elsewhere",
    "forgotten": "somebody asked to be forgotten",
    "deleted": "the one before was deleted",
}
_ENDS = {
    "command": "somebody asked for that",
    "idle": "it had rested for too long",
    "daily": "the daily hour had passed",
    "resumed_away": "another session was resumed in its place",
    "damaged": "it could not be read any more; `frontdesk db verify` says more",
    "forgotten": "its person asked to be forgotten",
    "deleted": "whoever runs the desk deleted it",
}


def decoded(part: str) -> str:
    """One part of a session key."""
    return unquote(part)


def at(when: datetime | None) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S} UTC" if when is not None else "an unknown time"


class Around(Struct, frozen=True, kw_only=True):
    """What belongs to a message: its turn, with the state that it has or had, whether something that this said was not
    sent, the row that closed the message, and the limits that the turn met."""

    turn: Happened | None
    turn_state: str | None
    unsent: bool
    closer: Received | None
    limits: tuple[str, ...] = ()


def message(row: Received, around: Around) -> str:
    """Why a message is where it is."""
    if row.command == END:
        what = "An order to end the session"
    elif row.command == GO_ON:
        what = "The answer by which a turn goes on"
    else:
        sender = f" from {row.name} ({row.identity})" if row.identity else ""
        what = f"Message {row.message or row.id}{sender}"
    return f"{what}, received {at(row.received_at)}, {_became(row, around)}."


def _became(row: Received, around: Around) -> str:
    match row.fate:
        case None if row.state == "taken":
            return f"is with turn {row.turn}, which {_going(around.turn) if around.turn else 'is not there'}"
        case None:
            return "waits for its turn"
        case "answered":
            return _answered(row, around)
        case "merged":
            return _taken(row, around, " together with others") or (
                f"was taken into turn {row.turn or row.detail}; the session of that was deleted since"
            )
        case "closed":
            return _closed(row, around.closer)
        case "refused":
            return f"was refused: {_refused(row.detail)}"
        case "ignored":
            return f"was ignored: {_IGNORED.get(row.detail, row.detail)}"
        case "stale" if row.detail == RESTORED:
            return "waited when the backup was made from which this store was restored; it was not answered again"
        case "stale":
            return "had waited for longer than [desk] stale_hours, so it was not acted on; the chat was told"
        case other:
            return f"ended as {other}"


def _going(one: Happened) -> str:
    if one.state == "running" and one.retry in (Retry.WAITING, Retry.WAITING_ALONE):
        return (
            "waits to be tried again: the desk was killed while it ran, and what ran then is tried one after the other"
        )
    return _ended(one.state)


def _ended(state: str, *, unsent: bool = False) -> str:
    return (_UNSENT if unsent else _TURN).get(state, state)


def _taken(row: Received, around: Around, how: str = "") -> str:
    """What became of its turn; "" where that is not known any more."""
    if around.turn_state is None:
        return ""
    turn_, ended = around.turn, _ended(around.turn_state, unsent=around.unsent)
    if turn_ is None:
        return f"was taken{how} into a turn that {ended}{_referred(row.detail)}; its session was deleted since"
    return f"was taken{how} into turn {turn_.id}, which {ended}{_referred(turn_.reference)}{_met(around.limits)}"


def _met(limits: Sequence[str]) -> str:
    return "".join(f"; {_LIMITS.get(limit, limit)}" for limit in limits)


def _referred(reference: str | None) -> str:
    return f" (reference {reference})" if reference else ""


def _answered(row: Received, around: Around) -> str:
    if known := _taken(row, around):
        return known
    if row.command == END:
        return f"was carried out {at(row.done_at)}"
    if row.detail in _EVENTS:
        return _EVENTS[row.detail]
    if row.detail == ASKED:
        return "was answered with the question whether to forget; /forget yes was needed"
    if row.detail == UNKNOWN:
        return f"was a command that there is not, which the chat was told {at(row.done_at)}"
    if row.command and row.detail:
        return f"was the command /{row.detail}, carried out {at(row.done_at)}"
    ended = f"was done with {at(row.done_at)}{_referred(row.detail)}"
    return f"{ended}; how is not known, for its session was deleted since"


def _closed(row: Received, closer: Received | None) -> str:
    if closer is None:
        return f"was dropped by the command in message {row.detail}, which is not kept any more"
    if closer.command != END:
        return f"was dropped by the command /{closer.detail or closer.command} in message {closer.id}"
    if closer.event.endswith(f":{FORGOTTEN}"):
        return "was dropped when its person was forgotten (/forget)"
    return (
        "was dropped when whoever runs the desk ended or deleted the session (`frontdesk sessions end` or `delete`), "
        f"by order {closer.id}"
    )


def _refused(detail: str) -> str:
    kind, _, rest = detail.partition(":")
    if kind == "internal":
        return f"it broke whatever touched it; the log has more under reference {rest}"
    if kind == "malformed":
        return f"the platform sent something that can't be understood ({rest.strip()})"
    return _REFUSED.get(detail, detail)


def turn(one: Happened, key: str, limits: Sequence[str] = (), why: str = "") -> str:
    """What a turn came to; `why` it failed, as the log says it."""
    attempts = f", in attempt {one.attempt}" if one.attempt > 1 else ""
    reference = f"; the log has more under reference {one.reference}" if one.reference else ""
    until = f" until {at(one.closed_at)}" if one.closed_at is not None else ""
    return (
        f"Turn {one.id} in {key}, session {one.session}, agent {one.agent}, from {at(one.opened_at)}{until}, "
        f"{_going(one)}{attempts}{f' ({why})' if why else ''}{reference}{_met(limits)}."
    )


def session(one: Session) -> str:
    """Why a session began, and why it ended."""
    why = f" because {_RESETS.get(one.reset.reason, one.reset.reason)}" if one.reset is not None else ""
    counted = "1 message" if one.messages == 1 else f"{one.messages} messages"
    ended = f"; it ended {at(one.ended_at)} because {_ENDS.get(one.end_reason or '', one.end_reason)}"
    return f"Session {one.id} began {at(one.started_at)}{why}, with {counted}{ended if one.ended_at else ''}."


def delivery(part: Sent) -> str:
    """Where a part is on its way."""
    of = f" of turn {part.turn}" if part.turn else ""
    what = f"Delivery {part.id} ({part.role.replace('_', ' ')}, part {part.part}{of}) to {part.bot}, chat {part.chat}"
    tries = "1 attempt" if part.attempts == 1 else f"{part.attempts} attempts"
    match part.state:
        case "sent":
            return f"{what}, was sent {at(part.done_at)}{f' as message {part.message}' if part.message else ''}."
        case "failed" if part.error == RESTORED:
            return f"{what}, was not sent: it waited when the backup was made from which this store was restored."
        case "failed" if part.error == "asked_again":
            return f"{what}, did not arrive, or may not have; /again brought it once more."
        case "failed" if part.error == DELETED:
            return f"{what}, was not sent: its session was deleted."
        case "failed" if part.error is None:
            return f"{what}, was not sent; why went with its session, which was deleted since."
        case "failed":
            return f"{what}, was not sent after {tries}: {part.error}."
        case "unknown":
            return f"{what}, may have arrived or not ({part.error}); the chat was told of /again."
        case "sending":
            return f"{what}, is being sent."
        case _:
            later = f", not before {at(part.not_before)}" if part.not_before is not None else ""
            return f"{what}, waits to be sent{later}{f' ({part.error})' if part.error else ''}."
