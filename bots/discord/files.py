"""What comes with a message beside its text: https://docs.discord.com/developers/resources/message#attachment-object.

Addresses of files run out after a day, so an `Attachment` names the message that holds the file, and whoever fetches it
asks that message for a fresh address.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bots.discord.reading import is_snowflake, one_line, snowflake
from bots.discord.sdk import discord
from core.fields import Json, Unreadable, get, objects, opt
from core.people.names import storable
from core.vocabulary import Attachment, FileKind

VOICE: Final = discord.MessageFlags.voice.flag
_TEXT_DISPLAY: Final = discord.ComponentType.text_display.value
_KINDS: Final = {"image": FileKind.IMAGE, "audio": FileKind.AUDIO, "video": FileKind.VIDEO}


def attachments(holder: Json, said: Json) -> Iterator[Attachment]:
    """The files of a message. `said` is the message itself, or the one that `holder` hands on."""
    spoken = bool((opt(said, "flags", int) or 0) & VOICE)
    for file in objects(said, "attachments"):
        media_type = (opt(file, "content_type", str) or "").partition(";")[0].strip().lower()
        kind = _KINDS.get(media_type.partition("/")[0], FileKind.FILE)
        size = opt(file, "size", int)
        yield Attachment(
            kind=FileKind.VOICE if spoken and kind is FileKind.AUDIO else kind,
            ref="/".join((snowflake(holder, "channel_id"), snowflake(holder, "id"), snowflake(file, "id"))),
            name=one_line(opt(file, "filename", str) or ""),
            media_type=storable(media_type),
            size=size if size is not None and size >= 0 else None,
        )


def handed(message: Json) -> list[Json]:
    """The message itself, and those that it hands on."""
    return [message, *(get(one, "message", dict) for one in objects(message, "message_snapshots"))]


def brought(message: Json) -> Iterator[Attachment]:
    """The files of a message and of those that it hands on."""
    for one in handed(message):
        yield from attachments(message, one)


def told(said: Json) -> Iterator[str]:
    """All but the files, in words, from top to bottom."""
    content = opt(said, "content", str) or ""
    yield content
    for embed in objects(said, "embeds"):
        if not _is_preview(embed, content):
            yield _embed(embed)
    yield from _texts(said)
    for sticker in objects(said, "sticker_items"):
        yield f"[Sticker: {one_line(opt(sticker, 'name', str) or '')}]"
    poll = opt(said, "poll", dict)
    if poll is not None:
        yield _poll(poll)


def _is_preview(embed: Json, content: str) -> bool:
    """Whether Discord made it of a link that stands in the text. What bots make is rich, and has no provider."""
    url = (opt(embed, "url", str) or "").rstrip("/")
    made = opt(embed, "type", str) not in ("rich", None) or embed.get("provider") is not None
    return bool(content) and (made or (bool(url) and url in content))


def _embed(embed: Json) -> str:
    lines = [opt(opt(embed, "author", dict) or {}, "name", str), opt(embed, "title", str)]
    lines.append(opt(embed, "description", str))
    for field in objects(embed, "fields"):
        lines += [": ".join(part for key in ("name", "value") if (part := opt(field, key, str)))]
    lines.append(opt(opt(embed, "footer", dict) or {}, "text", str))
    return "\n".join(line for line in lines if line)


def _texts(said: Json) -> Iterator[str]:
    """The texts among the components (https://docs.discord.com/developers/components/reference#text-display)."""
    waiting = list(objects(said, "components"))[::-1]
    while waiting:
        one = waiting.pop()
        if one.get("type") == _TEXT_DISPLAY:
            yield opt(one, "content", str) or ""
        waiting += list(objects(one, "components"))[::-1]


def _poll(poll: Json) -> str:
    question = opt(opt(poll, "question", dict) or {}, "text", str) or ""
    answers = [opt(opt(one, "poll_media", dict) or {}, "text", str) or "" for one in objects(poll, "answers")]
    return one_line(f"[Poll: {question} {' / '.join(answer for answer in answers if answer)}]")


def file_address(ref: str, message: object) -> str | None:
    """The fresh address of a file in the message that holds it; None if it is not there any more."""
    wanted = ref.rpartition("/")[2]
    if not isinstance(message, dict):
        return None
    try:
        found = [file for one in handed(message) for file in objects(one, "attachments") if file.get("id") == wanted]
        return get(found[0], "url", str) if found else None
    except Unreadable:
        return None


def holder(ref: str) -> tuple[str, str] | None:
    """The channel and the message that hold a file; None if `ref` is none of ours."""
    match ref.split("/"):
        case [channel, message, file] if is_snowflake(channel) and is_snowflake(message) and is_snowflake(file):
            return channel, message
        case _:
            return None
