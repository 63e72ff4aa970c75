"""Lines in and bytes out of file descriptors, without ever holding up the loop or leaving a thread behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

LINE_LIMIT: Final = 1_048_576
"""Bytes. A longer line comes in pieces."""
_CHUNK: Final = 65_536
_ATOMIC: Final = 4096
"""PIPE_BUF on Linux: a pipe that polls as writable takes this much without blocking (pipe(7))."""

_T = TypeVar("_T")


async def lines_of(fd: int) -> AsyncGenerator[str, None]:
    """Each line without its end, until end of input; bytes that are no UTF-8 are replaced."""
    rest = b""
    while chunk := await _read(fd):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace")
        while len(rest) > LINE_LIMIT:
            cut = _between_characters(rest, LINE_LIMIT)
            yield rest[:cut].decode("utf-8", "replace")
            rest = rest[cut:]
    if rest:
        yield rest.decode("utf-8", "replace")


async def write_all(fd: int, data: bytes) -> None:
    """Return when all is written. Raises `OSError` when nobody reads any more."""
    loop = asyncio.get_running_loop()
    rest = memoryview(data)
    while rest:
        write = partial(os.write, fd, rest[:_ATOMIC])
        rest = rest[await _when_ready(fd, loop.add_writer, loop.remove_writer, write) :]


async def _read(fd: int) -> bytes:
    loop = asyncio.get_running_loop()
    return await _when_ready(fd, loop.add_reader, loop.remove_reader, partial(os.read, fd, _CHUNK))


async def _when_ready(
    fd: int, watch: Callable[[int, Callable[[], None]], None], unwatch: Callable[[int], bool], do: Callable[[], _T]
) -> _T:
    while True:
        ready = asyncio.Event()
        try:
            watch(fd, ready.set)
        except PermissionError:  # a regular file: epoll refuses it, and it is always ready
            return await asyncio.to_thread(do)
        try:
            await ready.wait()
        finally:
            unwatch(fd)
        with suppress(BlockingIOError):
            return do()


def _between_characters(text: bytes, near: int) -> int:
    cut = near
    while cut > near - 4 and text[cut] & 0xC0 == 0x80:
        cut -= 1
    return cut
