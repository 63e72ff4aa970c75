"""The harness of `bots.slack`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from bots.slack.bot import SlackBot
from config.bots import SlackSettings
from config.secret import Secret
from config.settings import ListenSettings
from core.errors import BotError
from core.ports import AsgiApp, AsgiMessage, AsgiReceive, AsgiSend
from core.service.listener import bind
from core.service.web import Server
from core.vocabulary import Address, BotName, ChatId, UserId
from tests.contract.doubles import ManualClock, NoChance
from tests.contract.harness import FLOOD_WAIT_S, Fault, Harness, Shown
from tests.fakes.slack.model import JsonObject, Message, objects_of, text_of
from tests.fakes.slack.server import SlackServer

NAME = BotName("slack")
SENDING = ("chat.postMessage", "files.completeUploadExternal")
LOOK_S = 300.0
"""How often Slack is asked, over HTTP, whether it is there."""
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


def _buttons(message: Message) -> list[JsonObject]:
    rows = [objects_of(block["elements"]) for block in message.blocks if block["type"] == "actions"]
    return [button for row in rows for button in row]


class SlackHarness(Harness):
    def __init__(self, server: SlackServer, clock: ManualClock | None = None, **settings: object) -> None:
        self._server = server
        self._settings = settings
        self._person = server.person("Ada")
        self._chat = server.im(self._person)
        self.clock = clock or ManualClock()
        self.restart()
        self.address = Address(bot=NAME, chat=ChatId(self._chat.id))
        self.secrets = (server.bot.token, server.bot.app_token, server.bot.signing_secret)
        self.account = f"{server.team.id}/{server.bot.user_id}"
        self.person = self._person.id

    def restart(self) -> None:
        settings = settings_for(self._server, **self._settings)
        self.slack = self.bot = SlackBot(NAME, settings=settings, clock=self.clock, random=NoChance())

    def say(self, text: str) -> None:
        self._server.say(self._chat, self._person, text)

    def bring(self, text: str, *files: tuple[str, bytes]) -> None:
        held = [self._server.file(self._person, name, content) for name, content in files]
        self._server.say(self._chat, self._person, text, files=held)

    def lose_files(self) -> None:
        """The person deletes them."""
        platform = self._server.platform
        with platform.lock:
            for number in [one.id for one in platform.files.values() if one.user_id == self._person.id]:
                del platform.files[number]

    def press(self, data: str) -> None:
        action = f"fd:{data}"
        said = reversed(self._server.from_bot(self._chat))
        message = next(one for one in said if action in [button["action_id"] for button in _buttons(one)])
        self._server.click(self._chat, message.ts, self._person, action)

    def held_back(self) -> int:
        said = [one for one in self._server.deliveries if one.event.get("user") == self.person]
        return sum(one.state != "acked" for one in said if one.event.get("type") == "message")

    def shown(self) -> tuple[Shown, ...]:
        held = self._server.platform.files
        return tuple(
            Shown(
                text=shown(message),
                files=tuple((held[one].name, held[one].content) for one in message.file_ids),
                buttons=tuple(text_of(button, "text", "text") for button in _buttons(message)),
            )
            for message in self._server.from_bot(self._chat)
        )

    def whispers(self) -> tuple[str, ...]:
        return tuple(one.text for one in self._server.ephemerals(self._person))

    def waiting_signs(self) -> int:
        pressed = [one for one in self._server.deliveries if one.kind == "interactive"]
        return sum(one.state in ("waiting", "open") for one in pressed)

    def broken_rules(self) -> tuple[object, ...]:
        return self._server.problems

    async def order(self, fault: Fault) -> None:
        match fault:
            case Fault.NOT_REACHED:
                await self._server.pause()
                await self._notice()
            case Fault.FLOOD:
                for method in SENDING:
                    self._server.rate_limit(method, int(FLOOD_WAIT_S))
            case Fault.REJECTED:
                self._server.error("chat.postMessage", "msg_too_long", count=2)  # plainer, too
                self._server.error("files.completeUploadExternal", "file_not_found")
            case Fault.CHAT_DEAD:
                self._server.archive(self._chat)
            case Fault.NO_ANSWER:
                self._drop(applied=True)
            case Fault.LOST:
                self._drop(applied=False)
            case Fault.ACCOUNT_REFUSED:
                self._server.set_token_state("token_revoked")
                self._server.cut_sockets()

    async def _notice(self) -> None:
        """The lost sockets were noticed, so the other connection is gone too."""
        await self.clock.asleep(1)

    def _drop(self, *, applied: bool) -> None:
        for method in SENDING:
            self._server.drop(method, applied=applied)

    async def mend(self) -> None:
        self._server.clear_faults()
        self._server.archive(self._chat, archived=False)
        self.clock.advance(FLOOD_WAIT_S)
        await self._server.resume()


@asynccontextmanager
async def slack() -> AsyncIterator[Harness]:
    async with SlackServer(limits=None, answer_s=0.5, retries_s=(SOON_S,) * 1_000) as server:
        yield SlackHarness(server)


class LookingClock(ManualClock):
    """Nobody waits for the looks at Slack: only what sleeps besides is counted."""

    async def asleep(self, times: int) -> float:
        await self.until(lambda: len(self._others) >= times)
        return self._others[times - 1]

    @property
    def _others(self) -> list[float]:
        return [nap for nap in self.naps if nap != LOOK_S]

    async def looked(self) -> None:
        """The next look is under way."""
        await self.until(lambda: LOOK_S in self.naps)
        self.advance(LOOK_S)


class HttpHarness(SlackHarness):
    """The same bot, to which Slack posts through the server that a desk has."""

    def __init__(self, server: SlackServer, clock: LookingClock) -> None:
        secret = Secret(server.bot.signing_secret)
        super().__init__(server, clock, mode="http", app_token=None, signing_secret=secret)
        self._looking = clock

    def broken_rules(self) -> tuple[object, ...]:
        """Without late acknowledgements: the clock leaps while a request is on its way to the bot, too."""
        return tuple(one for one in self._server.problems if one.rule != "late_ack")

    async def serve(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        await self.slack.asgi[str(scope["path"])](scope, receive, send)

    @property
    def path(self) -> str:
        (path,) = self.slack.asgi
        return path

    async def order(self, fault: Fault) -> None:
        await super().order(fault)
        if fault is Fault.ACCOUNT_REFUSED:  # nothing is asked before
            await self._looking.looked()

    async def _notice(self) -> None:
        """The connection that was there is noticed to be gone."""
        with suppress(BotError):
            await self.slack.is_admin(self.address.chat, UserId(self.person))


@asynccontextmanager
async def listening(app: AsgiApp) -> AsyncIterator[str]:
    """The root below which the application is served."""
    (socket,) = await bind("127.0.0.1", 0)
    server = Server(app, ListenSettings())
    serving = asyncio.create_task(server.serve([socket]))
    try:
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    finally:
        await server.stop()
        await serving
        socket.close()


@asynccontextmanager
async def slack_http() -> AsyncIterator[Harness]:
    """Slack signs by its clock, which goes on by itself and along with the bot's."""
    clock, began_s = LookingClock(), time.monotonic()

    def slack_time() -> float:
        return clock.now().timestamp() + time.monotonic() - began_s

    async with SlackServer(limits=None, clock=slack_time, retries_s=(SOON_S,) * 1_000) as server:
        harness = HttpHarness(server, clock)
        async with listening(harness.serve) as root:
            server.use_http(root + harness.path)
            await server.until(lambda: server.app().request_url_verified)
            yield harness
