"""Ending a session on behalf of whoever runs the desk: a row of our own making, carried out like `/reset`.

It goes through the inbox so that the conversation's owner does it, after what it cancels is recorded, and so that a
process that dies meanwhile does it at its next start.
"""

from __future__ import annotations

from collections.abc import Callable

from core.desk.admit import close_suspended
from core.desk.commands.effects import Case, Effect
from core.desk.commands.forget import FORGOTTEN
from core.store import conversations, sessions
from core.store.sql import Tx

END = "end"
"""The command of such a row, whose text is the reason. Nobody can type it."""
COMMAND, DELETED = "command", "deleted"
_SAID = {COMMAND: ("ended_here", "ended_elsewhere"), DELETED: ("deleted_here", "deleted_elsewhere")}
"""By reason: what is said at once where something was stopped, and else with the next message's answer."""


def end(tx: Tx, case: Case) -> Effect:
    """End the current session, and tell the chat once."""
    session, reason = case.session(tx), case.argument
    if session is None or session.ended_at is not None:
        return Effect()
    session = close_suspended(tx, case.conversation, session, case.now)
    sessions.end(tx, session.id, reason, case.now)
    if reason == FORGOTTEN or session.messages == 0:
        return Effect(evict=True)
    at_once, later = _SAID[reason]
    if not case.stopped and not case.closed:
        conversations.tell(tx, case.conversation.id, case.notices.say(later))
        return Effect(evict=True)
    dropped = f" {case.notices.say('closed_waiting', count=case.closed)}" if case.closed else ""
    return Effect(reply=case.notices.say(at_once) + dropped, evict=True)


EFFECTS: dict[str, Callable[[Tx, Case], Effect]] = {END: end}
