"""What a message refers to: what it replies to, or where it was forwarded from."""

from __future__ import annotations

from typing import Final

from bots.telegram import names
from bots.telegram.addressed import with_links
from bots.telegram.media import described
from core.fields import Json, part, words
from core.vocabulary import Quote

_MOST: Final = 1000
"""Characters of what is quoted."""


def quote(message: Json, earlier: Json | None, us: int) -> Quote | None:
    """`earlier` is the message of this chat that it replies to, `us` our own id."""
    if (origin := part(message, "forward_origin")) is not None:
        return Quote(name=names.origin(origin), forwarded=True)
    chosen = _linked(part(message, "quote"), "text", "entities")
    if earlier is not None:
        written = _linked(earlier, "text", "entities") or _linked(earlier, "caption", "caption_entities")
        said = written or described(earlier)
        own = (part(earlier, "from") or {}).get("id") == us
        return Quote(name=names.author(earlier), text=_short(chosen or said), own=own)
    if (elsewhere := part(message, "external_reply")) is not None:
        name = names.origin(part(elsewhere, "origin") or {})
        return Quote(name=name, text=_short(chosen or described(elsewhere)))
    if (story := part(message, "reply_to_story")) is not None:
        return Quote(name=names.chat_title(part(story, "chat") or {}), text="[Story]")
    return None


def _linked(said: Json | None, text: str, entities: str) -> str:
    return with_links(words(said, text), (said or {}).get(entities))


def _short(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}\N{HORIZONTAL ELLIPSIS}"
