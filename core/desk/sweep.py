"""Sessions end by time: the sweep nominates by index, the owner ends."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from core.desk import resets
from core.desk.commands.effects import in_use
from core.desk.resets import Policy
from core.store import conversations, sessions
from core.store.conversations import ConversationId
from core.store.sql import Tx
from core.vocabulary import BotName, ChatKind

MOST = 500
"""Sessions that one round nominates, or one unit re-dates."""


class Ended(Struct, frozen=True, kw_only=True):
    fence: int
    reason: str | None


def end_if_due(
    tx: Tx, conversation_id: ConversationId, fence: int | None, policy: Callable[[BotName, ChatKind], Policy],
    now: datetime,
) -> Ended:  # fmt: skip
    """End the last session if it is over by the policy of now and has no work. Raises `FenceLost`."""
    conversation = conversations.own(tx, conversation_id, fence)
    if conversation.session is None:
        return Ended(fence=conversation.fence, reason=None)
    session = sessions.get(tx, conversation.session)
    reason = None
    if session.ended_at is None and not in_use(tx, conversation):
        rules = policy(session.bot, session.kind)
        reason = resets.due(rules, session.started_at, session.last_human_at, now)
    if reason is not None:
        sessions.end(tx, session.id, reason, now)
    return Ended(fence=conversation.fence, reason=reason)


def redate_some(tx: Tx, after: str, policy: Callable[[BotName, ChatKind], Policy]) -> str | None:
    """Give open sessions behind `after` their end by the policy of now; the last id, None when all are done."""
    some = sessions.open_after(tx, after, MOST)
    for session in some:
        end = resets.expires_at(policy(session.bot, session.kind), session.started_at, session.last_human_at)
        if end != session.expires_at:
            sessions.redate(tx, session.id, end)
    return some[-1].id if len(some) == MOST else None
