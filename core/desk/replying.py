"""What a command is answered with, before there is text."""

from __future__ import annotations

from msgspec.structs import replace

from core.desk.commands.table import BY_NAME
from core.people.access import user_of
from core.store import deliveries
from core.store.conversations import ConversationId
from core.store.deliveries import Parcel
from core.store.inbox import Waiting
from core.vocabulary import ChatKind


def reply(row: Waiting, conversation: ConversationId | None) -> Parcel:
    """Among others, what a personal command says is for the one who asked."""
    whole = deliveries.notice(row.address, row.kind, "", conversation)
    command = BY_NAME.get(row.command or "")
    if command is None or not command.personal or row.kind is ChatKind.DIRECT or row.identity is None:
        return whole
    return replace(whole, alone=user_of(row.identity))
