"""The finished daemon's one HTTP address, to which platforms post what people say, beside the daemon's own pages."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.clock import ManualClock
from tests.crash.daemon import ANY_PORT, PATIENCE_S, Daemon, until
from tests.drivers.slack import shown
from tests.fakes.slack.delivery import Delivery
from tests.fakes.slack.posting import Signing
from tests.fakes.slack.server import SlackServer
from tests.fakes.telegram.courier import Courier
from tests.fakes.telegram.server import TelegramServer

ROOT: Final = "https://bots.example.com"
DESK: Final = (
    '[access]\ndirect = "open"\n[session.reset]\nmode = "none"\n[agents.default]\nbackend = "offline"\n' + ANY_PORT
)


@dataclass
class Front:
    """The daemon as platforms reach it; what it does is waited for on a thread, since they are on this loop."""

    daemon: Daemon
    root: str
    client: httpx.AsyncClient

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> int:
        return (await self.client.post(f"{self.root}{path}", headers=dict(headers), content=body)).status_code

    async def pages(self) -> int:
        return (await self.client.get(f"{self.root}/livez")).status_code

    async def reload(self, config: str) -> None:
        self.daemon.config_file.write_text(config, encoding="utf-8")
        done = await asyncio.to_thread(self.daemon.call, "reload")
        assert done.returncode == 0, done.stderr

    def address(self) -> str:
        listens = self.daemon.status().get("listen")
        return str(listens["address"]) if isinstance(listens, Mapping) and listens["state"] == "up" else ""


@asynccontextmanager
async def running(home: Path, bot: Mapping[str, object]) -> AsyncIterator[Front]:
    """With one bot, of the same name as its platform, that is up."""
    name = str(bot["platform"])
    part = "".join(f"{key} = {json.dumps(value)}\n" for key, value in bot.items())
    with Daemon(home, config=f"{DESK}[bots.{name}]\n{part}") as daemon:
        daemon.start()
        async with httpx.AsyncClient(trust_env=False) as client:
            front = Front(daemon, "", client)
            await asyncio.to_thread(daemon.until_bot, "up", name)
            await asyncio.to_thread(until, lambda: bool(front.address()), "listens")
            front.root = f"http://{await asyncio.to_thread(front.address)}"
            yield front
        daemon.terminate()
        assert await asyncio.to_thread(daemon.wait_exit) == 0


class OnTelegram:
    """Telegram's double, and what brings its posts to the daemon."""

    def __init__(self, server: TelegramServer, clock: ManualClock) -> None:
        self.server = server
        self.clock = clock
        self.ada = server.user("Ada")
        self.chat = server.private(self.ada)
        self.front: Front | None = None
        self.courier = Courier(server, self._deliver)

    async def _deliver(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        assert self.front is not None
        assert url.startswith(f"{ROOT}/")
        return await self.front.post(url.removeprefix(ROOT), headers, body)

    def texts(self) -> tuple[str, ...]:
        return self.server.chat(self.chat).bot_texts

    async def answered(self, *words: str) -> None:
        """Each by one message that has all that was said."""
        await self.server.until(lambda: len(self.texts()) >= len(words), timeout_s=PATIENCE_S)
        assert all(word in text for word, text in zip(words, self.texts(), strict=True))


@pytest.fixture
async def telegram(tmp_path: Path) -> AsyncIterator[OnTelegram]:
    clock = ManualClock(datetime.now(UTC))
    async with TelegramServer(limits=None, wall_clock=clock) as server:
        made = OnTelegram(server, clock)
        bot = {"platform": "telegram", "token": server.token, "api_base": server.url, "drafts": False,
               "mode": "webhook", "webhook_url": ROOT}  # fmt: skip
        async with running(tmp_path, bot) as made.front, made.courier.working():
            yield made
        assert server.violations == ()


async def test_what_telegram_posts_is_answered_and_nobody_else_is_heard(telegram: OnTelegram) -> None:
    server, front = telegram.server, telegram.front
    assert front is not None
    assert server.platform.webhook.url == f"{ROOT}/telegram/telegram"
    server.say(telegram.chat, telegram.ada, "hello there")
    await telegram.answered("hello there")
    headers, body = server.webhook_post(server.raw({"message": {"chat": "odd"}}))
    secret = "X-Telegram-Bot-Api-Secret-Token"
    for forged in ({**headers, secret: "guessed"}, {name: told for name, told in headers.items() if name != secret}):
        assert await front.post("/telegram/telegram", forged, body) == 403
    assert await front.post("/telegram/other", headers, body) == 404
    assert await front.pages() == 200
    server.say(telegram.chat, telegram.ada, "still there?")
    await telegram.answered("hello there", "still there?")
    assert set(telegram.courier.answers) == {200}


async def test_an_album_is_one_turn(telegram: OnTelegram) -> None:
    """Though its pictures are further apart than lines that are typed in one go."""
    for caption in ("our trip", "", ""):
        telegram.server.share(telegram.chat, telegram.ada, "photo", {"caption": caption, "album": "album1"})
        telegram.clock.advance(2.0)
    await telegram.answered("our trip")
    assert telegram.texts()[0].count("[image") == 3
    telegram.server.say(telegram.chat, telegram.ada, "nice?")
    await telegram.answered("our trip", "nice?")


class OnSlack:
    def __init__(self, server: SlackServer, front: Front) -> None:
        self.server = server
        self.front = front
        self.ada = server.person("Ada")
        self.chat = server.im(self.ada)

    async def verified(self) -> None:
        self.server.use_http(f"{self.front.root}/slack/slack")
        await self.server.until(lambda: self.server.app().request_url_verified, timeout_s=PATIENCE_S)

    async def answered(self, text: str) -> Delivery:
        """How it was brought."""
        before = len(self.server.from_bot(self.chat))
        said = self.server.say(self.chat, self.ada, text)
        await self.server.until(lambda: len(self.server.from_bot(self.chat)) > before, timeout_s=PATIENCE_S)
        assert text in shown(self.server.from_bot(self.chat)[-1])
        return self.server.delivery(said.event_ids[0])

    async def posted(self, delivery: Delivery, signing: Signing, path: str = "/slack/slack") -> int:
        return await self.front.post(path, *self.server.request(delivery, signing))


@pytest.fixture
async def slack(tmp_path: Path) -> AsyncIterator[OnSlack]:
    async with SlackServer(limits=None, clock=time.time) as server:
        bot = {"platform": "slack", "bot_token": server.bot.token, "signing_secret": server.bot.signing_secret,
               "mode": "http", "api_base": server.api_base.rstrip("/")}  # fmt: skip
        async with running(tmp_path, bot) as front:
            made = OnSlack(server, front)
            await made.verified()
            yield made
        assert not server.sockets()
        assert server.problems == ()


async def test_what_slack_signs_is_answered_and_nothing_else(slack: OnSlack) -> None:
    brought = await slack.answered("hello there")
    assert [attempt.status for attempt in brought.attempts] == [200]
    assert await slack.posted(brought, Signing(secret="guessed")) == 401
    assert await slack.posted(brought, Signing(age_s=301)) == 401
    assert await slack.posted(brought, Signing(), "/slack/other") == 404
    assert await slack.front.pages() == 200
    used = slack.server.slash(slack.chat, slack.ada, "/frontdesk", "status")
    await slack.server.until(lambda: slack.server.acked(used), timeout_s=PATIENCE_S)


async def test_a_bot_that_a_reload_changes_is_served_on_and_one_that_leaves_is_not(slack: OnSlack) -> None:
    brought = await slack.answered("hello")
    config = slack.front.daemon.config_file.read_text(encoding="utf-8")
    await slack.front.reload(config + "catch_up = 7\n")
    await slack.answered("hello again")
    assert await slack.posted(brought, Signing(secret="guessed")) == 401
    await slack.front.reload(DESK)
    assert await slack.posted(brought, Signing()) == 404
    assert await slack.front.pages() == 200
