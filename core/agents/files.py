"""Files in messages: an entry holds a reference in place of their bytes. Pure; on the JSON that pydantic makes."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from core.store.entries import Entry, Json

REF = "frontdesk_file"
GONE = "[This file is not kept any more.]"
REQUEST_BYTES = 20 * 1024 * 1024
"""Of all files in one request: 27 MiB in base64, below the least that a provider takes (32 MB,
https://docs.anthropic.com/en/api/overview)."""
REFUSED = "[You can't see this file now: a request with the files of this conversation was refused.]"
LEFT_OUT = "[Not shown any more: newer files of this conversation fill the request.]"
UNSEEN = "[You can't see this picture: the model takes none.]"


class Aside(Struct, frozen=True):
    """A file that was taken out of a message. `media_type` as the tool or the model gave it."""

    data: bytes
    media_type: str


def referring(data: Mapping[str, Json], digests: Mapping[bytes, str]) -> Mapping[str, Json]:
    """A message's data with references in place of files; `digests` has what each file is kept under."""
    return {name: _put_aside(value, digests) for name, value in data.items()}


def whole(data: Mapping[str, Json], files: Mapping[str, bytes | str], missing: str = GONE) -> Mapping[str, Json]:
    """A message's data as it was; in place of a file that is not there, or that `files` has a word for, stands that."""
    return {name: _put_back(value, files, missing) for name, value in data.items()}


def _put_aside(message: Json, digest: Mapping[bytes, str]) -> Json:
    match message:
        case {"kind": "binary", "data": str(encoded)} if isinstance(message, Mapping):
            return {**_but(message, "data"), REF: digest[_decoded(encoded)]}
        case Mapping():
            return {name: _put_aside(value, digest) for name, value in message.items()}
        case str():
            return message
        case Sequence():
            return [_put_aside(value, digest) for value in message]
        case _:
            return message


def files_in(message: Json) -> Iterator[Aside]:
    """Every file in a message as pydantic dumps it."""
    match message:
        case {"kind": "binary", "data": str(encoded), "media_type": str(media_type)}:
            yield Aside(_decoded(encoded), media_type)
        case Mapping():
            for value in message.values():
                yield from files_in(value)
        case str():
            pass
        case Sequence():
            for value in message:
                yield from files_in(value)
        case _:
            pass


def _put_back(message: Json, files: Mapping[str, bytes | str], missing: str) -> Json:
    match message:
        case {"kind": "binary", "frontdesk_file": str(ref)} if isinstance(message, Mapping):
            data = files.get(ref, missing)
            if isinstance(data, str):
                return data
            return {**_but(message, REF), "data": base64.urlsafe_b64encode(data).decode()}
        case Mapping():
            return {name: _put_back(value, files, missing) for name, value in message.items()}
        case str():
            return message
        case Sequence():
            return [_put_back(value, files, missing) for value in message]
        case _:
            return message


def refs_in(entries: Iterable[Entry]) -> set[str]:
    """What the entries refer to."""
    return {ref for entry in entries for ref in _refs(entry.data)}


def pictures_in(entry: Entry) -> int:
    """How often the entry shows one."""
    return sum(1 for _ in _refs(entry.data))


def fitting(entries: Sequence[Entry], files: Mapping[str, bytes]) -> Mapping[str, bytes | str]:
    """The files that fit into one request, those of the latest entries first; for any other a word."""
    kept: dict[str, bytes | str] = {}
    left = REQUEST_BYTES
    for entry in reversed(entries):
        for ref in _refs(entry.data):
            if ref in files and ref not in kept:
                fits = len(files[ref]) <= left
                kept[ref] = files[ref] if fits else LEFT_OUT
                left -= len(files[ref]) * fits
    return kept


def _refs(data: Json) -> Iterator[str]:
    match data:
        case {"kind": "binary", "frontdesk_file": str(ref)}:
            yield ref
        case Mapping():
            for value in data.values():
                yield from _refs(value)
        case str():
            pass
        case Sequence():
            for value in data:
                yield from _refs(value)
        case _:
            pass


def _but(message: Mapping[str, Json], gone: str) -> dict[str, Json]:
    return {name: value for name, value in message.items() if name != gone}


def _decoded(encoded: str) -> bytes:
    return base64.urlsafe_b64decode(encoded)
