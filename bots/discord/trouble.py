"""What an error of discord.py or aiohttp means to us: the only place that judges one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import aiohttp

from bots.discord.sdk import discord
from core.errors import BotError, BotRejected, ChatDead, FloodWait, NotSent, Rejected, Unknown

# https://docs.discord.com/developers/topics/opcodes-and-status-codes#json-json-error-codes
UNKNOWN_CHANNEL: Final = 10003
UNKNOWN_MESSAGE: Final = 10008
UNKNOWN_WEBHOOK: Final = 10015
UNKNOWN_INTERACTION: Final = 10062
ALREADY_ACKNOWLEDGED: Final = 40060
MISSING_PERMISSIONS: Final = 50013
INVALID_WEBHOOK_TOKEN: Final = 50027
NO_VOICE_THERE: Final = 50173
THREAD_THERE: Final = 160004
NO_HISTORY_TO_REPLY_TO: Final = 160002
THREAD_ARCHIVED: Final = 50083
THREAD_LOCKED: Final = 160005
_DEAD_CHAT: Final = frozenset(
    {
        UNKNOWN_CHANNEL,
        10004,  # unknown guild
        50001,  # missing access
        50007,  # cannot send messages to this user
        50008,  # not a channel for text
        50009,  # the channel's verification level is too high
        MISSING_PERMISSIONS,
        50278,  # no server in common with this user any more
    }
)
ACCOUNT_REFUSED: Final = (
    "Discord refuses the bot's token: copy a new one from https://discord.com/developers/applications, Bot, Reset Token"
)
_SENDING_OFF: Final = 40004
"""Nobody can send just now: Discord has switched it off for a while."""
_UNNAMED_WAIT_S: Final = 60.0
_NEVER_LEFT: Final = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientProxyConnectionError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
)
# discord.py trusts headers and bodies to be what Discord sends.
SDK_FAULTS: Final = (KeyError, ValueError, TypeError, AttributeError)
_CLOSED: Final = "Session is closed"
"""What aiohttp says, as a `RuntimeError`, when the bot has stopped meanwhile."""


class EverythingLimited(discord.RateLimited):
    """A 429 that is for every call."""


class Refusal(Rejected):
    """Discord refuses the call for good, with this code."""

    def __init__(self, words: str, code: int) -> None:
        super().__init__(words)
        self.code = code


class DeadChat(ChatDead):
    """Discord refuses the chat, with this code."""

    def __init__(self, words: str, code: int) -> None:
        super().__init__(words)
        self.code = code


@contextmanager
def in_our_words() -> Iterator[None]:
    """Within, errors of the SDK become ours. What they come from may name addresses with tokens, and is left out."""
    try:
        yield
    except (discord.DiscordException, aiohttp.ClientError, OSError, RuntimeError, *SDK_FAULTS) as error:
        raise ours(error) from None


def ours(error: BaseException) -> BotError:
    match error:
        case discord.RateLimited():
            return FloodWait(error.retry_after, account=isinstance(error, EverythingLimited))
        case discord.LoginFailure():
            return BotRejected(ACCOUNT_REFUSED)
        case discord.HTTPException():
            return _refused(error)
        case RuntimeError() if str(error) == _CLOSED:
            return NotSent("not connected to Discord")
        case _ if isinstance(error, _NEVER_LEFT):
            return NotSent(f"Discord can't be reached ({type(error).__name__})")
        case _:
            return Unknown(f"no clear answer from Discord ({type(error).__name__})")


def code_of(error: BotError) -> int:
    """Discord's own number for a refusal; 0 where there is none."""
    return error.code if isinstance(error, Refusal | DeadChat) else 0


def _refused(error: discord.HTTPException) -> BotError:
    said = f"Discord: {error.text[:200] or error.status} ({error.code})"
    if error.code == INVALID_WEBHOOK_TOKEN:
        return Refusal(said, error.code)
    if error.status == 401:
        return BotRejected(ACCOUNT_REFUSED)
    if error.status == 429:
        return FloodWait(_wait_s(error), account=True)
    if error.status == 413:  # Discord's, or what stands before it
        return Refusal(said, error.code)
    if error.code == _SENDING_OFF:
        return FloodWait(_UNNAMED_WAIT_S, account=True)
    if error.status >= 500 or error.status == 408:
        return Unknown(f"no clear answer from Discord (HTTP status {error.status})")
    if error.response.headers.get("Content-Type") != "application/json":
        return NotSent(f"something else than Discord answered (HTTP status {error.status})")
    return DeadChat(said, error.code) if error.code in _DEAD_CHAT else Refusal(said, error.code)


def _wait_s(error: discord.HTTPException) -> float:
    """Of a 429 that is not the API's, but of what stands before it: that looks at where calls come from, not at where
    they go."""
    named = error.response.headers.get("Retry-After", "")
    return float(named) if named.isdecimal() and len(named) < 10 else _UNNAMED_WAIT_S
