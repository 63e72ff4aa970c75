"""Who may stop, reset or take back in a conversation that several people share."""

from __future__ import annotations

from core.desk.coalesce import Ref
from core.desk.commands.table import BY_NAME
from core.desk.house import House
from core.desk.turn import RunningTurn
from core.people.access import user_of
from core.store import conversations, turns
from core.store.conversations import ConversationId
from core.store.people import Role
from core.store.sql import Tx
from core.vocabulary import ChatKind


async def may(house: House, ref: Ref, conversation: ConversationId, turn: RunningTurn | None) -> bool:
    """The author of the running (else the last) turn, those who run the chat, and owners."""
    command = BY_NAME.get(ref.command or "")
    shared = ref.kind is not ChatKind.DIRECT and not house.rules.user_scope
    if command is None or not command.reserved or not shared or ref.role == Role.OWNER:
        return True
    author = turn.turn.author if turn is not None else await house.store.read(lambda tx: _last_author(tx, conversation))
    if author is None or author == ref.identity:
        return True
    return await house.admins.is_admin(ref.address.bot, ref.address.chat, user_of(ref.identity))


def _last_author(tx: Tx, conversation: ConversationId) -> str | None:
    session = conversations.get(tx, conversation).session
    last = turns.last_of(tx, session) if session is not None else None
    return None if last is None else last.author
