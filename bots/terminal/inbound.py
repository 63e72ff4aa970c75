"""A line of the terminal -> Message. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from core.vocabulary import Address, BotName, ChatId, ChatKind, EventId, Message, MessageId, Sender, UserId

CHAT: Final = ChatId("local")
"""The only chat: whoever sits at the machine, on however many screens."""
OWNER: Final = UserId("local")
"""The machine's owner. The core gives this identity the role owner."""


def message_of(line: str, *, bot: BotName, unique: str, at: datetime) -> Message | None:
    """What was said; None for a blank line. `unique` becomes the message's id and the event's."""
    if not line.strip():
        return None
    return Message(
        event=EventId(unique),
        message=MessageId(unique),
        address=Address(bot=bot, chat=CHAT),
        kind=ChatKind.DIRECT,
        sender=Sender(user=OWNER, name="local"),
        text=line.rstrip("\r\n"),
        sent_at=at,
        addressed=True,
        conversation="local",
    )
