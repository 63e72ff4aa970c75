"""People who talk with the bot in one place: what was said there, by marks, and what came back."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Self

from tests.drivers.driver import Driver, Person, Place, Saying
from tests.fakes.agents_crash import closing, opening

_NUMBERS = itertools.count(1)


class Dialogue:
    """`people` speak in turn. What each says is never taken for one with what was said before."""

    def __init__(self, driver: Driver, place: Place, people: Sequence[Person]) -> None:
        self.driver = driver
        self.place = place
        self.people = people
        self.said: dict[str, str] = {}
        """The ids of all messages, with the mark of each that is for the agent."""
        self.presses = 0
        self.sign = f"{driver.name[0]}{next(_NUMBERS)}"
        """Letters and digits that no other dialogue has."""

    @classmethod
    def private(cls, driver: Driver, name: str = "Ada") -> Self:
        """Somebody new."""
        person = driver.person(name)
        return cls(driver, driver.direct(person), [person])

    @classmethod
    def group(cls, driver: Driver, *people: Person) -> Self:
        return cls(driver, driver.group(people), people)

    @classmethod
    def threaded(cls, driver: Driver, *people: Person) -> Self:
        return cls(driver, driver.thread(people), people)

    @property
    def bot(self) -> str:
        return self.driver.name

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

    def put(self, text: str, mark: str = "") -> str:
        """Say anything to the bot; the id of the message. In a thread nobody names it twice."""
        who = self.people[len(self.said) % len(self.people)]
        named = not self.place.thread or not self.said
        message = self.driver.say(self.place, who, Saying(text=text, named=named, apart=True))
        self.said[message] = mark
        return message

    def bring(self, text: str, mark: str, name: str, content: bytes) -> None:
        """A file, in private."""
        message = self.driver.say(self.place, self.people[0], Saying(text=text, files={name: content}))
        self.said[message] = mark

    def comes_again(self, message: str) -> None:
        """The platform hands it over once more."""
        self.driver.tell_again(self.place, message)

    @property
    def texts(self) -> tuple[str, ...]:
        """The bot's messages, as they can be read now."""
        return tuple(self.driver.plain(one.text) for one in self.driver.shown(self.place))

    def waited_s(self, mark: str) -> float | None:
        """By the platform's clock, from a message to its whole answer's first appearance; None if there is none."""
        answer = next((one.id for one in self.driver.shown(self.place) if closing(mark) in one.text), None)
        if answer is None:
            return None
        asked = self.driver.seconds_of(self.place, self.message_of(mark))
        return self.driver.seconds_of(self.place, answer) - asked

    @property
    def buttons(self) -> int:
        """How many buttons can be seen."""
        return len(self.driver.buttons(self.place))

    def press(self) -> None:
        """Press the last button that can be seen."""
        button = self.driver.buttons(self.place)[-1]
        self.presses += 1
        self.driver.press(self.place, self.people[0], button)

    def count(self, words: str) -> int:
        return sum(text.count(words) for text in self.texts)

    def answers(self, mark: str) -> int:
        """How many whole answers there are."""
        return self.count(closing(mark))

    def begun(self, mark: str) -> int:
        """How many messages hold an answer's beginning."""
        return self.count(opening(mark))
