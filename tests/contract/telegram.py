"""The harness of `bots.telegram`."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import httpx

from bots.telegram.bot import TelegramBot
from bots.telegram.webhook import LOOK_S
from config.bots import TelegramSettings
from config.secret import Secret
from core.errors import BotError
from core.vocabulary import Address, BotName, ChatId
from tests.contract.doubles import ManualClock, NoChance
from tests.contract.harness import FLOOD_WAIT_S, Fault, Harness, Shown
from tests.fakes.telegram.courier import Courier
from tests.fakes.telegram.files import MAX_DOWNLOAD
from tests.fakes.telegram.markup import callback_values
from tests.fakes.telegram.model import JsonObject, JsonValue, Message
from tests.fakes.telegram.server import TelegramServer
from tests.fakes.telegram.sharing import Shared

NAME = BotName("telegram")


def settings_for(server: TelegramServer, **more: object) -> TelegramSettings:
    return TelegramSettings.model_validate(
        {"name": NAME, "token": Secret(server.token), "api_base": server.url, **more}, strict=False
    )


SENDING = ("sendMessage", "sendDocument", "sendMediaGroup")
WEBHOOK = {"mode": "webhook", "webhook_url": "https://bots.example.com"}


async def post(bot: TelegramBot, url: str, headers: Mapping[str, str], body: bytes) -> int:
    """What the listener makes of a post to that address."""
    path = urlsplit(url).path
    app = bot.asgi.get(path)
    if app is None:
        return 404
    transport = httpx.ASGITransport(app, root_path=path)  # type: ignore[arg-type]  # of the same shape
    async with httpx.AsyncClient(transport=transport) as client:
        return (await client.post(url, headers=dict(headers), content=body)).status_code


def _one_message(message: Message) -> str:
    """What the messages of one album have in common."""
    return message.media_group_id or str(message.message_id)


def _together(album: Sequence[Message]) -> Shown:
    files = [(one.media.name, one.media.content) for one in album if one.media is not None]
    texts = [one.text or one.caption or "" for one in album]
    labels = [label for one in album for label in _labels(one.reply_markup)]
    return Shown(text="\n".join(text for text in texts if text), files=tuple(files), buttons=tuple(labels))


def _labels(markup: JsonObject | None) -> Iterator[str]:
    rows: JsonValue = (markup or {}).get("inline_keyboard")
    for row in rows if isinstance(rows, list) else []:
        yield from (str(one["text"]) for one in (row if isinstance(row, list) else []) if isinstance(one, dict))


class TelegramHarness(Harness):
    gives_bytes = MAX_DOWNLOAD
    keeps_presses = True

    def __init__(self, server: TelegramServer, clock: ManualClock | None = None, **settings: object) -> None:
        self._server = server
        self._settings = settings
        self._person = server.user()
        self._chat = server.private(self._person)
        self.clock = clock or ManualClock()
        self.restart()
        self.address = Address(bot=NAME, chat=ChatId(str(self._chat.id)))
        self.secrets = (server.token,)
        self.account = str(server.bot.id)
        self.person = str(self._person.id)

    def restart(self) -> None:
        settings = settings_for(self._server, **self._settings)
        self.telegram = self.bot = TelegramBot(NAME, settings=settings, clock=self.clock, random=NoChance())

    def say(self, text: str) -> None:
        self._server.say(self._chat, self._person, text)

    def bring(self, text: str, *files: tuple[str, bytes]) -> None:
        """Several are an album, whose words stand under the first."""
        for number, (name, content) in enumerate(files):
            shared: Shared = {"name": name, "content": content, "caption": "" if number else text}
            if len(files) > 1:
                shared["album"] = f"album of {files[0][0]}"
            self._server.share(self._chat, self._person, "document", shared)

    def lose_files(self) -> None:
        """Telegram still knows them, and serves nothing where it says that they are."""
        gone: JsonObject = {"ok": True, "result": {"file_path": "documents/gone"}}
        self._server.answer("getFile", 200, gone, count=None)

    def press(self, data: str) -> None:
        shown = reversed(self._server.chat(self._chat).from_bot)
        message = next(one for one in shown if f"fd:{data}" in callback_values(one.reply_markup))
        self._server.press(self._chat, self._person, message.message_id, f"fd:{data}")

    def held_back(self) -> int:
        return len(self._server.unconfirmed)

    def shown(self) -> tuple[Shown, ...]:
        grouped = itertools.groupby(self._server.chat(self._chat).from_bot, _one_message)
        return tuple(_together(list(album)) for _, album in grouped)

    def whispers(self) -> tuple[str, ...]:
        return tuple(str(answer["text"]) for answer in self._server.answered_callbacks if "text" in answer)

    def waiting_signs(self) -> int:
        with self._server.platform.lock:
            return len(self._server.platform.callbacks)

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
                for method in SENDING:
                    self._server.answer_error(method, 400, "Bad Request: message is too long")
            case Fault.CHAT_DEAD:
                self._server.block(self._person)
            case Fault.NO_ANSWER:
                self._drop(applied=True)
            case Fault.LOST:
                self._drop(applied=False)
            case Fault.ACCOUNT_REFUSED:
                self._server.revoke()

    def _drop(self, *, applied: bool) -> None:
        for method in SENDING:
            self._server.drop(method, applied=applied)

    async def mend(self) -> None:
        self._server.clear_faults()
        self._server.unblock(self._person)
        await self._server.resume()


@asynccontextmanager
async def telegram() -> AsyncIterator[Harness]:
    async with TelegramServer(limits=None) as server:
        yield TelegramHarness(server)


class PassingClock(ManualClock):
    """Whoever waits for the time to pass is told of it."""

    def __init__(self) -> None:
        super().__init__()
        self.passed: Callable[[], None] = lambda: None

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        if seconds > 0:
            self.passed()


class WebhookHarness(TelegramHarness):
    """The same bot, to which Telegram posts; what was refused is posted again when time has passed."""

    def __init__(self, server: TelegramServer) -> None:
        self.passing = PassingClock()
        super().__init__(server, self.passing, **WEBHOOK)

    async def order(self, fault: Fault) -> None:
        await super().order(fault)
        match fault:
            case Fault.NOT_REACHED:
                with suppress(BotError):  # the connection that was there is noticed to be gone
                    await self.telegram.typing(self.address)
            case Fault.ACCOUNT_REFUSED:
                await self.clock.asleep(1)
                self.clock.advance(LOOK_S)  # nothing is asked before
            case _:
                pass


@asynccontextmanager
async def telegram_webhook() -> AsyncIterator[Harness]:
    async with TelegramServer(limits=None) as server:
        harness = WebhookHarness(server)
        courier = Courier(server, lambda url, headers, body: post(harness.telegram, url, headers, body))
        harness.passing.passed = courier.again
        async with courier.working():
            yield harness
