"""From a `Delivery` to calls of the Bot API (https://core.telegram.org/bots/api), and from the SDK's errors to ours."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import httpx
import telegram
from telegram import error as sdk

from bots.telegram import markup
from core.errors import BotError, BotRejected, ChatDead, FloodWait, NotSent, PollConflict, Rejected, Unknown
from core.vocabulary import Address, Capabilities, ChatId, Delivery, MessageId, Pace, TextUnit, UserId

CAPABILITIES: Final = Capabilities(
    text_limit=4096,  # after entities: https://core.telegram.org/bots/api#sendmessage
    text_unit=TextUnit.UTF16,
    edit_interval_s=1.0,
    # https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this: one message a second in a chat
    # with short bursts, 20 a minute in a group (4 + 60/4), 30 a second in all (3 + 25). The bursts leave one or two to
    # spare, since the way there may close gaps up.
    direct_pace=Pace(interval_s=1.0, burst=4),
    group_pace=Pace(interval_s=4.0, burst=4),
    account_pace=Pace(interval_s=1 / 25, burst=3),
    typing_interval_s=4.5,  # a chat action lasts 5 s: https://core.telegram.org/bots/api#sendchataction
)

READ_TIMEOUT_S: Final = 20.0
_NOTHING: Final[Mapping[str, object]] = {}
_DRIP_S: Final = 30.0
_DEFAULT_FLOOD_WAIT_S: Final = 5.0
_NEVER_LEFT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
_DEAD_CHAT: Final = (
    "chat not found",
    "chat_write_forbidden",
    "group chat was deactivated",
    "have no rights to send",
    "need administrator rights",
    "not enough rights to send",
    "peer_id_invalid",
    "user is deactivated",
    "user not found",
)


class WebhookSet(PollConflict):
    """Telegram hands this account's updates to a webhook."""


class HttpTrouble(sdk.TelegramError):
    """An answer whose status says more than the SDK keeps of it: 429, 413 and everything from 500."""

    def __init__(self, status: int, wait_s: float | None) -> None:
        super().__init__(f"HTTP status {status}")
        self.status = status
        self.wait_s = wait_s


async def call(
    api: telegram.Bot, method: str, arguments: Mapping[str, object] = _NOTHING, read_timeout_s: float = READ_TIMEOUT_S
) -> Any:
    """Call a method of the Bot API and return its raw result. Raises `telegram.error.TelegramError` only.

    The method is written get_Updates: the SDK then does not warn that it has a typed method of its own, whose one
    bad field would cost the whole answer.
    """
    try:
        # The SDK's timeout is per read: an answer that drips would hold the caller for ever.
        async with asyncio.timeout(read_timeout_s + _DRIP_S):
            return await api.do_api_request(method, api_kwargs=dict(arguments), read_timeout=read_timeout_s)
    except TimeoutError as error:
        raise sdk.TimedOut from error


async def send(api: telegram.Bot, delivery: Delivery) -> MessageId:
    """Send one part and return its message id. Raises `telegram.error.TelegramError`."""
    where: dict[str, object] = {"chat_id": delivery.address.chat}
    if delivery.address.thread is not None:
        where["message_thread_id"] = delivery.address.thread
    if delivery.address.reply_to is not None:
        where["reply_parameters"] = {"message_id": int(delivery.address.reply_to), "allow_sending_without_reply": True}
    sent = await _say(api, "send_Message", delivery.text, where)
    number = sent.get("message_id") if isinstance(sent, dict) else None
    if type(number) is not int:
        raise sdk.TelegramError("the answer names no message")
    return MessageId(str(number))


async def edit(api: telegram.Bot, delivery: Delivery, message: MessageId) -> None:
    """Replace the text of a message; the text that it already has is success. Raises `telegram.error.TelegramError`."""
    where: dict[str, object] = {"chat_id": delivery.address.chat, "message_id": int(message)}
    try:
        await _say(api, "edit_Message_Text", delivery.text, where)
    except sdk.BadRequest as error:
        if "not modified" not in error.message.lower():
            raise


async def typing(api: telegram.Bot, address: Address) -> None:
    """Show the typing sign. Raises `telegram.error.TelegramError`."""
    arguments: dict[str, object] = {"chat_id": address.chat, "action": "typing"}
    if address.thread is not None:
        arguments["message_thread_id"] = address.thread
    await call(api, "send_Chat_Action", arguments)


async def is_admin(api: telegram.Bot, chat: ChatId, user: UserId) -> bool:
    """Whether a person runs a group (`ChatMember.status`). Raises `telegram.error.TelegramError`."""
    member = await call(api, "get_Chat_Member", {"chat_id": chat, "user_id": int(user)})
    return isinstance(member, dict) and member.get("status") in ("creator", "administrator")


async def _say(api: telegram.Bot, method: str, source: str, where: dict[str, object]) -> Any:
    """The rendered text; where Telegram can't take what was rendered, the same words plainly."""
    where = {**where, "link_preview_options": {"is_disabled": True}}
    try:
        return await call(api, method, {**where, **_text(markup.render(source))})
    except sdk.BadRequest as error:
        if not _about_rendering(error):
            raise
    return await call(api, method, {**where, **_text(markup.plain(source))})


def _text(rendered: markup.Rendered) -> dict[str, object]:
    return {"text": rendered.text, "entities": [_entity(entity) for entity in rendered.entities]}


def _entity(entity: markup.Entity) -> dict[str, object]:
    written: dict[str, object] = {"type": entity.type, "offset": entity.offset, "length": entity.length}
    if entity.url is not None:
        written["url"] = entity.url
    if entity.language is not None:
        written["language"] = entity.language
    return written


def _about_rendering(error: sdk.BadRequest) -> bool:
    words = error.message.lower()
    return "entit" in words or "text is empty" in words or "text must be non-empty" in words


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
            return BotRejected("Telegram refuses the bot's token: set a valid one, from https://t.me/BotFather")
        case sdk.Conflict():
            return WebhookSet(said) if "webhook" in said else PollConflict(said)
        case sdk.ChatMigrated():
            return Rejected("Telegram: the group became a supergroup with another id")
        case sdk.Forbidden():
            return ChatDead(said)
        case sdk.BadRequest():
            return ChatDead(said) if any(sign in said.lower() for sign in _DEAD_CHAT) else Rejected(said)
        case _ if any(isinstance(cause, _NEVER_LEFT) for cause in _causes(error)):
            return NotSent(f"Telegram can't be reached ({_innermost(error)})")
        case _:
            return Unknown(f"no clear answer from Telegram ({_innermost(error)})")


def _unreadable(error: sdk.TelegramError) -> bool:
    """Whether something else than Telegram answered: its own refusals are JSON."""
    return any(type(cause) is sdk.TelegramError for cause in _causes(error))


def _innermost(error: sdk.TelegramError) -> str:
    last = [error, *_causes(error)][-1]
    return str(last) if isinstance(last, HttpTrouble) else type(last).__name__


def _causes(error: BaseException) -> Iterator[BaseException]:
    while error.__cause__ is not None:
        error = error.__cause__
        yield error
