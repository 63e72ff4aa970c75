"""One call of the Bot API (https://core.telegram.org/bots/api), and from the SDK's errors to ours."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import telegram
from telegram import error as sdk

from core.errors import BotError, BotRejected, ChatDead, FloodWait, NotSent, PollConflict, Rejected, ThreadGone, Unknown
from core.vocabulary import ChatId

READ_TIMEOUT_S: Final = 20.0
_NOTHING: Final[Mapping[str, object]] = {}
DRIP_S: Final = 30.0
_DEFAULT_FLOOD_WAIT_S: Final = 5.0
_DEAD_CHAT: Final = (
    "chat not found",
    "chat_write_forbidden",
    "group chat was deactivated",
    "have no rights to send",
    "need administrator rights",
    "not enough rights to send text",
    "peer_id_invalid",
    "user is deactivated",
    "user not found",
)
_THREAD_GONE: Final = ("message thread not found", "topic_closed", "topic_deleted")
"""Whoever sees a topic sees the whole chat."""


class WebhookSet(PollConflict):
    """Telegram hands this account's updates to a webhook."""


class Migrated(Rejected):
    """The chat became another one, with the id `to`."""

    def __init__(self, to: ChatId) -> None:
        super().__init__("Telegram: the group became a supergroup with another id")
        self.to = to


class NoSuchMethod(BotRejected):
    """What Telegram answers to a method that it does not know, and to a token that is none."""


class NotLeft(sdk.NetworkError):
    """The request has certainly not left this machine."""


class Lost(sdk.NetworkError):
    """The request may have arrived, and there is no whole answer."""


class HttpTrouble(sdk.TelegramError):
    """An answer whose status says more than the SDK keeps of it: 429, 413 and everything from 500."""

    def __init__(self, status: int, wait_s: float | None) -> None:
        super().__init__(f"HTTP status {status}")
        self.status = status
        self.wait_s = wait_s


async def call(
    api: telegram.Bot,
    method: str,
    arguments: Mapping[str, object] = _NOTHING,
    read_timeout_s: float = READ_TIMEOUT_S,
    body_s: float = DRIP_S,
) -> Any:
    """Call a method of the Bot API and return its raw result. Raises `telegram.error.TelegramError` only.

    `body_s` is what sending the body, and an answer that drips, may take in all. The method is written get_Updates: the
    SDK then does not warn that it has a typed method of its own, whose one bad field would cost the whole answer.
    """
    try:
        # The SDK's timeout is per read: an answer that drips would hold the caller for ever.
        async with asyncio.timeout(read_timeout_s + body_s):
            return await api.do_api_request(method, api_kwargs=dict(arguments), read_timeout=read_timeout_s)
    except TimeoutError as error:
        raise sdk.TimedOut from error


@contextmanager
def in_our_words(token: str) -> Iterator[None]:
    """Within, errors of the SDK become ours. Neither they nor what they were raised from hold the token."""
    try:
        yield
    except sdk.TelegramError as error:
        leaks = any(token.lower() in f"{link} {link!r}".lower() for link in (error, *_causes(error)))
        raise ours(error, token) from (None if leaks else error)


def ours(error: sdk.TelegramError, token: str) -> BotError:
    """What an error of the SDK means to us: the only place that judges one. The result never holds the token."""
    words = re.sub(re.escape(token), "TOKEN", error.message, flags=re.IGNORECASE)  # the SDK may have changed its case
    said = f"Telegram: {words[:200]}"
    match error:
        case HttpTrouble(status=429):
            return FloodWait(error.wait_s or _DEFAULT_FLOOD_WAIT_S)
        case HttpTrouble(status=413):
            return Rejected("Telegram: the request is too large")
        case sdk.InvalidToken() | sdk.EndPointNotFound() if not _unreadable(error):
            refused = "Telegram refuses the bot's token: set a valid one, from https://t.me/BotFather"
            return NoSuchMethod(refused) if _not_found(error) else BotRejected(refused)
        case sdk.Conflict():
            return WebhookSet(said) if "webhook" in said else PollConflict(said)
        case sdk.ChatMigrated():
            return Migrated(ChatId(str(error.new_chat_id)))
        case sdk.Forbidden():
            return ChatDead(said)
        case sdk.BadRequest():
            return _refused(said)
        case NotLeft():
            return NotSent(f"Telegram can't be reached ({words[:200]})")
        case _:
            return Unknown(f"no clear answer from Telegram ({_innermost(error)})")


def _refused(said: str) -> BotError:
    words = said.lower()
    if any(sign in words for sign in _DEAD_CHAT):
        return ChatDead(said)
    return ThreadGone(said) if any(sign in words for sign in _THREAD_GONE) else Rejected(said)


def _not_found(error: sdk.TelegramError) -> bool:
    """Whether the status was 404, of which the SDK keeps the words."""
    return any("not found" in str(cause).lower() for cause in _causes(error))


def _unreadable(error: sdk.TelegramError) -> bool:
    """Whether something else than Telegram answered: its own refusals are JSON."""
    return any(type(cause) is sdk.TelegramError for cause in _causes(error))


def _innermost(error: sdk.TelegramError) -> str:
    last = [error, *_causes(error)][-1]
    return str(last) if isinstance(last, HttpTrouble | Lost) else type(last).__name__


def _causes(error: BaseException) -> Iterator[BaseException]:
    while error.__cause__ is not None:
        error = error.__cause__
        yield error
