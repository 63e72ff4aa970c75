"""Permission bits and what follows from roles and overwrites.

https://docs.discord.com/developers/topics/permissions#permission-overwrites
"""

from collections.abc import Iterable
from dataclasses import dataclass

ADMINISTRATOR = 1 << 3
MANAGE_CHANNELS = 1 << 4
MANAGE_GUILD = 1 << 5
ADD_REACTIONS = 1 << 6
VIEW_CHANNEL = 1 << 10
SEND_MESSAGES = 1 << 11
SEND_TTS_MESSAGES = 1 << 12
MANAGE_MESSAGES = 1 << 13
EMBED_LINKS = 1 << 14
ATTACH_FILES = 1 << 15
READ_MESSAGE_HISTORY = 1 << 16
MENTION_EVERYONE = 1 << 17
USE_APPLICATION_COMMANDS = 1 << 31
MANAGE_THREADS = 1 << 34
CREATE_PUBLIC_THREADS = 1 << 35
CREATE_PRIVATE_THREADS = 1 << 36
SEND_MESSAGES_IN_THREADS = 1 << 38
SEND_VOICE_MESSAGES = 1 << 46

EVERYTHING = (1 << 53) - 1
USUAL = (
    ADD_REACTIONS
    | VIEW_CHANNEL
    | SEND_MESSAGES
    | SEND_TTS_MESSAGES
    | EMBED_LINKS
    | ATTACH_FILES
    | READ_MESSAGE_HISTORY
    | MENTION_EVERYONE
    | USE_APPLICATION_COMMANDS
    | CREATE_PUBLIC_THREADS
    | CREATE_PRIVATE_THREADS
    | SEND_MESSAGES_IN_THREADS
    | SEND_VOICE_MESSAGES
)
"""What @everyone has in a guild as people make it. It includes MENTION_EVERYONE, so that careless pings do ping."""


@dataclass(frozen=True, kw_only=True)
class Overwrite:
    """For one role (or @everyone) or one member, in one channel."""

    id: int
    of_member: bool
    allow: int = 0
    deny: int = 0


def combined(granted: Iterable[int]) -> int:
    bits = 0
    for one in granted:
        bits |= one
    return bits


def in_channel(base: int, overwrites: Iterable[Overwrite], everyone_id: int, roles: set[int], user_id: int) -> int:
    """Base permissions after the channel's overwrites: @everyone, then all roles at once, then the member."""
    if base & ADMINISTRATOR:
        return EVERYTHING
    known = {one.id: one for one in overwrites}
    bits = base
    if everyone_id in known:
        bits = bits & ~known[everyone_id].deny | known[everyone_id].allow
    of_roles = [known[role] for role in roles if role in known and role != everyone_id]
    bits = bits & ~combined(one.deny for one in of_roles) | combined(one.allow for one in of_roles)
    if user_id in known:
        bits = bits & ~known[user_id].deny | known[user_id].allow
    return bits
