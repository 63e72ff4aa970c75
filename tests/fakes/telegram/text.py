"""From what the bot sent to what people see: cleaning, trimming, limits. Offsets count UTF-16 code units.

Source: https://core.telegram.org/bots/api#sendmessage and TDLib's fix_formatted_text.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from tests.fakes.telegram.entities import check_entities
from tests.fakes.telegram.errors import bad_request
from tests.fakes.telegram.model import Entity
from tests.fakes.telegram.utf16 import utf16_length

MAX_TEXT_UTF16 = 4096  # https://core.telegram.org/bots/api#sendmessage: "1-4096 characters after entities parsing"
MAX_CAPTION_UTF16 = 1024  # https://core.telegram.org/bots/api#sendphoto: "0-1024 characters after entities parsing"
MAX_TEXT_BYTES = 32_768  # telegram-bot-api refuses longer input before it parses anything

_REMOVED = frozenset("\r\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u0333\u033f\u030a")


def finished_text(
    text: str, entities: Sequence[Entity], *, may_be_empty: bool = False, caption: bool = False
) -> tuple[str, tuple[Entity, ...]]:
    """The text or caption as it is stored, with its entities moved along. Raises `ApiError` where Telegram refuses
    it."""
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise bad_request("strings must be encoded in UTF-8", rule="surrogate")
    if len(text.encode()) > MAX_TEXT_BYTES:
        raise bad_request("text is too long", rule="too_long")
    check_entities(text, entities)
    cleaned, moved = _without_controls(text, [entity for entity in entities if entity.length > 0])
    trimmed, kept = _trimmed(cleaned, moved)
    if not is_visible(trimmed) and not may_be_empty:
        reason = "text must be non-empty" if text and not trimmed else "message text is empty"
        raise bad_request(reason, rule="empty")
    if utf16_length(trimmed) > (MAX_CAPTION_UTF16 if caption else MAX_TEXT_UTF16):
        raise bad_request(f"message {'caption ' if caption else ''}is too long", rule="too_long")
    return trimmed, tuple(sorted(kept, key=lambda entity: (entity.offset, -entity.length, entity.type)))


def is_visible(text: str) -> bool:
    """False for texts of nothing but blanks, zero-width and other formatting characters."""
    return any(not char.isspace() and unicodedata.category(char) not in {"Cf", "Cc", "Mn"} for char in text)


def _without_controls(text: str, entities: Sequence[Entity]) -> tuple[str, list[Entity]]:
    kept: list[str] = []
    moved_to = [0]
    for char in text:
        length = 0 if char in _REMOVED else utf16_length(char)
        if length:
            kept.append(" " if char < " " and char != "\n" else char)
        moved_to.extend([moved_to[-1] + length] * utf16_length(char))
    moved = [
        replace(entity, offset=moved_to[entity.offset], length=moved_to[entity.end] - moved_to[entity.offset])
        for entity in entities
    ]
    return "".join(kept), [entity for entity in moved if entity.length > 0]


def _trimmed(text: str, entities: Sequence[Entity]) -> tuple[str, list[Entity]]:
    """Blanks go from the end, and from the beginning as far as no entity covers them."""
    body = text.rstrip(" \n")
    end = utf16_length(body)
    cut = [replace(entity, length=min(entity.end, end) - entity.offset) for entity in entities if entity.offset < end]
    first_entity = min((entity.offset for entity in cut), default=end)
    leading = min(len(body) - len(body.lstrip(" \n")), first_entity)
    return body[leading:], [replace(entity, offset=entity.offset - leading) for entity in cut]
