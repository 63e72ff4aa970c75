"""Files, in with the token and out by external upload (https://docs.slack.dev/messaging/working-with-files)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import BinaryIO, Final

import aiohttp

from bots.slack import faults, inbound, markup, settling
from bots.slack.line import Line
from bots.slack.notes import Notes
from core.errors import BotError, NotSent, Rejected, Unknown
from core.faultpoints import faultpoint
from core.fields import Json, Unreadable, part
from core.ports import Desk
from core.vocabulary import Address, Attachment, BotName, Delivery, Earlier, MessageId, OutFile

_PIECE: Final = 64 * 1024
_NOTE: Final = "uploads"
_SKEW_S: Final = 300.0
"""By how much Slack's clock and ours may differ."""
_BY_FILE: Final = "file:"
"""Slack shares a file a moment after it said that it did: until then a message is known by its file."""
_BROKEN: Final = (aiohttp.ClientError, TimeoutError, OSError)


async def fetch(line: Line, attachment: Attachment) -> AsyncIterator[bytes]:
    """The file's bytes in pieces. Raises `BotError`: `Rejected` where Slack hands out something else instead, and where
    people wrote the address themselves (https://docs.slack.dev/reference/methods/files.remote.info)."""
    told = await _info(line, attachment)
    url = told.get("url_private_download") or told.get("url_private")
    headers = line.authorization(url) if isinstance(url, str) and told.get("is_external") is not True else None
    if not isinstance(url, str) or headers is None:
        raise Rejected("Slack names no address of its own for the file")
    try:
        async with line.session.get(url, headers=headers, proxy=line.proxy, allow_redirects=False) as response:
            _check_it_is_the_file(response, told.get("mimetype"), told.get("size"))
            async for piece in response.content.iter_chunked(_PIECE):
                yield piece
    except _BROKEN as error:
        raise faults.broken(error) from None


async def told(line: Line, attachment: Attachment) -> tuple[tuple[Attachment, ...], list[str]]:
    """What Slack says of a file of which so far there is no more than its id: the file, or in words one that is kept
    elsewhere. What it does not say leaves it as it is. Raises nothing."""
    as_it_is = (attachment,), list[str]()
    if attachment.name or attachment.media_type:
        return as_it_is
    try:
        found, elsewhere = inbound.files([await _info(line, attachment)])
    except (BotError, Unreadable):
        return as_it_is
    return (found, elsewhere) if found or elsewhere else as_it_is


async def _info(line: Line, attachment: Attachment) -> Json:
    return part(await line.call("files.info", {"file": attachment.ref}, telling=False), "file") or {}


def _check_it_is_the_file(response: aiohttp.ClientResponse, media_type: object, size: object) -> None:
    """Whoever may not read a file is shown a page to log in at instead of it."""
    if response.status == 429:
        raise faults.flood(response.headers.get("Retry-After"))
    if response.status >= 500:
        raise Unknown(f"Slack: HTTP status {response.status} for the file")
    page = response.content_type == "text/html" and (media_type != "text/html" or response.content_length != size)
    if response.status != 200 or page:
        do = f"the app needs the scope files:read, at {faults.APPS}, and to be in the channel"
        raise Rejected(f"Slack does not hand out the file (HTTP status {response.status}): {do}")


class Uploads:
    """The way out. What was uploaded is noted before it is shared, so that after a restart it can be looked for."""

    def __init__(self, name: BotName, line: Line, desk: Desk) -> None:
        self._line = line
        self._desk = desk
        self._notes = Notes(desk, name, _NOTE)

    async def send(self, delivery: Delivery) -> MessageId:
        """Upload the files, then share them with the text above them. Raises `BotError`."""
        began = self._line.clock.now().timestamp()
        ids = [await self._upload(file) for file in delivery.files]
        await self._notes.put(delivery, ids)
        shared = [{"id": file, "title": out.name} for file, out in zip(ids, delivery.files, strict=True)]
        arguments: dict[str, object] = {"files": shared, "channel_id": delivery.address.chat}
        if delivery.address.thread is not None:
            arguments["thread_ts"] = delivery.address.thread
        if delivery.text.strip():
            arguments["initial_comment"] = markup.caption(delivery.text)
        await self._line.call("files.completeUploadExternal", arguments)
        try:
            found = await self._shared(delivery.address, ids[0], began - _SKEW_S)
        except BotError:  # it was sent; where it is can be asked later
            found = None
        return found or MessageId(_BY_FILE + ids[0])

    async def sent_before(self, delivery: Delivery, earlier: Earlier) -> MessageId | None:
        """The message, if the delivery was shared in an earlier try. Raises `BotError` where that is not known."""
        ids = (await self._notes.all()).get(str(delivery.id))
        return await self._shared(delivery.address, ids[0], settling.since(delivery, earlier)) if ids else None

    async def resolved(self, address: Address, message: MessageId) -> MessageId:
        """The message's own id, if so far it was known by its file only. Raises `BotError`."""
        if not message.startswith(_BY_FILE):
            return message
        oldest = self._desk.oldest.timestamp() - _SKEW_S
        found = await self._shared(address, message.removeprefix(_BY_FILE), oldest)
        if found is None:
            raise NotSent("Slack has not shared the file yet")
        return found

    async def _shared(self, address: Address, file: str, since: float) -> MessageId | None:
        return await settling.find(self._line, address, settling.shares(file), since)

    async def _upload(self, out: OutFile) -> str:
        """One file's bytes, to the address that Slack gives for them; nobody sees it yet. Raises `BotError`."""
        try:
            told = await self._line.call("files.getUploadURLExternal", {"filename": out.name, "length": out.size})
            url, file = told.get("upload_url"), told.get("file_id")
            if not isinstance(url, str) or not isinstance(file, str):
                raise NotSent("Slack names no address for an upload")
            await self._hand_over(url, out)
        except Unknown as trouble:  # whatever arrived is not shared
            raise NotSent(str(trouble)) from None
        faultpoint("file.uploaded")
        return file

    async def _hand_over(self, url: str, out: OutFile) -> None:
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(out.size)}
        try:
            file: BinaryIO = await asyncio.to_thread(out.path.open, "rb")
        except OSError:
            raise Rejected("the file is gone") from None
        try:
            async with self._line.session.post(
                url, data=_pieces(file), headers=headers, proxy=self._line.proxy, allow_redirects=False
            ) as response:
                status = response.status
        except _BROKEN as error:
            raise faults.broken(error) from None
        finally:
            await asyncio.to_thread(file.close)
        if status == 413:
            raise Rejected("Slack: the file is too large")
        if status != 200:
            raise NotSent(f"Slack: HTTP status {status} for an upload")


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    """Read on a thread: a disk may take its time."""
    while piece := await asyncio.to_thread(file.read, _PIECE):
        yield piece
