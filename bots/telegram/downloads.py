"""Files that people sent (https://core.telegram.org/bots/api#getfile), piece by piece.

A server of one's own in local mode tells where on its disk a file lies
(https://core.telegram.org/bots/api#using-a-local-bot-api-server): it is read there if it can be, else asked for at
`file_base`, where the folder that is called as the token is the root. By that it is known, too: what stands at
`api_base` may as well be a way to Telegram's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import IO, Final
from urllib.parse import quote

import aiohttp
from telegram import error as sdk

from bots.telegram.api import call
from bots.telegram.http import in_terms_of_the_sdk
from bots.telegram.line import Line
from config.bots import TelegramSettings
from core.errors import FloodWait, NotSent, Rejected, Unknown

LIMIT: Final = 20 << 20
"""Bytes that Telegram gives (https://core.telegram.org/bots/api#getfile; MAX_DOWNLOAD_FILE_SIZE in its server, which is
exact where `telegram.constants` is not)."""
LOCAL_LIMIT: Final = 2000 << 20
"""Bytes that anybody can send (https://telegram.org/faq: "files of any type, up to 2 GB each")."""

_PIECE: Final = 64 * 1024
_AS_IT_IS: Final = {"Accept-Encoding": "identity"}
_NOT_NOW: Final = "temporarily unavailable"
_TOO_LARGE: Final = "file is too big"
_FLOOD_WAIT_S: Final = 5.0
_LATER: Final = "Telegram does not give the file just now"


class TooLarge(Rejected):
    """Only a server in local mode gives it."""

    def __init__(self) -> None:
        super().__init__(f"Telegram gives no file of more than {LIMIT >> 20} MiB")


async def fetch(line: Line, settings: TelegramSettings, path: str, most: int) -> AsyncGenerator[bytes, None]:
    """The file's bytes, `most` of them at most. Raises `SendError`."""
    local = Path(path) if is_local(path) and is_own(settings) else None
    opened = await asyncio.to_thread(_open, local) if local is not None else None
    pieces = _from_disk(opened) if opened is not None else _from_web(line, _address(settings, path))
    got = 0
    async with aclosing(pieces):
        async for piece in pieces:
            got += len(piece)
            if got > most:
                raise Rejected(f"the file has more than {most} bytes")
            yield piece


def is_own(settings: TelegramSettings) -> bool:
    """Whether the Bot API server is another than Telegram's own."""
    return settings.api_base != str(TelegramSettings.model_fields["api_base"].default)


def is_local(path: str) -> bool:
    """Whether a server in local mode told it: there, files may be of any size."""
    return path.startswith("/")


async def path_of(line: Line, ref: str) -> str:
    """Where the file is. Raises `SendError`, of what is too large `TooLarge`."""
    try:
        told = await line.ask(lambda api: call(api, "get_File", {"file_id": ref}), telling=False)
    except Rejected as refusal:
        if _NOT_NOW in str(refusal):
            raise NotSent(str(refusal)) from refusal
        if _TOO_LARGE in str(refusal).lower():
            raise TooLarge from refusal
        raise
    except Unknown as lost:  # to ask is no harm
        raise NotSent(str(lost)) from lost
    path = told.get("file_path") if isinstance(told, dict) else None
    if not isinstance(path, str) or not path:
        raise Rejected("Telegram does not say where the file is")
    return path


def _address(settings: TelegramSettings, path: str) -> str:
    token = settings.token.reveal()
    _, _, below = path.rpartition(f"/{token}/")
    return f"{settings.file_root}/bot{token}/{quote(below.lstrip('/'))}"


def _open(path: Path) -> IO[bytes] | None:
    """On a thread; None if it is not there for us."""
    try:
        return path.open("rb") if path.is_file() else None
    except OSError:
        return None


async def _from_disk(opened: IO[bytes]) -> AsyncGenerator[bytes, None]:
    with opened:
        while piece := await asyncio.to_thread(opened.read, _PIECE):
            yield piece


async def _from_web(line: Line, address: str) -> AsyncGenerator[bytes, None]:
    with _in_our_words(line.files):
        async with line.files.get(address, headers=_AS_IT_IS, allow_redirects=False) as answer:
            _check(answer.status)
            async for piece in answer.content.iter_chunked(_PIECE):
                yield piece


@contextmanager
def _in_our_words(files: aiohttp.ClientSession) -> Iterator[None]:
    try:
        with in_terms_of_the_sdk(files):
            yield
    except sdk.NetworkError as error:  # to ask is no harm
        raise NotSent(f"{_LATER} ({error})") from None


def _check(status: int) -> None:
    if status == HTTPStatus.OK:
        return
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise FloodWait(_FLOOD_WAIT_S)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise NotSent(f"{_LATER} (HTTP status {status})")
    raise Rejected(f"Telegram does not give the file (HTTP status {status})")
