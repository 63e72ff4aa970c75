"""What was said in a thread before somebody mentioned us there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from bots.slack import inbound, words
from bots.slack.history import cursor_of
from bots.slack.inbound import Account
from bots.slack.line import Line
from bots.slack.people import People
from core.errors import BotError
from core.fields import Json, Unreadable, part, records
from core.people.names import storable
from core.vocabulary import Attachment, Message, Quote

_MOST_MESSAGES: Final = 50
_MOST_CHARS: Final = 1_000
_LINE_CHARS: Final = 300
_PAGE: Final = 1_000
"""The most that one call gives: https://docs.slack.dev/reference/methods/conversations.replies."""
_MOST_PAGES: Final = 20
_GAP: Final = "\n…"
"""Stands for what is left out between a thread's first message and its last ones."""
UNKNOWN: Final = Quote(name="", text=words.NO_BEGINNING)


class Beginning(Struct, frozen=True, kw_only=True):
    """What was said, and the files of the first message: whoever asks below a picture means that."""

    quote: Quote
    attachments: tuple[Attachment, ...]


async def beginning(line: Line, people: People, us: Account, said: Message) -> Beginning | None:
    """The first message of the thread that `said` stands in, and the last ones before it as far as there is room; of
    one that can't be read to its end in a moment the first alone. Raises `BotError`, or `TimeoutError` where not even
    that can be had."""
    read: list[Json] = []
    whole = False
    try:
        async with line.aside():
            whole = await _read(line, said, read)
    except (BotError, TimeoutError):
        if not read:
            raise
    earlier = read if whole else read[:1]
    names = await people.names({user for one in earlier for user in inbound.people(one)})
    quote = quoted(earlier, us, names, more=not whole)
    return Beginning(quote=quote, attachments=_whole(read[0], us, names)[1]) if quote is not None else None


async def _read(line: Line, said: Message, read: list[Json]) -> bool:
    """Into `read`, the first message and the last ones. The oldest come first, so that the newest are on the last page:
    did we come to that?"""
    arguments: Json = {
        "channel": said.address.chat,
        "ts": said.address.thread,
        "latest": said.message,
        "limit": _PAGE,
    }
    for _ in range(_MOST_PAGES):
        answer = await line.call("conversations.replies", arguments, telling=False)
        known = {said.message, *(one.get("ts") for one in read[:1])}  # the first may come with every page
        read += [one for one in records(answer.get("messages")) if one.get("ts") not in known]
        del read[1 : -_MOST_MESSAGES - 1]
        cursor = cursor_of(answer)
        if not cursor:
            return True
        arguments = {**arguments, "cursor": cursor}
    return False


def quoted(earlier: Sequence[Json], us: Account, names: Mapping[str, str], *, more: bool = False) -> Quote | None:
    """Messages as one quote: the first one whole, of the others the last that there is room for, in order. There may be
    `more` after them."""
    lines = [line for one in earlier if (line := _line(one, us, names)) is not None]
    if not lines:
        return None
    (name, first), *rest = lines
    text, kept = first[: _MOST_CHARS - len(_GAP)], []
    room = _MOST_CHARS - len(_GAP) - len(text)
    for who, told in reversed(rest[-_MOST_MESSAGES:]):
        shown = f"{who}: {told[:_LINE_CHARS]}" if who else told[:_LINE_CHARS]
        room -= len(shown) + 1
        if room < 0:
            break
        kept.append(shown)
    gap = _GAP if more or len(kept) < len(rest) else ""
    return Quote(name=name, text="\n".join([f"{text}{gap}", *reversed(kept)]))


def _line(one: Json, us: Account, names: Mapping[str, str]) -> tuple[str, str] | None:
    text, files = _whole(one, us, names)
    named = (f"[{file.kind} {file.name}]" if file.name else f"[{file.kind}]" for file in files)
    shown = "\n".join([*filter(None, [text]), *named])
    if not shown:
        return None
    user, profile = one.get("user"), part(one, "bot_profile") or {}
    fallback = profile.get("name") or one.get("username")
    name = us.name if user == us.user else names.get(user, "") if isinstance(user, str) else ""
    return storable(name or (fallback if isinstance(fallback, str) else "")), shown


def _whole(one: Json, us: Account, names: Mapping[str, str]) -> tuple[str, tuple[Attachment, ...]]:
    try:
        return inbound.whole(one, us, names)
    except Unreadable:
        return "", ()
