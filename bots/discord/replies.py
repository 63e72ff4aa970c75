"""Answers to what people do with commands and buttons.

https://docs.discord.com/developers/interactions/receiving-and-responding: each is acknowledged within three seconds,
and can be answered for fifteen minutes after that, also by a later process (`kept`). What comes later is a plain
message. In a server some answers are for one person only (ephemeral), and then go to the direct chat.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from bots.discord import interactions, outbound
from bots.discord.http import Http
from bots.discord.interactions import Token
from bots.discord.kept import Kept, Waiting
from bots.discord.reading import is_snowflake
from bots.discord.sdk import discord
from bots.discord.trouble import (
    ALREADY_ACKNOWLEDGED,
    INVALID_WEBHOOK_TOKEN,
    UNKNOWN_INTERACTION,
    UNKNOWN_MESSAGE,
    UNKNOWN_WEBHOOK,
    code_of,
    in_our_words,
)
from core.errors import BotError, NotSent, Rejected, Unknown
from core.ports import Clock
from core.vocabulary import Delivery, MessageId

SUGGESTIONS: Final = discord.InteractionResponseType.autocomplete_result.value
FORM: Final = discord.InteractionResponseType.modal.value
_LATER: Final = discord.InteractionResponseType.deferred_channel_message.value
_LATER_SAME: Final = discord.InteractionResponseType.deferred_message_update.value
"""https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-interaction-callback-type"""

_GOOD_FOR_S: Final = 15 * 60.0 - 30.0
_TRIES: Final = 2
_MOST: Final = 2_000
_ACKNOWLEDGED_WITHIN_S: Final = 3.0
_GONE: Final = frozenset({INVALID_WEBHOOK_TOKEN, UNKNOWN_WEBHOOK, UNKNOWN_INTERACTION})


@dataclass(slots=True)
class Open:
    """One that can still be answered. `ready`: Discord took our acknowledgement, or refused it (then not `good`)."""

    token: Token
    private: bool
    made_s: float
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    good: bool = False
    filled: bool = False
    """The first answer stands in the place of the waiting sign."""
    passed_over: bool = False
    """An answer could not wait for Discord's word, and went another way."""


class Replies:
    """All that are open, by id; on the main loop."""

    def __init__(self, line: Http, application: str, kept: Kept, clock: Clock) -> None:
        self._line = line
        self._application = application
        self._kept = kept
        self._clock = clock
        self._came: OrderedDict[str, float] = OrderedDict()
        """When each interaction came, monotonic."""
        self._open: OrderedDict[str, Open] = OrderedDict()
        self._messages: OrderedDict[MessageId, Open] = OrderedDict()
        """Whose answer a message is."""

    # taking them in

    async def load(self) -> None:
        """Those that the last process left. Raises `StoreError`."""
        now = self._clock.now()
        for one in await self._kept.load(now - timedelta(seconds=_GOOD_FOR_S)):
            age_s = max(0.0, (now - one.heard_at).total_seconds())
            opened = Open(token=one.token, private=one.private, made_s=self._clock.monotonic() - age_s)
            opened.good, opened.filled = True, one.filled
            opened.ready.set()
            self._open[one.token.interaction] = opened

    def comes(self, interaction: object) -> None:
        """It arrives: from now on Discord's seconds run, however long it waits to be read."""
        if isinstance(interaction, str):
            self._came.setdefault(interaction, self._clock.monotonic())
            while len(self._came) > _MOST:
                self._came.popitem(last=False)

    def expect(self, token: Token, *, private: bool) -> Open:
        """Before it is stored, since its answer may come as soon as it is."""
        known = self._open.get(token.interaction)
        if known is not None:
            return known
        opened = Open(token=token, private=private, made_s=self._came_s(token))
        self._open[token.interaction] = opened
        while len(self._open) > _MOST:
            self._open.popitem(last=False)
        return opened

    async def acknowledge(self, opened: Open, *, button: bool, heard: bool) -> None:
        """After it was stored. `heard`: somebody will answer. Else the waiting sign
        goes at once, before anything that is said all the same, and that is for whoever asked."""
        if opened.ready.is_set():
            return
        opened.private = opened.private or (not heard and not button)
        flags = outbound.EPHEMERAL if opened.private else 0
        body: dict[str, object] = {"type": _LATER_SAME} if button else {"type": _LATER, "data": {"flags": flags}}
        try:
            if heard and not button:
                await self._keep(opened)
            await self.call_back(opened.token, body)
            opened.good = True
            opened.filled = button
            if not button and (not heard or opened.passed_over):
                await self._clear_away(opened)
        except BotError:  # too late, or no network: what answers it is a plain message
            await self._let_go(opened)
        finally:
            opened.ready.set()

    async def _keep(self, opened: Open) -> None:
        heard_at = self._clock.now() - timedelta(seconds=self._clock.monotonic() - opened.made_s)
        one = Waiting(token=opened.token, private=opened.private, filled=opened.filled, heard_at=heard_at)
        await self._kept.put(one)

    async def _let_go(self, opened: Open) -> None:
        self._open.pop(opened.token.interaction, None)
        await self._kept.drop(opened.token.interaction)

    async def _fill(self, opened: Open) -> None:
        """The waiting sign is gone. What follows it is for somebody alone, or a plain message."""
        if opened.filled:
            return
        opened.filled = True
        if opened.private:
            await self._keep(opened)
        else:
            await self._kept.drop(opened.token.interaction)

    async def call_back(self, token: Token, body: object) -> None:
        """The first answer, tried twice: Discord takes only one, and none after its three seconds. Raises
        `BotError`."""
        path = f"/interactions/{token.interaction}/{token.secret}/callback"
        for attempt in range(_TRIES):
            if self._clock.monotonic() - self._came_s(token) > _ACKNOWLEDGED_WITHIN_S:
                raise NotSent("too late to acknowledge it")
            try:
                with in_our_words():
                    await self._line.whisper("POST", path, body)
            except BotError as trouble:
                if code_of(trouble) == ALREADY_ACKNOWLEDGED:
                    break
                if attempt + 1 == _TRIES or isinstance(trouble, Rejected):
                    raise
            else:
                break

    async def pass_over(self, opened: Open) -> None:
        """Nothing is said to it any more: its sign goes, if that still stands."""
        if opened.good and not opened.filled and self._lasts(opened):
            await self._clear_away(opened)

    async def _clear_away(self, opened: Open) -> None:
        """Nobody answers: the waiting sign goes. Where that fails, an answer takes its place."""
        try:
            with in_our_words():
                await self._line.whisper("DELETE", self._path(opened, "/messages/@original"), None)
            opened.filled = True
            await self._kept.drop(opened.token.interaction)
        except BotError:
            return

    # answering

    async def of(self, delivery: Delivery) -> Open | None:
        """What the delivery answers, if that can be answered as such. The later parts of a reply are plain messages,
        unless it is for one person: then they follow it there, part by part."""
        interaction, _ = interactions.used(delivery.answers)
        found = self._open.get(interaction)
        if found is None:
            return None
        later = delivery.address.reply_to is None and found.filled
        return None if (later and not found.private) or not await self._is_good(found) else found

    def of_message(self, message: MessageId) -> Open | None:
        """The one whose answer this message is, while that can be changed."""
        found = self._messages.get(message)
        return found if found is not None and self._lasts(found) else None

    async def of_press(self, handle: str) -> Open | None:
        found = self._open.get(handle.partition("/")[0])
        return found if found is not None and await self._is_good(found) else None

    async def send(self, opened: Open, delivery: Delivery, files: Sequence[discord.File]) -> MessageId | None:
        """None where that can't be answered any more. Raises `BotError`."""
        body = outbound.answer(delivery, private=opened.private)
        if files:
            body["attachments"] = outbound.described(delivery)
        try:
            told = await self._say(opened, delivery, body, files)
        except BotError as trouble:
            if code_of(trouble) not in _GONE:
                raise
            await self._let_go(opened)
            return None
        await self._fill(opened)
        message = told.get("id") if isinstance(told, dict) else None
        if not isinstance(message, str) or not is_snowflake(message):
            raise Unknown("the answer names no message")
        self._messages[MessageId(message)] = opened
        while len(self._messages) > _MOST:
            self._messages.popitem(last=False)
        return MessageId(message)

    async def edit(self, opened: Open, message: str, body: object) -> None:
        """Raises `BotError`."""
        with in_our_words():
            await self._line.whisper("PATCH", self._path(opened, f"/messages/{message}"), body)

    async def follow(self, opened: Open, body: object) -> None:
        """One more message. Raises `BotError`."""
        with in_our_words():
            await self._line.whisper("POST", self._path(opened, "?wait=true"), body)

    async def _say(
        self, opened: Open, delivery: Delivery, body: dict[str, object], files: Sequence[discord.File]
    ) -> object:
        """The first answer fills a place that is there, so it can be repeated. A later one can't, and one that a single
        person sees can't be looked for either."""
        if not opened.filled:
            try:
                with in_our_words():
                    return await self._line.whisper("PATCH", self._path(opened, "/messages/@original"), body, files)
            except BotError as trouble:
                if code_of(trouble) != UNKNOWN_MESSAGE:
                    raise
        if opened.private and delivery.earlier is not None:
            raise Unknown("it may have arrived before", for_good=True)
        with in_our_words():
            return await self._line.whisper("POST", self._path(opened, "?wait=true"), body, files)

    def _path(self, opened: Open, rest: str) -> str:
        return f"/webhooks/{self._application}/{opened.token.secret}{rest}"

    async def _is_good(self, opened: Open) -> bool:
        try:
            async with asyncio.timeout(_ACKNOWLEDGED_WITHIN_S + 1.0):
                await opened.ready.wait()
        except TimeoutError:
            opened.passed_over = True
            return False
        return opened.good and self._lasts(opened)

    def _came_s(self, token: Token) -> float:
        return self._came.get(token.interaction, self._clock.monotonic())

    def _lasts(self, opened: Open) -> bool:
        return self._clock.monotonic() - opened.made_s < _GOOD_FOR_S
