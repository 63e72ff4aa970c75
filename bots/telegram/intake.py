"""From raw updates to the desk, one batch after the other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable, Sequence
from typing import Final

from msgspec.structs import replace

from bots.telegram import inbound
from bots.telegram.addressed import Account
from core.errors import StoreError
from core.ports import Clock, Desk
from core.vocabulary import BotName, ChatId, Inbound, Message

_LOG: Final = logging.getLogger(__name__)


class Intake:
    """For one `run`. What it remembers of chats is only convenience."""

    def __init__(self, desk: Desk, clock: Clock) -> None:
        self._desk = desk
        self._clock = clock
        self._turn = asyncio.Lock()
        self._forums = _Remembered()
        self._albums = _Remembered()

    async def take(self, updates: Sequence[object], us: Account) -> None:
        """Make them durable. Raises `StoreError`."""
        self._note_forums(updates)
        now = self._clock.now()
        read = [(update, inbound.read(update, us, now)) for update in updates]
        self._note_albums(read)
        batch = [self._with_album(update, one) for update, one in read if one is not None]
        if batch:
            async with self._turn:
                await self._desk.receive(batch)

    async def moved(self, bot: BotName, old: ChatId, new: ChatId) -> None:
        """A send told of it. If the store takes nothing now, Telegram's own message of it comes too."""
        try:
            async with self._turn:
                await self._desk.receive([inbound.moved(bot, old, new)])
        except StoreError as trouble:
            _LOG.warning("a moved chat was not stored", extra={"bot": bot, "why": str(trouble)})

    def is_forum(self, chat: ChatId) -> bool:
        """Whether something was heard from there that says so."""
        return chat in self._forums

    def _note_forums(self, updates: Sequence[object]) -> None:
        for update in updates:
            if (forum := inbound.forum_of(update)) is not None:
                self._forums.add(forum)

    def _note_albums(self, read: Sequence[tuple[object, Inbound | None]]) -> None:
        for update, one in read:
            if isinstance(one, Message) and one.addressed and (album := inbound.album_of(update)):
                self._albums.add((one.address.chat, one.sender.user, album))

    def _with_album(self, update: object, one: Inbound) -> Inbound:
        """Only one message of an album has the caption, and so the mention: it is for all of them."""
        if not isinstance(one, Message) or one.addressed or not (album := inbound.album_of(update)):
            return one
        if (one.address.chat, one.sender.user, album) not in self._albums:
            return one
        return replace(one, addressed=True)


class _Remembered:
    """The last few hundred of something."""

    _MOST = 500

    def __init__(self) -> None:
        self._kept: dict[Hashable, None] = {}

    def __contains__(self, thing: Hashable) -> bool:
        return thing in self._kept

    def add(self, thing: Hashable) -> None:
        self._kept.pop(thing, None)
        self._kept[thing] = None
        if len(self._kept) > self._MOST:
            del self._kept[next(iter(self._kept))]
