"""One Slack app in one workspace: connect, listen by socket or HTTP, stop.

What Slack hands over is acknowledged only after the desk has stored it. slack_sdk holds the sockets and calls Slack's
methods, Bolt calls the listeners (`app`).
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from bots.slack import files, markup, outbound
from bots.slack.files import Uploads
from bots.slack.http import Door
from bots.slack.line import PATIENCE, Line, Patience, connected
from bots.slack.listening import Listener, introduce
from bots.slack.manifest import lacking
from bots.slack.sending import Sender, Ways, aside
from bots.slack.streaming import Streamer, Streams
from bots.slack.waits import patiently
from config.bots import SlackSettings
from core.backoff import Backoff
from core.errors import BotError, NotSent, SendError
from core.ports import AsgiApp, Clock, Desk, Random
from core.vocabulary import Address, Attachment, BotName, Capabilities, ChatId, Delivery, MessageId, Press, UserId

_LOG: Final = logging.getLogger(__name__)
_T = TypeVar("_T")
_NOT_CONNECTED: Final = "not connected to Slack"


class _Live(Struct, frozen=True, kw_only=True):
    """What there is while `run` runs."""

    line: Line
    listener: Listener
    sender: Sender


class SlackBot:
    """`ports.Bot` with `CanEdit`, `Streams`, `CanType`, `ShowsWork`, `HasTitles`, `CanReact`, `CanFetch`,
    `AnswersPresses`, `KnowsAdmins` and `ServesHttp`. It sends while `run` runs, else it raises `NotSent`."""

    platform: Final = "slack"

    def __init__(
        self, name: BotName, *, settings: SlackSettings, clock: Clock, random: Random, patience: Patience = PATIENCE
    ) -> None:
        self._name = name
        self._settings = settings
        self._clock = clock
        self._random = random
        self._patience = patience
        self._streams = Streams(clock)
        secret = settings.signing_secret
        self._door = Door(secret.reveal(), clock) if settings.mode == "http" and secret is not None else None
        self._live: _Live | None = None

    @property
    def name(self) -> BotName:
        return self._name

    @property
    def capabilities(self) -> Capabilities:
        return outbound.CAPABILITIES if self._settings.stream else replace(outbound.CAPABILITIES, edit_interval_s=None)

    @property
    def asgi(self) -> Mapping[str, AsgiApp]:
        """What Slack posts to, in the mode "http"."""
        return {f"/slack/{self._name}": self._door} if self._door is not None else {}

    def parts(self, text: str) -> tuple[str, ...]:
        return markup.parts(text)

    async def run(self, desk: Desk) -> None:
        """What people said before the start is read from Slack's history first."""
        async with connected(self._settings, self._clock, self._patience) as line:
            await asyncio.to_thread(importlib.import_module, f"{__package__}.app")  # Bolt: a tenth of a second
            waits = Backoff(self._clock, self._random)
            tell = functools.partial(desk.health.degraded, self._name)
            us = await patiently(functools.partial(introduce, line, self._name), self._clock, waits, tell)
            desk.health.account(self._name, f"{us.team}/{us.user}")
            if line.scopes and (missing := lacking(line.scopes)):
                _LOG.warning("slack's token lacks scopes", extra={"bot": self._name, "scopes": ", ".join(missing)})
            listener = Listener(self._settings, line, desk, self._random, us)
            ways = Ways(texts=Streamer(line, us, self._streams), uploads=Uploads(self._name, line, desk))
            sender = Sender(line, listener.people, listener.commands, ways)
            self._live = _Live(line=line, listener=listener, sender=sender)
            try:
                await listener.listen(self._door)
            finally:
                self._live = None

    async def send(self, delivery: Delivery) -> MessageId:
        return await self._now().sender.send(delivery)

    async def edit(self, delivery: Delivery, message: MessageId) -> None:
        await self._now().sender.edit(delivery, message)

    def streams(self, address: Address) -> bool:
        return self._settings.stream and self._streams.allowed(address)

    async def typing(self, address: Address) -> None:
        await self._aside(lambda live: live.sender.typing(address))

    def shows_work(self, address: Address) -> bool:
        """Slack shows a status in threads alone."""
        return address.thread is not None

    async def working(self, address: Address, doing: str) -> None:
        await self._aside(lambda live: live.sender.working(address, doing))

    async def entitle(self, address: Address, title: str) -> None:
        await self._aside(lambda live: outbound.entitle(live.line, address, title))

    async def react(self, address: Address, message: MessageId, emoji: str) -> None:
        await self._aside(lambda live: outbound.react(live.line, address, message, emoji))

    async def answer(self, press: Press, text: str, *, over: bool) -> None:
        pressed = self._now().listener.presses.get(press.handle)
        if pressed is not None:
            await self._aside(lambda live: live.sender.answer(pressed, text, over=over))

    async def is_admin(self, chat: ChatId, user: UserId) -> bool:
        return await self._aside(lambda live: outbound.is_admin(live.line, live.listener.us, chat, user))

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        async for piece in files.fetch(self._now().line, attachment):
            yield piece

    async def _aside(self, act: Callable[[_Live], Awaitable[_T]]) -> _T:
        """A call that the bot can do without."""
        try:
            return await act(self._now())
        except SendError:
            raise
        except BotError as trouble:
            raise aside(trouble) from None

    def _now(self) -> _Live:
        if self._live is None:
            raise NotSent(_NOT_CONNECTED)
        return self._live
