"""What the access table needs of a platform: people, places, and everything that people can do there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Who:
    """A person or another bot. `id` is the double's."""

    id: str
    identity: str


@dataclass(frozen=True, kw_only=True)
class Room:
    """A chat of its own, with the one thread in it that is meant, if any. `chat` as the store spells it."""

    chat: str
    thread: str = ""
    group: bool = True


@dataclass(frozen=True, kw_only=True)
class Saying:
    """`thing`: a file that comes along ("photo", "file", "sound", "voice"), or what is neither text nor file
    ("sticker", "location", "venue", "contact", "dice"): then the text is a name in it. `reply`: to what the bot said
    last."""

    text: str = ""
    named: bool = False
    reply: bool = False
    handed_on: bool = False
    thing: str = ""


class Stage(ABC):
    """A double, led for one daemon. Each act returns when the platform has it; what the bot makes of it comes later."""

    platform: str
    a_thread_each: bool = False
    """Whether each question in a group begins a thread of its own."""
    asks_in_private: bool = False
    """Whether what somebody asks about by a message's menu is answered in their direct chat."""
    listed: list[str]
    """Ids of what goes into `groups`."""

    @abstractmethod
    def table(self) -> dict[str, object]:
        """The bot's options, without `groups`."""

    @abstractmethod
    def person(self, name: str, *, robot: bool = False) -> Who: ...

    @abstractmethod
    def rename(self, who: Who, name: str) -> None: ...

    @abstractmethod
    def room(self, place: str, who: Who, host: Who) -> Room:
        """A new one, of a kind of place of the table. `who` and `host` are in it."""

    @abstractmethod
    def direct(self, who: Who) -> Room:
        """Their direct chat, the same each time."""

    @abstractmethod
    def connected(self) -> bool:
        """The bot hears everything."""

    @abstractmethod
    def say(self, room: Room, who: Who, saying: Saying) -> str:
        """The id of the message."""

    @abstractmethod
    def edit(self, room: Room, message: str, text: str) -> None:
        """The new text mentions the bot."""

    @abstractmethod
    def pick(self, room: Room, who: Who, command: str) -> None:
        """A command by the platform's own means."""

    def ask_about(self, room: Room, who: Who, message: str, question: str) -> None:
        """By the entry in the menu of a message; the question is asked where one is asked for."""
        raise NotImplementedError

    def look(self, room: Room, who: Who, what: str) -> None:
        """At something that shows more than messages: the row's name."""
        raise NotImplementedError

    def shown(self, room: Room, who: Who, what: str) -> Sequence[str] | None:
        """What the last look showed to choose among; [""] if only there is nothing yet, None if it showed nothing."""
        raise NotImplementedError

    @abstractmethod
    def button(self, room: Room, label: str, within: str = "") -> bool:
        """Is there one to press? `within`: under a message with these words."""

    @abstractmethod
    def press(self, room: Room, who: Who, label: str, within: str = "") -> None:
        """The last one of these."""

    def press_at_home(self, who: Who) -> None:
        """A button of what `look` showed."""
        raise NotImplementedError

    @abstractmethod
    def say_as_nobody(self, room: Room, manner: str, who: Who, text: str) -> None:
        """The bot is mentioned. `manner`: "nobody", "impostor", "channel" or "linked"; `who` is the owner whom an
        impostor plays."""

    @abstractmethod
    def come_and_go(self, room: Room, who: Who) -> None: ...

    @abstractmethod
    def put_out_and_in(self, room: Room, who: Who) -> None:
        """`who` does it to the bot; in a direct chat they bar it for a while."""

    @abstractmethod
    def react(self, room: Room, who: Who) -> None:
        """To what the bot said last."""

    @abstractmethod
    def said(self, room: Room) -> Sequence[str]:
        """What the bot said there, its files among it, by name."""

    @abstractmethod
    def whispered(self, room: Room) -> Sequence[str]:
        """What one person there was told alone."""

    @abstractmethod
    def fetched(self, room: Room) -> int:
        """How often anything that people sent there was asked for."""

    @abstractmethod
    def signs(self, room: Room) -> int:
        """How often the bot showed there that it writes."""

    @property
    @abstractmethod
    def problems(self) -> Sequence[object]:
        """Rules of the platform that the bot broke."""
