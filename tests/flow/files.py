"""A bot that serves and takes files, and messages that bring some."""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Unpack

from msgspec.structs import replace
from sqlalchemy import select

from core.store import inbox
from core.store.enclosures import Enclosed
from core.store.files import FILES
from core.store.sql import Sql, Tx
from core.store.tables import attachments, deliveries
from core.vocabulary import (
    Address,
    Attachment,
    Capabilities,
    ChatId,
    Delivery,
    FileKind,
    Message,
    MessageId,
    Quote,
    TextUnit,
)
from tests.clock import DeskClock
from tests.flow.bot import GrowingBot, Shown
from tests.flow.house import House, How, Said

MIB = 1024 * 1024
FILING = Capabilities(
    text_limit=400, text_unit=TextUnit.UTF16, edit_interval_s=1.0, typing_interval_s=4.5, buttons=False,
    download_limit_bytes=20 * MIB, upload_limit_bytes=10 * MIB, caption_limit=100,
)  # fmt: skip
PNG = b"\x89PNG\r\n\x1a\n"
PDF_HEAD = b"%PDF-1.4\n"


def png(size: int = 100, seed: int = 0) -> bytes:
    """The beginning of a picture, then noise; as large as wanted."""
    noise = zlib.crc32(bytes([seed])).to_bytes(4, "big")
    return (PNG + noise * (size // 4 + 1))[:size]


@dataclass(kw_only=True)
class Source:
    """What the platform holds under one ref. `faults`: what its next fetches raise, each after `broken_at` bytes.
    `gate`: nothing comes until it is set. `endless`: it never ends. `every_s`: between two pieces."""

    data: bytes = b""
    piece_bytes: int = 64 * 1024
    faults: deque[BaseException] = field(default_factory=deque)
    broken_at: int = 0
    gate: asyncio.Event | None = None
    endless: bool = False
    every_s: float | None = None
    fetches: int = 0
    open: int = 0
    """Fetches that have begun and not ended."""
    most_open: int = 0
    given: int = 0
    """Bytes, over all fetches."""
    reached: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, kw_only=True, slots=True)
class Received:
    """A message with files, as people got it."""

    chat: ChatId
    caption: str
    names: tuple[str, ...]
    contents: tuple[bytes, ...]
    kinds: tuple[FileKind, ...]
    reply_to: MessageId | None


class FilingBot(GrowingBot):
    """It serves files that its platform holds, and sends those that it is given."""

    def __init__(self, name: str = "main", capabilities: Capabilities = FILING) -> None:
        super().__init__(name, capabilities)
        self.sources: dict[str, Source] = {}
        self.received: list[Received] = []
        self.clock: DeskClock | None = None

    def holds(self, ref: str, data: bytes = b"") -> Source:
        source = self.sources[ref] = Source(data=data)
        return source

    @property
    def open_fetches(self) -> int:
        return sum(source.open for source in self.sources.values())

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        source = self.sources[attachment.ref]
        source.fetches += 1
        source.open += 1
        source.most_open = max(source.most_open, source.open)
        source.reached.set()
        try:
            if source.gate is not None:
                await source.gate.wait()
            fault = source.faults.popleft() if source.faults else None
            end = len(source.data) if fault is None else source.broken_at
            for at in range(0, end, source.piece_bytes):
                yield await self._piece(source, source.data[at : min(end, at + source.piece_bytes)])
            if fault is not None:
                raise fault
            while source.endless:
                yield await self._piece(source, bytes(source.piece_bytes))
        finally:
            source.open -= 1

    async def _piece(self, source: Source, piece: bytes) -> bytes:
        if source.every_s is not None:
            assert self.clock is not None
            await self.clock.sleep(source.every_s)
        source.given += len(piece)
        return piece

    def _show(self, delivery: Delivery, message: MessageId | None) -> MessageId:
        if not delivery.files or message is not None:
            return super()._show(delivery, message)
        self.received.append(
            Received(
                chat=delivery.address.chat,
                caption=delivery.text,
                names=tuple(file.name for file in delivery.files),
                contents=tuple(file.path.read_bytes() for file in delivery.files),
                kinds=tuple(file.kind for file in delivery.files),
                reply_to=delivery.address.reply_to,
            )
        )
        self._ids += 1
        names = ", ".join(file.name for file in delivery.files)
        shown = Shown(
            id=MessageId(str(self._ids)), delivery=delivery.id, thread=delivery.address.thread,
            reply_to=delivery.address.reply_to, answers=delivery.answers,
            texts=[f"<{names}> {delivery.text}".rstrip()],
        )  # fmt: skip
        self.chats.setdefault(delivery.address.chat, []).append(shown)
        return shown.id


class NarrowBot(FilingBot):
    """What it takes differs from chat to chat."""

    def __init__(self) -> None:
        super().__init__()
        self.limits: dict[ChatId, int] = {}

    def upload_limit(self, address: Address) -> int:
        return self.limits.get(address.chat, self.capabilities.upload_limit_bytes)


def file(
    ref: str, kind: FileKind = FileKind.FILE, *, name: str = "", media_type: str = "", size: int | None = None
) -> Attachment:
    return Attachment(kind=kind, ref=ref, name=name, media_type=media_type, size=size)


def picture(ref: str, name: str = "") -> Attachment:
    return file(ref, FileKind.IMAGE, name=name, media_type="image/png")


def voice(ref: str = "v", media_type: str = "audio/ogg") -> Attachment:
    return file(ref, FileKind.VOICE, media_type=media_type)


def bringing(
    house: House, text: str, *files: Attachment, quote: Quote | None = None, user: str = "7", **how: Unpack[How]
) -> Message:
    """A direct message that brings these."""
    return replace(house.message(text, user=user, **how), attachments=files, quote=quote)


async def bring(
    house: House, text: str, *files: Attachment, quote: Quote | None = None, user: str = "7", **how: Unpack[How]
) -> Said:
    """Say it, and let all come of it that comes by itself."""
    said = await house.offer(bringing(house, text, *files, quote=quote, user=user, **how))
    await house.idle()
    return said


def bot_of(house: House) -> FilingBot:
    bot = house.bot
    assert isinstance(bot, FilingBot)
    return bot


def on_disk(house: House) -> list[Path]:
    """Every file that is kept or half received."""
    return sorted(path for path in (house.state / FILES).rglob("*") if path.is_file())


async def enclosed(house: House, said: Said) -> Enclosed:
    """What a row that waits has of its files."""
    found = await house.store.read(lambda tx: inbox.pending(tx, said.row))
    assert found is not None
    return found.enclosed


_FILES_OUT = Sql(select(deliveries.c.state, deliveries.c.files, deliveries.c.error).order_by(deliveries.c.id))
_ATTACHED = Sql(select(attachments.c.name, attachments.c.size, attachments.c.entry_id).order_by(attachments.c.id))


async def parcels(house: House) -> list[tuple[str, str | None]]:
    """(state, files as kept) of every delivery."""

    def unit(tx: Tx) -> list[tuple[str, str | None]]:
        return [(row.text("state"), row.text_or_none("files")) for row in tx.all(_FILES_OUT)]

    return await house.store.read(unit)


async def attached(house: House) -> list[tuple[str, int]]:
    """(name, size) of every file that a session has."""

    def unit(tx: Tx) -> list[tuple[str, int]]:
        return [(row.text("name"), row.integer("size")) for row in tx.all(_ATTACHED)]

    return await house.store.read(unit)


async def shown(house: House) -> list[object]:
    """The files of every message that people said, by name."""
    return [
        [one["name"] for one in entry.data.get("files", ()) if isinstance(one, dict)]  # type: ignore[union-attr]  # a list
        for entry in await house.log()
        if entry.kind == "user"
    ]
