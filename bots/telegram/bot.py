"""One Telegram account: connect, listen by long polling or at a webhook, stop.

Updates are read raw and one by one, and Telegram may forget them only after the desk has stored them
(https://core.telegram.org/bots/api#getupdates). What is said stands in `inbound` and `outbound`.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Final, TypeVar

import telegram
from msgspec import Struct
from msgspec.structs import replace
from telegram.constants import FileSizeLimit, PollingLimit

from bots.telegram import downloads, inbound, markup, menu, outbound, webhook
from bots.telegram.addressed import Account
from bots.telegram.api import Migrated, NoSuchMethod, WebhookSet, call
from bots.telegram.endurance import Endurance
from bots.telegram.floods import Floods
from bots.telegram.intake import Intake
from bots.telegram.line import PATIENCE, Line, Patience, connected
from config.bots import TelegramSettings
from core.backoff import Backoff
from core.errors import BotError, BotRejected, ChatDead, FloodWait, NotSent, PollConflict, Rejected, StoreError, Unknown
from core.ports import AsgiApp, Clock, Desk, Random
from core.vocabulary import (
    Address,
    Attachment,
    BotName,
    Capabilities,
    ChatId,
    ChatKind,
    Delivery,
    MessageId,
    Press,
    ThreadId,
    UserId,
)

__all__ = ["Patience", "TelegramBot"]

_LOG: Final = logging.getLogger(__name__)
_T = TypeVar("_T")

_SMALL_BATCH: Final = 10
# After a week without updates their ids start anew at random: https://core.telegram.org/bots/api#update
_OFFSET_LASTS_S: Final = 6 * 86400.0
_MOST_DRAFTS: Final = 1000


class _Open(Struct, frozen=True):
    """What there is while `run` runs."""

    line: Line
    intake: Intake


class TelegramBot:
    """`ports.Bot` with `CanEdit`, `CanType`, `CanReact`, `CanDraft`, `CanFetch`, `AnswersPresses`, `KnowsAdmins` and
    `ServesHttp`. It sends while `run` runs, else it raises `NotSent`."""

    platform: Final = "telegram"

    def __init__(
        self, name: BotName, *, settings: TelegramSettings, clock: Clock, random: Random, patience: Patience = PATIENCE
    ) -> None:
        self._name = name
        self._settings = settings
        self._clock = clock
        self._random = random
        self._patience = patience
        self._open: _Open | None = None
        self._door = webhook.Door(webhook.secret_of(name, settings.token))
        self._drafts: dict[tuple[ChatId, ThreadId | None], int] = {}
        self._draft_numbers = itertools.count(1)
        self._floods = Floods(clock)
        self._capabilities = _capabilities(settings)

    @property
    def name(self) -> BotName:
        return self._name

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    @property
    def asgi(self) -> Mapping[str, AsgiApp]:
        return {webhook.prefix_of(self._name): self._door} if self._settings.mode == "webhook" else {}

    def parts(self, text: str) -> tuple[str, ...]:
        return markup.parts(text)

    async def run(self, desk: Desk) -> None:
        """What people said before the start and is still held back by Telegram is heard first."""
        async with connected(self._settings) as line:
            intake = Intake(desk, self._clock)
            endurance = Endurance(self._name, line, desk.health, Backoff(self._clock, self._random))
            self._open = _Open(line, intake)
            shown: asyncio.Task[None] | None = None
            try:
                us = await endurance.introduced()
                shown = asyncio.create_task(menu.publish(line, desk, us), name="menu")
                shown.add_done_callback(_menu_ended)
                await self._listen(us, intake, endurance)
            finally:
                self._open = None
                if shown is not None:
                    shown.cancel()
                    await asyncio.gather(shown, return_exceptions=True)

    async def _listen(self, us: Account, intake: Intake, endurance: Endurance) -> None:
        if self._settings.mode == "webhook":
            await webhook.WebhookListener(self._settings, self._door, intake, endurance).listen(us)
        else:
            await _Listener(intake, endurance, self._patience).listen(us)

    async def send(self, delivery: Delivery) -> MessageId:
        if delivery.alone is not None:
            return await self._send_alone(delivery, ChatId(delivery.alone))
        self._drafts.pop((delivery.address.chat, delivery.address.thread), None)
        try:
            return await self._say(lambda api: outbound.send(api, delivery), delivery.address.chat)
        except Migrated as migrated:
            return await self._send_there(delivery, migrated.to)

    async def _send_alone(self, delivery: Delivery, to: ChatId) -> MessageId:
        """A person's direct chat has the person's id; a bot can't be the first to write there."""
        there = replace(delivery, address=Address(bot=self._name, chat=to), kind=ChatKind.DIRECT)
        try:
            return await self._say(lambda api: outbound.send(api, there), to)
        except ChatDead as dead:
            raise Rejected(f"it is for one person only, who can't be written to: {dead}") from None

    async def _send_there(self, delivery: Delivery, to: ChatId) -> MessageId:
        """Once. The new chat knows neither the messages nor the threads of the old one."""
        there = replace(delivery, address=replace(delivery.address, chat=to, thread=None, reply_to=None))
        try:
            return await self._say(lambda api: outbound.send(api, there), to)
        finally:
            await self._moved(delivery.address.chat, to)

    async def edit(self, delivery: Delivery, message: MessageId) -> None:
        try:
            await self._say(lambda api: outbound.edit(api, delivery, message), delivery.address.chat)
        except Migrated as migrated:  # what was to be changed stays where it was
            await self._moved(delivery.address.chat, migrated.to)
            raise

    async def _moved(self, chat: ChatId, to: ChatId) -> None:
        if self._open is not None:
            await self._open.intake.moved(self._name, chat, to)

    async def typing(self, address: Address) -> None:
        in_general = address.thread is None and self._open is not None and self._open.intake.is_forum(address.chat)
        await self._aside(lambda api: outbound.typing(api, address, in_general=in_general))

    async def react(self, address: Address, message: MessageId, emoji: str) -> None:
        await self._aside(lambda api: outbound.react(api, address, message, emoji))

    async def draft(self, address: Address, text: str) -> None:
        """One number an answer: what is shown grows. Where Telegram refuses drafts, there are none from then on."""
        place = (address.chat, address.thread)
        if len(self._drafts) > _MOST_DRAFTS:
            self._drafts.clear()
        number = self._drafts.setdefault(place, next(self._draft_numbers))
        try:
            await self._ask(lambda api: outbound.draft(api, address, number, text), telling=False)
        except (NoSuchMethod, Rejected) as refusal:
            self._capabilities = replace(self._capabilities, drafts=False)
            _LOG.warning("no more drafts", extra={"bot": self._name, "why": str(refusal)})
            raise Rejected("this Bot API server has no drafts") from None
        except (BotRejected, PollConflict) as refusal:
            raise Rejected(str(refusal)) from None

    async def answer(self, press: Press, text: str, *, over: bool) -> None:
        await self._aside(lambda api: outbound.answer(api, press, text, over=over))

    async def fetch(self, attachment: Attachment) -> AsyncGenerator[bytes, None]:
        if self._open is None:
            raise NotSent("not connected to Telegram")
        line = self._open.line
        try:
            path = await downloads.path_of(line, attachment.ref)
            self._capabilities = _limited(self._capabilities, local=downloads.is_local(path))
            most = self._capabilities.download_limit_bytes
            async with aclosing(downloads.fetch(line, self._settings, path, most)) as pieces:
                async for piece in pieces:
                    yield piece
        except downloads.TooLarge as refusal:
            self._capabilities = _limited(self._capabilities, local=False)
            raise Rejected(str(refusal)) from None
        except (BotRejected, PollConflict) as refusal:
            raise Rejected(str(refusal)) from None

    async def is_admin(self, chat: ChatId, user: UserId) -> bool:
        return await self._aside(lambda api: outbound.is_admin(api, chat, user))

    async def _aside(self, act: Callable[[telegram.Bot], Awaitable[_T]]) -> _T:
        """A call that the bot can do without: Telegram answers an unknown method as it does a wrong token."""
        try:
            return await self._ask(act, telling=False)
        except (BotRejected, PollConflict) as refusal:
            raise Rejected(str(refusal)) from None

    async def _say(self, act: Callable[[telegram.Bot], Awaitable[_T]], chat: ChatId) -> _T:
        try:
            said = await self._ask(act, telling=True)
        except FloodWait as flood:
            raise self._floods.judged(chat, flood) from None
        except BotRejected as refusal:  # it ends `run`, where it says what to fix; the delivery can wait
            raise NotSent(str(refusal)) from None
        except PollConflict as strange:
            raise Rejected(str(strange)) from None
        self._floods.passed()
        return said

    async def _ask(self, act: Callable[[telegram.Bot], Awaitable[_T]], *, telling: bool) -> _T:
        if self._open is None:
            raise NotSent("not connected to Telegram")
        return await self._open.line.ask(act, telling=telling)


def _menu_ended(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (fault := task.exception()) is not None:
        _LOG.error("fault in the menu of commands", exc_info=fault)


def _capabilities(settings: TelegramSettings) -> Capabilities:
    """Whether a server of one's own is only a way to Telegram's shows with the first file."""
    offered = replace(
        outbound.CAPABILITIES,
        edit_interval_s=outbound.CAPABILITIES.edit_interval_s if settings.stream else None,
        drafts=settings.drafts and settings.stream,
    )
    return _limited(offered, local=downloads.is_own(settings))


def _limited(offered: Capabilities, *, local: bool) -> Capabilities:
    """A Bot API server of one's own, in local mode, takes and gives larger files."""
    return replace(
        offered,
        download_limit_bytes=downloads.LOCAL_LIMIT if local else downloads.LIMIT,
        upload_limit_bytes=FileSizeLimit.FILESIZE_UPLOAD_LOCAL_MODE if local else FileSizeLimit.FILESIZE_UPLOAD,
    )


class _Listener:
    """The way in by polling, for one `run`."""

    def __init__(self, intake: Intake, endurance: Endurance, patience: Patience) -> None:
        self._intake = intake
        self._endurance = endurance
        self._line = endurance.line
        self._waits = endurance.waits
        self._name = endurance.bot
        self._patience = patience
        self._offset: int | None = None
        self._offset_at_s = self._waits.clock.monotonic()
        self._steady = False
        self._took_over = False

    async def listen(self, us: Account) -> None:
        """Until cancelled. Raises `BotRejected`."""
        while True:
            await self._endurance.repeat(functools.partial(self._round, us), self._mend)

    async def _round(self, us: Account) -> None:
        """One poll. The first one, and the one after trouble, does not wait, so that `up` is told at once."""
        steady = self._steady
        updates = await self._poll(self._patience.poll_s if steady else 0)
        await self._hand_over(updates, us)
        self._endurance.health.up(self._name)
        self._steady = True
        if steady:  # only a whole poll shows that no other process is polling
            self._waits.failures = 0

    async def _poll(self, poll_s: int) -> list[object]:
        if self._waits.clock.monotonic() - self._offset_at_s > _OFFSET_LASTS_S:
            self._offset = None
        arguments: dict[str, object] = {
            "timeout": poll_s,
            "limit": _SMALL_BATCH if self._waits.failures else PollingLimit.MAX_LIMIT,
            "allowed_updates": list(inbound.KINDS),
        }
        if self._offset is not None:
            arguments["offset"] = self._offset
        updates = await self._line.ask(lambda api: call(api, "get_Updates", arguments, poll_s + self._patience.slack_s))
        if not isinstance(updates, list):
            raise Unknown("Telegram's answer holds no updates")
        return updates

    async def _hand_over(self, updates: list[object], us: Account) -> None:
        """Store a batch, then let the next poll confirm it."""
        await self._intake.take(updates, us)
        numbers = [number for update in updates if (number := inbound.update_id(update)) is not None]
        if numbers:
            self._confirm(max(numbers) + 1)
        if len(numbers) < len(updates):
            _LOG.warning("update without an id", extra={"bot": self._name, "updates": len(updates) - len(numbers)})
        if updates and not numbers:
            # They come first in the queue, so nothing readable lies below the next number.
            if self._offset is not None:
                self._confirm(self._offset + 1)
            raise Unknown("Telegram's updates have no ids")

    def _confirm(self, offset: int) -> None:
        self._offset = offset
        self._offset_at_s = self._waits.clock.monotonic()

    async def _mend(self, trouble: BotError | StoreError) -> bool:
        """The configuration says that this process polls: a webhook is a leftover, and what it holds comes here."""
        self._steady = False
        if not isinstance(trouble, WebhookSet) or self._took_over:
            return False
        self._took_over = True
        await self._endurance.repeat(self._take_over)
        return True

    async def _take_over(self) -> None:
        await self._line.ask(lambda api: call(api, "delete_Webhook", {"drop_pending_updates": False}))
        _LOG.warning("telegram webhook removed because this bot polls", extra={"bot": self._name})
