"""What a scene needs of a platform: people who talk there, and what they see. Each double is led by one `Platform`."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import Protocol

from tests.fakes.agents_crash import closing, opening

Kept = Collection[tuple[str, str]]
"""(chat, message) of each message that stands in the inbox, as the store spells them."""


class Dialogue(ABC):
    """Where one person or several talk with the bot: what was said there, and what came back."""

    bot: str
    """As it is configured."""
    ordered = True
    """It is one conversation."""

    def __init__(self, place: str, thread: str | None = None) -> None:
        """As the store spells the chat, and the thread in it."""
        self.place = place
        self.thread = thread
        self.said: dict[str, str] = {}
        """The ids of all messages, with the mark of each that is for the agent."""
        self.presses = 0

    @property
    def marks(self) -> list[str]:
        """Of the messages for the agent, in the order in which they were said."""
        return [mark for mark in self.said.values() if mark]

    def mark_of(self, message: str) -> str:
        return self.said[message]

    def message_of(self, mark: str) -> str:
        return next(message for message, its in self.said.items() if its == mark)

    def say(self, kind: str) -> str:
        """A message for the agent; its mark is unique."""
        mark = f"{self.sign}x{len(self.said)}"
        self.put(f"{kind} {mark}", mark)
        return mark

    @property
    @abstractmethod
    def sign(self) -> str:
        """Letters and digits that no other dialogue has."""

    @abstractmethod
    def put(self, text: str, mark: str = "") -> None:
        """Say anything to the bot."""

    @property
    @abstractmethod
    def texts(self) -> tuple[str, ...]:
        """The bot's messages, as they can be read now."""

    @abstractmethod
    def waited_s(self, mark: str) -> float | None:
        """By the platform's clock, from a message to its whole answer's first appearance; None if there is none."""

    @abstractmethod
    def press(self) -> None:
        """Press the first button that can be seen. `LookupError` if there is none."""

    @property
    @abstractmethod
    def buttons(self) -> int:
        """How many buttons can be seen."""

    def count(self, words: str) -> int:
        return sum(text.count(words) for text in self.texts)

    def answers(self, mark: str) -> int:
        """How many whole answers there are."""
        return self.count(closing(mark))

    def begun(self, mark: str) -> int:
        """How many messages hold an answer's beginning."""
        return self.count(opening(mark))


class Platform(Protocol):
    """One double that outlives the daemons, with the account that they use."""

    @property
    def name(self) -> str:
        """Of the bot and its platform."""

    @property
    def table(self) -> str:
        """The bot's part of the configuration file."""

    @property
    def keeps(self) -> bool:
        """Is what somebody says for the first time kept until the bot is there?"""

    def talk(self, name: str) -> Dialogue:
        """A new person in private."""

    @property
    def calls(self) -> int:
        """How many calls the bot has made."""

    def handed_over(self, said: Kept, kept: Callable[[], Kept]) -> bool:
        """Has the bot all that was said to it? `kept` reads what stands in the store."""

    @property
    def problems(self) -> tuple[object, ...]:
        """Every rule of the platform that the bot broke."""

    def without_limits(self) -> None:
        """A process that starts knows nothing of what was sent a moment ago."""

    def until(self, holds: Callable[[], bool], *, timeout_s: float) -> None:
        """Until it is so, looked at after every change there. `TimeoutError` else."""


class Ahead:
    """The real time and more: what is said in one go is minutes apart, so that it is never taken for one message."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead_s
