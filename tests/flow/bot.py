"""A bot on a platform of our own: it keeps what people see, and fails as it is told."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from core.delivery.split import split
from core.errors import BotError, SendError
from core.ports import Desk
from core.vocabulary import (
    Address,
    BotName,
    Capabilities,
    ChatId,
    Delivery,
    DeliveryId,
    MessageId,
    TextUnit,
    ThreadId,
    UserId,
)

CAPABILITIES = Capabilities(text_limit=400, text_unit=TextUnit.UTF16)
"""No pace, no edits, no typing: each test adds what it is about."""
GROWING = Capabilities(text_limit=400, text_unit=TextUnit.UTF16, edit_interval_s=1.0, typing_interval_s=4.5)


@dataclass(kw_only=True)
class Fault:
    """What happens to one call: an error, before or after it took effect; with `gate`, only once that is set."""

    error: SendError | None = None
    applied: bool = False
    gate: asyncio.Event | None = None
    reached: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(kw_only=True)
class Shown:
    """One message of ours, as people see it. `texts` is its history, the last one is what it says."""

    id: MessageId
    delivery: DeliveryId
    thread: ThreadId | None
    reply_to: MessageId | None
    answers: MessageId | None
    texts: list[str]

    @property
    def text(self) -> str:
        return self.texts[-1]


class FakeBot:
    """`ports.Bot`. What people see outlives the process: `restarted` gives the next one the same platform."""

    platform = "telegram"

    def __init__(self, name: str = "main", capabilities: Capabilities = CAPABILITIES) -> None:
        self.name = BotName(name)
        self.capabilities = capabilities
        self.chats: dict[ChatId, list[Shown]] = {}
        self.faults: dict[ChatId, deque[Fault]] = {}
        self.calls: list[tuple[str, ChatId, str]] = []
        self.typed: list[ChatId] = []
        self.admins: set[tuple[ChatId, UserId]] = set()
        self.admin_error: BotError | None = None
        self.asked_admin = 0
        self.at_once: list[str] = []
        """Chats in which two calls were under way at the same time."""
        self.spoils: Callable[[str], bool] = lambda text: False
        """Texts that its renderer breaks on."""
        self._under_way: set[ChatId] = set()
        self._ids = 1000
        self.hanging = 0

    async def run(self, desk: Desk) -> None:
        await asyncio.Event().wait()

    def parts(self, text: str) -> tuple[str, ...]:
        if self.spoils(text):
            raise ValueError("this text can't be rendered")
        return split(text, self.capabilities.text_limit)

    def fail(self, chat: str, *faults: Fault | SendError) -> None:
        """The next calls in this chat meet these, in order."""
        waiting = self.faults.setdefault(ChatId(chat), deque())
        waiting.extend(one if isinstance(one, Fault) else Fault(error=one) for one in faults)

    def reborn(self) -> None:
        """The process that spoke through it is gone, and what it had under way with it."""
        self._under_way.clear()
        self.hanging = 0

    async def send(self, delivery: Delivery) -> MessageId:
        return await self._call("send", delivery, None)

    async def _call(self, verb: str, delivery: Delivery, message: MessageId | None) -> MessageId:
        chat = delivery.address.chat
        self.calls.append((verb, chat, delivery.text))
        if chat in self._under_way:
            self.at_once.append(f"{verb} {delivery.text!r} in {chat}")
        self._under_way.add(chat)
        try:
            return await self._meet(delivery, message, self._next_fault(chat))
        finally:
            self._under_way.discard(chat)

    def _next_fault(self, chat: ChatId) -> Fault:
        waiting = self.faults.get(chat)
        return waiting.popleft() if waiting else Fault()

    async def _meet(self, delivery: Delivery, message: MessageId | None, fault: Fault) -> MessageId:
        fault.reached.set()
        if fault.gate is not None:
            self.hanging += 1
            try:
                await fault.gate.wait()
            finally:
                self.hanging -= 1
        if fault.error is not None and not fault.applied:
            raise fault.error
        made = self._show(delivery, message)
        if fault.error is not None:
            raise fault.error
        return made

    def _show(self, delivery: Delivery, message: MessageId | None) -> MessageId:
        chat = delivery.address.chat if delivery.alone is None else ChatId(delivery.alone)  # a direct chat has its name
        shown = self.chats.setdefault(chat, [])
        if not delivery.text.strip():
            raise AssertionError("an empty message was sent")
        if message is not None:
            for one in shown:
                if one.id == message:
                    one.texts.append(delivery.text)
                    return message
            raise AssertionError(f"no message {message} to edit")
        self._ids += 1
        made = MessageId(str(self._ids))
        shown.append(
            Shown(
                id=made,
                delivery=delivery.id,
                thread=delivery.address.thread,
                reply_to=delivery.address.reply_to,
                answers=delivery.answers,
                texts=[delivery.text],
            )
        )
        return made

    def seen(self, chat: str) -> list[str]:
        """What our messages in a chat say, oldest first."""
        return [one.text for one in self.chats.get(ChatId(chat), [])]


class AdminBot(FakeBot):
    """Its platform knows who runs a group."""

    async def is_admin(self, chat: ChatId, user: UserId) -> bool:
        self.asked_admin += 1
        if self.admin_error is not None:
            raise self.admin_error
        return (chat, user) in self.admins


class GrowingBot(AdminBot):
    """Its messages can be edited, and it can show that it types."""

    def __init__(self, name: str = "main", capabilities: Capabilities = GROWING) -> None:
        super().__init__(name, capabilities)

    async def edit(self, delivery: Delivery, message: MessageId) -> None:
        await self._call("edit", delivery, message)

    async def typing(self, address: Address) -> None:
        self.typed.append(address.chat)
