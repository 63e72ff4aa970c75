"""What people do besides talking: they press buttons, are told things aside, send files, voices and long pastes, and
get files. A `Room` is one place where that happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tests.crash.daemon import until
from tests.crash.dialogue import Dialogue
from tests.drivers.driver import Button, Driver, Person, Place, Saying, Shown


class Room:
    """Somebody is named by a number: 0 is the first of those who are there."""

    def __init__(self, driver: Driver, place: Place, people: Sequence[Person]) -> None:
        self.dialogue = Dialogue(driver, place, people)
        self.full_chars = driver.full_chars
        self._driver = driver
        self._place = place
        self._people = people

    @property
    def texts(self) -> tuple[str, ...]:
        return self.dialogue.texts

    def says(self, words: str) -> bool:
        """Can the bot's words be read there?"""
        return self.dialogue.count(words) > 0

    def say(self, text: str, *, by: int = 0) -> None:
        """To the bot, by its name in a group."""
        self._driver.say(self._place, self._people[by], Saying(text=text, named=True))

    def reply(self, text: str) -> None:
        """Where the bot's last words stand."""
        thread = self._driver.shown(self._place)[-1].thread
        there = replace(self._place, thread=thread)
        self._driver.say(there, self._people[0], Saying(text=text, named=not thread))

    def identity(self, by: int = 0) -> str:
        """As the desk spells it."""
        return self._people[by].identity

    def robot(self) -> Callable[[str], None]:
        """Another bot that speaks to ours here."""
        robot = self._driver.person("Robo", robot=True)

        def speak(text: str) -> None:
            self._driver.say(self._place, robot, Saying(text=text, named=True))

        return speak

    # buttons

    @property
    def buttons(self) -> list[Button]:
        """Those that stand there now, in the order of reading."""
        return self._driver.buttons(self._place)

    def button(self, label: str) -> Button:
        """The first one that says so, as soon as it is there."""
        until(lambda: bool(self._driver.buttons(self._place, label)), f"a button {label!r}")
        return self._driver.buttons(self._place, label)[0]

    def press(self, button: Button, *, by: int = 0) -> None:
        """Also what is gone, as somebody's screen may still show it."""
        self._driver.press(self._place, self._people[by], button)

    def forged(self, button: Button) -> Button:
        """A button of another chat, as if it stood under the bot's last message here."""
        return self._driver.forged(self._place, button)

    def told(self, by: int = 0) -> list[str]:
        """What this person alone was told about what was pressed here."""
        return self._driver.told(self._place, self._people[by])

    def until_told(self, words: str, *, by: int = 0, times: int = 1) -> None:
        until(lambda: self.told(by).count(words) == times, f"{words!r} is told {times} times")

    # files

    def share(self, text: str, files: Mapping[str, bytes]) -> None:
        """Several files in one go."""
        self._driver.say(self._place, self._people[0], Saying(text=text, files=files))

    def speak(self, sound: bytes) -> None:
        """A voice message."""
        self._driver.say(self._place, self._people[0], Saying(voice=sound))

    @property
    def _with_files(self) -> list[Shown]:
        return [one for one in self._driver.shown(self._place) if one.files]

    @property
    def got(self) -> list[tuple[str, dict[str, bytes]]]:
        """The bot's files with the text beside them; what came as one is one. Spoken answers are left out."""
        return [(one.text, dict(one.files)) for one in self._with_files if not one.spoken]

    @property
    def voices(self) -> int:
        """How many spoken answers there are."""
        return sum(one.spoken for one in self._with_files)

    @property
    def fetched(self) -> int:
        """How many files of people the bot asked for."""
        return self._driver.fetched(self._place)

    @property
    def uploads(self) -> int:
        """How many times the bot began to send a file."""
        return self._driver.uploads
