"""One desk with three platforms and the terminal, and a crowd that talks on all of them while everything fails."""

from __future__ import annotations

import itertools
import random
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, TypeVar

from core.store.sql import Row
from tests.crash.daemon import FRONTDESK, PATIENCE_S, until
from tests.crash.dialogue import Dialogue, Platform
from tests.crash.nursery import Nursery
from tests.crash.platforms import Discord, Slack, discord_server
from tests.crash.scene import Stage, Telegram
from tests.fakes.agents_crash import closing
from tests.fakes.discord import ThreadedDiscordServer
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


class Hits(Protocol):
    """What is used of a fault."""

    hits: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Servers:
    """The three doubles. With limits they are as strict as the platforms."""

    telegram: ThreadedTelegramServer
    discord: ThreadedDiscordServer
    slack: ThreadedSlackServer
    lost: list[Hits] = field(default_factory=list)
    """Answers that were to be lost."""

    def end(self, name: str) -> None:
        """Whatever was wrong with the platform is over."""
        match name:
            case "telegram":
                self.telegram.resume()
                self.telegram.clear_faults()
            case "discord":
                self.discord.resume()
                self.discord.clear_faults()
            case _:
                self.slack.resume()
                self.slack.clear_faults()

    def fail(self, name: str, trouble: str) -> None:
        """From now on the platform refuses connections, answers nothing, or nothing but errors."""
        match name, trouble:
            case "telegram", "refused":
                self.telegram.pause()
            case "telegram", "hanging":
                self.telegram.hang("*", count=None)
            case "telegram", _:
                self.telegram.answer_error("*", 502, "Bad Gateway", count=None)
            case "discord", "refused":
                self.discord.pause()
            case "discord", "hanging":
                self.discord.hang("*", count=None)
            case "discord", _:
                self.discord.answer("*", 503, b"upstream connect error", count=None)
            case _, "refused":
                self.slack.pause()
            case _, "hanging":
                self.slack.hang("*", count=None)
            case _:
                self.slack.answer("*", 503, b"", count=None)

    def lose_answers(self) -> None:
        """The next message on each platform arrives, and its sender does not hear of it."""
        self.lost.append(self.telegram.drop("sendMessage", applied=True))
        self.lost.append(self.discord.drop("create_message", applied=True))
        self.lost.append(self.slack.drop("chat.postMessage", applied=True))


@contextmanager
def servers(*, limits: bool) -> Iterator[Servers]:
    with ExitStack() as doubles:
        telegram = doubles.enter_context(ThreadedTelegramServer())
        discord = doubles.enter_context(discord_server())
        slack = doubles.enter_context(ThreadedSlackServer(answer_s=SLACK_ANSWER_S, retries_s=SLACK_RETRIES_S))
        if not limits:
            for one in (telegram, discord, slack):
                one.set_limits(None)
        yield Servers(telegram=telegram, discord=discord, slack=slack)


class Crowd(Stage):
    """On each platform so many people in private, and in channels and threads with one another."""

    def __init__(self, doubles: Servers, people: Sequence[int], home: Path, nursery: Nursery) -> None:
        """`people`: how many on each platform, in the order of `NAMES`."""
        self.doubles = doubles
        telegram, discord, slack = Telegram(doubles.telegram), Discord(doubles.discord), Slack(doubles.slack)
        made = [*_dialogues(telegram, people[0]), *_dialogues(discord, people[1]), *_dialogues(slack, people[2])]
        super().__init__((telegram, discord, slack), home, nursery)
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
        ours = {(one.place, message) for one in self.dialogues for message in one.said}
        said = [row for row in rows if (row.text("chat"), row.text_or_none("message") or "") in ours]
        assert {row.text("fate") for row in rows if row not in said and row.text("chat") != TERMINAL} <= {"ignored"}
        super()._audit_rows(said, fates)

    def _audit_entries(self, texts: list[str], fates: Mapping[str, str]) -> None:
        super()._audit_entries([text for text in texts if text.partition(" ")[2] not in self.typed], fates)

    def unsettled(self) -> list[tuple[str, str, str]]:
        """(bot, chat, mark) of what was said and is not in the inbox."""
        kept = self.kept()
        return [
            (one.bot, one.place, mark)
            for one in self.dialogues
            for message, mark in one.said.items()
            if (one.place, message) not in kept
        ]


P = TypeVar("P")


class _Meeting(Platform, Protocol[P]):
    """A platform where people meet."""

    def person(self, name: str) -> P: ...
    def private(self, person: P) -> Dialogue: ...
    def group(self, people: Sequence[P]) -> Dialogue: ...
    def threaded(self, people: Sequence[P]) -> Dialogue: ...


def _dialogues(platform: _Meeting[P], number: int) -> Iterator[Dialogue]:
    people = [platform.person(f"Person{one}") for one in range(number)]
    yield from (platform.private(person) for person in people)
    for first in range(0, number, IN_A_ROOM):
        yield platform.group(people[first : first + IN_A_ROOM])
        yield platform.threaded(people[first : first + IN_A_ROOM])


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
