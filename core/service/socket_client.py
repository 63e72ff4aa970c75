"""The other end of the daemon's socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from core.errors import NotRunning, VerbFailed
from core.service.socket import Json, address_of

_ANSWER_LIMIT: Final = 1 << 30
"""Bytes: a whole session in one line; the daemon is trusted."""


async def ask(path: Path, verb: str, args: Mapping[str, Json]) -> Json:
    """What the daemon on this socket answers.

    Raises `NotRunning` if none listens, `VerbFailed` with the daemon's words if it refuses or leaves.
    """
    _, writer, result = await connect(path, verb, args)
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return result


async def connect(
    path: Path, verb: str, args: Mapping[str, Json]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, Json]:
    """As `ask`, and the stream stays open: what follows is between the caller and the verb."""
    try:
        with address_of(path) as address:
            reader, writer = await asyncio.open_unix_connection(address, limit=_ANSWER_LIMIT)
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as fault:
        raise NotRunning(
            f"no daemon runs on {path.parent}; start it with: frontdesk run (the installed service: "
            "systemctl start frontdesk)"
        ) from fault
    except PermissionError as fault:
        raise VerbFailed(f"you may not use {path}; its owner may") from fault
    try:
        writer.write(json.dumps({"verb": verb, "args": args}).encode() + b"\n")
        await writer.drain()
        return reader, writer, _result_of(await reader.readline())
    except (OSError, ValueError) as fault:
        writer.close()
        raise VerbFailed("the daemon did not answer as agreed") from fault
    except VerbFailed:
        writer.close()
        raise


def _result_of(line: bytes) -> Json:
    if not line:
        raise VerbFailed("the daemon left without an answer; its log says why")
    answer: dict[str, Json] = json.loads(line)
    if answer.get("ok") is True:
        return answer.get("result")
    raise VerbFailed(str(answer.get("error")), code=2 if answer.get("code") == 2 else 1)
