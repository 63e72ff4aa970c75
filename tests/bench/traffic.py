"""People who talk to one in-process bot: each says the next thing when the last one was answered."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from core.clock import SystemClock
from core.vocabulary import (
    Address,
    BotName,
    Capabilities,
    ChatId,
    ChatKind,
    Delivery,
    EventId,
    Inbound,
    Message,
    MessageId,
    Receipt,
    RowId,
    Sender,
    TextUnit,
    UserId,
    Verdict,
)

BOT = BotName("bench")
MOST_IN_BATCH = 100
WORDS = "What is the weather like at the harbour today, and shall I take the boat out?"


_ids = itertools.count(1)


def message(chat: ChatId, *, sent_at: datetime, bot: BotName = BOT, text: str = WORDS) -> Message:
    """The next one of all."""
    number = str(next(_ids))
    return Message(
        event=EventId(number),
        message=MessageId(number),
        address=Address(bot=bot, chat=chat),
        kind=ChatKind.DIRECT,
        sender=Sender(user=UserId(chat), name="Ada Lovelace"),
        text=text,
        sent_at=sent_at,
        addressed=True,
    )


class Intake(Protocol):
    async def receive(self, batch: Sequence[Inbound]) -> tuple[Receipt, ...]: ...


class BenchBot:
    """`ports.Bot` without limits of pace, edits or a network: a send costs nothing."""

    platform = "telegram"
    capabilities = Capabilities(text_limit=4096, text_unit=TextUnit.CODE_POINTS)

    def __init__(self, name: BotName = BOT) -> None:
        self.name = name
        self.traffic: Traffic | None = None
        self.sent = 0
        self.last_send_s = 0.0

    async def run(self, desk: object) -> None:
        await asyncio.Event().wait()

    def parts(self, text: str) -> tuple[str, ...]:
        return (text,) if text.strip() else ()

    async def send(self, delivery: Delivery) -> MessageId:
        self.last_send_s = time.perf_counter()
        self.sent += 1
        if self.traffic is not None:
            self.traffic.answered(delivery.address.chat)
        return MessageId(str(delivery.id))


class GrowingBot(BenchBot):
    """Its messages can be edited, once a second in each chat. `shown`: told each text of an answer, and when it was
    handed over."""

    capabilities = Capabilities(
        text_limit=4096, text_unit=TextUnit.CODE_POINTS, edit_interval_s=1.0, typing_interval_s=4.5
    )

    def __init__(self) -> None:
        super().__init__()
        self.shown: Callable[[Delivery, float], None] = lambda delivery, at_s: None

    async def send(self, delivery: Delivery) -> MessageId:
        self.shown(delivery, time.monotonic())
        return await super().send(delivery)

    async def edit(self, delivery: Delivery, message: MessageId) -> None:
        self.shown(delivery, time.monotonic())

    async def typing(self, address: Address) -> None:
        pass


class Traffic:
    """Closed loop: one message under way in each chat, until each has had its turns."""

    def __init__(self, chats: Sequence[str], turns: int) -> None:
        self.chats = tuple(ChatId(chat) for chat in chats)
        self._left = dict.fromkeys(self.chats, turns)
        self._speak: asyncio.Queue[ChatId] = asyncio.Queue()
        self._clock = SystemClock()
        self._missing = len(chats) * turns
        self.done = asyncio.Event()
        for chat in self._left:
            self._speak.put_nowait(chat)

    def answered(self, chat: ChatId) -> None:
        self._missing -= 1
        if self._left[chat] > 0:
            self._speak.put_nowait(chat)
        if self._missing == 0:
            self.done.set()

    def message(self, chat: ChatId) -> Message:
        self._left[chat] -= 1
        return message(chat, sent_at=self._clock.now())

    async def run(self, intake: Intake) -> None:
        """One batch after the other, as a bot does; returns when the last answer was sent."""
        listener = asyncio.create_task(self._listen(intake))
        try:
            await self.done.wait()
        finally:
            listener.cancel()

    async def _listen(self, intake: Intake) -> None:
        while True:
            chats = [await self._speak.get()]
            while len(chats) < MOST_IN_BATCH and not self._speak.empty():
                chats.append(self._speak.get_nowait())
            await intake.receive([self.message(chat) for chat in chats])


class NoDesk:
    """Answers at once: what is left is the cost of the traffic itself."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic

    async def receive(self, batch: Sequence[Inbound]) -> tuple[Receipt, ...]:
        await asyncio.sleep(0)
        for inbound in batch:
            self._traffic.answered(inbound.address.chat)
        return tuple(Receipt(verdict=Verdict.ACCEPTED, row=RowId(1)) for _ in batch)
