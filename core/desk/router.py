"""Which mailbox: one per conversation that has something to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import structlog

from core.desk.coalesce import Ref
from core.desk.house import House
from core.desk.mailbox import Mailbox
from core.desk.owner import Unfinished
from core.faultpoints import faultpoint
from core.store.conversations import ConversationId
from core.store.inbox import Lane
from core.vocabulary import Moved

log = structlog.get_logger("frontdesk.desk")


class Router:
    """Lives on the main loop. Between looking a mailbox up and putting something in there is no await, so a mailbox
    that has decided to go can't miss anything."""

    def __init__(self, house: House, lost: Callable[[ConversationId], None]) -> None:
        """`lost` is called for a conversation that has to be taken up anew from the store."""
        self._house = house
        self._lost = lost
        self._boxes: dict[ConversationId, Mailbox] = {}

    def __len__(self) -> int:
        """Conversations that have something to do."""
        return len(self._boxes)

    def _box(self, conversation: ConversationId) -> Mailbox:
        box = self._boxes.get(conversation)
        if box is None:
            box = self._boxes[conversation] = Mailbox(self._house, conversation, self._gone)
        return box

    def _gone(self, box: Mailbox) -> None:
        if self._boxes.get(box.conversation) is box:
            del self._boxes[box.conversation]
        box.owner.abandon()
        if box.lost:
            self._lost(box.conversation)

    def put(self, conversation: ConversationId, ref: Ref, lane: Lane) -> None:
        self._box(conversation).put(ref, lane)

    def go_on(self, conversation: ConversationId, unfinished: Unfinished) -> None:
        self._box(conversation).go_on(unfinished)

    def nominate(self, conversations: Iterable[ConversationId]) -> None:
        """Their sessions' ends have come; each owner looks for itself."""
        for conversation in conversations:
            self._box(conversation).nominate()

    def move(self, moved: Moved) -> None:
        """A chat has another id, in the store already."""
        for box in self._boxes.values():
            box.move(moved)

    @property
    def running(self) -> int:
        return sum(1 for box in self._boxes.values() if box.owner.turn is not None)

    def moving(self) -> list[asyncio.Task[None]]:
        """Mailboxes that do something right now: neither waiting for time nor for an agent."""
        return [box.task for box in self._boxes.values() if not box.still]

    @property
    def carries(self) -> bool:
        """Files are being fetched or read for some."""
        return any(box.carries for box in self._boxes.values())

    async def drain(self, seconds: float) -> None:
        """Let what runs come to its end, for that long."""
        faultpoint("drain.begun")
        deadline = self._house.clock.monotonic() + seconds
        while self.running and self._house.clock.monotonic() < deadline:
            await self._house.clock.sleep(0.02)

    async def close(self) -> None:
        """Stop all owners. What they had not recorded is the next start's to settle."""
        boxes = list(self._boxes.values())
        for box in boxes:
            box.task.cancel()
            box.owner.abandon()
        await asyncio.gather(*(box.task for box in boxes), return_exceptions=True)
        self._boxes.clear()
