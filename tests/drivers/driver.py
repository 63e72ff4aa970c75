"""What people do on a platform and what they see of the bot: the same words for every platform."""

from __future__ import annotations

import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar, Final, Protocol

from tests.clock import ShiftedClock
from tests.fakes.serving import OnItsThread

APART: Final = timedelta(seconds=2)
"""Between the send times of two messages: just more than what is taken for one."""

Stored = Collection[tuple[str, str]]
"""(chat, message) of each message in the inbox, as the store spells them."""


@dataclass(frozen=True, kw_only=True)
class Person:
    """A person or another bot. `id`: as the platform spells it; `identity`: as the desk does."""

    id: str
    identity: str


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where people talk: a chat, or one thread in it. Both are spelled as in the store; "" is no thread."""

    chat: str
    thread: str = ""
    group: bool = True


@dataclass(frozen=True, kw_only=True)
class Saying:
    """What somebody sends in one go."""

    text: str = ""
    named: bool = False
    """In a group: the text mentions the bot."""
    apart: bool = False
    """It was sent so long after what was said there before that the two are never taken for one."""
    reply: bool = False
    """To what the bot said last."""
    forwarded: bool = False
    """The text is of somebody else."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    voice: bytes = b""
    """A voice message in place of the text."""
    thing: str = ""
    """Neither text nor file: "sticker", "location", "venue", "contact" or "dice". The text is a name in it."""


@dataclass(frozen=True, kw_only=True)
class Button:
    """A button as somebody saw it; it may be gone since."""

    label: str
    message: str
    data: str


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One message of the bot's as people see it now; files that were sent as one are one message."""

    id: str
    thread: str
    text: str
    files: tuple[tuple[str, bytes], ...] = ()
    buttons: tuple[Button, ...] = ()
    spoken: bool = False


class Hits(Protocol):
    """A fault that was ordered. `hits`: how many calls it met."""

    hits: int


class Driver(ABC):
    """One test server with the account that one bot uses. Every act returns when the platform has it; what the bot
    makes of it comes later. `shifted`: the server's clock, if what is said `apart` moves it on."""

    name: ClassVar[str]
    """Of the bot and of its platform."""
    keeps_messages: ClassVar[bool]
    """Whether what somebody says for the first time waits for a bot that is down."""
    keeps_presses: ClassVar[bool] = False
    """Whether a press waits for a bot that is down."""
    full_chars: ClassVar[int]
    """Of one message: a client sends a longer paste as several."""
    gives_bytes: ClassVar[int | None] = None
    """The largest file of a person's that a bot can fetch; None: whatever people can send."""
    a_thread_each: ClassVar[bool] = False
    """Whether each question in a group begins a thread of its own."""
    asks_in_private: ClassVar[bool] = False
    """Whether what somebody asks about by a message's menu is answered in their direct chat."""
    server: Any
    """It has the platform's own words."""

    def __init__(self, more: str = "", shifted: ShiftedClock | None = None) -> None:
        """`more`: further lines of the bot's table."""
        self.more = more
        self.listed: list[str] = []
        """The ids for the option `groups`."""
        self._shifted = shifted
        self._numbers = itertools.count(1)

    # the configuration

    @property
    @abstractmethod
    def account(self) -> Mapping[str, object]:
        """The bot's options that name its account and this server."""

    @property
    @abstractmethod
    def account_id(self) -> str:
        """As the bot tells it."""

    @property
    @abstractmethod
    def secrets(self) -> tuple[str, ...]:
        """What nobody may ever read."""

    @property
    def table(self) -> str:
        """The bot's part of the configuration file."""
        options = {**self.account, "groups": self.listed} if self.listed else self.account
        lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in options.items())
        return f"\n[bots.{self.name}]\n{lines}{self.more}\n"

    # who is there, and where

    @abstractmethod
    def person(self, name: str, *, robot: bool = False) -> Person:
        """Somebody new. `robot`: another bot."""

    @abstractmethod
    def rename(self, who: Person, name: str) -> None: ...

    @abstractmethod
    def mention(self, who: Person | None = None) -> str:
        """How people name somebody in a text; None: the bot."""

    @abstractmethod
    def direct(self, who: Person) -> Place:
        """Their direct chat with the bot, the same each time."""

    @abstractmethod
    def group(self, people: Sequence[Person], *, listed: bool = True) -> Place:
        """A new one. `listed`: it is among `groups`."""

    @abstractmethod
    def thread(self, people: Sequence[Person], *, root: str | None = " ") -> Place:
        """A thread that the first of these people opened, in a listed group of its own. `root`: what they said that
        the thread hangs on, where threads do; None: it will hang on what is said there first."""

    def is_ordered(self, place: Place) -> bool:
        """Whether all that is said there is one conversation and comes in order."""
        return True

    # what people do

    @abstractmethod
    def say(self, place: Place, who: Person, saying: Saying) -> str:
        """The id of the message; of several, the first."""

    @abstractmethod
    def say_as_nobody(self, place: Place, manner: str, who: Person, text: str) -> None:
        """No person says it, and it mentions the bot. `manner`: "nobody", "impostor" (who plays `who`), "channel" or
        "linked"."""

    @abstractmethod
    def tell_again(self, place: Place, message: str) -> None:
        """The platform hands a message over once more."""

    @abstractmethod
    def edit(self, place: Place, message: str, text: str) -> None: ...

    @abstractmethod
    def press(self, place: Place, who: Person, button: Button) -> None:
        """Also a button that is gone, as somebody's screen may still show it."""

    @abstractmethod
    def forged(self, place: Place, button: Button) -> Button:
        """A button of another chat, as if it stood under the bot's last message here."""

    def pick(self, place: Place, who: Person, command: str) -> None:
        """A command by the platform's own menu."""
        raise NotImplementedError

    def ask_about(self, place: Place, who: Person, message: str, question: str) -> None:
        """By the entry in the menu of a message; the question is asked where one is asked for."""
        raise NotImplementedError

    def look(self, place: Place, who: Person, what: str) -> None:
        """Open something that shows more than messages: "home", "assistant", or what completes this command."""
        raise NotImplementedError

    def press_at_home(self, who: Person) -> None:
        """The first button of "home"."""
        raise NotImplementedError

    @abstractmethod
    def react(self, place: Place, who: Person) -> None:
        """To what the bot said last."""

    @abstractmethod
    def come_and_go(self, place: Place, who: Person) -> None: ...

    def put_out_and_in(self, place: Place, who: Person) -> None:
        """Somebody does it to the bot; in a direct chat they bar it for a while."""
        raise NotImplementedError

    # what people see

    @abstractmethod
    def shown(self, place: Place) -> list[Shown]:
        """What stands there of the bot, in its threads, too, the oldest first; without what one person alone sees."""

    def buttons(self, place: Place, label: str = "", *, within: str = "") -> list[Button]:
        """Those that stand there, in the order of reading; with this label, under messages with these words."""
        found = (button for one in self.shown(place) if within in one.text for button in one.buttons)
        return [button for button in found if label in ("", button.label)]

    @abstractmethod
    def told(self, place: Place, who: Person) -> list[str]:
        """What this person alone was told about what they pressed there."""

    def whispered(self, place: Place) -> list[str]:
        """The messages there that one person alone sees."""
        return []

    def choices(self, place: Place, who: Person, what: str) -> Sequence[str] | None:
        """What the last `look` showed to choose among; [""]: that there is nothing yet; None: it showed nothing."""
        raise NotImplementedError

    @abstractmethod
    def seconds_of(self, place: Place, message: str) -> float:
        """When it was sent, by the server's clock."""

    def plain(self, text: str) -> str:
        """A text of the bot's, with commands spelled as the desk spells them."""
        return text

    # what the bot did

    @abstractmethod
    def connected(self) -> bool:
        """The bot hears everything."""

    def gone(self) -> bool:
        """The platform knows that no bot is there, where it makes a difference."""
        return True

    @abstractmethod
    def handed_over(self, said: Stored, stored: Callable[[], Stored]) -> bool:
        """Whether the bot has taken all that was said to it. `stored` reads the inbox."""

    @property
    @abstractmethod
    def presses_waiting(self) -> int:
        """How many presses people still see waiting."""

    @property
    def calls(self) -> int:
        """How many calls the bot has made."""
        return len(self.server.calls)

    @abstractmethod
    def fetched(self, place: Place) -> int:
        """How many of the files that people sent there the bot asked for."""

    @property
    @abstractmethod
    def uploads(self) -> int:
        """How many times the bot began to send a file."""

    @abstractmethod
    def signs(self, place: Place) -> int:
        """How often the bot showed there that it writes."""

    @property
    @abstractmethod
    def violations(self) -> tuple[object, ...]:
        """Every rule of the platform that the bot broke."""

    # what goes wrong

    @abstractmethod
    def flood(self, place: Place, seconds: int, *, edits: bool = False, after: int = 0) -> None:
        """A 429 for the next message there (or edit), after so many that pass."""

    @abstractmethod
    def refuse_next(self) -> None:
        """The next message is refused as it is."""

    @abstractmethod
    def close(self, place: Place, who: Person) -> None:
        """Nothing can be sent to their direct chat any more."""

    @abstractmethod
    def drop_next(self, *, applied: bool) -> Sequence[Hits]:
        """The next message's connection is cut, and its sender does not hear whether it arrived (`applied`)."""

    def hang(self) -> None:
        """From now on no call is answered."""
        self.server.hang("*", count=None)

    @abstractmethod
    def fail(self) -> None:
        """From now on every call is answered with a server error."""

    @abstractmethod
    def lose_files(self, place: Place) -> None:
        """What people sent there so far can't be fetched any more."""

    @abstractmethod
    def revoke(self) -> None:
        """Nobody knows the account's token any more."""

    @abstractmethod
    def mend(self, place: Place, who: Person) -> None:
        """All that went wrong is over; `close` is undone."""

    def without_limits(self) -> None:
        """A process that starts knows nothing of what was sent a moment ago."""
        self.server.set_limits(None)

    # a server on a thread of its own

    def until(self, holds: Callable[[], bool], *, timeout_s: float) -> None:
        """Until it is so, looked at after every change there. `TimeoutError` else."""
        self._threaded.until(holds, timeout_s=timeout_s)

    def pause(self) -> None:
        """Connections are cut, and refused from now on."""
        self._threaded.pause()

    def resume(self) -> None:
        self._threaded.resume()

    @property
    def _threaded(self) -> OnItsThread:
        assert isinstance(self.server, OnItsThread)
        return self.server

    def _move_clock(self) -> None:
        if self._shifted is not None:
            self._shifted.ahead += APART
