"""A store that comes out of a backup: the desk that made it went on, so what waited then was answered since.

Nothing of it may be answered or sent a second time. It is closed here, before the restored store is anybody's, and
without a word to the chats: they know better than the backup what was said there.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from core.desk.admit import close_suspended
from core.desk.record import Ending, close_turn
from core.service.notices import Notices
from core.store import conversations, deliveries, inbox, left, sessions, turns
from core.store.entries import Draft, Kind
from core.store.inbox import Fate
from core.store.sql import Tx
from core.vocabulary import Outcome

RESTORED = "restored"
"""Why a row or a part is closed; `explain` has words for it."""


class Held(Struct, frozen=True, kw_only=True):
    """What was closed: messages that waited or were being answered, turns that ran, parts that were not sent."""

    messages: int
    turns: int
    deliveries: int


def hold_back(tx: Tx, notices: Notices, now: datetime) -> Held:
    """Close all that is under way. A turn that ran is interrupted, and its transcript says so."""
    messages, running = 0, turns.running(tx)
    for turn in running:
        said = Draft(kind=Kind.NOTICE, text=notices.say("restored"), turn=turn.id)
        preview = deliveries.preview_of(tx, turn.id)
        if preview is not None:
            deliveries.drop(tx, preview.id)
        close_turn(tx, turn, Ending(outcome=Outcome.INTERRUPTED, said=(said,), called=True), now, keep_rows=True)
        messages += sum(inbox.finish(tx, row.id, Fate.STALE, now, RESTORED) for row in inbox.taken_by(tx, turn.id))
    for conversation_id in left.suspended(tx):
        conversation = conversations.lock(tx, conversation_id)
        for turn in turns.suspended_in(tx, conversation_id):
            close_suspended(tx, conversation, sessions.get(tx, turn.session), now)
    waiting = inbox.pending_after(tx, 0, 1 << 30)
    messages += sum(inbox.finish(tx, row.id, Fate.STALE, now, RESTORED) for row in waiting)
    return Held(messages=messages, turns=len(running), deliveries=left.keep_back(tx, RESTORED, now))


def go_on(tx: Tx, notices: Notices, now: datetime) -> Held:
    """The desk that made the backup does not run any more: what waited then is this one's to do."""
    return Held(messages=0, turns=0, deliveries=0)
