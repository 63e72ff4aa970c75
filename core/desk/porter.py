"""The porter: fetches what messages bring, right after intake, and finds out what is in it.

A message waits for that at its place in the mailbox, without a slot, and commands pass it by. What became of each file
stands in the message's row before it is admitted; the process after one that died meanwhile begins again. That files
are read is counted in the row before they are, so that one which kills the process is not read for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import aclosing, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog
from msgspec import Struct
from msgspec.structs import replace

from core.agents.speech import Speech, Unheard
from core.backoff import backoff_s
from core.delivery.outbox import Outbox
from core.desk.bringing import FILE_LIMITS
from core.desk.full import FullDisk
from core.desk.hands import Hands
from core.desk.kinds_of_files import picture_type
from core.desk.quota import DAY_S, Quota
from core.desk.reading import memory_bytes, readers, text_of
from core.desk.retry_queue import RetryQueue
from core.errors import BotError, FloodWait, NotSent, StoreError, StoreFull, Unknown
from core.faultpoints import faultpoint
from core.people.names import storable
from core.ports import Bot, CanFetch, Clock, Random
from core.store import inbox
from core.store.enclosures import Enclosure
from core.store.engine import Store
from core.store.files import Digest, Incoming
from core.store.inbox import Waiting
from core.store.people import Role
from core.vocabulary import BotName, FileKind, RowId

log = structlog.get_logger("frontdesk.desk")
T = TypeVar("T")

FETCHED, OF_A_BOT, OF_A_CONVERSATION = 64, 16, 4
"""Files that are fetched at the same time: a conversation whose files hang holds up no other one, and a platform that
gives nothing holds up no other one."""
READERS_EACH = 1
"""Files of one conversation that are read at the same time."""
FREE_SHARE, FREE_BYTES = 0.1, 5 * 1024**3
"""No file is fetched while less of the disk is free than both: the database needs it more."""
LISTENERS, LISTENERS_EACH = 8, 2
FETCH_S = 120.0
"""All tries to fetch one file, without what passes while others are fetched or its bot is away."""
READ_S = 30.0
MOST_READS = 3
"""In so many processes that died the files of one message are begun to be read."""
PIECE_BYTES = 256 * 1024
"""What is gathered of a file before it is written: 16 MiB for all that are fetched."""
PICTURE_BYTES = 5 * 1024 * 1024 * 3 // 4
"""The most that one picture may have for a model: 5 MiB in base64,
https://docs.anthropic.com/en/docs/build-with-claude/vision."""
STORE_PAUSE_S = (1.0, 30.0)
"""Between two tries to keep a file where there is no room: the first one, and the longest."""
_NOT_FETCHED = "file_lost"


class Bounds(Struct, frozen=True, kw_only=True):
    """What the configuration says: who hears voices, the most bytes of one file, and of all that one guest sends within
    24 hours."""

    speech: Speech
    file_bytes: int
    guest_day_bytes: int = 200 * 1024 * 1024


class Reach(Struct, frozen=True, kw_only=True):
    """How the porter reaches bots, and people whose files find no room. `outbox` knows which bots are up."""

    bots: Mapping[BotName, Bot]
    outbox: Outbox
    full: FullDisk


class Porter:
    """Lives on the main loop. `bounds` change with the configuration."""

    def __init__(self, store: Store, clock: Clock, random: Random, reach: Reach, bounds: Bounds) -> None:
        self.bounds = bounds
        self._reach = reach
        self._store = store
        self._clock = clock
        self._random = random
        self._fetchers = Hands(FETCHED, OF_A_BOT, OF_A_CONVERSATION)
        self._readers = Hands(readers(memory_bytes()), READERS_EACH)
        self._listeners = Hands(LISTENERS, LISTENERS_EACH)
        self._fetched = Quota(DAY_S)
        """Bytes, by guest."""
        self._hurried: dict[RowId, asyncio.Event] = {}
        self._again = RetryQueue()
        """Files that were being read when a process died: one at a time, those first that were begun least often."""
        self._begun: dict[RowId, int] = {}
        """Rows whose files this process reads or has read, with the number of processes that died of it before."""

    @property
    def reading(self) -> tuple[RowId, ...]:
        """Rows that count the present process among those that may die of reading their files."""
        return tuple(self._begun)

    async def carry(self, row: RowId) -> None:
        """See to all files of a row that waits; returns once each is settled, in the row, for better or worse."""
        hurried = self._hurried[row] = asyncio.Event()
        try:
            await self._carry(row)
        finally:
            if self._hurried.get(row) is hurried:  # somebody else may carry it by now
                del self._hurried[row]

    def hurry(self, row: RowId) -> None:
        """Somebody waits behind it who came another way: a bot that is away is not waited for (any more)."""
        if row in self._hurried:
            self._hurried[row].set()

    async def _carry(self, row: RowId) -> None:
        waiting = await self._insist(row, None, lambda: self._store.read(lambda tx: inbox.pending(tx, row)))
        if waiting is None or waiting.enclosed.settled:
            return
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._until_settled(waiting, file)) for file in waiting.enclosed.files]
        settled = replace(waiting.enclosed, files=tuple(task.result() for task in tasks))
        await self._insist(row, waiting, lambda: self._store.write(lambda tx: inbox.enclose(tx, row, settled)))
        self._begun.pop(row, None)

    async def _insist(self, row: RowId, waiting: Waiting | None, work: Callable[[], Awaitable[T]]) -> T:
        """Do it again until the store takes it."""
        pause, longest = STORE_PAUSE_S
        while True:
            try:
                return await work()
            except StoreError as fault:
                self._store.faults.met("files_not_kept", fault, self._clock.monotonic(), row=row)
                if isinstance(fault, StoreFull) and waiting is not None:
                    self._reach.full.tell(waiting.address, waiting.kind)
            await self._clock.sleep(pause)
            pause = min(2 * pause, longest)

    async def _until_settled(self, waiting: Waiting, file: Enclosure) -> Enclosure:
        """Each file by itself: what happens to one neither ends nor repeats the others."""
        return await self._insist(waiting.id, waiting, lambda: self._settle(waiting, file))

    async def _settle(self, waiting: Waiting, file: Enclosure) -> Enclosure:
        """Raises `StoreError`."""
        if file.settled:
            return file
        if file.attachment.kind is FileKind.VOICE and not self.bounds.speech.hears:
            return replace(file, fault="voice_unheard", settled=True)
        fetched = await self._barred(waiting, file) or await self._fetch(waiting, file)
        return replace(fetched if fetched.fault else await self._read(waiting, fetched), settled=True)

    # fetching

    async def _barred(self, waiting: Waiting, file: Enclosure) -> Enclosure | None:
        """Why nothing of it is fetched."""
        free, whole = await asyncio.to_thread(self._store.files.room)
        if free < min(whole * FREE_SHARE, FREE_BYTES):
            log.warning("disk_nearly_full", free=free)
            return self._limited(file, "file_no_room")
        if self._uses_up(waiting, file.attachment.size or 0):
            return self._limited(file, "file_quota")
        return None

    def _limited(self, file: Enclosure, fault: str) -> Enclosure:
        self._store.tally.limit_met(FILE_LIMITS[fault], self._clock.now())
        return replace(file, fault=fault, limit=self.bounds.guest_day_bytes)

    def _uses_up(self, waiting: Waiting, more: int) -> bool:
        """Would the sender have more than a guest may?"""
        used = self._fetched.used(waiting.identity, self._clock.monotonic())
        return waiting.role == Role.GUEST and used + more > self.bounds.guest_day_bytes

    def _counts(self, waiting: Waiting, size: int) -> bool:
        """So much more of a file has come; False: it uses up what the sender may have."""
        if waiting.role == Role.GUEST:
            self._fetched.use(waiting.identity, size, self._clock.monotonic())
        return not self._uses_up(waiting, 0)

    async def _bot(self, waiting: Waiting) -> Bot | None:
        """Once it is up; None where it is not waited for."""
        name, hurried = waiting.address.bot, self._hurried[waiting.id]
        if self._reach.outbox.is_up(name):
            return self._reach.bots[name]
        either = [asyncio.ensure_future(self._reach.outbox.up(name)), asyncio.ensure_future(hurried.wait())]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in either:
                one.cancel()
        return self._reach.bots.get(name) if self._reach.outbox.is_up(name) else None

    async def _fetch(self, waiting: Waiting, file: Enclosure) -> Enclosure:
        """Try as long as it makes sense. Raises `StoreError`."""
        left_s, tries = FETCH_S, 0
        while left_s > 0 and (bot := await self._bot(waiting)) is not None:
            async with self._fetchers.free(bot.name, waiting.conversation):
                began = self._clock.monotonic()
                try:
                    return await self._try(bot, waiting, file, left_s)
                except (NotSent, Unknown) as trouble:
                    wait = trouble.wait_s if isinstance(trouble, FloodWait) else backoff_s(tries, 2.0, 30.0)
                    tries += 1
                except BotError as why:
                    log.info("file_not_fetched", bot=bot.name, why=str(why))
                    return self._too_large(bot, file) or replace(file, fault=_NOT_FETCHED)
                except StoreError:
                    raise
                except Exception:  # porter: a fault in one bot's fetching loses that file, not its message
                    log.exception("bot_fault", bot=bot.name)
                    break
            if wait < left_s:
                await self._clock.sleep(wait * self._random.uniform(0.75, 1.25))
            left_s -= max(wait, self._clock.monotonic() - began)
        return replace(file, fault=_NOT_FETCHED)

    async def _try(self, bot: Bot, waiting: Waiting, file: Enclosure, left_s: float) -> Enclosure:
        """Raises `BotError`, `StoreFull`."""
        limit, told = self._limit(bot), file.attachment.size
        if not isinstance(bot, CanFetch) or not limit:
            return replace(file, fault=_NOT_FETCHED)
        if (refused := self._too_large(bot, file)) is not None:
            return refused
        try:
            incoming = await self._within(left_s, self._once(bot, file, limit, partial(self._counts, waiting)))
        except TimeoutError:
            return replace(file, fault=_NOT_FETCHED)
        match incoming:
            case "file_too_large":
                return replace(file, fault=incoming, size=told, limit=limit)
            case str():
                return self._limited(file, incoming)
        fetched = await self._kept(file, *incoming)
        faultpoint("attachment.fetched")
        return fetched

    def _limit(self, bot: Bot) -> int:
        return min(self.bounds.file_bytes, bot.capabilities.download_limit_bytes)

    def _too_large(self, bot: Bot, file: Enclosure) -> Enclosure | None:
        """Also once it is refused: by that a bot may learn what its platform gives."""
        told, limit = file.attachment.size, self._limit(bot)
        too_large = told is not None and told > limit
        return replace(file, fault="file_too_large", size=told, limit=limit) if too_large else None

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

    async def _once(
        self, bot: CanFetch, file: Enclosure, limit: int, counts: Callable[[int], bool]
    ) -> tuple[Digest, int, bytes] | str:
        """Its digest, size and first bytes, or why it is not wanted. Raises `BotError`, `StoreFull`."""
        begun = asyncio.get_running_loop().run_in_executor(None, self._store.files.receive)
        try:
            incoming = await asyncio.shield(begun)
            if refused := await _received(bot, file, limit, incoming, counts):
                return refused
            return await asyncio.to_thread(incoming.keep), incoming.size, incoming.head
        finally:
            await asyncio.shield(asyncio.ensure_future(_drop(begun)))

    # reading

    async def _read(self, waiting: Waiting, file: Enclosure) -> Enclosure:
        path = self._store.files.path(file.digest or "")
        if path is None:
            raise StoreError("a file that was just kept is gone")
        match file.attachment.kind:
            case FileKind.VOICE:
                async with self._listeners.free(waiting.conversation):
                    return await self._hear(path, file)
            case FileKind.FILE:
                return replace(file, text=await self._text(waiting, path, file))
            case _:
                return file

    async def _hear(self, path: Path, file: Enclosure) -> Enclosure:
        hearing = self.bounds.speech.transcribe(path, file.attachment.media_type)
        try:
            heard = storable(await self._within(None, hearing))
        except TimeoutError:
            return replace(file, fault="voice_timeout")
        except Unheard as why:
            log.warning("voice_not_heard", why=str(why))
            return replace(file, fault="voice_failed")
        except Exception:  # porter: what the endpoint sent broke its reader; the message goes without
            log.exception("voice_fault")
            return replace(file, fault="voice_failed")
        return replace(file, text=heard) if heard else replace(file, fault="voice_empty")

    async def _text(self, waiting: Waiting, path: Path, file: Enclosure) -> str | None:
        """None where there is none, or nobody may look for it any more. Raises `StoreError`."""
        died = self._begun.get(waiting.id, waiting.reads)
        if died >= MOST_READS:
            log.warning("file_not_read_again", row=waiting.id, size=file.size, deaths=died)
            return None
        once = self._again.exclusive(died, waiting.id) if died else nullcontext()
        async with once, self._readers.free(waiting.conversation):
            if waiting.id not in self._begun:
                await self._store.write(lambda tx: inbox.reading(tx, waiting.id))
                self._begun[waiting.id] = died
            faultpoint("extraction.begun", file.attachment.name)
            return await self._extracted(path, file)

    async def _extracted(self, path: Path, file: Enclosure) -> str | None:
        try:
            return await self._within(READ_S, text_of(path, file.attachment.media_type, file.attachment.name))
        except (TimeoutError, OSError) as why:
            log.info("file_not_read", size=file.size, why=type(why).__name__)
            return None

    async def _within(self, seconds: float | None, work: Coroutine[None, None, T]) -> T:
        """Work in a task of its own: what cancels itself there has failed, and cancels nothing else. Raises
        `TimeoutError`."""
        task = asyncio.ensure_future(work)
        limits = [] if seconds is None else [asyncio.ensure_future(self._clock.sleep(seconds))]
        try:
            await asyncio.wait([task, *limits], return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise TimeoutError
            if task.cancelled():
                raise RuntimeError("it has cancelled itself")
            return task.result()
        finally:
            for one in (task, *limits):
                one.cancel()
            await asyncio.gather(task, *limits, return_exceptions=True)


async def _pieces(bot: CanFetch, file: Enclosure, most: int) -> AsyncGenerator[bytes, None]:
    """As they come, gathered to what is worth a write; what is more than wanted comes at once."""
    held, got = bytearray(), 0
    coming = bot.fetch(file.attachment)
    try:
        async for piece in coming:
            got += len(piece)
            held += piece
            if len(held) >= PIECE_BYTES or got > most:
                yield bytes(held)
                held.clear()
    finally:
        if isinstance(coming, AsyncGenerator):
            await coming.aclose()
    yield bytes(held)


async def _received(
    bot: CanFetch, file: Enclosure, limit: int, incoming: Incoming, counts: Callable[[int], bool]
) -> str:
    """Why it is not wanted after all; "" once it is there."""
    async with aclosing(_pieces(bot, file, limit)) as pieces:
        async for piece in pieces:
            if not counts(len(piece)):
                return "file_quota"
            if incoming.size + len(piece) > limit:
                return "file_too_large"
            await asyncio.to_thread(incoming.write, piece)
    return ""


async def _drop(begun: asyncio.Future[Incoming]) -> None:
    """Leave nothing of it, also where nobody waits any more for it to have begun."""
    with suppress(StoreFull):  # it was not begun; whoever wanted it has heard so
        incoming = await begun
        await asyncio.to_thread(incoming.drop)
