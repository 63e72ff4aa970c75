"""What every lane works with, and what it does to a part that may have arrived."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from msgspec.structs import replace

from core.ports import Bot, Clock, Random, ShowsWork, Streams
from core.service.notices import Notices
from core.store import conversations, deliveries, lost
from core.store.conversations import ConversationId
from core.store.deliveries import Posted
from core.store.engine import Store
from core.store.sql import Tx
from core.tally import Tally
from core.vocabulary import Address, BotName, OutFile


@dataclass(kw_only=True)
class Workshop:
    """What every lane works with. `bots` and `give_up_s` change with the configuration."""

    store: Store
    bots: Mapping[BotName, Bot]
    clock: Clock
    random: Random
    notices: Notices
    give_up_s: float
    tally: Tally
    held: dict[BotName, asyncio.Event] = field(default_factory=dict)
    """Bots that are not up yet, or no more: their lanes wait for the event."""

    def is_held(self, bot: BotName) -> bool:
        return bot in self.held and not self.held[bot].is_set()

    def streams(self, address: Address) -> bool:
        """As `ports.Streams`."""
        bot = self.bots.get(address.bot)
        return bot is not None and isinstance(bot, Streams) and bot.streams(address)

    def shows_work(self, address: Address) -> bool:
        """As `ports.ShowsWork`."""
        bot = self.bots.get(address.bot)
        return bot is not None and isinstance(bot, ShowsWork) and bot.shows_work(address)

    def files_of(self, posted: Posted) -> tuple[OutFile, ...]:
        """Its files, without those that are gone."""
        return tuple(
            OutFile(kind=file.kind, path=path, name=file.name, media_type=file.media_type, size=file.size)
            for file in posted.files
            if (path := self.store.files.path(file.digest)) is not None
        )

    def recognised(self, posted: Posted, since: datetime | None = None) -> bool:
        """Would a part that is there already be known again if it were sent once more? `since`: when it was sent
        first, if that is known."""
        bot = self.bots.get(posted.address.bot)
        span = bot.capabilities.idempotent_for_s if bot is not None else 0.0
        age = self.clock.now() - (since or posted.created_at)
        return 0 <= age.total_seconds() < span  # a clock that was set back tells no age

    def doubted(self, preview: Posted) -> Posted:
        """A preview as it is to be settled: without an id its first send may have arrived all the same, and it is worth
        keeping where the platform would know that again."""
        return replace(preview, doubtful=preview.message is None and self.recognised(preview))

    def mark_failed(self, tx: Tx, posted: Posted, why: str, now: datetime) -> list[Posted]:
        """It did not arrive, and is not tried again: if it is of an answer, its conversation's next message is met with
        a word about that. Of a file, and of what was for one person alone, there is one at once, behind all else."""
        deliveries.failed(tx, posted.id, why, now)
        if posted.conversation is not None and posted.text.strip():
            self._tell_later(tx, posted.conversation, posted.role)
        if posted.files:
            said = self.notices.say("file_unsent", names=", ".join(file.name for file in posted.files))
        elif posted.alone is not None and posted.part == 1:
            said = self.notices.say("alone_unsaid")
        else:
            return []
        return [deliveries.say(tx, posted.address, posted.kind, said, now, posted.conversation)]

    def mark_dead(self, tx: Tx, posted: Posted, why: str, now: datetime) -> int:
        """The part's chat takes nothing, so what waits there has failed as well; how many parts."""
        address = posted.address
        for conversation, role in lost.awaited(tx, address.bot, address.chat):
            self._tell_later(tx, conversation, role)
        deliveries.failed(tx, posted.id, why, now)
        return 1 + deliveries.fail_chat(tx, address.bot, address.chat, posted.id, why, now)

    def _tell_later(self, tx: Tx, conversation: ConversationId, role: str) -> None:
        if (notice := lost.TOLD.get(role)) is not None:
            conversations.tell(tx, conversation, self.notices.say(notice))

    def mark_unknown(self, tx: Tx, posted: Posted, why: str, now: datetime) -> Posted | None:
        """It may have arrived: the person is told once, behind everything that waits for the chat."""
        deliveries.unknown(tx, posted.id, why, now)
        address = posted.address
        if posted.role == deliveries.UNKNOWN_NOTICE or lost.notice_waits(tx, address):
            return None
        notice = deliveries.Parcel(
            conversation=posted.conversation,
            turn=None,
            role=deliveries.UNKNOWN_NOTICE,
            part=1,
            address=replace(address, reply_to=None),
            kind=posted.kind,
            text=self.notices.say("unknown_delivery"),
        )
        return deliveries.post(tx, notice, now)
