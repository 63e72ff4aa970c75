"""What was said in a thread before somebody mentioned us there."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from bots.slack import inbound, tokens
from bots.slack.inbound import Account
from bots.slack.line import Line
from bots.slack.people import People
from core.errors import BotError
from core.fields import Json
from core.people.names import storable
from core.vocabulary import Message, Quote

_MOST_MESSAGES: Final = 50
_MOST_CHARS: Final = 1_000
_LINE_CHARS: Final = 300


async def beginning(line: Line, people: People, us: Account, said: Message) -> Quote | None:
    """The first message of the thread that `said` stands in, and what followed as far as there is room. None where it
    can't be had in a moment."""
    arguments = {
        "channel": said.address.chat,
        "ts": said.address.thread,
        "latest": said.message,
        "limit": _MOST_MESSAGES,
    }
    try:
        async with asyncio.timeout(line.patience.aside_s):
            answer = await line.call("conversations.replies", arguments, telling=False)
            listed = answer.get("messages")
            earlier = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
            earlier = [one for one in earlier if one.get("ts") != said.message]
            names = await people.names({user for one in earlier for user in inbound.people(one)})
    except (BotError, TimeoutError):
        return None
    return quoted(earlier, us, names)


def quoted(earlier: Sequence[Json], us: Account, names: Mapping[str, str]) -> Quote | None:
    """Messages as one quote: the first one whole, of the others the last that there is room for, in order."""
    lines = [line for one in earlier if (line := _line(one, us, names)) is not None]
    if not lines:
        return None
    (name, first), *rest = lines
    text, kept = first[:_MOST_CHARS], []
    room = _MOST_CHARS - len(text)
    for who, words in reversed(rest):
        shown = f"{who}: {words[:_LINE_CHARS]}" if who else words[:_LINE_CHARS]
        room -= len(shown) + 1
        if room < 0:
            break
        kept.append(shown)
    return Quote(name=name, text="\n".join([text, *reversed(kept)]))


def _line(one: Json, us: Account, names: Mapping[str, str]) -> tuple[str, str] | None:
    text, user = one.get("text"), one.get("user")
    if not isinstance(text, str) or not text.strip():
        return None
    profile = one.get("bot_profile")
    fallback = profile.get("name") if isinstance(profile, dict) else one.get("username")
    name = us.name if user == us.user else names.get(user, "") if isinstance(user, str) else ""
    words = storable(tokens.readable(text, {**names, us.user: us.name}).strip())
    return storable(name or (fallback if isinstance(fallback, str) else "")), words
