"""The harness of `bots.slack`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bots.slack.bot import SlackBot
from config.bots import SlackSettings
from config.secret import Secret
from core.vocabulary import Address, BotName, ChatId
from tests.contract.doubles import ManualClock, NoChance
from tests.contract.harness import FLOOD_WAIT_S, Fault, Harness
from tests.fakes.slack.model import Message, text_of
from tests.fakes.slack.server import SlackServer

NAME = BotName("slack")
SOON_S = 0.05
"""Slack tries again so soon here, and gives up an answer after half a second: a test does not wait minutes."""


def settings_for(server: SlackServer, **more: object) -> SlackSettings:
    secrets = {"bot_token": Secret(server.bot.token), "app_token": Secret(server.bot.app_token)}
    base = server.api_base.rstrip("/")
    return SlackSettings.model_validate({"name": NAME, "api_base": base, **secrets, **more}, strict=False)


def shown(message: Message) -> str:
    """What people see of a message: its blocks, or else its text."""
    texts = [text_of(block, "text") or text_of(block, "text", "text") for block in message.blocks]
    return "\n".join(text for text in texts if text) or message.text


class SlackHarness(Harness):
    def __init__(self, server: SlackServer) -> None:
        self._server = server
        self._person = server.person("Ada")
        self._chat = server.im(self._person)
        self.clock = ManualClock()
        self.bot = SlackBot(NAME, settings=settings_for(server), clock=self.clock, random=NoChance())
        self.address = Address(bot=NAME, chat=ChatId(self._chat.id))
        self.secrets = (server.bot.token, server.bot.app_token)
        self.account = f"{server.team.id}/{server.bot.user_id}"

    def say(self, text: str) -> None:
        self._server.say(self._chat, self._person, text)

    def held_back(self) -> int:
        return sum(one.state != "acked" for one in self._server.deliveries if one.event.get("type") == "message")

    def seen(self) -> tuple[str, ...]:
        return tuple(shown(message) for message in self._server.from_bot(self._chat))

    def broken_rules(self) -> tuple[object, ...]:
        return self._server.problems

    async def order(self, fault: Fault) -> None:
        match fault:
            case Fault.NOT_REACHED:
                await self._server.pause()
                await self.clock.asleep(1)  # the lost sockets were noticed, so the other connection is gone too
            case Fault.FLOOD:
                self._server.rate_limit("chat.postMessage", int(FLOOD_WAIT_S))
            case Fault.REJECTED:
                self._server.error("chat.postMessage", "msg_too_long", count=2)  # plainer, too
            case Fault.CHAT_DEAD:
                self._server.archive(self._chat)
            case Fault.NO_ANSWER:
                self._server.drop("chat.postMessage", applied=True)
            case Fault.ACCOUNT_REFUSED:
                self._server.set_token_state("token_revoked")
                self._server.cut_sockets()

    async def mend(self) -> None:
        self._server.clear_faults()
        self._server.archive(self._chat, archived=False)
        self.clock.advance(FLOOD_WAIT_S)
        await self._server.resume()


@asynccontextmanager
async def slack() -> AsyncIterator[Harness]:
    async with SlackServer(limits=None, answer_s=0.5, retries_s=(SOON_S,) * 1_000) as server:
        yield SlackHarness(server)
