"""Discord and Slack as scenes use them. Telegram's part is in `tests.crash.scene`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Final

from tests.crash.dialogue import Ahead, Dialogue, Kept
from tests.fakes.agents_crash import closing
from tests.fakes.discord import Channel as DiscordChannel
from tests.fakes.discord import GatewayRules, ThreadedDiscordServer
from tests.fakes.discord import Message as DiscordMessage
from tests.fakes.discord import User as DiscordUser
from tests.fakes.slack import Channel as SlackChannel
from tests.fakes.slack import Message as SlackMessage
from tests.fakes.slack import Person, Said, ThreadedSlackServer

APART_S: Final = 2.0
"""Between the send times of two messages: just more than what is taken for one."""
SLACK_ANSWER_S: Final = 30.0
"""Slack's clock leaps with each message, so that it has to be patient."""


def discord_server(clock: Callable[[], float] | None = None) -> ThreadedDiscordServer:
    """A process that was killed may identify again at once."""
    rules = GatewayRules(identify_every_s=0.0)
    if clock is None:
        return ThreadedDiscordServer(gateway=rules)
    return ThreadedDiscordServer(gateway=rules, wall_clock=clock)


class DiscordTalk(Dialogue):
    """In private, in a channel or in a thread, which is a channel of its own. `people` speak in turn."""

    bot = "discord"

    def __init__(
        self, platform: Discord, channel: DiscordChannel, people: Sequence[DiscordUser],
        parent: DiscordChannel | None = None,
    ) -> None:  # fmt: skip
        place = str((parent or channel).id)
        super().__init__(place, None if parent is None else str(channel.id))
        self._platform = platform
        self._server = platform.server
        self.channel = channel
        self.people = people
        self._direct = channel.guild_id is None
        self._number = platform.number()

    @property
    def sign(self) -> str:
        return f"d{self._number}"

    def bring(self, text: str, mark: str, name: str, content: bytes) -> None:
        """A file, in private."""
        said = self._server.say(self.channel, self.people[0], text, files=[(name, content)])
        self.said[str(said.id)] = mark

    def put(self, text: str, mark: str = "") -> None:
        self._platform.leap()
        ours = self._direct or (self.thread is not None and bool(self.said))
        who = self.people[len(self.said) % len(self.people)]
        said = self._server.say(self.channel, who, text if ours else f"<@{self._server.bot.id}> {text}")
        self.said[str(said.id)] = mark

    def comes_again(self, message: str) -> None:
        """Its event is told once more."""
        self._server.tell_again(self._server.message(int(message)))

    @property
    def shown(self) -> tuple[DiscordMessage, ...]:
        return tuple(one for one in self._server.sent(self.channel) if not one.deleted and not one.ephemeral)

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(one.content for one in self.shown)

    def waited_s(self, mark: str) -> float | None:
        """https://docs.discord.com/developers/reference#snowflakes: milliseconds, 22 bits up."""
        answer = next((one.id for one in self.shown if closing(mark) in one.content), None)
        return None if answer is None else ((answer >> 22) - (int(self.message_of(mark)) >> 22)) / 1000

    @property
    def buttons(self) -> int:
        return sum(len(one.buttons) for one in self.shown)

    def press(self) -> None:
        message = next((one for one in reversed(self.shown) if one.buttons), None)
        if message is None:
            raise LookupError("no button")
        self.presses += 1
        self._server.press(self.people[0], message, next(iter(message.buttons)))


class Discord:
    """`Platform`. `ahead`: the double's wall clock, if it leaps with each message."""

    name: Final = "discord"
    keeps: Final = False

    def __init__(self, server: ThreadedDiscordServer, ahead: Ahead | None = None, more: str = "") -> None:
        """`more`: further lines of the bot's table."""
        self.server = server
        self.guild = server.guild("Team")
        self.channels: list[int] = []
        self._ahead = ahead
        self._more = more
        self._numbers = itertools.count(1)

    def number(self) -> int:
        return next(self._numbers)

    def leap(self) -> None:
        if self._ahead is not None:
            self._ahead.ahead_s += APART_S

    @property
    def table(self) -> str:
        groups = ", ".join(f'"{channel}"' for channel in self.channels)
        return f"""
[bots.discord]
token = "{self.server.token}"
api_base = "{self.server.api_base}"
gateway_url = "{self.server.gateway_url}"
groups = [{groups}]
{self._more}
"""

    def person(self, name: str) -> DiscordUser:
        """Whoever shares a server with the bot can be written to."""
        person = self.server.person(name.lower())
        self.server.join(self.guild, person)
        return person

    def talk(self, name: str) -> DiscordTalk:
        return self.private(self.person(name))

    def private(self, person: DiscordUser) -> DiscordTalk:
        return DiscordTalk(self, self.server.dm(person), [person])

    def group(self, people: Sequence[DiscordUser]) -> DiscordTalk:
        return DiscordTalk(self, self._channel(), people)

    def threaded(self, people: Sequence[DiscordUser]) -> DiscordTalk:
        """A thread in a channel of its own."""
        channel = self._channel()
        return DiscordTalk(self, self.server.thread(channel, people[0]), people, channel)

    def _channel(self) -> DiscordChannel:
        channel = self.server.channel(self.guild, f"room-{len(self.channels)}")
        self.channels.append(channel.id)
        return channel

    @property
    def calls(self) -> int:
        return len(self.server.calls)

    def handed_over(self, said: Kept, kept: Callable[[], Kept]) -> bool:
        """Nothing is handed over twice, so that what counts is what was stored."""
        return set(said) <= set(kept())

    @property
    def problems(self) -> tuple[object, ...]:
        return self.server.problems

    def without_limits(self) -> None:
        self.server.set_limits(None)

    def until(self, holds: Callable[[], bool], *, timeout_s: float) -> None:
        self.server.until(holds, timeout_s=timeout_s)


class SlackTalk(Dialogue):
    """In private, in a channel or in a thread. `people` speak in turn."""

    bot = "slack"

    def __init__(
        self, platform: Slack, channel: SlackChannel, people: Sequence[Person], root: Said | None = None
    ) -> None:  # fmt: skip
        super().__init__(channel.id, None if root is None else root.ts)
        self._platform = platform
        self._server = platform.server
        self.channel = channel
        self.people = people
        self._root = root
        self._put: dict[str, Said] = {}
        self.ordered = channel.kind == "im" or root is not None  # in a channel each question begins a thread
        self._number = platform.number()

    @property
    def sign(self) -> str:
        return f"s{self._number}"

    def bring(self, text: str, mark: str, name: str, content: bytes) -> None:
        """A file, in private."""
        file = self._server.file(self.people[0], name, content)
        said = self._server.say(self.channel, self.people[0], text, files=[file])
        self.said[said.ts] = mark

    def put(self, text: str, mark: str = "") -> None:
        self._platform.leap()
        ours = self.channel.kind == "im" or (self._root is not None and bool(self.said))
        who = self.people[len(self.said) % len(self.people)]
        words = text if ours else f"{self._server.bot} {text}"
        said = self._server.say(self.channel, who, words, thread=self._root)
        self.said[said.ts] = mark
        self._put[said.ts] = said

    def comes_again(self, message: str) -> None:
        """Its event is told once more."""
        self._server.redeliver(self._put[message])

    @property
    def shown(self) -> tuple[SlackMessage, ...]:
        """Without what Slack itself says in the bot's name."""
        return tuple(one for one in self._server.from_bot(self.channel) if one.subtype != "assistant_app_thread")

    @property
    def texts(self) -> tuple[str, ...]:
        """Said in blocks; the text beside them is for notifications, and cut short."""
        return tuple(words_of(one) for one in self.shown)

    def waited_s(self, mark: str) -> float | None:
        answer = next((one.ts for one in self.shown if closing(mark) in words_of(one)), None)
        return None if answer is None else float(answer) - float(self.message_of(mark))

    @property
    def buttons(self) -> int:
        return sum(len(_actions(one)) for one in self.shown)

    def press(self) -> None:
        message = next((one for one in reversed(self.shown) if _actions(one)), None)
        if message is None:
            raise LookupError("no button")
        self.presses += 1
        self._server.click(self.channel, message.ts, self.people[0], _actions(message)[0])


def words_of(message: SlackMessage) -> str:
    """Commands as the desk names them, not as people type them there."""
    found = [block["text"] for block in message.blocks if block["type"] == "markdown"]
    said = "\n".join(str(text) for text in found) or message.text
    return said.replace("/frontdesk ", "/").replace("@frontdesk /", "/")


def _actions(message: SlackMessage) -> list[str]:
    listed = (block["elements"] for block in message.blocks if block["type"] == "actions")
    return [
        str(element["action_id"])
        for elements in listed
        if isinstance(elements, list)
        for element in elements
        if isinstance(element, dict)
    ]


class Slack:
    """`Platform`. `ahead`: the double's clock, if it leaps with each message."""

    name: Final = "slack"
    keeps: Final = True

    def __init__(self, server: ThreadedSlackServer, ahead: Ahead | None = None, more: str = "") -> None:
        """`more`: further lines of the bot's table."""
        self.server = server
        self.channels: list[str] = []
        self._ahead = ahead
        self._more = more
        self._numbers = itertools.count(1)

    def number(self) -> int:
        return next(self._numbers)

    def leap(self) -> None:
        if self._ahead is not None:
            self._ahead.ahead_s += APART_S

    @property
    def table(self) -> str:
        groups = ", ".join(f'"{channel}"' for channel in self.channels)
        return f"""
[bots.slack]
bot_token = "{self.server.bot.token}"
app_token = "{self.server.bot.app_token}"
api_base = "{self.server.api_base.rstrip("/")}"
groups = [{groups}]
{self._more}
"""

    def person(self, name: str) -> Person:
        return self.server.person(name)

    def talk(self, name: str) -> SlackTalk:
        return self.private(self.person(name))

    def private(self, person: Person) -> SlackTalk:
        return SlackTalk(self, self.server.im(person), [person])

    def group(self, people: Sequence[Person]) -> SlackTalk:
        return SlackTalk(self, self._channel(people), people)

    def threaded(self, people: Sequence[Person]) -> SlackTalk:
        """A thread in a channel of its own, below what says nothing: words and files there would be the agent's too."""
        channel = self._channel(people)
        return SlackTalk(self, channel, people, self.server.say(channel, people[0], " "))

    def _channel(self, people: Sequence[Person]) -> SlackChannel:
        channel = self.server.channel(f"room-{len(self.channels)}", members=people)
        self.channels.append(channel.id)
        return channel

    @property
    def calls(self) -> int:
        return len(self.server.calls)

    def handed_over(self, said: Kept, kept: Callable[[], Kept]) -> bool:
        """What a process took and did not acknowledge comes again later; what counts is what was stored."""
        return set(said) <= set(kept())

    @property
    def problems(self) -> tuple[object, ...]:
        """Without late acknowledgements: on a busy machine there are some, and what they were for comes again."""
        return tuple(one for one in self.server.problems if one.rule != "late_ack")

    def without_limits(self) -> None:
        self.server.set_limits(None)

    def until(self, holds: Callable[[], bool], *, timeout_s: float) -> None:
        self.server.until(holds, timeout_s=timeout_s)


class SlackThreads(Slack):
    """Whoever talks there does so in a thread of the assistant, where answers are streams."""

    def talk(self, name: str) -> SlackTalk:
        person = self.person(name)
        return SlackTalk(self, self.server.im(person), [person], self.server.open_assistant(person))
