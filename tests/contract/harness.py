"""What the contract of `Bot` needs of a platform: its strict double, a person on it, and faults to order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum, auto

from core.ports import Bot
from core.vocabulary import Address, ChatKind, Delivery, DeliveryId
from tests.contract.doubles import ManualClock


class Fault(Enum):
    """What can happen to a delivery."""

    NOT_REACHED = auto()
    FLOOD = auto()
    REJECTED = auto()
    CHAT_DEAD = auto()
    NO_ANSWER = auto()
    ACCOUNT_REFUSED = auto()


FLOOD_WAIT_S = 7.0


class Harness(ABC):
    """One bot and one person in a direct chat with it. The double refuses what the platform would refuse."""

    bot: Bot
    clock: ManualClock
    address: Address
    kind: ChatKind = ChatKind.DIRECT
    secrets: tuple[str, ...] = ()
    account: str
    _deliveries = 0

    @abstractmethod
    def say(self, text: str) -> None:
        """The person writes to the bot."""

    @abstractmethod
    def held_back(self) -> int:
        """How many of the person's messages the platform would still hand over after a crash."""

    @abstractmethod
    def seen(self) -> tuple[str, ...]:
        """What the person sees of the bot, oldest first."""

    @abstractmethod
    def broken_rules(self) -> tuple[object, ...]:
        """Where the bot broke a documented rule of the platform."""

    @abstractmethod
    async def order(self, fault: Fault) -> None:
        """The next delivery meets this."""

    @abstractmethod
    async def mend(self) -> None:
        """No more faults."""

    def delivery(self, text: str) -> Delivery:
        self._deliveries += 1
        return Delivery(id=DeliveryId(self._deliveries), address=self.address, kind=self.kind, text=text)
