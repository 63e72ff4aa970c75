"""What a message brings beside text: files (https://core.telegram.org/bots/api#available-types), and what is told in
words, such as stickers and places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from bots.telegram.reading import one_line
from core.fields import Json, number, part, parts, words
from core.vocabulary import Attachment, FileKind

# An animation comes as a document too, a live photo as a photo: the first that is there is it.
_FILES: Final[Mapping[str, FileKind]] = {
    "animation": FileKind.VIDEO,
    "photo": FileKind.IMAGE,
    "live_photo": FileKind.VIDEO,
    "video": FileKind.VIDEO,
    "video_note": FileKind.VIDEO,
    "voice": FileKind.VOICE,
    "audio": FileKind.AUDIO,
    "document": FileKind.FILE,
}
_WORDS: Final[Mapping[str, str]] = {
    "animation": "Animation",
    "photo": "Photo",
    "live_photo": "Photo",
    "video": "Video",
    "video_note": "Video",
    "voice": "Voice message",
    "audio": "Audio",
    "document": "File",
}
# Telegram makes these itself and names no type: photos are JPEG, video notes MPEG4, voice messages OGG with OPUS
# (https://core.telegram.org/bots/api#sendvideonote, #sendvoice).
_OWN_TYPES: Final[Mapping[str, str]] = {"photo": "image/jpeg", "video_note": "video/mp4", "voice": "audio/ogg"}


def has_file(message: Json) -> bool:
    return any(message.get(key) is not None for key in _FILES)


def attachments(message: Json) -> tuple[Attachment, ...]:
    """The message's file; none if it can't be read."""
    key = next((key for key in _FILES if message.get(key) is not None), None)
    if key is None:
        return ()
    file = _largest(parts(message, key)) if key == "photo" else part(message, key)
    ref = words(file, "file_id")
    if file is None or not ref:
        return ()
    size = number(file, "file_size")
    made = Attachment(
        kind=_FILES[key],
        ref=ref,
        name=one_line(words(file, "file_name")),
        media_type=one_line(words(file, "mime_type")) or _OWN_TYPES.get(key, ""),
        size=size if size is not None and size > 0 else None,
    )
    return (made,)


def _largest(sizes: list[Json]) -> Json | None:
    def area(size: Json) -> int:
        return (number(size, "width") or 0) * (number(size, "height") or 0)

    return max((size for size in sizes if words(size, "file_id")), key=area, default=None)


def described(message: Json) -> str:
    """The message's file, or whatever else it is beside text, in square brackets; "" if it is text alone."""
    key = next((key for key in _FILES if message.get(key) is not None), None)
    if key is None:
        return told(message)
    file = part(message, key)
    return _bracketed(_WORDS[key], words(file, "file_name"))


def told(message: Json) -> str:
    """What is no text and no file, in square brackets on one line; "" for anything else."""
    for key, tell in _TOLD.items():
        thing = part(message, key)
        if thing is not None:
            return tell(thing)
    return ""


def _bracketed(what: str, *more: str) -> str:
    detail = ", ".join(said for said in map(one_line, more) if said)
    return f"[{what}: {detail}]" if detail else f"[{what}]"


def _sticker(thing: Json) -> str:
    return _bracketed("Sticker", words(thing, "emoji"))


def _dice(thing: Json) -> str:
    value = number(thing, "value")
    return _bracketed("Dice", f"{words(thing, 'emoji')} {'' if value is None else value}")


def _venue(thing: Json) -> str:
    return _bracketed("Venue", words(thing, "title"), words(thing, "address"), _place(part(thing, "location") or {}))


def _location(thing: Json) -> str:
    return _bracketed("Location", _place(thing))


def _place(thing: Json) -> str:
    """Four decimals are 11 metres."""
    degrees = [one for key in ("latitude", "longitude") if isinstance(one := thing.get(key), float | int)]
    return ", ".join(f"{one:.4f}" for one in degrees) if len(degrees) == 2 and max(map(abs, degrees)) <= 180 else ""


def _contact(thing: Json) -> str:
    name = f"{words(thing, 'first_name')} {words(thing, 'last_name')}"
    return _bracketed("Contact", name, words(thing, "phone_number"))


def _poll(thing: Json) -> str:
    return _bracketed("Poll", f"{words(thing, 'question')} {_listed(parts(thing, 'options'))}")


def _checklist(thing: Json) -> str:
    return _bracketed("Checklist", f"{words(thing, 'title')} {_listed(parts(thing, 'tasks'))}")


def _listed(items: list[Json]) -> str:
    listed = "; ".join(said for item in items if (said := one_line(words(item, "text"))))
    return f"({listed})" if listed else ""


def _titled(what: str) -> Callable[[Json], str]:
    return lambda thing: _bracketed(what, words(thing, "title"))


# A venue comes as a location too.
_TOLD: Final[Mapping[str, Callable[[Json], str]]] = {
    "sticker": _sticker,
    "dice": _dice,
    "venue": _venue,
    "location": _location,
    "contact": _contact,
    "poll": _poll,
    "checklist": _checklist,
    "game": _titled("Game"),
    "invoice": _titled("Invoice"),
    "story": lambda thing: "[Story]",
    "paid_media": lambda thing: "[Paid media]",
}
