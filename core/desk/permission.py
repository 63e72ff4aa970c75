"""Who may stop, reset or take back in a conversation that several people share, and how much of it."""

from __future__ import annotations

from collections.abc import Sequence

from core.desk.carry_out import CLOSING
from core.desk.coalesce import Ref
from core.desk.commands.table import BY_NAME, Reach
from core.desk.house import House
from core.people.access import ConsentBy, allows, user_of
from core.store import conversations, turns
from core.store.conversations import ConversationId
from core.store.people import Role
from core.store.sql import Tx
from core.vocabulary import ChatKind

_TAKING_BACK = ("undo", "retry")
"""They may reach past the last turn to what others said."""


async def reach(
    house: House, ref: Ref, conversation: ConversationId, at_work: str | None, waiting: Sequence[Ref]
) -> Reach:
    """Those who run the chat and owners may do it to everybody, others to what is theirs or a bot's. Nobody allows a
    call who, by `consent_by`, may not even allow their own.

    `at_work` is the author of what goes on there; None: nothing does, and the last turn's author counts. Who runs the
    chat is asked only where the answer matters, since a platform may take its time over it. Raises `StoreError`.
    """
    command = BY_NAME.get(ref.command or "")
    if ref.command == "approve" and not allows(house.rules.consent_by, ref.role):
        return Reach.NONE
    shared = ref.kind is not ChatKind.DIRECT and not house.rules.user_scope
    if command is None or not command.reserved or not shared or ref.role == Role.OWNER:
        return Reach.ALL
    begun = at_work if at_work is not None else await house.store.read(lambda tx: _last_author(tx, conversation))
    own = begun is None or begun == ref.identity or house.breaker.is_bot(ref.address.bot, user_of(begun))
    before = [one.identity == ref.identity for one in waiting if one.id < ref.id]
    others = command.name in _TAKING_BACK or (command.name in CLOSING and not all(before))
    if own and not others:
        return Reach.OWN
    if await house.admins.is_admin(ref.address.bot, ref.address.chat, user_of(ref.identity)):
        return Reach.ALL
    if own:
        return Reach.OWN
    return Reach.WAITING if command.name == "stop" and any(before) else Reach.NONE


def refusal(consent_by: ConsentBy, ref: Ref) -> str:
    """What is said where `reach` is none: a key of the message catalogue."""
    return "owner_only" if ref.command == "approve" and not allows(consent_by, ref.role) else "not_yours"


def _last_author(tx: Tx, conversation: ConversationId) -> str | None:
    session = conversations.get(tx, conversation).session
    last = turns.last_of(tx, session) if session is not None else None
    return None if last is None else last.author
