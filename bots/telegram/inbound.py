"""From a raw update (https://core.telegram.org/bots/api#update) to an `Inbound`. Pure; no JSON makes it raise.

Only what stands in `KINDS` is read.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from telegram.constants import MessageLimit

from bots.telegram import media, names
from bots.telegram.addressed import Account, answered, answers_us, for_another, heard, spans, with_links, without_suffix
from bots.telegram.quotes import quote
from bots.telegram.reading import integer, time
from core.delivery.split import utf16_units
from core.fields import Json, Unreadable, get, number, opt, part, words
from core.people.names import storable
from core.vocabulary import (
    Address,
    BotName,
    ChatId,
    ChatKind,
    Edit,
    EventId,
    Inbound,
    Malformed,
    Message,
    MessageId,
    Moved,
    Press,
    Sender,
    ThreadId,
)

KINDS: Final = ("message", "edited_message", "callback_query")
"""The kinds of update that are understood, as Telegram wants to hear them."""
GENERAL: Final = 1
"""The topic of a forum that is no thread of its own; Telegram leaves its number out."""
PRESSED: Final = "fd:"
"""What the data of our buttons begins with."""

_CHATS: Final = {"private": ChatKind.DIRECT, "group": ChatKind.GROUP, "supergroup": ChatKind.GROUP}
# A client cuts a paste at the limit in UTF-16 units, a little earlier where it finds white space.
_SPLIT_FROM_UTF16: Final = MessageLimit.MAX_TEXT_LENGTH - 96
_MAX_ID: Final = 2**63 - 1


def account(bot: BotName, told: object) -> Account | None:
    """Who getMe says that we are; None if it does not."""
    if not isinstance(told, dict):
        return None
    try:
        return Account(bot=bot, id=integer(told, "id"), username=get(told, "username", str))
    except Unreadable:
        return None


def update_id(update: object) -> int | None:
    """The number that an offset confirms, or None if the update has none that can be used."""
    value = update.get("update_id") if isinstance(update, dict) else None
    return value if type(value) is int and 0 <= value < _MAX_ID else None


def album_of(update: object) -> str:
    """What the messages of one album have in common; "" for anything else."""
    message = part(update, "message") if isinstance(update, dict) else None
    return words(message, "media_group_id")


def forum_of(update: object) -> ChatId | None:
    """The forum in which something was said."""
    message = part(update, "message") if isinstance(update, dict) else None
    chat = part(message, "chat") if message is not None else None
    if chat is None or chat.get("is_forum") is not True or (chat_id := number(chat, "id")) is None:
        return None
    return ChatId(str(chat_id))


def moved(bot: BotName, old: ChatId, new: ChatId) -> Moved:
    """A chat got another id. Both chats and a failing send tell of it, and it is one event."""
    return Moved(event=EventId(f"moved:{old}:{new}"), address=Address(bot=bot, chat=old), to=new)


def read(update: object, us: Account, came_at: datetime | None = None) -> Inbound | None:
    """What the update means to us: None if nothing, `Malformed` if it can't be read.

    An update without a usable `update_id` is None too: what has no id can't be stored once. `came_at` is the time of a
    press, of which Telegram tells none.
    """
    update_number = update_id(update)
    if update_number is None or not isinstance(update, dict):
        return None
    event = EventId(str(update_number))
    try:
        if (message := opt(update, "message", dict)) is not None:
            return _message(event, message, us)
        if (message := opt(update, "edited_message", dict)) is not None:
            return _edit(event, message, us)
        if (query := opt(update, "callback_query", dict)) is not None:
            return _press(event, query, us, came_at or datetime.fromtimestamp(0, UTC))
    except Unreadable as problem:
        return Malformed(event=event, address=Address(bot=us.bot, chat=ChatId("")), reason=str(problem))
    return None


def _message(event: EventId, message: Json, us: Account) -> Message | Moved | None:
    for key, outward in (("migrate_to_chat_id", True), ("migrate_from_chat_id", False)):
        if opt(message, key, int) is not None:
            here, there = integer(get(message, "chat", dict), "id"), integer(message, key)
            old, new = (here, there) if outward else (there, here)
            return moved(us.bot, ChatId(str(old)), ChatId(str(new)))
    said = _said(message, us)
    if said is None:
        return None
    return Message(
        event=event,
        message=said.message,
        address=said.place.address,
        kind=said.place.kind,
        sender=said.sender,
        text=said.text,
        sent_at=time(message, "date"),
        addressed=said.to_us,
        for_another=said.for_another,
        attachments=media.attachments(message),
        quote=quote(message, answered(message), us.id),
        more_likely=said.full or bool(words(message, "media_group_id")),
    )


def _edit(event: EventId, message: Json, us: Account) -> Edit | None:
    """Only words are ever replaced: a live location moves on, and is still the one that was sent."""
    said = _said(message, us)
    if said is None or not said.spoken:
        return None
    return Edit(
        event=event,
        message=said.message,
        address=said.place.address,
        sender=said.sender,
        text=said.text,
        edited_at=time(message, "edit_date" if message.get("edit_date") is not None else "date"),
    )


def _press(event: EventId, query: Json, us: Account, came_at: datetime) -> Press | None:
    """None for games, and for messages that were sent on somebody's behalf."""
    message, data = opt(query, "message", dict), opt(query, "data", str)
    if message is None or data is None:
        return None
    chat = get(message, "chat", dict)
    place = _place(message, chat, us)
    if place is None:
        return None
    return Press(
        event=event,
        address=place.address,
        kind=place.kind,
        sender=names.sender({"from": query.get("from")}, chat),
        data=storable(data.removeprefix(PRESSED)),
        pressed_at=came_at,
        handle=f"{storable(get(query, 'id', str))}:{integer(message, 'message_id')}",
    )


class _Place(Struct, frozen=True, kw_only=True):
    address: Address
    kind: ChatKind


class _Said(Struct, frozen=True, kw_only=True):
    """What new and edited messages have in common. `spoken`: it has words of its own."""

    message: MessageId
    place: _Place
    sender: Sender
    text: str
    spoken: bool
    to_us: bool
    for_another: bool
    full: bool


def _said(message: Json, us: Account) -> _Said | None:
    """None for what nobody said to us: channels, service messages, commands to other bots, our own words."""
    chat = get(message, "chat", dict)
    place = _place(message, chat, us)
    if place is None or message.get("is_automatic_forward") is True:
        return None
    written = opt(message, "text", str)
    spoken = (written if written is not None else opt(message, "caption", str)) or ""
    thing = media.told(message)
    if not spoken and not thing and not media.has_file(message):
        return None
    found = spans(message, "entities" if written is not None else "caption_entities")
    direct = place.kind is ChatKind.DIRECT
    words_heard = (without_suffix(spoken, us), True) if direct else heard(spoken, found, us)
    sender = names.sender(message, chat)
    if words_heard is None or sender.user == str(us.id):
        return None
    if not spoken and not thing and not media.attachments(message):
        raise Unreadable("the file has no id")
    text, named = words_heard
    linked = with_links(spoken, message.get("entities" if written is not None else "caption_entities"))
    if linked != spoken:  # what stands before the first link is where it was
        again = (without_suffix(linked, us), True) if direct else heard(linked, found, us)
        text = again[0] if again is not None else text
    message_id, earlier = MessageId(str(integer(message, "message_id"))), answered(message)
    to_us = named or answers_us(earlier, us)
    return _Said(
        message=message_id,
        place=place if direct else _replying(place, message_id),
        sender=sender,
        text="\n".join(line for line in (storable(text), thing) if line),
        spoken=bool(spoken),
        to_us=to_us,
        for_another=not to_us and for_another(spoken, found, earlier, us),
        full=written is not None and utf16_units(written) >= _SPLIT_FROM_UTF16,
    )


def _place(message: Json, chat: Json, us: Account) -> _Place | None:
    """None for channels. A thread is only what Telegram calls a topic: in other groups every reply has a
    `message_thread_id` (https://core.telegram.org/bots/api#message)."""
    kind = _CHATS.get(get(chat, "type", str))
    if kind is None:
        return None
    topic = opt(message, "message_thread_id", int) if message.get("is_topic_message") is True else None
    if topic == GENERAL or (kind is ChatKind.GROUP and chat.get("is_forum") is not True):
        topic = None
    if topic is not None and kind is ChatKind.GROUP:
        kind = ChatKind.THREAD
    thread = None if topic is None else ThreadId(str(integer(message, "message_thread_id")))
    return _Place(address=Address(bot=us.bot, chat=ChatId(str(integer(chat, "id"))), thread=thread), kind=kind)


def _replying(place: _Place, message: MessageId) -> _Place:
    """Among others an answer names the message that it answers."""
    return _Place(address=replace(place.address, reply_to=message), kind=place.kind)
