"""The disk is full: nothing can be stored, so people are told around the outbox, once each until there is room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import structlog

from core.errors import SendError
from core.ports import Bot
from core.service.notices import Notices
from core.vocabulary import Address, BotName, ChatId, ChatKind, Delivery, DeliveryId

log = structlog.get_logger("frontdesk.desk")


class FullDisk:
    """Who was told. Lives on the main loop."""

    def __init__(self, bots: Mapping[BotName, Bot], notices: Notices) -> None:
        self._bots = bots
        self._notices = notices
        self._told: set[tuple[BotName, ChatId]] = set()

    def over(self) -> None:
        """Something was stored."""
        self._told.clear()

    async def tell(self, address: Address, kind: ChatKind) -> None:
        """In direct chats; a group would hear it from everybody's message."""
        bot, chat = self._bots.get(address.bot), (address.bot, address.chat)
        if bot is None or kind is not ChatKind.DIRECT or chat in self._told:
            return
        self._told.add(chat)
        here = replace(address, reply_to=None)
        try:
            await bot.send(Delivery(id=DeliveryId(0), address=here, kind=kind, text=self._notices.say("disk_full")))
        except SendError as error:
            log.warning("disk_full_not_told", bot=address.bot, why=str(error))
