"""The text that is in a file."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import structlog

from core.desk.kinds_of_files import is_pdf, is_text
from core.people.names import storable

log = structlog.get_logger("frontdesk.desk")

MOST_CHARS = 200_000
"""Of one file that an agent is shown; with four characters a token that is 50,000 tokens."""
_MOST_BYTES = 4 * MOST_CHARS
HEAD_BYTES = 1024
"""In which a PDF begins."""
LITTLE_MEMORY_BYTES = 2 * 1000**3
_CGROUP = Path("/sys/fs/cgroup/memory.max")
_LONGEST_BYTES = 4
"""Of one character in UTF-8."""
_MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe\0\0": "utf-32",  # before the one that begins like it
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
CUT = "\n[Only the beginning: the file is longer than what is shown here.]"


def memory_bytes() -> int:
    """Of this machine, or of the control group that it is run in."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        most = _CGROUP.read_text().strip()
    except OSError:  # no such group, or another kind of system
        return whole
    return min(whole, int(most)) if most.isdecimal() else whole


def readers(memory: int) -> int:
    """Files that are read at the same time where there is so much memory, in bytes."""
    return 2 if memory >= LITTLE_MEMORY_BYTES else 1


async def text_of(path: Path, media_type: str, name: str) -> str | None:
    """None where there is none. It may take as long as `pdf_text` may; cancelling ends that. Raises `OSError`."""
    if is_text(media_type, name):
        return _cut(await asyncio.to_thread(_plain, path))
    return _cut(await _pdf(path)) if is_pdf(await asyncio.to_thread(_head, path)) else None


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(HEAD_BYTES)


def _cut(text: str | None) -> str | None:
    clean = storable(text).strip() if text is not None else ""
    return f"{clean[: MOST_CHARS - len(CUT)]}{CUT}" if len(clean) > MOST_CHARS else clean or None


def _plain(path: Path) -> str | None:
    """None for what only claims to be text."""
    with path.open("rb") as stream:
        data = stream.read(_MOST_BYTES)
    encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), None)
    if encoding is None and b"\0" in data:
        return None
    if encoding is not None:
        return data.decode(encoding, "replace")
    try:
        return data.decode()
    except UnicodeDecodeError as fault:
        cut = len(data) == _MOST_BYTES and fault.start > len(data) - _LONGEST_BYTES
        return data[: fault.start].decode() if cut else data.decode("cp1252", "replace")


async def _pdf(path: Path) -> str | None:
    with path.open("rb") as stream:
        reader = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-m", "core.desk.pdf_text", stdin=stream, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL, env={"PYTHONIOENCODING": "utf-8:replace"},
        )  # fmt: skip
    try:
        said, _ = await reader.communicate()
    except asyncio.CancelledError:
        reader.kill()
        await reader.wait()
        raise
    if reader.returncode != 0:
        log.info("pdf_not_read", code=reader.returncode)
    return said.decode("utf-8", "replace") if said else None
