"""Which commands wait for their answer, kept over a restart: Discord shows a waiting sign until it comes."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import Final

from msgspec import Struct

from bots.discord.interactions import Token
from bots.discord.reading import is_snowflake
from core.errors import StoreError
from core.ports import Desk
from core.vocabulary import BotName

_NOTE: Final = "waiting"
_MOST: Final = 32


class Waiting(Struct, frozen=True, kw_only=True):
    """A command that Discord shows a waiting sign for, or one for a single person with words in its place."""

    token: Token
    private: bool
    filled: bool
    heard_at: datetime


class Kept:
    """The newest of them, as the last process left them and as they come and go. One for each run."""

    def __init__(self, desk: Desk, bot: BotName) -> None:
        self._desk = desk
        self._bot = bot
        self._waiting: dict[str, Waiting] = {}
        self._unsaved = False
        self._writing = asyncio.Lock()

    async def load(self, since: datetime) -> tuple[Waiting, ...]:
        """Those that came after `since`. Raises `StoreError`."""
        found = _read(await self._desk.recall(self._bot, _NOTE) or "{}")
        self._waiting = {one.token.interaction: one for one in found if one.heard_at > since}
        return tuple(self._waiting.values())

    async def put(self, one: Waiting) -> None:
        """Where the store can't keep it, it is answered after a restart as what nobody waits for."""
        self._waiting.pop(one.token.interaction, None)
        self._waiting[one.token.interaction] = one
        while len(self._waiting) > _MOST:
            del self._waiting[next(iter(self._waiting))]
        await self._save()

    async def drop(self, interaction: str) -> None:
        if self._waiting.pop(interaction, None) is not None:
            await self._save()

    async def _save(self) -> None:
        """One write takes along all that changed while the last one went on."""
        self._unsaved = True
        async with self._writing:
            if not self._unsaved:
                return
            self._unsaved = False
            try:
                await self._desk.note(self._bot, _NOTE, json.dumps(_written(self._waiting)))
            except StoreError:
                self._unsaved = True


def _written(waiting: dict[str, Waiting]) -> dict[str, list[object]]:
    return {
        name: [one.token.secret, one.private, one.filled, one.heard_at.isoformat()] for name, one in waiting.items()
    }


def _read(noted: str) -> list[Waiting]:
    """What this version did not write is none."""
    try:
        return [
            Waiting(
                token=Token(interaction=name, secret=str(secret)),
                private=bool(private),
                filled=bool(filled),
                heard_at=datetime.fromisoformat(heard),
            )
            for name, (secret, private, filled, heard) in json.loads(noted).items()
            if is_snowflake(name)
        ]
    except (ValueError, TypeError, AttributeError):
        return []
