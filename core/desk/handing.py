"""Files that an agent hands over: from allowed folders only, after every link in the way is resolved."""

from __future__ import annotations

import math
import mimetypes
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from config.places import SYSTEM_FOLDERS
from core.desk.kinds_of_files import kind_of, picture_type
from core.errors import FileRefused
from core.people.names import file_name
from core.ports import Bot, LimitsUploads
from core.store.deliveries import SentFile
from core.store.files import Files
from core.vocabulary import Address, FileKind

UNKNOWN = "application/octet-stream"
MIB = 1024 * 1024
PIECE_BYTES = MIB


class Withheld(Struct, frozen=True, kw_only=True):
    """What is never handed over, from whatever folder: the state directory, the config file, and files that hold
    secrets."""

    state: Path | None = None
    config: Path | None = None
    secrets: frozenset[Path] = frozenset()

    def why(self, real: Path, found: os.stat_result) -> str:
        """Why this file is withheld; "" if it is not. `real`: its path without links."""
        if any(real.is_relative_to(folder) for folder in SYSTEM_FOLDERS):
            return "belongs to the system"
        if found.st_nlink > 1:  # by its other name it may be anything
            return "has another name elsewhere (a hard link)"
        if self.state is not None and _lies_in(real, self.state):
            return "belongs to the desk itself"
        if any(_is_at(found, path) for path in {self.config, *self.secrets}):
            return "belongs to the desk itself"
        if self.config is not None and not found.st_mode & 0o077 and _lies_in(real, self.config.parent):
            return "is beside the config and may be read by its owner alone, as secrets are"
        return ""


def _is_at(found: os.stat_result, path: Path | None) -> bool:
    try:
        return path is not None and os.path.samestat(found, path.stat())
    except OSError:
        return False


def _lies_in(real: Path, folder: Path) -> bool:
    """By the folders themselves: a mount may show one under a second path."""
    if real.is_relative_to(folder.resolve()):
        return True
    try:
        wanted = folder.stat()
    except OSError:
        return False
    return any(_is_at(wanted, parent) for parent in real.parents)


class Hand(Struct, frozen=True, kw_only=True):
    """What may be handed over: `roots` are absolute, `limit` is in bytes of one file, `most` how many files."""

    roots: tuple[Path, ...]
    limit: int
    most: int
    withheld: Withheld = Withheld()


def mib(size: int) -> str:
    """A limit in bytes, as people read it: 0.05, 47.7, 1,024."""
    value = size / MIB
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def upload_limit(bot: Bot, address: Address) -> int:
    """Bytes that one file may have there; 0: none can be sent."""
    return bot.upload_limit(address) if isinstance(bot, LimitsUploads) else bot.capabilities.upload_limit_bytes


def take(files: Files, paths: Sequence[str], hand: Hand) -> tuple[SentFile, ...]:
    """Keep what is in these files now. Blocks. Raises `FileRefused` with words for the agent, and `StoreFull`."""
    if not 1 <= len(paths) <= hand.most:
        raise FileRefused(f"Name 1 to {hand.most} files.")
    return tuple(_one(files, path, hand) for path in paths)


def _one(files: Files, path: str, hand: Hand) -> SentFile:
    with _opened(path, hand) as (stream, real):
        size = os.fstat(stream.fileno()).st_size
        if size > hand.limit:
            has = math.ceil(10 * size / MIB) / 10  # never what it may have
            raise FileRefused(f"{path} has {has:,.1f} MiB; at most {mib(hand.limit)} MiB can be sent there.")
        if size == 0:
            raise FileRefused(f"{path} is empty.")
        return _kept(files, stream, real, hand.limit)


def _kept(files: Files, stream: BinaryIO, real: Path, limit: int) -> SentFile:
    incoming = files.receive()
    try:
        while piece := stream.read(PIECE_BYTES):
            incoming.write(piece)
            if incoming.size > limit:
                raise FileRefused(f"{real.name} grows while it is read.")
        head, digest = incoming.head, incoming.keep()
    finally:
        incoming.drop()
    media_type = picture_type(head) or mimetypes.guess_type(real.name)[0] or UNKNOWN
    if kind_of(media_type) is FileKind.IMAGE and picture_type(head) is None:
        media_type = UNKNOWN
    name = file_name(real.name) or "file"
    return SentFile(
        digest=digest, kind=kind_of(media_type), name=name, media_type=media_type, size=incoming.size
    )  # fmt: skip


_OUTSIDE = "{path} is not in a folder from which files may be sent."


def _leads_inside(path: Path, roots: Sequence[Path]) -> bool:
    """Whether anything may be told of what is there."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError):
        return False
    return any(real.is_relative_to(root.resolve()) for root in roots)


@contextmanager
def _opened(path: str, hand: Hand) -> Iterator[tuple[BinaryIO, Path]]:
    """The file is pinned first, which does nothing to it, and asked where and what it is; then the pinned one is
    opened: nothing can be put in its place."""
    roots = hand.roots
    if "\0" in path or not path.strip() or not roots:
        raise FileRefused("That is no file that may be sent.")
    try:
        pinned = os.open(roots[0] / path, os.O_PATH | os.O_CLOEXEC)
    except UnicodeEncodeError:
        raise FileRefused("That is no file that may be sent.") from None
    except OSError as error:
        raise _refusal(path, error, inside=_leads_inside(roots[0] / path, roots)) from None
    try:
        real = Path(os.readlink(_pin(pinned)))
        if not any(real.is_relative_to(root.resolve()) for root in roots):
            raise FileRefused(_OUTSIDE.format(path=path))
        found = os.fstat(pinned)
        if not stat.S_ISREG(found.st_mode):
            raise FileRefused(f"{path} is no file.")
        if why := hand.withheld.why(real, found):
            raise FileRefused(f"{path} may not be sent: it {why}.")
        try:
            descriptor = os.open(_pin(pinned), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise _refusal(path, error, inside=True) from None
    finally:
        os.close(pinned)
    with os.fdopen(descriptor, "rb") as stream:
        yield stream, real


def _pin(descriptor: int) -> str:
    """https://man7.org/linux/man-pages/man2/open.2.html, O_PATH: a link to the very file that was found."""
    return f"/proc/self/fd/{descriptor}"


def _refusal(path: str, error: OSError, *, inside: bool) -> FileRefused:
    return FileRefused(f"{path} can't be read: {error.strerror}." if inside else _OUTSIDE.format(path=path))
