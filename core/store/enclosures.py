"""What a message brings besides its text, as its inbox row keeps it: files, and what it refers to."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import asdict, replace

from core.people.names import file_name, plain_line, storable
from core.store.entries import Json
from core.store.files import Digest
from core.vocabulary import Attachment, FileKind, Message, Quote

TYPE_CHARS = 120
"""Of a file's type that are kept."""


class Enclosure(Struct, frozen=True, kw_only=True):
    """A file on its way in. `digest`: where it is kept, once it is fetched; `text`: what it says, once somebody read or
    heard it; `fault`: why there is nothing of it, a key of the message catalogue; `limit`: bytes that it may have,
    where it has more. `settled`: nothing more is done."""

    attachment: Attachment
    digest: Digest | None = None
    size: int | None = None
    text: str | None = None
    fault: str = ""
    limit: int | None = None
    settled: bool = False


class Enclosed(Struct, frozen=True, kw_only=True):
    """All of one message."""

    files: tuple[Enclosure, ...] = ()
    quote: Quote | None = None

    @property
    def settled(self) -> bool:
        """Nothing more is done to any of it."""
        return all(file.settled for file in self.files)


NOTHING = Enclosed()


def kind_named(name: str) -> FileKind:
    """What another version knows by a kind of its own is a file like any other."""
    return FileKind(name) if name in set(FileKind) else FileKind.FILE


def enclosed_of(message: Message) -> Enclosed:
    """As it came."""
    if not message.attachments and message.quote is None:
        return NOTHING
    return Enclosed(files=tuple(Enclosure(attachment=_clean(one)) for one in message.attachments), quote=message.quote)


def _clean(file: Attachment) -> Attachment:
    """With what every database takes, and a name of one line."""
    return replace(
        file, ref=storable(file.ref), name=file_name(storable(file.name)),
        media_type=plain_line(storable(file.media_type), TYPE_CHARS),
    )  # fmt: skip


def written(enclosed: Enclosed) -> str | None:
    """As a row keeps it; None for nothing."""
    if not enclosed.files and enclosed.quote is None:
        return None
    quote = enclosed.quote
    told: dict[str, Json] = {"files": [_file(one) for one in enclosed.files]}
    if quote is not None:
        told["quote"] = asdict(quote)
    return json.dumps(told)


def _file(one: Enclosure) -> Mapping[str, Json]:
    file = one.attachment
    told: dict[str, Json] = {
        "kind": str(file.kind), "ref": file.ref, "name": file.name, "media_type": file.media_type, "told": file.size,
        "digest": one.digest, "size": one.size, "text": one.text, "fault": one.fault, "limit": one.limit,
        "settled": one.settled,
    }  # fmt: skip
    return {name: value for name, value in told.items() if value is not None}


def read(kept: str | None) -> Enclosed:
    """From what a row keeps."""
    if kept is None:
        return NOTHING
    told = json.loads(kept)
    quote = told.get("quote")
    return Enclosed(
        files=tuple(map(_enclosure, told["files"])),
        quote=None if quote is None else Quote(**quote),
    )


def _enclosure(told: dict[str, str]) -> Enclosure:
    size, digest, sized, limit = told.get("told"), told.get("digest"), told.get("size"), told.get("limit")
    file = Attachment(
        kind=kind_named(told["kind"]), ref=told.get("ref", ""), name=told.get("name", ""),
        media_type=told.get("media_type", ""), size=None if size is None else int(size),
    )  # fmt: skip
    return Enclosure(
        attachment=file, digest=None if digest is None else Digest(digest), size=None if sized is None else int(sized),
        text=told.get("text"), fault=told.get("fault", ""), limit=None if limit is None else int(limit),
        settled=bool(told.get("settled")),
    )  # fmt: skip
