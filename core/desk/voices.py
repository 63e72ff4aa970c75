"""Who asked by voice is answered by voice as well, after the words."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime

import structlog

from core.agents.speech import Unheard
from core.delivery.outbox import Outbox
from core.desk.handing import upload_limit
from core.desk.porter import Porter
from core.errors import StoreError
from core.faultpoints import faultpoint
from core.ports import Bot, Clock
from core.store import attachments, deliveries
from core.store.attachments import File
from core.store.deliveries import Parcel, Posted, SentFile
from core.store.engine import Store
from core.store.sql import Tx
from core.store.turns import Turn
from core.vocabulary import BotName, FileKind

log = structlog.get_logger("frontdesk.speech")


class Voices:
    """Lives on the main loop. What is not spoken when the process ends is not spoken: the words have been sent."""

    def __init__(self, store: Store, clock: Clock, bots: Mapping[BotName, Bot], outbox: Outbox, porter: Porter) -> None:
        self._store = store
        self._clock = clock
        self._bots = bots
        self._outbox = outbox
        self._porter = porter
        self._tasks: set[asyncio.Task[None]] = set()

    def answer(self, turn: Turn, text: str) -> None:
        """Say this aloud where the turn's answer went, if that is configured."""
        bot = self._bots.get(turn.address.bot)
        if bot is None or not bot.capabilities.upload_limit_bytes or not self._porter.bounds.speech.speaks(text):
            return
        task = asyncio.create_task(self._speak(turn, text), name="voice")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _speak(self, turn: Turn, text: str) -> None:
        try:
            sound = await self._porter.bounds.speech.speak(text)
            bot = self._bots.get(turn.address.bot)
            if bot is None or len(sound.data) > upload_limit(bot, turn.address):
                log.warning("not_spoken", turn=turn.id, why="the sound is larger than the platform takes")
                return
            digest = await asyncio.to_thread(self._store.files.put, sound.data)
            file = SentFile(
                digest=digest, kind=FileKind.VOICE, name=sound.name, media_type=sound.media_type, size=len(sound.data)
            )  # fmt: skip
            now = self._clock.now()
            self._outbox.push([await self._store.write(lambda tx: _post(tx, turn, file, now))])
        except (Unheard, TimeoutError, StoreError) as why:
            log.warning("not_spoken", turn=turn.id, why=str(why) or type(why).__name__)

    def moving(self) -> list[asyncio.Task[None]]:
        return list(self._tasks)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _post(tx: Tx, turn: Turn, file: SentFile, now: datetime) -> Posted:
    kept = File(digest=file.digest, name=file.name, media_type=file.media_type, size=file.size)
    attachments.add(tx, turn.session, kept, now)
    parcel = Parcel(
        conversation=turn.conversation, turn=turn.id, role=deliveries.REPLY, part=2, address=turn.address,
        kind=turn.kind, text="", files=(file,),
    )  # fmt: skip
    posted = deliveries.post(tx, parcel, now)
    faultpoint("voice.written", turn.id)
    return posted
