"""A message with what it brings, in the words that its entry has. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.desk.handing import mib
from core.people.names import NAME_LIMIT, file_name, plain_line, storable
from core.service.notices import Notices
from core.store.enclosures import Enclosed, Enclosure, kind_named
from core.store.entries import Entry, Json
from core.store.files import Digest
from core.store.inbox import Waiting
from core.tally import Limit
from core.vocabulary import Attachment, FileKind, Quote

QUOTE_CHARS = 1000
OWN_CHARS = 200
FILE_LIMITS: Mapping[str, Limit] = {"file_quota": "file_mib_per_day", "file_no_room": "disk_free"}
"""The limit behind a fault."""
CUT = "\n[Cut here: the message is longer than what is shown.]"
FILE = "file"
PICTURE = "binary"
"""As pydantic-ai names what has bytes; see `core.agents.files`."""


def _name(name: str) -> str:
    """In one line, without what would end a mark of ours."""
    return plain_line(_unbracketed(name), NAME_LIMIT)


def _unbracketed(text: str) -> str:
    return text.replace("[", "(").replace("]", ")")


def _file_name(name: str) -> str:
    return file_name(name.replace("[", "(").replace("]", ")"))


def is_empty(row: Waiting) -> bool:
    """Is there nothing left that could be answered?"""
    files = row.enclosed.files
    return bool(files) and not row.text.strip() and all(file.fault for file in files)


def words(row: Waiting) -> str:
    """What is said, with what it refers to before it and a line for each file behind it."""
    quote = row.enclosed.quote
    parts = [_quoted(quote)] if quote is not None and not quote.own else []
    parts += [row.text] if row.text.strip() else []
    parts += [line for file in row.enclosed.files if (line := _line(file))]
    return "\n".join(parts) if len(parts) != 1 else parts[0]


def fitting(rows: Sequence[Waiting], most: int) -> Sequence[Waiting]:
    """As many of the first rows as have so many characters together; one at least."""
    left = most
    for number, row in enumerate(rows):
        left -= len(words(row)) + sum(len(file.text or "") for file in row.enclosed.files)
        if left < 0:
            return rows[: max(1, number)]
    return rows


def cut(text: str, files: Sequence[dict[str, Json]], most: int) -> tuple[str, list[Json], bool]:
    """A message's text and its files' with so many characters together, a mark where something is missing; whether
    that is so."""
    shown, left = _cut(text, most)
    over, fitted = shown != text, list[Json]()
    for file in files:
        said = file.get("text")
        if isinstance(said, str):
            part, left = _cut(said, left)
            over, file = over or part != said, {**file, "text": part}
        fitted.append(file)
    return shown, fitted, over


def _cut(text: str, most: int) -> tuple[str, int]:
    """What is left of a text, and of the characters that there may be."""
    return (text, most - len(text)) if len(text) <= most else (f"{text[:most]}{CUT}", 0)


def refers_to(row: Waiting) -> str:
    """What we said ourselves and the message answers, in one line; "" for nothing. It is in the conversation already,
    and no part of what the person said."""
    quote = row.enclosed.quote
    return plain_line(_unbracketed(quote.text), OWN_CHARS) if quote is not None and quote.own else ""


def _quoted(quote: Quote) -> str:
    name = _name(quote.name)
    if quote.forwarded:
        return f"[forwarded from {name}]" if name else "[forwarded]"
    text = storable(quote.text).strip()
    cut = text if len(text) <= QUOTE_CHARS else f"{text[:QUOTE_CHARS]}…"
    head = f"{name}: " if name else ""
    return "> " + f"{head}{cut}".replace("\n", "\n> ") + "\n"


def _line(file: Enclosure) -> str:
    """One that came before, by `again`, has its line in the text already."""
    kind = file.attachment.kind
    if not file.attachment.ref:
        return ""
    if kind is FileKind.VOICE and file.text is not None:
        return f"[voice] {file.text}"
    name = _file_name(file.attachment.name)
    named = f"{kind} {name}" if name else str(kind)
    return f"[{named}: not received]" if file.fault else f"[{named}]"


def faults(row: Waiting, notices: Notices) -> str:
    """What the sender is told of files of which there is nothing; "" if there is something of each."""
    return "\n".join(dict.fromkeys(_fault(file, notices) for file in row.enclosed.files if file.fault))


def _fault(file: Enclosure, notices: Notices) -> str:
    name = _file_name(file.attachment.name) or notices.say("file_nameless")
    return notices.say(file.fault, name=name, limit=mib(file.limit or 0))


def files_of(rows: Sequence[Waiting]) -> list[dict[str, Json]]:
    """The files as the entry's data has them: pictures as what a model is shown, others with their text."""
    return [_data(file) for row in rows for file in row.enclosed.files if file.digest is not None]


def _data(file: Enclosure) -> dict[str, Json]:
    attachment = file.attachment
    told: dict[str, Json] = {"name": storable(attachment.name), "media_type": attachment.media_type, "size": file.size}
    if attachment.kind is FileKind.IMAGE:
        return {**told, "kind": PICTURE, "frontdesk_file": file.digest}
    return {**told, "kind": FILE, "is": str(attachment.kind), "digest": file.digest, "text": file.text}


def again(entry: Entry) -> Enclosed:
    """What an entry's message brought, for a message that says the same once more."""
    return Enclosed(files=tuple(file for one in _files(entry) if (file := _enclosure(one)) is not None))


def is_spoken(entry: Entry) -> bool:
    """Did the person ask by voice?"""
    return any(file.attachment.kind is FileKind.VOICE for file in again(entry).files)


def _files(entry: Entry) -> Sequence[Json]:
    files = entry.data.get("files")
    return files if isinstance(files, Sequence) and not isinstance(files, str) else ()


def _enclosure(told: Json) -> Enclosure | None:
    match told:
        case {"kind": "binary", "frontdesk_file": str(digest), "media_type": str(media), "name": str(name), **rest}:
            kind = FileKind.IMAGE
        case {
            "kind": "file", "is": str(is_), "digest": str(digest), "media_type": str(media), "name": str(name), **rest,
        }:  # fmt: skip
            kind = kind_named(is_)
        case _:
            return None
    size, text = rest.get("size"), rest.get("text")
    whole = size if isinstance(size, int) else None
    attachment = Attachment(kind=kind, ref="", name=name, media_type=media, size=whole)
    return Enclosure(
        attachment=attachment, digest=Digest(digest), size=whole, text=text if isinstance(text, str) else None,
        settled=True,
    )  # fmt: skip
