"""One desk with three platforms and the terminal, and a crowd that talks on all of them while everything fails."""

from __future__ import annotations

import itertools
import random
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from core.store.sql import Row
from tests.crash.daemon import FRONTDESK, PATIENCE_S, until
from tests.crash.dialogue import Dialogue
from tests.crash.nursery import Nursery
from tests.crash.scene import NO_DRAFTS, Stage
from tests.drivers.discord import DiscordDriver, discord_server
from tests.drivers.driver import Driver, Hits
from tests.drivers.slack import SlackDriver
from tests.drivers.telegram import TelegramDriver
from tests.fakes.agents_crash import closing
from tests.fakes.slack import ThreadedSlackServer
from tests.fakes.telegram import ThreadedTelegramServer

APART_S: Final = 1.1
"""Between two things that are said in one place, so that they are never taken for one."""
SLACK_ANSWER_S: Final = 15.0
"""More than the three seconds of Slack's: this machine does much at once."""
SLACK_RETRIES_S: Final = (0.0, 2.0, 5.0)
"""Slack's minutes, made short."""
IN_A_ROOM: Final = 8
"""People who share a channel, and as many a thread."""
TERMINAL: Final = "local"
"""How the terminal's chat is called."""
NAMES: Final = ("telegram", "discord", "slack")
TROUBLES: Final = ("refused", "hanging", "errors")

KINDS: Final = ("fast", "fast", "fast", "slow", "look", "long")
"""What can be said at any instant and must be answered; `tool` and `work` may end interrupted."""


class Platforms:
    """The three, each with its own server. With limits they are as strict as the real ones."""

    def __init__(self, drivers: Sequence[Driver]) -> None:
        self.drivers = drivers
        self.lost: list[Hits] = []
        """Answers that were to be lost."""

    def fail(self, name: str, trouble: str) -> None:
        """From now on the platform refuses connections, answers nothing, or nothing but errors."""
        driver = self._called(name)
        {"refused": driver.pause, "hanging": driver.hang, "errors": driver.fail}[trouble]()

    def end(self, name: str) -> None:
        """Whatever was wrong with the platform is over."""
        driver = self._called(name)
        driver.resume()
        driver.server.clear_faults()

    def lose_answers(self) -> None:
        """The next message on each platform arrives, and its sender does not hear of it."""
        self.lost += [hits for driver in self.drivers for hits in driver.drop_next(applied=True)]

    def _called(self, name: str) -> Driver:
        return next(one for one in self.drivers if one.name == name)


@contextmanager
def platforms(*, limits: bool) -> Iterator[Platforms]:
    with (
        ThreadedTelegramServer() as telegram,
        discord_server() as discord,
        ThreadedSlackServer(answer_s=SLACK_ANSWER_S, retries_s=SLACK_RETRIES_S) as slack,
    ):
        on_slack = SlackDriver(slack)
        on_slack.forgives_late_acks = True
        drivers = (TelegramDriver(telegram, NO_DRAFTS), DiscordDriver(discord), on_slack)
        for driver in () if limits else drivers:
            driver.without_limits()
        yield Platforms(drivers)


class Crowd(Stage):
    """On each platform so many people in private, and in channels and threads with one another."""

    def __init__(self, there: Platforms, people: Sequence[int], home: Path, nursery: Nursery) -> None:
        """`people`: how many on each platform, in the order of `NAMES`."""
        self.there = there
        counted = zip(there.drivers, people, strict=True)
        made = [dialogue for driver, number in counted for dialogue in _dialogues(driver, number)]
        super().__init__(there.drivers, home, nursery)
        self.dialogues = made
        self.typed: list[str] = []
        """Marks of what was said at the terminal."""
        self._said_at: dict[Dialogue, float] = {}
        self._pause = threading.Event()

    def on(self, name: str) -> list[Dialogue]:
        return [one for one in self.dialogues if one.bot == name]

    def until_up(self) -> None:
        for name in NAMES:
            self.daemon.until_bot("up", name)

    def say_in(self, dialogue: Dialogue, kind: str) -> str:
        """In its turn: not at once behind what was said there last."""
        wait_s = self._said_at.get(dialogue, 0.0) + APART_S - time.monotonic()
        if wait_s > 0:
            self._pause.wait(wait_s)
        self._said_at[dialogue] = time.monotonic()
        return dialogue.say(kind)

    def talk_for(self, steps: Sequence[tuple[Dialogue, str]], seconds: float) -> list[tuple[Dialogue, str]]:
        """All of this is said, evenly over the time; what was said, with its marks."""
        began, said = time.monotonic(), []
        for number, (dialogue, kind) in enumerate(steps):
            self.rest(began + seconds * number / len(steps) - time.monotonic())
            said.append((dialogue, self.say_in(dialogue, kind)))
        return said

    def rest(self, seconds: float) -> None:
        if seconds > 0:
            self._pause.wait(seconds)

    def steps(self, number: int, chance: random.Random, kinds: Sequence[str] = KINDS) -> list[tuple[Dialogue, str]]:
        """So many messages, nobody's turn much more often than another's."""
        shuffled = chance.sample(self.dialogues, len(self.dialogues))
        return [(one, chance.choice(kinds)) for one in itertools.islice(itertools.cycle(shuffled), number)]

    def greet(self) -> None:
        """Everybody is known to the desk from now on, so that what is missed there can be fetched."""
        for dialogue in self.dialogues:
            self.say_in(dialogue, "fast")

    def settle_slowly(self, timeout_s: float) -> None:
        """As `settle`, looked at now and then."""

        def settled() -> bool:
            assert self.daemon.lives, f"the daemon has ended: {self.daemon.log[-3000:]}"
            self._pause.wait(0.3)
            return self.handed_over and self._nothing_open("")

        try:
            until(settled, "all has its fate and is out", timeout_s=timeout_s)
        except TimeoutError as late:
            raise TimeoutError(
                f"{late}; {self.daemon.status()}; {self.unsettled()}; {self.daemon.log[-3000:]}"
            ) from None

    def chat(self) -> int:
        """Somebody at the terminal says one thing; how many whole answers are read there."""
        daemon, mark = self.daemon, f"t{len(self.typed)}"
        self.typed.append(mark)
        done = subprocess.run(
            [*FRONTDESK, "chat", *daemon.arguments], input=f"fast {mark}\n", capture_output=True, text=True,
            timeout=PATIENCE_S, check=False, env=daemon.environment, cwd=daemon.home,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.count(closing(mark))

    def _audit_rows(self, rows: list[Row], fates: Mapping[str, str]) -> None:
        """What was said to nobody, or at the terminal, is left aside."""
        ours = {(one.place.chat, message) for one in self.dialogues for message in one.said}
        said = [row for row in rows if (row.text("chat"), row.text_or_none("message") or "") in ours]
        assert {row.text("fate") for row in rows if row not in said and row.text("chat") != TERMINAL} <= {"ignored"}
        super()._audit_rows(said, fates)

    def _audit_entries(self, texts: list[str], fates: Mapping[str, str]) -> None:
        super()._audit_entries([text for text in texts if text.partition(" ")[2] not in self.typed], fates)

    def unsettled(self) -> list[tuple[str, str, str]]:
        """(bot, chat, mark) of what was said and is not in the inbox."""
        kept = self.kept()
        return [
            (one.bot, one.place.chat, mark)
            for one in self.dialogues
            for message, mark in one.said.items()
            if (one.place.chat, message) not in kept
        ]


def _dialogues(driver: Driver, number: int) -> Iterator[Dialogue]:
    people = [driver.person(f"Person{one}") for one in range(number)]
    yield from (Dialogue(driver, driver.direct(person), [person]) for person in people)
    for first in range(0, number, IN_A_ROOM):
        yield Dialogue.group(driver, *people[first : first + IN_A_ROOM])
        yield Dialogue.threaded(driver, *people[first : first + IN_A_ROOM])


def told(waits_s: Sequence[float]) -> str:
    """p50 and p99 in milliseconds."""
    if not waits_s:
        return "nothing"
    ordered = sorted(waits_s)
    return f"p50 {1000 * ordered[len(ordered) // 2]:.0f} ms, p99 {1000 * ordered[int(len(ordered) * 0.99)]:.0f} ms"


def waits_of(said: Sequence[tuple[Dialogue, str]], name: str) -> list[float]:
    """Seconds to each whole answer on the platform."""
    found = (dialogue.waited_s(mark) for dialogue, mark in said if dialogue.bot == name)
    return [one for one in found if one is not None]
