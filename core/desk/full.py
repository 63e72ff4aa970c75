"""The disk is full: nothing can be stored, so people are told around the outbox, once each until there is room."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from core.desk.manners import Gestures
from core.ports import Bot
from core.service.notices import Notices
from core.vocabulary import Address, BotName, ChatId, ChatKind, Delivery, DeliveryId


class FullDisk:
    """Who was told. Lives on the main loop."""

    def __init__(self, bots: Mapping[BotName, Bot], notices: Notices, gestures: Gestures) -> None:
        self._bots = bots
        self._notices = notices
        self._gestures = gestures
        self._told: set[tuple[BotName, ChatId]] = set()

    def over(self) -> None:
        """Something was stored."""
        self._told.clear()

    def tell(self, address: Address, kind: ChatKind) -> None:
        """In direct chats; a group would hear it from everybody's message. Nobody waits for it."""
        bot, chat = self._bots.get(address.bot), (address.bot, address.chat)
        if bot is None or kind is not ChatKind.DIRECT or chat in self._told:
            return
        self._told.add(chat)
        here, said = replace(address, reply_to=None), self._notices.say("disk_full")
        self._gestures.show(bot.send(Delivery(id=DeliveryId(0), address=here, kind=kind, text=said)))
