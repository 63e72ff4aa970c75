"""A bot whose messages have buttons, and what people do with them."""

from __future__ import annotations

import itertools
from collections import deque
from dataclasses import dataclass

from msgspec.structs import replace

from core.errors import SendError
from core.vocabulary import (
    Address,
    BotName,
    Button,
    Capabilities,
    ChatId,
    ChatKind,
    Delivery,
    EventId,
    MessageId,
    Press,
    Receipt,
    Sender,
    UserId,
)
from tests.flow.bot import GROWING, Fault, GrowingBot
from tests.flow.house import House

WITH_BUTTONS = replace(GROWING, buttons=True)
DRAFTING = replace(WITH_BUTTONS, drafts=True)
DONE, EXPIRED = "Done.", "That has expired."
SOMEBODY_ELSE_S = "This button is for somebody else."
OWNER_ONLY = "Only an owner can do that."
ASKER_ONLY = "Only the person who asked, or an owner, can do that."
"""What the one who pressed is told."""

_events = itertools.count(1)


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What one press was answered with."""

    data: str
    text: str
    over: bool


class ButtonBot(GrowingBot):
    """Its messages can have buttons; it reacts, and shows drafts where its capabilities say so."""

    def __init__(self, name: str = "main", capabilities: Capabilities = WITH_BUTTONS) -> None:
        super().__init__(name, capabilities)
        self.under: dict[MessageId, tuple[Button, ...]] = {}
        """The buttons that people see."""
        self.were: dict[MessageId, list[tuple[Button, ...]]] = {}
        """Those that each message had, in order."""
        self.answers: list[Answered] = []
        self.answer_faults: deque[Exception] = deque()
        self.drafts: list[tuple[ChatId, str]] = []
        self.draft_faults: deque[Fault] = deque()
        self.reactions: list[tuple[ChatId, MessageId, str]] = []

    def _show(self, delivery: Delivery, message: MessageId | None) -> MessageId:
        made = super()._show(delivery, message)
        self.under[made] = delivery.buttons
        self.were.setdefault(made, []).append(delivery.buttons)
        return made

    async def answer(self, press: Press, text: str, *, over: bool) -> None:
        self.answers.append(Answered(data=press.data, text=text, over=over))
        if self.answer_faults:
            raise self.answer_faults.popleft()
        if over:
            self.under = {
                message: () if press.data in {one.data for one in buttons} else buttons
                for message, buttons in self.under.items()
            }

    async def draft(self, address: Address, text: str) -> None:
        fault = self.draft_faults.popleft() if self.draft_faults else Fault()
        fault.reached.set()
        if fault.gate is not None:
            await fault.gate.wait()
        error, fault = fault.error, Fault()
        try:
            if error is not None:
                raise error
        finally:
            del error  # else it would hold itself by way of this frame
        self.drafts.append((address.chat, text))

    async def react(self, address: Address, message: MessageId, emoji: str) -> None:
        if self.answer_faults:
            raise self.answer_faults.popleft()
        self.reactions.append((address.chat, message, emoji))

    def buttons(self, chat: str = "7") -> list[Button]:
        """What can be pressed in a chat now, as people see it, oldest first."""
        return [one for shown in self.chats.get(ChatId(chat), []) for one in self.under.get(shown.id, ())]

    def button(self, label: str, chat: str = "7") -> str:
        """The data of the last button with this label there."""
        return [one.data for one in self.buttons(chat) if one.label == label][-1]

    def labels(self, chat: str = "7") -> list[str]:
        return [one.label for one in self.buttons(chat)]

    @property
    def told(self) -> list[tuple[str, bool]]:
        """(text, over) of each answer to a press."""
        return [(one.text, one.over) for one in self.answers]


class WorkingBot(ButtonBot):
    """It shows what an answer waits for."""

    def __init__(self, name: str = "main", capabilities: Capabilities = WITH_BUTTONS) -> None:
        super().__init__(name, capabilities)
        self.shows = True
        self.worked: list[tuple[ChatId, str]] = []
        self.work_faults: deque[SendError] = deque()

    def shows_work(self, address: Address) -> bool:
        return self.shows

    async def working(self, address: Address, doing: str) -> None:
        if self.work_faults:
            raise self.work_faults.popleft()
        self.worked.append((address.chat, doing))


def press_of(
    house: House, data: str, *, user: str = "7", chat: str | None = None, event: str = "", bot: str = "main"
) -> Press:
    """Somebody presses a button, in their direct chat unless a group is named."""
    place = chat or user
    return Press(
        event=EventId(event or f"press {next(_events)}"),
        address=Address(bot=BotName(bot), chat=ChatId(place)),
        kind=ChatKind.GROUP if place.startswith("-") else ChatKind.DIRECT,
        sender=Sender(user=UserId(user), name=f"user {user}"),
        data=data,
        pressed_at=house.clock.now(),
        handle="h",
    )


async def press(house: House, data: str, *, user: str = "7", chat: str | None = None, event: str = "") -> Receipt:
    """It is pressed, and all that comes of it by itself has happened."""
    (receipt,) = await house.receive(press_of(house, data, user=user, chat=chat, event=event))
    await house.idle()
    return receipt


def button_bot(house: House) -> ButtonBot:
    bot = house.bot
    assert isinstance(bot, ButtonBot)
    return bot
