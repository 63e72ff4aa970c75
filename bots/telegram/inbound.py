"""From a raw update (https://core.telegram.org/bots/api#update) to an `Inbound`. Pure; no JSON makes it raise.

Only what stands in `KINDS` is read. Entity offsets count UTF-16 code units.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeVar

from core.delivery.split import utf16_units
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
    Sender,
    UserId,
)

KINDS: Final = ("message", "edited_message")
"""The kinds of update that are understood, as `getUpdates` wants to hear them."""

_Json = Mapping[str, object]
_T = TypeVar("_T")

_CHATS: Final = {"private": ChatKind.DIRECT, "group": ChatKind.GROUP, "supergroup": ChatKind.GROUP}
# "from" of anonymous administrators, of channels and of the linked channel: https://core.telegram.org/bots/api#message
_STAND_INS: Final = frozenset({1087968824, 136817688, 777000})
# A client cuts a paste at 4096 UTF-16 units, a little earlier where it finds white space.
_SPLIT_FROM_UTF16: Final = 4096 - 96
_MAX_INT: Final = 2**63 - 1
_MAX_DATE: Final = 253402300799  # the last second of the year 9999
# As the clients find commands: not followed by a letter, a slash or an angle bracket.
_COMMAND: Final = re.compile(r"(/[A-Za-z0-9_]{1,64})(?:@([A-Za-z0-9_]{1,64}))?(?![\w/<>@])")
_AFTER_NAME: Final = re.compile(r"\A[,:]?\s+")
_UNSTORABLE: Final = re.compile("[\ud800-\udfff\x00]")  # lone surrogates have no UTF-8, PostgreSQL has no NUL


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """Who we are on Telegram, as getMe told it."""

    bot: BotName
    id: int
    username: str


class _Unreadable(Exception):
    """A field that is read is missing or has a wrong type; the text names it and holds nothing of its value."""


def account(bot: BotName, told: object) -> Account | None:
    """Who getMe says that we are; None if it does not."""
    if not isinstance(told, dict):
        return None
    try:
        return Account(bot=bot, id=_int(told, "id"), username=_get(told, "username", str))
    except _Unreadable:
        return None


def update_id(update: object) -> int | None:
    """The number that an offset confirms, or None if the update has none that can be used."""
    value = update.get("update_id") if isinstance(update, dict) else None
    return value if type(value) is int and 0 <= value < _MAX_INT else None


def read(update: object, us: Account) -> Inbound | None:
    """What the update means to us: None if nothing, `Malformed` if it can't be read.

    An update without a usable `update_id` is None too: what has no id can't be stored once.
    """
    number = update_id(update)
    if number is None or not isinstance(update, dict):
        return None
    event = EventId(str(number))
    try:
        if (message := _opt(update, "message", dict)) is not None:
            return _message(event, message, us)
        if (message := _opt(update, "edited_message", dict)) is not None:
            return _edit(event, message, us)
    except _Unreadable as problem:
        return Malformed(event=event, address=Address(bot=us.bot, chat=ChatId("")), reason=str(problem))
    return None


def _message(event: EventId, message: _Json, us: Account) -> Message | Moved | None:
    if _opt(message, "migrate_to_chat_id", int) is not None:
        old = Address(bot=us.bot, chat=ChatId(str(_int(_get(message, "chat", dict), "id"))))
        return Moved(event=event, address=old, to=ChatId(str(_int(message, "migrate_to_chat_id"))))
    said = _said(message, us)
    if said is None:
        return None
    return Message(
        event=event,
        message=said.message,
        address=said.address,
        kind=said.kind,
        sender=said.sender,
        text=said.text,
        sent_at=_time(message, "date"),
        addressed=said.to_us,
        more_likely=said.full,
    )


def _edit(event: EventId, message: _Json, us: Account) -> Edit | None:
    said = _said(message, us)
    if said is None:
        return None
    return Edit(
        event=event,
        message=said.message,
        address=said.address,
        sender=said.sender,
        text=said.text,
        edited_at=_time(message, "edit_date" if message.get("edit_date") is not None else "date"),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Said:
    """What new and edited messages have in common."""

    message: MessageId
    address: Address
    kind: ChatKind
    sender: Sender
    text: str
    to_us: bool
    full: bool


def _said(message: _Json, us: Account) -> _Said | None:
    """None for what nobody said to us: channels, service messages, media without words, commands to other bots."""
    chat = _get(message, "chat", dict)
    kind = _CHATS.get(_get(chat, "type", str))
    if kind is None or message.get("is_automatic_forward") is True:
        return None
    written = _opt(message, "text", str)
    words = written if written is not None else _opt(message, "caption", str)
    if not words:
        return None
    spans = _spans(message, "entities" if written is not None else "caption_entities")
    heard = _heard(words, spans, us) if kind is ChatKind.GROUP else (_without_suffix(words, us), True)
    if heard is None:
        return None
    text, named = heard
    message_id = MessageId(str(_int(message, "message_id")))
    return _Said(
        message=message_id,
        address=Address(
            bot=us.bot,
            chat=ChatId(str(_int(chat, "id"))),
            reply_to=message_id if kind is ChatKind.GROUP else None,
        ),
        kind=kind,
        sender=_sender(message, chat),
        text=_storable(text),
        to_us=named or _answers(message, us),
        full=written is not None and utf16_units(written) >= _SPLIT_FROM_UTF16,
    )


# -- whom it is for --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class _Span:
    """A message entity of a kind that can name us."""

    kind: str
    start: int
    end: int
    user: int | None


def _heard(words: str, spans: Sequence[_Span], us: Account) -> tuple[str, bool] | None:
    """The text without our name at its start, and whether it names us. None if it is another bot's command. A command
    without a name may be for any bot of the group: it counts where it answers us, as any other message."""
    if command := _COMMAND.match(words):
        if command[2] is not None and not _is_name(command[2], us):
            return None
        return _without_suffix(words, us), command[2] is not None or bool(_naming(words, spans, us))
    naming = _naming(words, spans, us)
    first = next((span for span in naming if span.start == 0), None)
    if first is None:
        return words, bool(naming)
    rest = words.encode("utf-16-le", "surrogatepass")[first.end * 2 :].decode("utf-16-le", "surrogatepass")
    return _AFTER_NAME.sub("", rest, count=1).strip() or words, True


def _without_suffix(words: str, us: Account) -> str:
    command = _COMMAND.match(words)
    return command[1] + words[command.end() :] if command and _is_name(command[2], us) else words


def _naming(words: str, spans: Sequence[_Span], us: Account) -> list[_Span]:
    if not spans:
        return []
    units = words.encode("utf-16-le", "surrogatepass")
    return [span for span in spans if span.user == us.id or _is_name(_named(units, span), us)]


def _named(units: bytes, span: _Span) -> str | None:
    """The name after the @ of a mention or of a command with one."""
    if span.kind == "text_mention":
        return None
    covered = units[span.start * 2 : span.end * 2].decode("utf-16-le", "replace")
    return covered.partition("@")[2] or None


def _spans(message: _Json, key: str) -> list[_Span]:
    found = []
    for entity in _opt(message, key, list) or ():
        if not isinstance(entity, dict):
            raise _Unreadable(f"{key} holds something else than entities")
        kind = _get(entity, "type", str)
        if kind not in {"mention", "text_mention", "bot_command"}:
            continue
        start, length = _int(entity, "offset"), _int(entity, "length")
        if start < 0 or length < 0:
            raise _Unreadable("an entity lies outside its text")
        user = _int(_get(entity, "user", dict), "id") if kind == "text_mention" else None
        found.append(_Span(kind=kind, start=start, end=start + length, user=user))
    return found


def _answers(message: _Json, us: Account) -> bool:
    earlier = _opt(message, "reply_to_message", dict)
    author = _opt(earlier, "from", dict) if earlier is not None else None
    return author is not None and _int(author, "id") == us.id


def _is_name(name: str | None, us: Account) -> bool:
    return name is not None and name.lower() == us.username.lower()


# -- who said it -----------------------------------------------------------------------------------------------------


def _sender(message: _Json, chat: _Json) -> Sender:
    """A person only where `from` stands alone: beside `sender_chat` it is a stand-in that many people share."""
    author, spoken_as = _opt(message, "from", dict), _opt(message, "sender_chat", dict)
    if spoken_as is not None:
        return Sender(user=None, name=_chat_name(spoken_as))
    if author is None or (number := _int(author, "id")) in _STAND_INS:
        return Sender(user=None, name=_chat_name(chat))
    return Sender(user=UserId(str(number)), name=_person_name(author), is_bot=_opt(author, "is_bot", bool) or False)


def _person_name(user: _Json) -> str:
    names = (_opt(user, "first_name", str), _opt(user, "last_name", str))
    return _storable(" ".join(name for name in names if name) or _opt(user, "username", str) or "")


def _chat_name(chat: _Json) -> str:
    return _storable(_opt(chat, "title", str) or _opt(chat, "username", str) or "")


# -- reading ---------------------------------------------------------------------------------------------------------


def _opt(record: _Json, key: str, wanted: type[_T]) -> _T | None:
    """The field, or None where it is missing or null."""
    value = record.get(key)
    if value is None:
        return None
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise _Unreadable(f"{key} has a wrong type")
    return value


def _get(record: _Json, key: str, wanted: type[_T]) -> _T:
    value = _opt(record, key, wanted)
    if value is None:
        raise _Unreadable(f"{key} is missing")
    return value


def _int(record: _Json, key: str) -> int:
    value = _get(record, key, int)
    if abs(value) > _MAX_INT:
        raise _Unreadable(f"{key} is too large")
    return value


def _time(record: _Json, key: str) -> datetime:
    seconds = _int(record, key)
    if not 0 <= seconds <= _MAX_DATE:
        raise _Unreadable(f"{key} is no time")
    return datetime.fromtimestamp(seconds, UTC)


def _storable(text: str) -> str:
    return _UNSTORABLE.sub("\ufffd", text)
