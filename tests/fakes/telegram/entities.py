"""Formatting entities: reading, checking, finding.

Telegram repairs or drops much of what this module refuses. A bot that relies on repairs shows people something else
than it meant, so the double says no.
Sources: https://core.telegram.org/bots/api#messageentity, #formatting-options ("nested entities").
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from tests.fakes.telegram.errors import bad_request
from tests.fakes.telegram.links import link_fault
from tests.fakes.telegram.model import Entity, JsonValue
from tests.fakes.telegram.utf16 import byte_offset, utf16_boundaries, utf16_length, utf16_offset

MAX_ENTITIES = 100  # https://core.telegram.org/api/entities and limits.tginfo.me: the excess is dropped in silence
MAX_BOUND = 1_000_000

STYLES = frozenset({"bold", "italic", "underline", "strikethrough", "spoiler"})
CODES = frozenset({"pre", "code"})
QUOTES = frozenset({"blockquote", "expandable_blockquote"})
FOUND = frozenset({"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number"})
KNOWN = STYLES | CODES | QUOTES | FOUND | {"text_link", "text_mention", "custom_emoji", "date_time"}

_COMMAND = re.compile(r"(?<![\w/<>@])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/])")
_MENTION = re.compile(r"(?<![\w@/])@[A-Za-z][A-Za-z0-9_]{2,31}(?!\w)")
_HASHTAG = re.compile(r"(?<![\w#&@])#(?=\w*[^\W\d_])\w{1,256}")
_URL = re.compile(r"https?://[^\s<>\"']*[^\s<>\"'.,;:!?)\]]")


def read_entities(value: list[JsonValue]) -> list[Entity]:
    return [_read_entity(item) for item in value]


def _read_entity(item: JsonValue) -> Entity:
    if not isinstance(item, dict):
        raise _unreadable("expected an Object")
    kind = item.get("type")
    if not isinstance(kind, str) or kind not in KNOWN:
        raise _unreadable("Unsupported type specified")
    user = item.get("user")
    unix_time = item.get("unix_time")
    entity = Entity(
        type=kind,
        offset=_integer(item.get("offset"), "offset"),
        length=_integer(item.get("length"), "length"),
        url=_string(item.get("url"), "url"),
        language=_string(item.get("language"), "language"),
        custom_emoji_id=_string(item.get("custom_emoji_id"), "custom_emoji_id"),
        user=user if isinstance(user, dict) else None,
        unix_time=None if unix_time is None else _integer(unix_time, "unix_time"),
        date_time_format=_string(item.get("date_time_format"), "date_time_format"),
    )
    _check_argument(entity)
    return entity


def _check_argument(entity: Entity) -> None:
    if entity.type == "text_link":
        if entity.url is None:
            raise _unreadable('Can\'t find field "url"')
        if (fault := link_fault(entity.url)) is not None:
            raise bad_request(f"entity URL '{entity.url}' is invalid: {fault}", rule="entities")
    if entity.type == "text_mention" and not (entity.user and isinstance(entity.user.get("id"), int)):
        raise _unreadable('Can\'t find field "user"')
    if entity.type == "custom_emoji" and not (entity.custom_emoji_id or "").isdecimal():
        raise _unreadable('Field "custom_emoji_id" must be a valid Number')
    if entity.type == "date_time" and entity.unix_time is None:
        raise _unreadable('Can\'t find field "unix_time"')


def check_entities(text: str, entities: Sequence[Entity]) -> None:
    """Bounds, number and nesting, against the text as sent. Raises `ApiError`."""
    if len(entities) > MAX_ENTITIES:
        raise bad_request(f"too many entities: {len(entities)} of {MAX_ENTITIES}", rule="too_many_entities")
    boundaries = utf16_boundaries(text)
    end = utf16_length(text)
    for entity in entities:
        _check_bounds(entity, end, boundaries, text)
    ordered = sorted(
        (entity for entity in entities if entity.length), key=lambda entity: (entity.offset, -entity.length)
    )
    open_entities: list[Entity] = []
    for entity in ordered:
        open_entities = [outer for outer in open_entities if outer.end > entity.offset]
        for outer in open_entities:
            _check_pair(outer, entity)
        open_entities.append(entity)


def _check_bounds(entity: Entity, end: int, boundaries: frozenset[int], text: str) -> None:
    if not 0 <= entity.offset <= MAX_BOUND:
        raise bad_request(f"receive an entity with incorrect offset {entity.offset}", rule="entities")
    if not 0 <= entity.length <= MAX_BOUND:
        raise bad_request(f"receive an entity with incorrect length {entity.length}", rule="entities")
    if entity.offset >= end and entity.length:
        raise bad_request(f"entity begins after the end of the text at UTF-16 offset {entity.offset}", rule="entities")
    if entity.end > end:
        raise bad_request(
            f"entity beginning at UTF-16 offset {entity.offset} ends after the end of the text"
            f" at UTF-16 offset {entity.end}",
            rule="entities",
        )
    if entity.offset not in boundaries:
        at = _byte_at(text, entity.offset)
        raise bad_request(f"entity begins in a middle of a UTF-16 symbol at byte offset {at}", rule="entities")
    if entity.end not in boundaries:
        raise bad_request(
            f"entity beginning at UTF-16 offset {entity.offset} ends in a middle of a UTF-16 symbol"
            f" at byte offset {_byte_at(text, entity.end)}",
            rule="entities",
        )


def _byte_at(text: str, offset: int) -> int:
    position = 0
    for index, char in enumerate(text):
        if position >= offset:
            return byte_offset(text, index)
        position += utf16_length(char)
    return byte_offset(text, len(text))


def _check_pair(outer: Entity, inner: Entity) -> None:
    """Both overlap, and `outer` begins first or is the longer one."""
    if inner.end > outer.end:
        raise _unnested("cross", outer, inner)
    if outer.type in CODES or (inner.type in CODES and outer.type not in QUOTES):
        raise _unnested("overlap, but code stands alone", outer, inner)
    if inner.type == outer.type or (inner.type in QUOTES and outer.type in QUOTES):
        raise _unnested("are of one kind and can't be nested", outer, inner)
    if outer.type not in STYLES | QUOTES and inner.type not in STYLES:
        raise _unnested("can't contain each other", outer, inner)


def find_entities(text: str, taken: Iterable[Entity] = ()) -> list[Entity]:
    """The commands, mentions, hashtags and links that Telegram marks on its own, apart from `taken` spans."""
    spans = [(entity.offset, entity.end) for entity in taken if entity.type not in STYLES | QUOTES]
    found: list[Entity] = []
    for entity in _candidates(text):
        if all(entity.end <= begin or entity.offset >= end for begin, end in spans):
            found.append(entity)
            spans.append((entity.offset, entity.end))
    return sorted(found, key=lambda entity: entity.offset)


def _candidates(text: str) -> Iterator[Entity]:
    for kind, pattern in (("url", _URL), ("bot_command", _COMMAND), ("mention", _MENTION), ("hashtag", _HASHTAG)):
        for match in pattern.finditer(text):
            yield Entity(kind, utf16_offset(text, match.start()), utf16_length(match[0]))


def _integer(value: JsonValue, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _unreadable(f'Field "{name}" must be of type Number')
    return value


def _string(value: JsonValue, name: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise _unreadable(f'Field "{name}" must be of type String')
    return value


def _unreadable(reason: str) -> Exception:
    return bad_request(f"can't parse MessageEntity: {reason}", rule="entities")


def _unnested(reason: str, outer: Entity, inner: Entity) -> Exception:
    pair = f"{outer.type} {outer.offset}+{outer.length} and {inner.type} {inner.offset}+{inner.length}"
    return bad_request(f"can't parse entities: {pair} {reason}", rule="entities")
