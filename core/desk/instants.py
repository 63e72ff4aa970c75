"""Instant commands: read-only, answered at once beside whatever runs. Reply and fate are one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

import structlog
from msgspec.structs import replace

from core.desk.coalesce import ref_of
from core.desk.commands.instant import ANSWERS, Question, Transcript
from core.desk.handing import upload_limit
from core.desk.house import House
from core.desk.refuse import refuse_broken, refuse_stale
from core.desk.replying import reply
from core.errors import StoreError
from core.people.access import user_of
from core.store import attachments, conversations, deliveries, inbox
from core.store.attachments import File
from core.store.conversations import ConversationId
from core.store.deliveries import Posted, SentFile
from core.store.inbox import Fate, Waiting
from core.store.people import Role
from core.store.sql import Tx
from core.vocabulary import ChatKind, FileKind, RowId

log = structlog.get_logger("frontdesk.desk")

STORE_PAUSE_S = 1.0


class Instants:
    """Answers rows of the instant lane, each in a task of its own."""

    def __init__(self, house: House, version: str) -> None:
        self._house = house
        self._version = version
        self._tasks: set[asyncio.Task[None]] = set()

    def answer(self, row: RowId) -> None:
        task = asyncio.create_task(self._until_stored(row), name="instant")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def moving(self) -> list[asyncio.Task[None]]:
        return list(self._tasks)

    async def close(self) -> None:
        """What is not answered yet is answered by the next start."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _until_stored(self, row_id: RowId) -> None:
        while True:
            try:
                row = await self._house.store.read(lambda tx: inbox.pending(tx, row_id))
                if row is not None:
                    await self._answer(row)
            except StoreError as fault:
                now_s = self._house.clock.monotonic()
                self._house.store.faults.met("instant_store_fault", fault, now_s, row=row_id)
                await self._house.clock.sleep(STORE_PAUSE_S)
            else:
                break
        self._house.live.ended([row_id])

    async def _answer(self, row: Waiting) -> None:
        house, now = self._house, self._house.clock.now()
        if row.received_at < house.stale_before(now):
            house.outbox.push(await house.store.write(lambda tx: refuse_stale(tx, [ref_of(row)], now, house.notices)))
            return
        try:
            house.outbox.push(await self._answered(row, now))
        except StoreError:
            raise
        except Exception:  # instant command: a fault in one answer is that row's
            reference = house.random.token(8)
            log.exception("instant_fault", row=row.id, reference=reference)
            house.outbox.push(
                await house.store.write(lambda tx: refuse_broken(tx, ref_of(row), reference, now, house.notices))
            )

    async def _answered(self, row: Waiting, now: datetime) -> Sequence[Posted]:
        """Stored, with the row's fate."""
        house = self._house
        question = Question(
            row=row,
            now=now,
            notices=house.notices,
            agents=house.agents,
            offer=house.policies.agents(row.address.bot),
            version=self._version,
            zone=house.rules.zone_name,
            shared=row.kind is not ChatKind.DIRECT and not house.rules.user_scope,
            runs=row.role == Role.OWNER or (row.command == "export" and await self._runs_chat(row)),
        )
        answer = await house.store.read(lambda tx: ANSWERS[row.command or "unknown"](tx, question))
        text = answer.text if isinstance(answer, Transcript) else answer
        sent = await self._as_file(row, text, now) if isinstance(answer, Transcript) else None
        if sent is not None:
            return sent
        parts = await house.outbox.parts_aside(row.address.bot, text)
        return await house.store.write(lambda tx: _reply(tx, row, parts, now))

    async def _runs_chat(self, row: Waiting) -> bool:
        if row.kind is ChatKind.DIRECT:
            return False
        return await self._house.admins.is_admin(row.address.bot, row.address.chat, user_of(row.identity))

    async def _as_file(self, row: Waiting, text: str, now: datetime) -> Sequence[Posted] | None:
        """The transcript as a file, where the platform takes one of that size; else None."""
        house, data = self._house, text.encode()
        bot, conversation = house.bots.get(row.address.bot), row.conversation
        if bot is None or conversation is None or len(data) > upload_limit(bot, row.address):
            return None
        digest = await asyncio.to_thread(house.store.files.put, data)
        file = SentFile(
            digest=digest, kind=FileKind.FILE, name=f"conversation-{now:%Y-%m-%d}.md", media_type="text/markdown",
            size=len(data),
        )  # fmt: skip
        return await house.store.write(lambda tx: _send(tx, row, conversation, file, now))


def _reply(tx: Tx, row: Waiting, parts: Sequence[str], now: datetime) -> list[Posted]:
    if not inbox.finish(tx, row.id, Fate.ANSWERED, now, row.command or ""):
        return []
    return deliveries.say_all(tx, reply(row, row.conversation), parts, now)


def _send(tx: Tx, row: Waiting, conversation: ConversationId, file: SentFile, now: datetime) -> list[Posted] | None:
    """The file belongs to the session that it shows; None where that has gone meanwhile."""
    session = conversations.get(tx, conversation).session
    if session is None:
        return None
    if not inbox.finish(tx, row.id, Fate.ANSWERED, now, row.command or ""):
        return []
    kept = File(digest=file.digest, name=file.name, media_type=file.media_type, size=file.size)
    attachments.add(tx, session, kept, now)
    return [deliveries.post(tx, replace(reply(row, conversation), files=(file,)), now)]
