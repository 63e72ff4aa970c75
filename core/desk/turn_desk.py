"""What an agent may ask of the desk while it answers. It sees what its asker may see, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from core.desk.admit import Admitted
from core.desk.days import day_start
from core.desk.house import House
from core.store import attachments, search, turns
from core.store.search import Hits
from core.vocabulary import ChatKind

MOST = 20
"""Entries that one search gives."""


class TurnDesk:
    """`agent.DeskTools` for one turn."""

    def __init__(self, house: House, admitted: Admitted) -> None:
        self._house = house
        self._turn = admitted.turn

    def time(self) -> datetime:
        return self._house.clock.now().astimezone(ZoneInfo(self._house.rules.zone_name))

    async def tokens_today(self) -> int:
        since = day_start(self.time())
        used = await self._house.store.read(lambda tx: turns.usage_since(tx, self._turn.author, since))
        return used.get("input_tokens", 0) + used.get("output_tokens", 0)

    async def keep(self, data: bytes, media_type: str) -> str:
        store, session, now = self._house.store, self._turn.session, self._house.clock.now()
        digest = await asyncio.to_thread(store.files.put, data)
        await store.write(lambda tx: attachments.add(tx, session, digest, media_type, len(data), now))
        return digest

    async def files(self, refs: Iterable[str]) -> Mapping[str, bytes]:
        found = {ref: await asyncio.to_thread(self._house.store.files.get, ref) for ref in refs}
        return {ref: data for ref, data in found.items() if data is not None}

    async def search(self, words: str) -> Hits:
        """In a direct chat all of the asker's sessions; where others read along, only those of this conversation."""
        turn = self._turn
        here = None if turn.kind is ChatKind.DIRECT else turn.conversation
        return await self._house.store.read(
            lambda tx: search.search(tx, words, identity=turn.author, conversation=here, most=MOST)
        )
