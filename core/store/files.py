"""Files that transcripts refer to, kept beside the database under the hash of what is in them.

Written before the entry that names one, and removed some time after the last session that had it. All of it blocks.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NewType

import structlog

from core.errors import StoreFull
from core.faultpoints import faultpoint

log = structlog.get_logger("frontdesk.store")

FILES = "files"
"""The folder in the state directory."""
Digest = NewType("Digest", str)
"""SHA-256 in hexadecimal; says what is in the file, and nothing of where it came from."""
HEAD_BYTES = 64
PARTIAL = "partial"
"""The folder in it for what is not whole yet."""
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


class Files:
    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, data: bytes) -> Digest:
        """Keep it; durable when this returns. Keeping what is kept already is a no-op. Raises `StoreFull`."""
        digest = Digest(hashlib.sha256(data).hexdigest())
        path = self._path(digest)
        if path.exists():
            path.touch()  # somebody needs it anew, so that no chore takes it away meanwhile
            return digest
        incoming = self.receive()
        try:
            incoming.write(data)
            return incoming.keep()
        finally:
            incoming.drop()

    def receive(self) -> Incoming:
        """Begin to keep a file that comes in pieces. Raises `StoreFull`."""
        folder = self._root / PARTIAL
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, path = tempfile.mkstemp(dir=folder)
        except OSError as error:
            raise StoreFull(f"a file can't be kept: {error.strerror}") from error
        faultpoint("file.created")
        return Incoming(self, Path(path), os.fdopen(descriptor, "wb"))

    def adopt(self, path: Path, digest: Digest) -> None:
        """A whole file that was written here becomes a kept one."""
        target = self._path(digest)
        if target.exists():
            target.touch()
            path.unlink()
            return
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.rename(target)
        _sync(target.parent)

    def path(self, digest: str) -> Path | None:
        """Where it is; None if it is not there (any more)."""
        path = self._path(Digest(digest)) if _DIGEST.match(digest) else None
        return path if path is not None and path.exists() else None

    def forget_partial(self, before: datetime) -> None:
        """Remove what a process that died had begun to receive."""
        for path in self._root.glob(f"{PARTIAL}/*"):
            if _touched(path) < before.timestamp():
                path.unlink(missing_ok=True)

    def room(self) -> tuple[int, int]:
        """Bytes that are free on the disk, and that it has."""
        disk = shutil.disk_usage(self._root if self._root.exists() else self._root.parent)
        return disk.free, disk.total

    def get(self, digest: str) -> bytes | None:
        """What is in it; None if it is not there (any more)."""
        if _DIGEST.match(digest) is None:
            return None
        try:
            return self._path(Digest(digest)).read_bytes()
        except FileNotFoundError:
            return None

    def size(self, digest: str) -> int | None:
        """Its bytes; None if it is not there (any more)."""
        try:
            return self._path(Digest(digest)).stat().st_size if _DIGEST.match(digest) else None
        except FileNotFoundError:
            return None

    def kept_at(self, digest: str) -> datetime | None:
        """When somebody needed it last; None if it is not there (any more)."""
        try:
            at = self._path(Digest(digest)).stat().st_mtime if _DIGEST.match(digest) else None
        except FileNotFoundError:
            return None
        return None if at is None else datetime.fromtimestamp(at, UTC)

    def older_than(self, before: datetime) -> Iterator[Digest]:
        """Files that nobody kept since then."""
        for path in self._root.glob("??/*"):
            if _touched(path) < before.timestamp() and _DIGEST.match(path.name):
                yield Digest(path.name)

    def remove(self, digest: Digest, before: datetime | None = None) -> None:
        """Take it away; with `before` only if nobody needed it since then."""
        kept = self.kept_at(digest)
        if kept is not None and (before is None or kept < before):
            self._path(digest).unlink(missing_ok=True)

    def _path(self, digest: Digest) -> Path:
        return self._root / digest[:2] / digest


class Incoming:
    """A file on its way in: written in pieces, then kept or dropped. All of it blocks."""

    def __init__(self, files: Files, path: Path, stream: BinaryIO) -> None:
        self.size = 0
        self.head = b""
        """Its first bytes, which tell what it is."""
        self._files = files
        self._path = path
        self._stream = stream
        self._hash = hashlib.sha256()

    def write(self, piece: bytes) -> None:
        """Raises `StoreFull`."""
        try:
            self._stream.write(piece)
        except OSError as error:
            raise StoreFull(f"a file can't be kept: {error.strerror}") from error
        self.size += len(piece)
        self.head = (self.head + piece[:HEAD_BYTES])[:HEAD_BYTES]
        self._hash.update(piece)
        faultpoint("piece.written")

    def keep(self) -> Digest:
        """It is whole; durable when this returns. Raises `StoreFull`."""
        digest = Digest(self._hash.hexdigest())
        try:
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._stream.close()
            faultpoint("file.synced")
            self._files.adopt(self._path, digest)
        except OSError as error:
            raise StoreFull(f"a file of {self.size} bytes can't be kept: {error.strerror}") from error
        faultpoint("file.kept")
        return digest

    def drop(self) -> None:
        """It is not wanted (any more), or kept already."""
        try:
            self._stream.close()
        except OSError as error:  # what is buffered finds no room, and is not wanted
            log.debug("dropped_file_not_written", why=error.strerror)
        self._path.unlink(missing_ok=True)


def _touched(path: Path) -> float:
    """When it was written last; what is gone meanwhile counts as new."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return math.inf


def _sync(folder: Path) -> None:
    """Make the names in it durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
