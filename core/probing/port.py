"""`[listen]`: whether the address can be had, and who has it if not."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from config.settings import ListenSettings
from core.ports import Finding
from core.service.listener import bind
from core.service.socket import Json

WHAT: Final = "[listen]"
DESK_S: Final = 2.0
"""For whoever listens on a port that is taken to say what it is."""
_ANSWER_BYTES: Final = 65536
_LOCAL: Final = "localhost"
_LISTENS: Final = "0A"
"""TCP_LISTEN in /proc/net/tcp (proc_pid_net(5))."""


async def look_at_port(listen: ListenSettings, status: Mapping[str, Json] | None) -> Finding:
    """`status`: what the desk that runs here says of itself, None if none does."""
    if status is not None:
        return _as_told(status)
    where = f"{listen.host} port {listen.port}" if listen.port else f"a port of {listen.host}"
    try:
        for taken in await bind(listen.host, listen.port):
            taken.close()
    except socket.gaierror:
        do = "write an address of this machine into [listen] host"
        return Finding(what=WHAT, state="fault", detail=f"host {listen.host} is not known here", do=do)
    except OSError as error:
        if error.errno == errno.EADDRINUSE and await _is_a_desk(listen):
            detail = f"{where} is served by a Frontdesk that runs with another state directory"
            named = holder_of(listen.port)
            do = "name its --state if it is the one you mean, or choose another [listen] port for this one"
            return Finding(what=WHAT, state="warning", detail=f"{detail}{f': {named}' if named else ''}", do=do)
        return Finding(what=WHAT, state="fault", detail=f"{where} {_why(error, listen.port)}", do=_do(error))
    return Finding(what=WHAT, state="ok", detail=f"{where} is free")


async def _is_a_desk(listen: ListenSettings) -> bool:
    """Does what listens there say what only our `/readyz` says?"""
    try:
        async with asyncio.timeout(DESK_S):
            told = await _answer_of(listen)
    except OSError:  # a timeout is one too
        return False
    return all(f'"{part}"'.encode() in told for part in ("ready", "store", "recovery", "bots"))


async def _answer_of(listen: ListenSettings) -> bytes:
    """Raises `OSError`."""
    reader, writer = await asyncio.open_connection(listen.host, listen.port)
    try:
        writer.write(f"GET /readyz HTTP/1.1\r\nHost: {_LOCAL}\r\nConnection: close\r\n\r\n".encode())
        told = b""
        while more := await reader.read(_ANSWER_BYTES - len(told)):
            told += more
        return told
    finally:
        writer.close()


def _as_told(status: Mapping[str, Json]) -> Finding:
    told = status.get("listen")
    if not status:
        detail = "the desk that runs does not say where it listens"
        return Finding(what=WHAT, state="warning", detail=detail, do="ask as its user, or look into its log")
    if not isinstance(told, Mapping):
        return Finding(what=WHAT, state="ok", detail="the desk that runs serves no HTTP")
    if told.get("state") == "up":
        return Finding(what=WHAT, state="ok", detail=f"the desk that runs serves {told.get('address')}")
    detail = f"the desk that runs does not get {told.get('address')}: {told.get('detail') or told.get('state')}"
    return Finding(what=WHAT, state="fault", detail=detail, do="end what has it, or choose another port")


def _why(error: OSError, port: int) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"is taken by {holder_of(port) or 'another process'}"
        case errno.EACCES:
            return "is for root only"
        case errno.EADDRNOTAVAIL:
            return "is no address of this machine"
        case _:
            return f"can't be had ({error.strerror or error})"


def _do(error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return "end it, or choose another [listen] port"
        case errno.EACCES:
            return "choose a [listen] port of 1024 or more"
        case _:
            return "write an address of this machine into [listen] host"


def holder_of(port: int) -> str | None:
    """The process that listens on a TCP port, as far as this user may know."""
    inodes = {f"socket:[{inode}]" for inode in _listening(port)}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # gone meanwhile, or somebody else's
            if any(os.readlink(open_file) in inodes for open_file in (folder / "fd").iterdir()):
                return f"{(folder / 'comm').read_text().strip()} (process {folder.name})"
    return None


def _listening(port: int) -> set[str]:
    """The inodes of the sockets."""
    rows = (row.split() for table in ("tcp", "tcp6") for row in _rows(Path("/proc/net", table)))
    return {row[9] for row in rows if row[3] == _LISTENS and int(row[1].rpartition(":")[2], 16) == port}


def _rows(table: Path) -> list[str]:
    try:
        return table.read_text(encoding="ascii").splitlines()[1:]
    except OSError:  # no such protocol here
        return []
