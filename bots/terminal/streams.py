"""Lines in and bytes out of file descriptors, without ever holding up the loop or leaving a thread behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from typing import Final

LINE_LIMIT: Final = 1_048_576
"""Bytes. A longer line comes in pieces."""
_CHUNK: Final = 65_536
_ATOMIC: Final = 4096
"""PIPE_BUF on Linux: a pipe that polls as writable takes this much without blocking (pipe(7))."""


async def lines_of(fd: int) -> AsyncIterator[str]:
    """Each line without its end, until end of input; bytes that are no UTF-8 are replaced."""
    rest = b""
    while chunk := await _read(fd):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace")
        while len(rest) > LINE_LIMIT:
            piece = rest[:LINE_LIMIT].decode("utf-8", "ignore")
            yield piece
            rest = rest[len(piece.encode()) :] if piece else b""
    if rest:
        yield rest.decode("utf-8", "replace")


async def write_all(fd: int, data: bytes) -> None:
    """Return when all is written. Raises `OSError` when nobody reads any more."""
    view = memoryview(data)
    while view:
        loop = asyncio.get_running_loop()
        await _ready(fd, loop.add_writer, loop.remove_writer)
        try:
            view = view[os.write(fd, view[:_ATOMIC]) :]
        except BlockingIOError:
            continue


async def _read(fd: int) -> bytes:
    loop = asyncio.get_running_loop()
    while True:
        await _ready(fd, loop.add_reader, loop.remove_reader)
        try:
            return os.read(fd, _CHUNK)
        except BlockingIOError:
            continue


async def _ready(
    fd: int, watch: Callable[[int, Callable[[], None]], None], unwatch: Callable[[int], bool]
) -> None:
    ready = asyncio.Event()
    try:
        watch(fd, ready.set)
    except PermissionError:  # epoll refuses regular files: they are always ready
        await asyncio.sleep(0)
        return
    try:
        await ready.wait()
    finally:
        unwatch(fd)
