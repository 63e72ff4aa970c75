"""The porter: fetches what messages bring, right after intake, and finds out what is in it.

A message waits for that at its place in the mailbox, without a slot, and commands pass it by. What became of each file
stands in the message's row before it is admitted; a process that dies meanwhile begins again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import TypeVar

import structlog

from core.agents.speech import Speech, Unheard
from core.desk.full import FullDisk
from core.desk.kinds_of_files import picture_type
from core.desk.reading import text_of
from core.errors import BotError, FloodWait, NotSent, StoreError, StoreFull, Unknown
from core.people.names import storable
from core.ports import Bot, CanFetch, Clock, Random
from core.store import inbox
from core.store.enclosures import Enclosed, Enclosure
from core.store.engine import Store
from core.store.files import Digest, Incoming
from core.store.inbox import Waiting
from core.vocabulary import FileKind, RowId

log = structlog.get_logger("frontdesk.desk")
T = TypeVar("T")

AT_ONCE = 8
"""Files that are fetched and read at the same time; more wait."""
FETCH_S = 120.0
"""All tries to fetch one file."""
READ_S = 30.0
PIECE_BYTES = 1024 * 1024
PICTURE_BYTES = 5 * 1024 * 1024 * 3 // 4
"""The most that one picture may have for a model: 5 MiB in base64,
https://docs.anthropic.com/en/docs/build-with-claude/vision."""
STORE_PAUSE_S = 1.0
_NOT_FETCHED = "file_lost"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """What the configuration says: who hears voices, and the most bytes of one file."""

    speech: Speech
    file_bytes: int


class Porter:
    """Lives on the main loop. `bounds` change with the configuration."""

    def __init__(self, store: Store, clock: Clock, random: Random, full: FullDisk, bounds: Bounds) -> None:
        self.bounds = bounds
        self._full = full
        self._store = store
        self._clock = clock
        self._random = random
        self._hands = asyncio.Semaphore(AT_ONCE)

    async def carry(self, row: RowId, bot: Bot | None) -> None:
        """See to all files of a row that waits; returns once each is settled, in the row, for better or worse."""
        waiting: Waiting | None = None
        while True:
            try:
                waiting = await self._store.read(lambda tx: inbox.pending(tx, row))
                if waiting is None or waiting.enclosed.settled:
                    return
                settled = await self._settle(bot, waiting.enclosed)
                await self._store.write(lambda tx: inbox.enclose(tx, row, settled))  # noqa: B023  # run at once
            except StoreError as fault:
                self._store.faults.met("files_not_kept", fault, self._clock.monotonic(), row=row)
                if isinstance(fault, StoreFull) and waiting is not None:
                    await self._full.tell(waiting.address, waiting.kind)
                await self._clock.sleep(STORE_PAUSE_S)
            else:
                return

    async def _settle(self, bot: Bot | None, enclosed: Enclosed) -> Enclosed:
        """Every file is seen to, whatever becomes of the others. Raises `StoreError`."""
        found = await asyncio.gather(*(self._file(bot, file) for file in enclosed.files), return_exceptions=True)
        files = [one for one in found if isinstance(one, Enclosure)]
        for fault in found:
            if isinstance(fault, BaseException):
                raise fault
        return replace(enclosed, files=tuple(files))

    async def _file(self, bot: Bot | None, file: Enclosure) -> Enclosure:
        if file.settled:
            return file
        if file.attachment.kind is FileKind.VOICE and not self.bounds.speech.hears:
            return replace(file, fault="voice_unheard", settled=True)
        async with self._hands:
            fetched = await self._fetch(bot, file)
            return replace(fetched if fetched.fault else await self._read(fetched), settled=True)

    # fetching

    async def _fetch(self, bot: Bot | None, file: Enclosure) -> Enclosure:
        limit = min(self.bounds.file_bytes, bot.capabilities.download_limit_bytes) if bot is not None else 0
        told = file.attachment.size
        if bot is None or not isinstance(bot, CanFetch) or not limit:
            return replace(file, fault=_NOT_FETCHED)
        if told is not None and told > limit:
            return replace(file, fault="file_too_large", size=told, limit=limit)
        try:
            incoming = await self._within(FETCH_S, self._patiently(bot, file, limit))
        except TimeoutError:
            return replace(file, fault=_NOT_FETCHED)
        except BotError as why:
            log.info("file_not_fetched", bot=bot.name, why=str(why))
            return replace(file, fault=_NOT_FETCHED)
        except StoreError:
            raise
        except Exception:  # porter: a fault in one bot's fetching loses that file, not its message
            log.exception("bot_fault", bot=bot.name)
            return replace(file, fault=_NOT_FETCHED)
        if incoming is None:
            return replace(file, fault="file_too_large", size=told, limit=limit)
        return await self._kept(file, *incoming)

    async def _kept(self, file: Enclosure, digest: Digest, size: int, head: bytes) -> Enclosure:
        seen = picture_type(head)
        if file.attachment.kind is FileKind.IMAGE and seen is not None and size > PICTURE_BYTES:
            return replace(file, fault="picture_too_large", size=size, limit=PICTURE_BYTES)
        attachment = file.attachment
        if seen is not None and attachment.kind in (FileKind.IMAGE, FileKind.FILE) and size <= PICTURE_BYTES:
            attachment = replace(attachment, kind=FileKind.IMAGE, media_type=seen)
        elif attachment.kind is FileKind.IMAGE:  # what no model can be shown is a file like any other
            attachment = replace(attachment, kind=FileKind.FILE)
        return replace(file, attachment=attachment, digest=digest, size=size)

    async def _patiently(self, bot: CanFetch, file: Enclosure, limit: int) -> tuple[Digest, int, bytes] | None:
        """Its digest, size and first bytes; None if it is too large. Raises `BotError`, `StoreFull`."""
        tries = 0
        while True:
            try:
                return await self._once(bot, file, limit)
            except (NotSent, Unknown) as trouble:
                tries += 1
                wait = trouble.wait_s if isinstance(trouble, FloodWait) else min(30.0, 2.0 ** min(tries, 5))
                await self._clock.sleep(wait * self._random.uniform(0.75, 1.25))

    async def _once(self, bot: CanFetch, file: Enclosure, limit: int) -> tuple[Digest, int, bytes] | None:
        incoming = await asyncio.to_thread(self._store.files.receive)
        try:
            held = bytearray()
            async for piece in bot.fetch(file.attachment):
                held += piece
                if incoming.size + len(held) > limit:
                    return None
                if len(held) >= PIECE_BYTES:
                    await asyncio.to_thread(incoming.write, bytes(held))
                    held.clear()
            await asyncio.to_thread(incoming.write, bytes(held))
            return await _keep(incoming)
        finally:
            incoming.drop()

    # reading

    async def _read(self, file: Enclosure) -> Enclosure:
        path = self._store.files.path(file.digest or "")
        if path is None:
            raise StoreFull("a file that was just kept is gone")
        match file.attachment.kind:
            case FileKind.VOICE:
                try:
                    heard = storable(await self.bounds.speech.transcribe(path, file.attachment.media_type))
                except TimeoutError:
                    return replace(file, fault="voice_timeout")
                except Unheard as why:
                    log.warning("voice_not_heard", why=str(why))
                    return replace(file, fault="voice_failed")
                except Exception:  # porter: what the endpoint sent broke its reader; the message goes without
                    log.exception("voice_fault")
                    return replace(file, fault="voice_failed")
                return replace(file, text=heard) if heard else replace(file, fault="voice_empty")
            case FileKind.FILE:
                with path.open("rb") as stream:
                    head = stream.read(1024)
                reading = text_of(path, head, file.attachment.media_type, file.attachment.name)
                try:
                    return replace(file, text=await self._within(READ_S, reading))
                except TimeoutError:
                    log.info("file_not_read_in_time", size=file.size)
                    return file
            case _:
                return file

    async def _within(self, seconds: float, work: Awaitable[T]) -> T:
        """Raises `TimeoutError`."""
        task = asyncio.ensure_future(work)
        limit = asyncio.ensure_future(self._clock.sleep(seconds))
        try:
            await asyncio.wait({task, limit}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise TimeoutError
            return task.result()
        finally:
            for one in (task, limit):
                one.cancel()
            await asyncio.gather(task, limit, return_exceptions=True)


async def _keep(incoming: Incoming) -> tuple[Digest, int, bytes]:
    return await asyncio.to_thread(incoming.keep), incoming.size, incoming.head
