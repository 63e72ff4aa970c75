"""What the contract of `Bot` needs of a platform: its strict double, a person on it, and faults to order."""

from __future__ import annotations

import mimetypes
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from core.ports import Bot
from core.vocabulary import Address, Button, ChatKind, Delivery, DeliveryId, FileKind, OutFile
from tests.contract.doubles import ManualClock, RecordingDesk


class Fault(Enum):
    """What can happen to a delivery, with files or without."""

    NOT_REACHED = auto()
    FLOOD = auto()
    REJECTED = auto()
    CHAT_DEAD = auto()
    NO_ANSWER = auto()
    """It arrives, and nobody says so."""
    LOST = auto()
    """It leaves, does not arrive, and nobody says so."""
    ACCOUNT_REFUSED = auto()


FLOOD_WAIT_S = 7.0


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One message of the bot's, as the person sees it. `files`: names and contents; `buttons`: what stands on them."""

    text: str
    files: tuple[tuple[str, bytes], ...] = ()
    buttons: tuple[str, ...] = ()


class Harness(ABC):
    """One bot and one person in a direct chat with it. The double refuses what the platform would refuse."""

    bot: Bot
    clock: ManualClock
    address: Address
    kind: ChatKind = ChatKind.DIRECT
    secrets: tuple[str, ...] = ()
    account: str
    person: str
    """The person's id, as the platform tells it."""
    gives_bytes: int | None = None
    """How large a file of a person's the platform gives to a bot; None: whatever can be sent."""
    keeps_presses = False
    """Is a press kept for a bot that is down?"""
    _deliveries = 0

    @abstractmethod
    def restart(self) -> None:
        """From now on `bot` is another object, with the same account and clock."""

    @abstractmethod
    def say(self, text: str) -> None:
        """The person writes to the bot."""

    @abstractmethod
    def bring(self, text: str, *files: tuple[str, bytes]) -> None:
        """The person sends files as one, with words beside them."""

    @abstractmethod
    def lose_files(self) -> None:
        """What the person sent so far can't be had any more."""

    @abstractmethod
    def press(self, data: str) -> None:
        """The person presses the last button with this data that is to be seen."""

    @abstractmethod
    def held_back(self) -> int:
        """How many of the person's messages the platform would still hand over after a crash."""

    @abstractmethod
    def shown(self) -> tuple[Shown, ...]:
        """What the person sees of the bot, oldest first; files that were sent as one are one message."""

    def seen(self) -> tuple[str, ...]:
        return tuple(one.text for one in self.shown())

    @abstractmethod
    def whispers(self) -> tuple[str, ...]:
        """What was said to the person alone, who pressed a button."""

    @abstractmethod
    def waiting_signs(self) -> int:
        """How many presses the person still sees waiting."""

    @abstractmethod
    def broken_rules(self) -> tuple[object, ...]:
        """Where the bot broke a documented rule of the platform."""

    @abstractmethod
    async def order(self, fault: Fault) -> None:
        """The next delivery meets this."""

    @abstractmethod
    async def mend(self) -> None:
        """No more faults."""

    def delivery(self, text: str, *, files: Sequence[OutFile] = (), buttons: Sequence[Button] = ()) -> Delivery:
        self._deliveries += 1
        return Delivery(
            id=DeliveryId(self._deliveries), address=self.address, kind=self.kind, text=text, files=tuple(files),
            buttons=tuple(buttons),
        )  # fmt: skip


def anew(harness: Harness, desk: RecordingDesk) -> None:
    """The process is another: all that is left is what the desk keeps."""
    harness.restart()
    desk.health.said.clear()


def out(folder: Path, name: str, content: bytes = b"a few words", kind: FileKind = FileKind.FILE) -> OutFile:
    """A file of ours, to be sent."""
    path = folder / name
    path.write_bytes(content)
    media_type = mimetypes.guess_type(name)[0] or ""
    return OutFile(kind=kind, path=path, name=name, media_type=media_type, size=len(content))
