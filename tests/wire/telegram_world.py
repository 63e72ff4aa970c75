"""A Telegram bot and all that it has to do with: the double, a person, a desk that listens."""

from __future__ import annotations

from bots.telegram.bot import Patience, TelegramBot
from core.vocabulary import Address, BotName, ChatId, ChatKind, Delivery, DeliveryId, MessageId, ThreadId
from tests.clock import ManualClock
from tests.contract.doubles import NoChance, RecordingDesk
from tests.drivers.telegram import NAME, settings_for
from tests.fakes.telegram.model import Chat, User
from tests.fakes.telegram.server import TelegramServer
from tests.wire.world import BotWorld


class World(BotWorld):
    """The double, one person, and a bot with its desk."""

    def __init__(self, server: TelegramServer) -> None:
        self.server = server
        self.ada: User = server.user("Ada")
        self.chat: Chat = server.private(self.ada)
        self.clock = ManualClock()
        self.desk = RecordingDesk()
        self.bot = self.another()

    def another(self, patience: Patience = Patience(), **settings: object) -> TelegramBot:  # noqa: B008 - frozen
        return TelegramBot(
            BotName(NAME),
            settings=settings_for(self.server, **settings),
            clock=self.clock,
            random=NoChance(),
            patience=patience,
        )

    def say(self, text: str) -> int:
        update = self.server.say(self.chat, self.ada, text).update_id
        assert update is not None
        return update

    async def confirmed(self) -> None:
        await self.server.until(lambda: not self.server.unconfirmed)

    def delivery(
        self, text: str = "", *, chat: Chat | None = None, thread: int | None = None, reply_to: int | None = None
    ) -> Delivery:
        to = chat or self.chat
        kind = ChatKind.DIRECT if not to.is_group else ChatKind.GROUP if thread is None else ChatKind.THREAD
        address = Address(
            bot=BotName(NAME),
            chat=ChatId(str(to.id)),
            thread=None if thread is None else ThreadId(str(thread)),
            reply_to=None if reply_to is None else MessageId(str(reply_to)),
        )
        return Delivery(id=DeliveryId(1), address=address, kind=kind, text=text)
