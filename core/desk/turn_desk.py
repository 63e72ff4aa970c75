"""What an agent may ask of the desk while it answers. It sees what its asker may see, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from core.desk.admit import Admitted
from core.desk.days import day_start
from core.desk.handing import Hand, take, upload_limit
from core.desk.house import Expected, House
from core.errors import FenceLost, FileRefused
from core.people.names import storable
from core.store import attachments, conversations, deliveries, search, turns
from core.store.deliveries import Parcel, Posted
from core.store.people import Role
from core.store.search import Hits
from core.store.sql import Tx
from core.store.turns import Turn
from core.vocabulary import ChatKind

MOST = 20
"""Entries that one search gives."""


class TurnDesk:
    """`agent.DeskTools` for one turn."""

    def __init__(self, house: House, admitted: Admitted) -> None:
        self._house = house
        self._turn = admitted.turn
        self._is_guest = admitted.role == Role.GUEST
        self._fence = admitted.conversation.fence

    def move(self, turn: Turn) -> None:
        """Its chat has another id."""
        self._turn = turn

    def time(self) -> datetime:
        return self._house.clock.now().astimezone(ZoneInfo(self._house.rules.zone_name))

    async def tokens_today(self) -> int:
        turn, since = self._turn, day_start(self.time())
        used = await self._house.store.read(lambda tx: turns.usage_since(tx, turn.author, since))
        others = [
            one.tokens for one in self._house.expected.values() if one.author == turn.author and one.id != turn.id
        ]
        return used.get("input_tokens", 0) + used.get("output_tokens", 0) + sum(others)

    @property
    def tokens_a_day(self) -> int | None:
        return self._house.rules.guests.tokens_per_day if self._is_guest else None

    async def expect(self, tokens: int, most: int) -> int:
        turn, used = self._turn, await self.tokens_today()
        if used + tokens <= most:
            self._house.expected[turn.id] = Expected(id=turn.id, author=turn.author, tokens=tokens)
        return used

    def close(self) -> None:
        """What the turn used is stored, or will never be."""
        self._house.expected.pop(self._turn.id, None)

    async def keep(self, data: bytes, media_type: str) -> str:
        store, session, now = self._house.store, self._turn.session, self._house.clock.now()
        digest = await asyncio.to_thread(store.files.put, data)
        file = attachments.File(digest=digest, name="", media_type=media_type, size=len(data))
        await store.write(lambda tx: attachments.add(tx, session, file, now))
        return digest

    async def files(self, refs: Iterable[str]) -> Mapping[str, bytes]:
        found = {ref: await asyncio.to_thread(self._house.store.files.get, ref) for ref in refs}
        return {ref: data for ref, data in found.items() if data is not None}

    async def hand_over(self, paths: Sequence[str], caption: str, roots: Sequence[Path]) -> Sequence[str]:
        house, turn = self._house, self._turn
        bot = house.bots.get(turn.address.bot)
        if bot is None or not bot.capabilities.upload_limit_bytes:
            raise FileRefused("Files can't be sent in this chat.")
        hand = Hand(
            roots=tuple(roots), limit=upload_limit(bot, turn.address), most=bot.capabilities.files_limit,
            withheld=house.rules.withheld,
        )  # fmt: skip
        files = await asyncio.to_thread(take, house.store.files, paths, hand)
        words = storable(caption).strip()
        fits = len(words.encode("utf-16-le")) // 2 <= bot.capabilities.caption_limit
        before = () if fits else await house.outbox.parts_aside(turn.address.bot, words)
        now = house.clock.now()
        parcels = [self._parcel(text) for text in before]
        parcels.append(replace(self._parcel(words if fits else ""), files=files))
        fence = self._fence
        house.outbox.push(await house.store.write(lambda tx: _post(tx, turn, fence, parcels, now)))
        return [file.name for file in files]

    def _parcel(self, text: str) -> Parcel:
        turn = self._turn
        return Parcel(
            conversation=turn.conversation, turn=turn.id, role=deliveries.REPLY, part=2, address=turn.address,
            kind=turn.kind, text=text,
        )  # fmt: skip

    async def search(self, words: str) -> Hits:
        """In a direct chat all of the asker's sessions; where others read along, only those of this conversation."""
        turn = self._turn
        here = None if turn.kind is ChatKind.DIRECT else turn.conversation
        return await self._house.store.read(
            lambda tx: search.search(tx, words, identity=turn.author, conversation=here, most=MOST)
        )


def _post(tx: Tx, turn: Turn, fence: int, parcels: Sequence[Parcel], now: datetime) -> list[Posted]:
    """Raises `FenceLost` where the turn is over."""
    conversations.own(tx, turn.conversation, fence)
    if turns.state_of(tx, turn.id) != turns.RUNNING:
        raise FenceLost("the turn has ended; its agent sends nothing any more")
    for file in (file for parcel in parcels for file in parcel.files):
        kept = attachments.File(digest=file.digest, name=file.name, media_type=file.media_type, size=file.size)
        attachments.add(tx, turn.session, kept, now)
    return [deliveries.post(tx, parcel, now) for parcel in parcels]
