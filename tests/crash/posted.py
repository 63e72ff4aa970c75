"""Telegram and Slack as they post to an address of ours, at whichever daemon listens there just then."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from typing import Final

import httpx

from tests.clock import ShiftedClock
from tests.drivers.driver import Place
from tests.drivers.slack import SlackDriver
from tests.drivers.telegram import TelegramDriver
from tests.fakes.slack import ThreadedSlackServer
from tests.fakes.telegram import ThreadedTelegramServer
from tests.fakes.telegram.courier import Courier

ROOT: Final = "https://bots.example.com"
AGAIN_S: Final = 0.1
"""Telegram tries again after a while, made short."""
SLACK_RETRIES_S: Final = (0.0, 3.0, 15.0)
"""Slack's minutes, made short: nobody may listen yet when something is said."""
PORTS: Final = range(20_000, 30_000)
"""Below those that a system gives away by itself: the next daemon listens there again."""


def free_port() -> int:
    """One that nobody listens on. `OSError` if all that were looked at are taken."""
    for port in random.SystemRandom().sample(PORTS, 100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise OSError("no free port")


class PostedTelegram(TelegramDriver[ThreadedTelegramServer]):
    """Its updates go to a webhook, again and again until they are taken."""

    def __init__(self, server: ThreadedTelegramServer, port: int, more: str) -> None:
        super().__init__(server, f"{more}\n[listen]\nport = {port}")

    @property
    def account(self) -> Mapping[str, object]:
        return {**super().account, "mode": "webhook", "webhook_url": ROOT}


class _Post:
    """What Telegram sends to the public address reaches the daemon behind it."""

    def __init__(self, server: ThreadedTelegramServer, port: int) -> None:
        self._behind = f"http://127.0.0.1:{port}"
        self._client = httpx.AsyncClient(trust_env=False)
        self._courier = Courier(server, self._deliver)

    @classmethod
    async def begun(cls, server: ThreadedTelegramServer, port: int, until: AsyncExitStack) -> None:
        made = cls(server, port)
        await until.enter_async_context(made._client)
        await until.enter_async_context(made._courier.working())

    async def _deliver(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        status = 0
        with suppress(httpx.TransportError):  # nobody is there
            answer = await self._client.post(url.replace(ROOT, self._behind), headers=dict(headers), content=body)
            status = answer.status_code
        if not 200 <= status < 300:
            asyncio.get_running_loop().call_later(AGAIN_S, self._courier.again)
        return status


@contextmanager
def posted_telegram(more: str) -> Iterator[PostedTelegram]:
    with ThreadedTelegramServer(limits=None) as server:
        port, until = free_port(), AsyncExitStack()
        server.on_loop(_Post.begun(server, port, until))
        try:
            yield PostedTelegram(server, port, more)
        finally:
            server.on_loop(until.aclose())


class PostedSlack(SlackDriver[ThreadedSlackServer]):
    """Its events go to a request URL, three more times if they are not taken."""

    def __init__(self, server: ThreadedSlackServer, more: str, shifted: ShiftedClock) -> None:
        port = free_port()
        super().__init__(server, f"{more}\n[listen]\nport = {port}", shifted)
        server.use_http(f"http://127.0.0.1:{port}/slack/slack")

    def is_ordered(self, place: Place) -> bool:
        """What is said in one go is posted side by side, and may come in any order."""
        return False

    @property
    def account(self) -> Mapping[str, object]:
        taken = {"mode": "http", "signing_secret": self.server.bot.signing_secret}
        return {**{name: value for name, value in super().account.items() if name != "app_token"}, **taken}
