"""Who said something, as Telegram names people and chats."""

from __future__ import annotations

from typing import Final

from telegram.constants import ChatID

from bots.telegram.reading import integer
from core.fields import Json, number, opt, part, words
from core.vocabulary import Sender, UserId

# "from" of anonymous administrators, of channels and of the linked channel: https://core.telegram.org/bots/api#message
STAND_INS: Final = frozenset({ChatID.ANONYMOUS_ADMIN, ChatID.FAKE_CHANNEL, ChatID.SERVICE_CHAT})


def sender(said: Json, chat: Json) -> Sender:
    """A person only where `from` stands alone: beside `sender_chat` it is a stand-in that many people share. Raises
    `Unreadable`."""
    author, spoken_as = opt(said, "from", dict), opt(said, "sender_chat", dict)
    if spoken_as is not None:
        return Sender(user=None, name=_strictly(spoken_as, "title", "username"))
    if author is None or (user := integer(author, "id")) in STAND_INS:
        return Sender(user=None, name=_strictly(chat, "title", "username"))
    _strictly(author, "first_name", "last_name", "username")
    return Sender(user=UserId(str(user)), name=person(author), is_bot=opt(author, "is_bot", bool) or False)


def _strictly(named: Json, *keys: str) -> str:
    """The first of these that is there, each of which is text or missing."""
    return next((words(named, key) for key in keys if opt(named, key, str)), "")


def person(user: Json) -> str:
    return " ".join(name for name in (words(user, "first_name"), words(user, "last_name")) if name) or words(
        user, "username"
    )


def chat_title(chat: Json) -> str:
    return words(chat, "title") or person(chat)


def author(said: Json) -> str:
    """Who said what is replied to; "" where nobody is named."""
    spoken_as, user = part(said, "sender_chat"), part(said, "from")
    if spoken_as is not None:
        return chat_title(spoken_as)
    return person(user) if user is not None and number(user, "id") not in STAND_INS else ""


def origin(told: Json) -> str:
    """Whose a forwarded message was: https://core.telegram.org/bots/api#messageorigin."""
    for key in ("sender_user", "sender_chat", "chat"):
        named = part(told, key)
        if named is not None:
            return chat_title(named)
    return words(told, "sender_user_name")
