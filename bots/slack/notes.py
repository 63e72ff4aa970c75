"""What has to be known of a delivery over restarts, the newest of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Final

from core.errors import NotSent, StoreError
from core.ports import Desk
from core.vocabulary import BotName, Delivery

_MOST: Final = 64


class Notes:
    """Some words about each delivery, under one name; for one `run`."""

    def __init__(self, desk: Desk, bot: BotName, name: str) -> None:
        self._desk = desk
        self._bot = bot
        self._name = name
        self._writing = asyncio.Lock()

    async def put(self, delivery: Delivery, words: Sequence[str]) -> None:
        """Raises `NotSent`."""
        async with self._writing:
            kept = dict(list({**await self.all(), str(delivery.id): [*words]}.items())[-_MOST:])
            try:
                await self._desk.note(self._bot, self._name, json.dumps(kept))
            except StoreError:
                raise NotSent("the store can't keep what is to be sent") from None

    async def all(self) -> Mapping[str, Sequence[str]]:
        """By the deliveries' ids, the oldest first. Raises `NotSent`."""
        try:
            noted = json.loads(await self._desk.recall(self._bot, self._name) or "{}")
        except (StoreError, ValueError):
            raise NotSent("not known whether it was sent before") from None
        return {one: [str(word) for word in words] for one, words in noted.items()}
