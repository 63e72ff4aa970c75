"""The harness of `bots.telegram`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bots.telegram.bot import TelegramBot
from config.bots import TelegramSettings
from config.secret import Secret
from core.vocabulary import Address, BotName, ChatId
from tests.contract.doubles import ManualClock, NoChance
from tests.contract.harness import FLOOD_WAIT_S, Fault, Harness
from tests.fakes.telegram.server import TelegramServer

NAME = BotName("telegram")


def settings_for(server: TelegramServer, **more: object) -> TelegramSettings:
    return TelegramSettings.model_validate(
        {"name": NAME, "token": Secret(server.token), "api_base": server.url, **more}, strict=False
    )


class TelegramHarness(Harness):
    def __init__(self, server: TelegramServer) -> None:
        self._server = server
        self._person = server.user()
        self._chat = server.private(self._person)
        self.clock = ManualClock()
        self.bot = TelegramBot(NAME, settings=settings_for(server), clock=self.clock, random=NoChance())
        self.address = Address(bot=NAME, chat=ChatId(str(self._chat.id)))
        self.secrets = (server.token,)
        self.account = str(server.bot.id)

    def say(self, text: str) -> None:
        self._server.say(self._chat, self._person, text)

    def held_back(self) -> int:
        return len(self._server.unconfirmed)

    def seen(self) -> tuple[str, ...]:
        return self._server.chat(self._chat).bot_texts

    def broken_rules(self) -> tuple[object, ...]:
        return self._server.violations

    async def order(self, fault: Fault) -> None:
        match fault:
            case Fault.NOT_REACHED:
                await self._server.pause()
                await self.clock.asleep(1)  # the poll has noticed it, so the other connection is gone too
            case Fault.FLOOD:
                self._server.flood(self._chat, int(FLOOD_WAIT_S))
            case Fault.REJECTED:
                self._server.answer_error("sendMessage", 400, "Bad Request: message is too long")
            case Fault.CHAT_DEAD:
                self._server.block(self._person)
            case Fault.NO_ANSWER:
                self._server.drop("sendMessage", applied=True)
            case Fault.ACCOUNT_REFUSED:
                self._server.revoke()

    async def mend(self) -> None:
        self._server.clear_faults()
        self._server.unblock(self._person)
        await self._server.resume()


@asynccontextmanager
async def telegram() -> AsyncIterator[Harness]:
    async with TelegramServer(limits=None) as server:
        yield TelegramHarness(server)
