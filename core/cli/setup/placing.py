"""Files that come into place together, or not at all."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

SECRET: Final = 0o600
_FOLDER: Final = 0o700
_OPEN_FOLDER: Final = 0o755
"""Of files that others may read."""
_INTERRUPTS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    """What is to stand at `path`. `kept`: what it replaces stays beside it, under a name that ends in the date."""

    path: Path
    text: str = field(repr=False)
    mode: int = SECRET
    kept: bool = True

    @property
    def is_there(self) -> bool:
        """Whether it is so already."""
        try:
            return self.path.read_text(encoding="utf-8") == self.text and not self._mode & ~self.mode
        except (OSError, UnicodeDecodeError):
            return False

    @property
    def _mode(self) -> int:
        return stat.S_IMODE(self.path.stat().st_mode)


def place(files: Sequence[File], prove: Callable[[Path], None], *, stamp: str) -> list[Path]:
    """Write them in their order, and return where what they replaced is now. The last one is the one that makes the
    others count: before it takes its place, `prove` gets it under another name beside it, and may raise.

    Each is written whole before any takes its place; whatever fails, and whatever `prove` raises, everything is as it
    was before. Interrupts wait until it is over. `stamp`: what the kept names end in. Raises `OSError`.
    """
    with _uninterrupted(), ExitStack() as undo:
        for file in files:
            _make(file.path.parent, _OPEN_FOLDER if file.mode & 0o044 else _FOLDER, undo)
        *others, last = files
        fresh = {file.path: _written(file, undo) for file in files if not file.is_there}
        replaced = [_swap(file, fresh[file.path], stamp, undo) for file in others if file.path in fresh]
        prove(fresh.get(last.path, last.path))
        if last.path in fresh:
            replaced.append(_swap(last, fresh[last.path], stamp, undo))
        undo.pop_all()
    unwanted = {_aside(file.path.resolve(), stamp) for file in files if not file.kept}
    there = [path for path in replaced if path is not None]
    for path in unwanted.intersection(there):
        path.unlink()
    return [path for path in there if path not in unwanted]


@contextmanager
def _uninterrupted() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _make(folder: Path, mode: int, undo: ExitStack) -> None:
    if folder.is_dir():
        return
    _make(folder.parent, mode, undo)
    folder.mkdir(mode=mode)
    undo.callback(folder.rmdir)
    _give(folder, folder.parent)


def _give(path: Path, like: Path) -> None:
    """What root has just made in somebody's folder is theirs. Raises `OSError`."""
    if os.geteuid() == 0:
        owner = like.stat()
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _written(file: File, undo: ExitStack) -> Path:
    """Where the text is until it takes its place."""
    temporary = file.path.with_name(f".{file.path.name}.{os.getpid()}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, file.mode)
    undo.callback(temporary.unlink, missing_ok=True)
    with open(descriptor, "w", encoding="utf-8") as stream:
        stream.write(file.text)
        stream.flush()
        os.fsync(descriptor)
    temporary.chmod(file.mode)
    _give(temporary, file.path.parent)
    return temporary


def _swap(file: File, temporary: Path, stamp: str, undo: ExitStack) -> Path | None:
    """Put it in its place; where what was there is now."""
    place = file.path.resolve()  # a link stays one
    old = None
    if place.exists():
        old = _aside(place, stamp)
        os.link(place, old)
        undo.callback(os.replace, old, place)
    else:
        undo.callback(place.unlink, missing_ok=True)
    os.replace(temporary, place)
    _sync(place.parent)
    return old


def _aside(path: Path, stamp: str) -> Path:
    return path.with_name(f"{path.name}.{stamp}")


def _sync(folder: Path) -> None:
    """Only then is a new name in it sure to last."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
