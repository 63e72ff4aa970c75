"""What waits for one chat, in the order of its rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from core.errors import StoreError
from core.store import deliveries
from core.store.deliveries import Posted
from core.store.engine import Store
from core.vocabulary import BotName, ChatId

PAGE: Final = 100
"""Parts that are read from the store at once."""


class Backlog:
    """Some of it is here, the rest in the store. The first part is the one that is being sent, or is to be next."""

    def __init__(self, store: Store, bot: BotName, chat: ChatId) -> None:
        self._store = store
        self._bot = bot
        self._chat = chat
        self._here: deque[Posted] = deque()
        self._rest = False
        """More waits in the store: it is read once nothing is here."""
        self._emptied = 0

    def __bool__(self) -> bool:
        return bool(self._here) or self._rest

    @property
    def first(self) -> Posted | None:
        """None also where the rest must be read first."""
        return self._here[0] if self._here else None

    def add(self, parts: Iterable[Posted]) -> None:
        """Stored parts, behind all others."""
        if not self._rest:
            self._here.extend(parts)

    def put(self, posted: Posted) -> None:
        """The first part is this by now."""
        self._here[0] = posted

    def change(self, change: Callable[[Posted], Posted]) -> None:
        """Each part is another by now, in the store too."""
        self._here = deque(change(one) for one in self._here)

    def done(self) -> None:
        """The first part has its fate."""
        self._here.popleft()

    def forget(self, posted: Posted) -> None:
        """It waits elsewhere."""
        self._here = deque(one for one in self._here if one.id != posted.id)

    def empty(self) -> None:
        """Nothing waits here any more but a part that is under way."""
        self._here = deque(one for one in self._here if one.state == deliveries.SENDING)
        self._rest = False
        self._emptied += 1

    def look(self) -> None:
        """Something waits in the store, maybe before what is here: it is read in its order."""
        self.empty()
        self._rest = True

    async def read(self) -> None:
        """The next page, in order with what is added meanwhile; what lies behind a full page is read later. Raises
        `StoreError`."""
        self._rest, emptied = False, self._emptied
        try:
            page = await self._store.read(lambda tx: deliveries.unsent(tx, self._bot, self._chat, after=0, most=PAGE))
        except StoreError:
            if emptied == self._emptied:
                self.look()
            raise
        if emptied != self._emptied:  # what was read may be elsewhere by now
            return
        full = self._rest or len(page) == PAGE
        merged = {one.id: one for one in (*page, *self._here)}
        self._here = deque(merged[key] for key in sorted(merged) if not full or key <= page[-1].id)
        self._rest = full
