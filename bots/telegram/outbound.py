"""From a `Delivery` to calls of the Bot API (https://core.telegram.org/bots/api). What is not caught here is judged by
`api.ours`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import telegram
from msgspec.structs import replace
from telegram import error as sdk
from telegram.constants import CallbackQueryLimit, InlineKeyboardMarkupLimit, MediaGroupLimit, MessageLimit

from bots.telegram import markup
from bots.telegram.api import call
from bots.telegram.inbound import GENERAL, PRESSED
from bots.telegram.uploads import send_files
from bots.telegram.wording import CAPTION_UTF16, caption_anew, say, say_draft
from core.delivery.split import utf16_units
from core.errors import Rejected, Unknown
from core.vocabulary import (
    Address,
    Button,
    Capabilities,
    ChatId,
    Delivery,
    MessageId,
    Pace,
    Press,
    TextUnit,
    ThreadId,
    UserId,
)

CAPABILITIES: Final = Capabilities(
    files_limit=MediaGroupLimit.MAX_MEDIA_LENGTH,
    text_limit=MessageLimit.MAX_TEXT_LENGTH,
    text_unit=TextUnit.UTF16,
    edit_interval_s=1.0,
    # https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this, `telegram.constants.FloodLimit`:
    # one message a second in a chat with short bursts, 20 a minute in a group (4 + 60/4), 30 a second in all (3 + 25).
    # The bursts leave one or two to spare, since the way there may close gaps up.
    direct_pace=Pace(interval_s=1.0, burst=4),
    group_pace=Pace(interval_s=4.0, burst=4),
    account_pace=Pace(interval_s=1 / 25, burst=3),
    typing_interval_s=4.5,  # a chat action lasts 5 s: https://core.telegram.org/bots/api#sendchataction
    buttons=True,
    caption_limit=CAPTION_UTF16,
)

_STYLES: Final[Mapping[str, str]] = {"good": "success", "bad": "danger"}  # .../bots/api#inlinekeyboardbutton
_TOO_OLD: Final = "query is too old"
_UNCHANGEABLE: Final = ("not modified", "message to edit not found", "can't be edited")


async def send(api: telegram.Bot, delivery: Delivery) -> MessageId:
    """Send one part and return its message id, of an album the first one's. Raises `Rejected`, `Unknown` and
    `telegram.error.TelegramError`."""
    where = _place(delivery.address)
    if delivery.address.reply_to is not None:
        where["reply_parameters"] = {"message_id": int(delivery.address.reply_to), "allow_sending_without_reply": True}
    shown = {**where, **_keyboard(delivery.buttons)}
    if not delivery.files:
        return _id_of(await say(api, "send_Message", delivery.text, shown))
    if delivery.buttons and len(delivery.files) > 1:
        return await _send_in_two(api, delivery, where)
    sent = await send_files(api, delivery, shown)
    return _id_of(sent[0] if isinstance(sent, list) and sent else sent)


async def _send_in_two(api: telegram.Bot, delivery: Delivery, where: Mapping[str, object]) -> MessageId:
    """An album has no buttons: the last file comes alone, with the words and the buttons, and can be edited."""
    await send_files(api, replace(delivery, text="", files=delivery.files[:-1]), where)
    last = replace(delivery, files=delivery.files[-1:])
    try:
        return _id_of(await send_files(api, last, {**where, **_keyboard(delivery.buttons)}))
    except (sdk.TelegramError, Rejected):  # its words may hold the token
        raise Unknown("the first files are there, whether the last one and its words are is not known") from None


def _id_of(sent: object) -> MessageId:
    number = sent.get("message_id") if isinstance(sent, dict) else None
    if type(number) is not int:
        raise sdk.TelegramError("the answer names no message")
    return MessageId(str(number))


def _gone(thread: ThreadId | None, error: sdk.BadRequest) -> bool:
    return thread is not None and "thread not found" in error.message.lower()


def _place(address: Address) -> dict[str, object]:
    """Telegram refuses messages that name the General topic (https://github.com/tdlib/telegram-bot-api/issues/798)."""
    place: dict[str, object] = {"chat_id": address.chat}
    if address.thread is not None and address.thread != str(GENERAL):
        place["message_thread_id"] = address.thread
    return place


def _keyboard(buttons: Sequence[Button]) -> dict[str, object]:
    if not buttons:
        return {}
    made, abreast = [_button(button) for button in buttons], InlineKeyboardMarkupLimit.BUTTONS_PER_ROW
    rows = [made[at : at + abreast] for at in range(0, len(made), abreast)]
    return {"reply_markup": {"inline_keyboard": rows}}


def _button(button: Button) -> dict[str, object]:
    """Servers that know no styles overlook them."""
    style = _STYLES.get(button.style)
    return {
        "text": button.label,
        "callback_data": f"{PRESSED}{button.data}",
        **({} if style is None else {"style": style}),
    }


async def edit(api: telegram.Bot, delivery: Delivery, message: MessageId) -> None:
    """Replace text and buttons of a message; what it already says is success. Raises
    `telegram.error.TelegramError`."""
    where = {"chat_id": delivery.address.chat, "message_id": int(message), **_keyboard(delivery.buttons)}
    try:
        if delivery.files:
            await caption_anew(api, delivery.text, where)
        else:
            await say(api, "edit_Message_Text", delivery.text, where)
    except sdk.BadRequest as error:
        if "not modified" not in error.message.lower():
            raise


async def typing(api: telegram.Bot, address: Address, *, in_general: bool) -> None:
    """Show the typing sign. It has to name the General topic, or nobody there sees it. Raises
    `telegram.error.TelegramError`."""
    where = _place(address)
    if in_general:
        where["message_thread_id"] = GENERAL
    await call(api, "send_Chat_Action", {**where, "action": "typing"})


async def react(api: telegram.Bot, address: Address, message: MessageId, emoji: str) -> None:
    """Put one reaction on a message. Raises `telegram.error.TelegramError`."""
    # Telegram's own list (https://core.telegram.org/bots/api#reactiontypeemoji) has no variation selectors.
    reaction = [{"type": "emoji", "emoji": emoji.replace("\N{VARIATION SELECTOR-16}", "")}]
    where = {"chat_id": address.chat, "message_id": int(message)}
    await call(api, "set_Message_Reaction", {**where, "reaction": reaction})


async def draft(api: telegram.Bot, address: Address, number: int, text: str) -> None:
    """Show what fits one message of a text that is not there yet, under a number that is not 0
    (https://core.telegram.org/bots/api#sendmessagedraft). Raises `telegram.error.TelegramError`."""
    shown = markup.parts(text)[:1]
    if not shown:
        return
    try:
        await say_draft(api, shown[0], {**_place(address), "draft_id": number})
    except sdk.BadRequest as error:
        if not _gone(address.thread, error):
            raise
        await say_draft(api, shown[0], {"chat_id": address.chat, "draft_id": number})


async def answer(api: telegram.Bot, press: Press, text: str, *, over: bool) -> None:
    """End the waiting sign of a button. Telegram waits for it only moments: to be late is no error. Raises
    `telegram.error.TelegramError`."""
    query, _, message = press.handle.rpartition(":")
    try:
        await _answer(api, query, text)
    finally:
        if over:
            await _take_buttons(api, press.address.chat, int(message))


async def _answer(api: telegram.Bot, query: str, text: str) -> None:
    arguments: dict[str, object] = {"callback_query_id": query}
    if text:
        arguments["text"] = _shortened(text, CallbackQueryLimit.ANSWER_CALLBACK_QUERY_TEXT_LENGTH)
    try:
        await call(api, "answer_Callback_Query", arguments)
    except sdk.BadRequest as error:
        if _TOO_OLD not in error.message.lower():
            raise


async def _take_buttons(api: telegram.Bot, chat: ChatId, message: int) -> None:
    try:
        await call(api, "edit_Message_Reply_Markup", {"chat_id": chat, "message_id": message})
    except sdk.BadRequest as error:
        if not any(sign in error.message.lower() for sign in _UNCHANGEABLE):
            raise


def _shortened(text: str, most: int) -> str:
    while utf16_units(text) > most:
        text = f"{text[: min(len(text), most) - 2].rstrip()}\N{HORIZONTAL ELLIPSIS}"
    return text


async def is_admin(api: telegram.Bot, chat: ChatId, user: UserId) -> bool:
    """Whether a person runs a group (`ChatMember.status`). Raises `telegram.error.TelegramError`."""
    member = await call(api, "get_Chat_Member", {"chat_id": chat, "user_id": int(user)})
    return isinstance(member, dict) and member.get("status") in ("creator", "administrator")
