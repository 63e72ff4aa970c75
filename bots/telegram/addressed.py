"""Whom a message in a group is for. Entity offsets count UTF-16 code units."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from bots.telegram.reading import integer
from core.fields import Json, Unreadable, get, number, opt, part
from core.vocabulary import BotName

# As the clients find commands: not followed by a letter, a slash or an angle bracket.
_COMMAND: Final = re.compile(r"(/[A-Za-z0-9_]{1,64})(?:@([A-Za-z0-9_]{1,64}))?(?![\w/<>@])")
_AFTER_NAME: Final = re.compile(r"\A[,:]?\s+")
_NAMING_KINDS: Final = frozenset({"mention", "text_mention", "bot_command"})


class Account(Struct, frozen=True, kw_only=True):
    """Who we are on Telegram, as getMe told it."""

    bot: BotName
    id: int
    username: str


class Span(Struct, frozen=True, kw_only=True):
    """A message entity of a kind that can name us."""

    kind: str
    start: int
    end: int
    user: int | None


def spans(message: Json, key: str) -> list[Span]:
    """Raises `Unreadable`."""
    found = []
    for entity in opt(message, key, list) or ():
        if not isinstance(entity, dict):
            raise Unreadable(f"{key} holds something else than entities")
        kind = get(entity, "type", str)
        if kind not in _NAMING_KINDS:
            continue
        start, length = integer(entity, "offset"), integer(entity, "length")
        if start < 0 or length < 0:
            raise Unreadable("an entity lies outside its text")
        user = integer(get(entity, "user", dict), "id") if kind == "text_mention" else None
        found.append(Span(kind=kind, start=start, end=start + length, user=user))
    return found


def with_links(words: str, entities: object) -> str:
    """A text whose words lead somewhere (`text_link`), with the address behind them: `words (address)`. Entities that
    are none, or lie outside the text, are left alone."""
    units = words.encode("utf-16-le", "surrogatepass")
    links: list[tuple[int, str]] = []
    for entity in entities if isinstance(entities, list) else ():
        match entity:
            case {"type": "text_link", "offset": int(offset), "length": int(length), "url": str(url)}:
                end = (offset + length) * 2
                if offset >= 0 and length > 0 and end <= len(units) and url:
                    links.append((end, url))
    for end, url in sorted(set(links), reverse=True):
        said = units[:end].decode("utf-16-le", "surrogatepass")
        if not said.endswith(url):
            units = units[:end] + f" ({url})".encode("utf-16-le", "surrogatepass") + units[end:]
    return units.decode("utf-16-le", "surrogatepass")


def heard(words: str, found: Sequence[Span], us: Account) -> tuple[str, bool] | None:
    """The text without our name at its start, and whether it names us. None if it is another bot's command. A command
    without a name may be for any bot of the group: it counts where it answers us, as any other message."""
    if command := _COMMAND.match(words):
        if command[2] is not None and not _is_name(command[2], us):
            return None
        return without_suffix(words, us), command[2] is not None or bool(_naming(words, found, us))
    naming = _naming(words, found, us)
    first = next((span for span in naming if span.start == 0), None)
    if first is None:
        return words, bool(naming)
    rest = words.encode("utf-16-le", "surrogatepass")[first.end * 2 :].decode("utf-16-le", "surrogatepass")
    return _AFTER_NAME.sub("", rest, count=1).strip() or words, True


def without_suffix(words: str, us: Account) -> str:
    """A command of ours without our name behind it."""
    command = _COMMAND.match(words)
    return command[1] + words[command.end() :] if command and _is_name(command[2], us) else words


def answered(message: Json) -> Json | None:
    """The message that this one replies to. In a topic of a forum everything seems to reply to the message that opened
    it (https://core.telegram.org/bots/api#message). Raises `Unreadable`."""
    earlier = opt(message, "reply_to_message", dict)
    if earlier is None or part(earlier, "forum_topic_created") is not None:
        return None
    root = message.get("is_topic_message") is True and number(message, "message_thread_id")
    return None if root and number(earlier, "message_id") == root else earlier


def answers_us(earlier: Json | None, us: Account) -> bool:
    """Raises `Unreadable`."""
    author = opt(earlier, "from", dict) if earlier is not None else None
    return author is not None and integer(author, "id") == us.id


def for_another(words: str, found: Sequence[Span], earlier: Json | None, us: Account) -> bool:
    """Another bot is named, as its kind is by Telegram's rules (https://core.telegram.org/bots/features#botfather:
    usernames of bots end in "bot"), or replied to; who speaks for a chat is shown as one, too. Raises `Unreadable`."""
    units = words.encode("utf-16-le", "surrogatepass")
    named = (_named(units, span) or "" for span in found if span.kind == "mention")
    author = opt(earlier, "from", dict) if earlier is not None and earlier.get("sender_chat") is None else None
    replied = author is not None and author.get("is_bot") is True and integer(author, "id") != us.id
    return replied or any(name.lower().endswith("bot") and not _is_name(name, us) for name in named)


def _naming(words: str, found: Sequence[Span], us: Account) -> list[Span]:
    if not found:
        return []
    units = words.encode("utf-16-le", "surrogatepass")
    return [span for span in found if span.user == us.id or _is_name(_named(units, span), us)]


def _named(units: bytes, span: Span) -> str | None:
    """The name after the @ of a mention or of a command with one."""
    if span.kind == "text_mention":
        return None
    covered = units[span.start * 2 : span.end * 2].decode("utf-16-le", "replace")
    return covered.partition("@")[2] or None


def _is_name(name: str | None, us: Account) -> bool:
    return name is not None and name.lower() == us.username.lower()
