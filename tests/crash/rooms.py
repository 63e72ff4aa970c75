"""What people do besides talking, on each platform: they press buttons, are told things aside, send files, voices and
long pastes, and get files. A `Room` is one place where that happens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tests.crash.daemon import until
from tests.crash.dialogue import Dialogue
from tests.crash.platforms import Discord, DiscordTalk, Slack, SlackTalk
from tests.crash.scene import Talk, Telegram
from tests.fakes.discord import User as DiscordUser
from tests.fakes.discord.drafts import MOST_CONTENT
from tests.fakes.discord.model import VOICE_MESSAGE
from tests.fakes.slack import Person
from tests.fakes.slack.clicking import elements_of
from tests.fakes.slack.files_json import file_json
from tests.fakes.slack.model import JsonObject, text_of
from tests.fakes.slack.text import MAX_TEXT
from tests.fakes.telegram import User
from tests.fakes.telegram.model import Message as TelegramMessage
from tests.fakes.telegram.sharing import Shared

ROBOT: Final = "Robo"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A button as somebody saw it: it may be gone by now."""

    label: str
    message: str
    data: str


class Room(ABC):
    """Somebody is named by a number: 0 is the first of those who are there."""

    full_chars: int
    """Of one message: a client sends a longer paste as several."""

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue

    @property
    def texts(self) -> tuple[str, ...]:
        return self.dialogue.texts

    def says(self, words: str) -> bool:
        """Can the bot's words be read there?"""
        return self.dialogue.count(words) > 0

    @abstractmethod
    def say(self, text: str, *, by: int = 0) -> None:
        """To the bot, by its name in a group."""

    def reply(self, text: str) -> None:
        """Where the bot's last words stand."""
        self.say(text)

    @abstractmethod
    def identity(self, by: int = 0) -> str:
        """As the desk spells it."""

    # buttons

    @property
    @abstractmethod
    def buttons(self) -> list[Shown]:
        """Those that stand there now, in the order of reading."""

    def button(self, label: str) -> Shown:
        """The first one that says so, as soon as it is there."""
        until(lambda: any(one.label == label for one in self.buttons), f"a button {label!r}")
        return next(one for one in self.buttons if one.label == label)

    @abstractmethod
    def press(self, shown: Shown, *, by: int = 0) -> None:
        """Also what is gone, as somebody's screen may still show it."""

    @abstractmethod
    def forged(self, shown: Shown) -> Shown:
        """A button of another chat, as if it stood under the bot's last message here."""

    @abstractmethod
    def told(self, by: int = 0) -> list[str]:
        """What this person alone was told about what was pressed here."""

    def until_told(self, words: str, *, by: int = 0, times: int = 1) -> None:
        until(lambda: self.told(by).count(words) == times, f"{words!r} is told {times} times")

    # files

    @abstractmethod
    def share(self, text: str, files: Mapping[str, bytes]) -> None:
        """Several files in one go."""

    @abstractmethod
    def speak(self, sound: bytes) -> None:
        """A voice message."""

    @property
    @abstractmethod
    def got(self) -> list[tuple[str, dict[str, bytes]]]:
        """The bot's files with the text beside them; what came as one is one. Spoken answers are left out."""

    @property
    @abstractmethod
    def voices(self) -> int:
        """How many spoken answers there are."""

    @property
    @abstractmethod
    def fetched(self) -> int:
        """How many files of people the bot asked for."""

    @property
    @abstractmethod
    def uploads(self) -> int:
        """How many times the bot began to send a file."""

    # others

    @abstractmethod
    def robot(self) -> Callable[[str], None]:
        """Another bot that speaks to ours here."""


class TelegramRoom(Room):
    full_chars = 4096  # https://core.telegram.org/bots/api#sendmessage

    def __init__(self, platform: Telegram, dialogue: Talk, people: Sequence[User]) -> None:
        super().__init__(dialogue)
        self._server = platform.server
        self._chat = dialogue.chat
        self._people = people
        self._pressed: list[tuple[str, int]] = []

    def say(self, text: str, *, by: int = 0) -> None:
        self._say(self._people[by], text)

    def _say(self, who: User, text: str) -> None:
        named = f"@{self._server.bot.username} {text}" if self._chat.is_group else text
        self._server.say(self._chat, who, named)

    def identity(self, by: int = 0) -> str:
        return f"telegram:{self._people[by].id}"

    @property
    def _from_bot(self) -> Sequence[TelegramMessage]:
        return self._server.chat(self._chat).from_bot

    @property
    def buttons(self) -> list[Shown]:
        return [one for message in self._from_bot for one in _on_telegram(message)]

    def press(self, shown: Shown, *, by: int = 0) -> None:
        said = self._server.press(self._chat, self._people[by], int(shown.message), shown.data, check=False)
        assert said.update_id is not None
        update = self._server.platform.updates.body(said.update_id)
        self._pressed.append((text_of(update, "callback_query", "id"), by))

    def forged(self, shown: Shown) -> Shown:
        return replace(shown, message=str(self._from_bot[-1].message_id))

    def told(self, by: int = 0) -> list[str]:
        answers = self._server.answered_callbacks
        return [str(one.get("text")) for one in answers if (one["callback_query_id"], by) in self._pressed]

    def share(self, text: str, files: Mapping[str, bytes]) -> None:
        captions = [text, *[""] * len(files)]
        for (name, content), caption in zip(files.items(), captions, strict=False):
            kind = "photo" if name.endswith(".png") else "document"
            shared: Shared = {"content": content, "caption": caption, "name": name}
            if len(files) > 1:
                shared["album"] = text
            self._server.share(self._chat, self._people[0], kind, shared)

    def speak(self, sound: bytes) -> None:
        self._server.share(self._chat, self._people[0], "voice", {"content": sound, "media_type": "audio/ogg"})

    @property
    def got(self) -> list[tuple[str, dict[str, bytes]]]:
        found: dict[str, tuple[str, dict[str, bytes]]] = {}
        for one in self._from_bot:
            if one.media is None or one.media.kind == "voice":
                continue
            caption, files = found.get(one.media_group_id or str(one.message_id), ("", {}))
            files[one.media.name] = one.media.content
            found[one.media_group_id or str(one.message_id)] = caption + (one.caption or ""), files
        return list(found.values())

    @property
    def voices(self) -> int:
        return sum(one.media is not None and one.media.kind == "voice" for one in self._from_bot)

    @property
    def fetched(self) -> int:
        return len(self._server.calls_of("getFile"))

    @property
    def uploads(self) -> int:
        return sum(len(self._server.calls_of(method)) for method in ("sendDocument", "sendPhoto", "sendMediaGroup"))

    def robot(self) -> Callable[[str], None]:
        robot = self._server.user(ROBOT, is_bot=True, username="robo_bot")
        return lambda text: self._say(robot, text)


def _on_telegram(message: TelegramMessage) -> list[Shown]:
    rows = (message.reply_markup or {}).get("inline_keyboard")
    return [
        Shown(label=str(one["text"]), message=str(message.message_id), data=str(one["callback_data"]))
        for row in (rows if isinstance(rows, list) else [])
        for one in (row if isinstance(row, list) else [])
        if isinstance(one, dict)
    ]


class DiscordRoom(Room):
    full_chars = MOST_CONTENT

    def __init__(self, platform: Discord, dialogue: DiscordTalk, people: Sequence[DiscordUser]) -> None:
        super().__init__(dialogue)
        self._platform = platform
        self._server = platform.server
        self._talk = dialogue
        self._channel = dialogue.channel
        self._people = people

    def say(self, text: str, *, by: int = 0) -> None:
        self._say(self._people[by], text)

    def _say(self, who: DiscordUser, text: str) -> None:
        named = text if self._channel.guild_id is None else f"<@{self._server.bot.id}> {text}"
        self._server.say(self._channel, who, named)

    def identity(self, by: int = 0) -> str:
        return f"discord:{self._people[by].id}"

    @property
    def buttons(self) -> list[Shown]:
        return [
            Shown(label=label, message=str(message.id), data=data)
            for message in self._talk.shown
            for data, label in message.buttons.items()
        ]

    def press(self, shown: Shown, *, by: int = 0) -> None:
        self._server.press(self._people[by], int(shown.message), shown.data, check=False)

    def forged(self, shown: Shown) -> Shown:
        return replace(shown, message=str(self._talk.shown[-1].id))

    def told(self, by: int = 0) -> list[str]:
        whispers = self._server.whispers(self._people[by])
        return [one.content for one in whispers if one.channel_id == self._channel.id]

    def share(self, text: str, files: Mapping[str, bytes]) -> None:
        self._server.say(self._channel, self._people[0], text, files=list(files.items()))

    def speak(self, sound: bytes) -> None:
        self._server.say_aloud(self._channel, self._people[0], sound)

    @property
    def got(self) -> list[tuple[str, dict[str, bytes]]]:
        return [
            (one.content, {file.filename: file.content for file in one.now.attachments})
            for one in self._talk.shown
            if one.now.attachments and not one.flags & VOICE_MESSAGE
        ]

    @property
    def voices(self) -> int:
        return sum(bool(one.flags & VOICE_MESSAGE) for one in self._talk.shown)

    @property
    def fetched(self) -> int:
        return len(self._server.calls_of("download"))

    @property
    def uploads(self) -> int:
        return sum("attachments" in call.body for call in self._server.calls_of("create_message"))

    def robot(self) -> Callable[[str], None]:
        robot = self._server.person(ROBOT.lower(), is_bot=True)
        self._server.join(self._platform.guild, robot)
        return lambda text: self._say(robot, text)


class SlackRoom(Room):
    full_chars = MAX_TEXT

    def __init__(self, platform: Slack, dialogue: SlackTalk, people: Sequence[Person]) -> None:
        super().__init__(dialogue)
        self._server = platform.server
        self._talk = dialogue
        self._channel = dialogue.channel
        self._people = people

    def say(self, text: str, *, by: int = 0) -> None:
        self._say(self._people[by], text)

    def reply(self, text: str) -> None:
        self._server.say(self._channel, self._people[0], text, thread=self._talk.shown[-1].thread_ts)

    def _say(self, who: Person, text: str) -> None:
        named = text if self._channel.kind == "im" else f"{self._server.bot} {text}"
        self._server.say(self._channel, who, named)

    def identity(self, by: int = 0) -> str:
        return f"slack:{self._people[by].team_id}/{self._people[by].id}"

    @property
    def buttons(self) -> list[Shown]:
        return [
            Shown(label=text_of(one, "text", "text"), message=message.ts, data=text_of(one, "action_id"))
            for message in self._talk.shown
            for _, one in elements_of(list(message.blocks))
        ]

    def press(self, shown: Shown, *, by: int = 0) -> None:
        versions = self._server.message(self._channel, shown.message).versions
        seen = (
            number
            for number, version in enumerate(versions)
            if any(one["action_id"] == shown.data for _, one in elements_of(list(version.blocks)))
        )
        self._server.click_stale(self._channel, shown.message, self._people[by], shown.data, version=next(seen))

    def forged(self, shown: Shown) -> Shown:
        """Slack itself vouches for what stood under a message, so that it has to stand there."""
        platform, last = self._server.platform, self._talk.shown[-1]
        with platform.lock:
            known = (
                (block, element)
                for room in platform.rooms.values()
                for message in room.messages.values()
                for block in message.blocks
                for _, element in elements_of([block])
            )
            block, element = next(one for one in known if one[1]["action_id"] == shown.data)
            moved: JsonObject = {**block, "elements": [element]}
            blocks = (*last.blocks, moved)
            platform.revise(platform.rooms[self._channel.id], last, replace(last.versions[-1], blocks=blocks))
        return replace(shown, message=last.ts)

    def told(self, by: int = 0) -> list[str]:
        shown = self._server.ephemerals(self._people[by])
        return [one.text for one in shown if one.channel_id == self._channel.id]

    def share(self, text: str, files: Mapping[str, bytes]) -> None:
        kept = [self._server.file(self._people[0], name, content) for name, content in files.items()]
        self._server.say(self._channel, self._people[0], text, files=kept)

    def speak(self, sound: bytes) -> None:
        """A clip: https://docs.slack.dev/reference/objects/file-object."""
        clip = self._server.file(self._people[0], "audio_message.m4a", sound, mimetype="audio/mp4")
        told = {**file_json(self._server.platform, clip), "subtype": "slack_audio"}
        self._server.say(self._channel, self._people[0], "", files=[clip], extra={"files": [told]})

    @property
    def _files(self) -> list[tuple[str, dict[str, bytes]]]:
        with self._server.platform.lock:
            known = dict(self._server.platform.files)
        return [
            (one.text, {known[file].name: known[file].content for file in one.file_ids})
            for one in self._talk.shown
            if one.file_ids
        ]

    @property
    def got(self) -> list[tuple[str, dict[str, bytes]]]:
        return [(text, files) for text, files in self._files if not _is_sound(files)]

    @property
    def voices(self) -> int:
        return sum(_is_sound(files) for _, files in self._files)

    @property
    def fetched(self) -> int:
        return len(self._server.calls_of("download"))

    @property
    def uploads(self) -> int:
        return len(self._server.calls_of("files.getUploadURLExternal"))

    def robot(self) -> Callable[[str], None]:
        robot = self._server.other_bot(ROBOT.lower())
        return lambda text: self._say(robot, text)


def _is_sound(files: Mapping[str, bytes]) -> bool:
    """Slack has no voice messages of bots."""
    return all(name.endswith((".ogg", ".mp3", ".wav")) for name in files)
