"""What the contract of `Bot` needs: a bot in this process, a person on its platform, and faults to order."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from core.ports import Bot
from core.vocabulary import Address, BotName, Button, ChatId, ChatKind, Delivery, DeliveryId, FileKind, OutFile
from tests.clock import ManualClock
from tests.contract.doubles import RecordingDesk
from tests.drivers.driver import Driver, Saying


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


class Harness:
    """One bot and one person in a direct chat with it. The test server refuses what the platform would refuse."""

    bot: Bot
    kind: ChatKind = ChatKind.DIRECT
    _deliveries = 0

    def __init__(self, driver: Driver, make: Callable[[ManualClock], Bot], clock: ManualClock | None = None) -> None:
        self.driver = driver
        self.clock = clock or ManualClock()
        self._make = make
        self._ada = driver.person("ada")
        self._place = driver.direct(self._ada)
        self.address = Address(bot=BotName(driver.name), chat=ChatId(self._place.chat))
        self.secrets, self.account = driver.secrets, driver.account_id
        self.person = self._ada.id
        self.gives_bytes, self.keeps_presses = driver.gives_bytes, driver.keeps_presses
        self.restart()

    def restart(self) -> None:
        """From now on `bot` is another object, with the same account and clock."""
        self.bot = self._make(self.clock)

    def say(self, text: str) -> str:
        """The person writes to the bot."""
        return self.driver.say(self._place, self._ada, Saying(text=text))

    def bring(self, text: str, *files: tuple[str, bytes]) -> str:
        """The person sends files as one, with words beside them."""
        return self.driver.say(self._place, self._ada, Saying(text=text, files=dict(files)))

    def lose_files(self) -> None:
        """What the person sent so far can't be had any more."""
        self.driver.lose_files(self._place)

    def press(self, data: str) -> None:
        """The person presses the last button with this data that is to be seen."""
        there = [one for one in self.driver.buttons(self._place) if one.data == f"fd:{data}"]
        self.driver.press(self._place, self._ada, there[-1])

    def held_back(self) -> int:
        """How many of the person's messages the platform would still hand over after a crash."""
        raise NotImplementedError

    def shown(self) -> tuple[Shown, ...]:
        """What the person sees of the bot, oldest first; files that were sent as one are one message."""
        return tuple(
            Shown(text=one.text, files=one.files, buttons=tuple(button.label for button in one.buttons))
            for one in self.driver.shown(self._place)
        )

    def seen(self) -> tuple[str, ...]:
        return tuple(one.text for one in self.shown())

    def whispers(self) -> tuple[str, ...]:
        """What was said to the person alone, who pressed a button."""
        return tuple(self.driver.told(self._place, self._ada))

    def waiting_signs(self) -> int:
        """How many presses the person still sees waiting."""
        return self.driver.presses_waiting

    def broken_rules(self) -> tuple[object, ...]:
        """Where the bot broke a documented rule of the platform."""
        return self.driver.violations

    async def order(self, fault: Fault) -> None:
        """The next delivery meets this."""
        match fault:
            case Fault.NOT_REACHED:
                await self.driver.server.pause()
                await self._notice()
            case Fault.FLOOD:
                self.driver.flood(self._place, int(FLOOD_WAIT_S))
            case Fault.REJECTED:
                self.driver.refuse_next()
            case Fault.CHAT_DEAD:
                self.driver.close(self._place, self._ada)
            case Fault.NO_ANSWER | Fault.LOST:
                self.driver.drop_next(applied=fault is Fault.NO_ANSWER)
            case Fault.ACCOUNT_REFUSED:
                self.driver.revoke()
                await self._ask()

    async def _notice(self) -> None:
        """The bot has noticed that a connection is gone, so the others are gone, too."""
        await self.clock.asleep(1)

    async def _ask(self) -> None:
        """The bot asks after its account, if it does so now and then only."""

    async def mend(self) -> None:
        """No more faults."""
        self.driver.mend(self._place, self._ada)
        self.clock.advance(FLOOD_WAIT_S)
        await self.driver.server.resume()

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
