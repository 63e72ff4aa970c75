"""A backup's form: one uncompressed tar file that holds the database, every file of a transcript, and a manifest.

One file, because a copy that is in parts loses one of them; tar, because it can be read without Frontdesk. The manifest
comes last, so that a file which was cut has none. Everything in it is under its SHA-256.
"""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import hashlib
import json
import lzma
import os
import re
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import IO, Final, cast

from msgspec import Struct
from msgspec.structs import asdict

from core.errors import StoreError

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
DATABASES: Final[Mapping[str, str]] = {"sqlite": "frontdesk.db", "postgresql": "frontdesk.pgdump"}
"""By dialect, what the database's copy is called: a database file, or pg_dump's custom format."""
_FILE: Final = re.compile(r"files/([0-9a-f]{2})/(\1[0-9a-f]{62})")
_PIECE: Final = 1 << 20
_MOST_MANIFEST: Final = 64 << 20
"""Some 400,000 files."""
_MOST_AT_ONCE: Final = _MOST_MANIFEST + (1 << 20)
"""More is read in one go of no member of ours: a header that says so is none."""
_MOST_RATIO: Final = 200
_SMALL: Final = 64 << 20
"""A compressed backup unpacks to so many times its size at most, and to so much in any case: databases compress to a
tenth, and to a fiftieth where most of their pages are empty."""
_COMPRESSED: Final[Mapping[bytes, Callable[[IO[bytes]], IO[bytes]]]] = {
    b"\x1f\x8b": lambda file: cast("IO[bytes]", gzip.GzipFile(fileobj=file)),
    b"BZh": lambda file: cast("IO[bytes]", bz2.BZ2File(file)),
    b"\xfd7zXZ\0": lambda file: cast("IO[bytes]", lzma.LZMAFile(file)),  # noqa: SIM115  # `_unpacked` closes it
}
"""How a file begins that was compressed with gzip, bzip2 or xz."""

Progress = Callable[[str, int, int], None]
"""(step, bytes done, bytes in all); called often, so it returns at once."""


class Member(Struct, frozen=True, kw_only=True):
    """One file in it; `size` in bytes."""

    name: str
    size: int
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    """`made_at`: RFC 3339 in UTC. `missing`: digests that transcripts refer to and that were not on the disk."""

    made_at: str
    program: str
    dialect: str
    schema: str
    database: Member
    files: tuple[Member, ...]
    missing: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of everything in it."""
        return self.database.size + sum(file.size for file in self.files)


def file_name(digest: str) -> str:
    """What a transcript's file is called in a backup, as in the state directory."""
    return f"files/{digest[:2]}/{digest}"


class Packing:
    """A backup that is being written. `made_at_s`: seconds since 1970, for the members' times."""

    def __init__(self, tar: tarfile.TarFile, made_at_s: int, progress: Progress, total: int) -> None:
        self._tar = tar
        self._made_at_s = made_at_s
        self._progress = progress
        self._total = total
        self._done = 0

    def add(self, name: str, data: IO[bytes], size: int) -> Member:
        """Raises `OSError`."""
        told = _Heard(data, self._heard)
        self._tar.addfile(self._info(name, size), cast("IO[bytes]", told))
        return Member(name=name, size=size, sha256=told.sha256.hexdigest())

    def finish(self, manifest: Manifest) -> None:
        """The last thing in it."""
        data = json.dumps(_to_json(manifest), indent=1).encode()
        self._tar.addfile(self._info(MANIFEST, len(data)), BytesIO(data))

    def _info(self, name: str, size: int) -> tarfile.TarInfo:
        info = tarfile.TarInfo(name)
        info.size, info.mode, info.mtime = size, 0o600, self._made_at_s
        return info

    def _heard(self, count: int) -> None:
        self._done += count
        self._progress("packing", self._done, self._total)


class _Heard:
    """A stream that is hashed and counted as it is read."""

    def __init__(self, data: IO[bytes], heard: Callable[[int], None]) -> None:
        self.sha256 = hashlib.sha256()
        self._data = data
        self._heard = heard

    def read(self, size: int = -1) -> bytes:
        piece = self._data.read(size)
        self.sha256.update(piece)
        self._heard(len(piece))
        return piece


Sink = Callable[[str], IO[bytes]]
"""Opens the place where a member of this name goes."""


@contextlib.contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """A backup, to be read. Raises `StoreError` with words."""
    try:
        file = path.open("rb")
    except OSError as fault:
        raise StoreError(f"{path} can't be used: {fault.strerror or fault}") from fault
    with file:
        yield file


class _Bounded:
    """A stream of which no more than `most` bytes are read, and not too many at once."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self._most = most

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MOST_AT_ONCE:
            raise ValueError("a header of it says what can't be")
        piece = self._stream.read(size)
        self._check(self.tell())
        return piece

    def seek(self, position: int, whence: int = os.SEEK_SET) -> int:
        if whence != os.SEEK_SET:
            raise ValueError("only places from the beginning are known")
        self._check(position)
        return self._stream.seek(position)

    def tell(self) -> int:
        return self._stream.tell()

    def _check(self, position: int) -> None:
        if position > self._most:
            raise ValueError("it unpacks to far more than a backup of its size would")


def read(
    file: IO[bytes], path: Path, progress: Progress, sink: Sink | None = None, room: int | None = None
) -> Manifest:
    """Read all of a backup and compare it with its manifest; with `sink`, unpack it there meanwhile, at most `room`
    bytes. A backup that was compressed with gzip, bzip2 or xz is read as well. `path` is what it is called.

    Raises `StoreError` with words where it is none, or not whole, or finds no room.
    """
    try:
        file.seek(0)
        size = os.fstat(file.fileno()).st_size
        with _unpacked(file, size) as stream, tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r:") as tar:
            return _everything(tar, sink, room, lambda: progress("reading", min(file.tell(), size), size))
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, ValueError) as fault:
        raise _no_backup(path, fault) from fault
    except OSError as fault:
        if fault.errno is None:  # a decompressor's
            raise _no_backup(path, fault) from fault
        raise StoreError(f"{fault.filename or path} can't be used: {fault.strerror or fault}") from fault


def _no_backup(path: Path, fault: Exception) -> StoreError:
    why = " ".join(str(fault).split()) or type(fault).__name__
    return StoreError(f"{path} is no backup of Frontdesk, or it is damaged ({why}); nothing was changed")


@contextlib.contextmanager
def _unpacked(file: IO[bytes], size: int) -> Iterator[_Bounded]:
    head = file.read(8)
    file.seek(0)
    unpack = next((one for begin, one in _COMPRESSED.items() if head.startswith(begin)), None)
    if unpack is None:
        yield _Bounded(file, sys.maxsize)  # it ends by itself
        return
    with unpack(file) as stream:
        yield _Bounded(stream, max(_MOST_RATIO * size, _SMALL))


def _everything(
    tar: tarfile.TarFile, sink: Sink | None, room: int | None, heard: Callable[[], None]
) -> Manifest:  # fmt: skip
    found: dict[str, Member] = {}
    manifest: bytes | None = None
    taken = 0
    for info in tar:
        _expected(info.name, found, manifest)
        data = _data(tar, info)
        taken += info.size
        if room is not None and taken > room:
            raise OSError(errno.ENOSPC, "there is no room to unpack it, which takes more than is free")
        if info.name == MANIFEST:
            manifest = _manifest(data, info.size)
        else:
            found[info.name] = _member(info.name, data, sink)
        heard()
    return _compared(found, manifest)


def _expected(name: str, found: Mapping[str, Member], manifest: bytes | None) -> None:
    if manifest is not None or name in found:
        raise ValueError(f"{name!r} stands where nothing should")


def _manifest(data: IO[bytes], size: int) -> bytes:
    if size > _MOST_MANIFEST:
        raise ValueError(f"its manifest has more than {_MOST_MANIFEST >> 20} MiB")
    return data.read()


def _data(tar: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    data = tar.extractfile(info) if info.isreg() and not info.issparse() else None
    if data is None:
        raise ValueError(f"{info.name!r} is no file")
    return data


def _member(name: str, data: IO[bytes], sink: Sink | None) -> Member:
    if name not in DATABASES.values() and _FILE.fullmatch(name) is None:
        raise ValueError(f"{name!r} has no place in a backup")
    sha256, size = hashlib.sha256(), 0
    with sink(name) if sink is not None else BytesIO() as out:
        while piece := data.read(_PIECE):
            sha256.update(piece)
            size += len(piece)
            if sink is not None:
                out.write(piece)
    return Member(name=name, size=size, sha256=sha256.hexdigest())


def _compared(found: Mapping[str, Member], manifest: bytes | None) -> Manifest:
    """Raises `ValueError` where the manifest and what was found differ."""
    if manifest is None:
        raise ValueError("it has no manifest: it was cut, or never finished")
    told = _from_json(json.loads(manifest))
    named = {member.name: member for member in (told.database, *told.files)}
    wrong = sorted(name for name in named.keys() | found.keys() if named.get(name) != found.get(name))
    wrong += [file.name for file in told.files if file.name != file_name(file.sha256)]
    if wrong:
        raise ValueError(f"{wrong[0]} is not what the manifest says")
    return told


def _to_json(manifest: Manifest) -> Mapping[str, object]:
    return {
        "format": FORMAT,
        "made_at": manifest.made_at,
        "program": manifest.program,
        "dialect": manifest.dialect,
        "schema": manifest.schema,
        "database": asdict(manifest.database),
        "files": [asdict(file) for file in manifest.files],
        "missing": list(manifest.missing),
    }


def _from_json(told: object) -> Manifest:
    """Raises `ValueError`."""
    match told:
        case {
            "format": 1, "made_at": str(made_at), "program": str(program), "dialect": str(dialect),
            "schema": str(schema), "database": dict(database), "files": list(files), "missing": list(missing),
        } if dialect in DATABASES:  # fmt: skip
            return Manifest(
                made_at=made_at, program=program, dialect=dialect, schema=schema, database=_member_of(database),
                files=tuple(map(_member_of, files)), missing=tuple(map(str, missing)),
            )  # fmt: skip
        case {"format": int(newer)} if newer > FORMAT:
            raise ValueError(f"its form is {newer}, this Frontdesk knows {FORMAT}: a newer Frontdesk made it")
        case _:
            raise ValueError("its manifest can't be understood")


def _member_of(told: object) -> Member:
    match told:
        case {"name": str(name), "size": int(size), "sha256": str(sha256)}:
            return Member(name=name, size=size, sha256=sha256)
        case _:
            raise ValueError("its manifest can't be understood")
