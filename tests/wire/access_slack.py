"""The access table's Slack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from bots.slack.words import HOME_CLOSED
from tests.fakes.slack import Channel, Message, Person, ThreadedSlackServer
from tests.fakes.slack.clicking import elements_of
from tests.fakes.slack.clips import recorded
from tests.fakes.slack.model import File, JsonObject, objects_of, text_of
from tests.fakes.slack.people import SayOptions
from tests.fakes.telegram.images import png
from tests.wire.access_stage import Room, Saying, Stage, Who

_SOUND: Final = b"OggS" + bytes(60)
_FILES: Final = {
    "photo": ("photo.png", png(90, 60)),
    "file": ("notes.txt", b"notes"),
    "sound": ("song.ogg", _SOUND),
    "voice": ("audio_message.m4a", _SOUND),
}
_SLACKS_OWN: Final = frozenset({"channel_join", "assistant_app_thread"})
_PATIENT_S: Final = 60.0
"""Hundreds of messages come at once, on a busy machine."""


class SlackStage(Stage):
    """Each place is a channel of its own. A thread that is ours begins with the first that is said there, another below
    something that was not said to the bot."""

    platform = "slack"
    a_thread_each = True
    asks_in_private = True

    def __init__(self, server: ThreadedSlackServer) -> None:
        self.server = server
        self.listed = []
        self._people: dict[str, Person] = {}
        self._channels: dict[str, Channel] = {}
        self._ours: dict[str, str] = {}
        """The threads that began in channels where one is meant to, and those of the assistant."""
        self._hook = server.other_bot("hook")

    def table(self) -> dict[str, object]:
        bot, root = self.server.bot, self.server.api_base.rstrip("/")
        return {"bot_token": bot.token, "app_token": bot.app_token, "api_base": root, "catch_up": 0}

    def person(self, name: str, *, robot: bool = False) -> Who:
        person = self.server.other_bot(name) if robot else self.server.person(name)
        self._people[person.id] = person
        return Who(id=person.id, identity=f"slack:{person.team_id}/{person.id}")

    def rename(self, who: Who, name: str) -> None:
        with self.server.platform.lock:
            known = self.server.platform.people
            known[who.id] = Person(id=who.id, team_id=known[who.id].team_id, name=name.lower(), real_name=name)

    def room(self, place: str, who: Who, host: Who) -> Room:
        mine, theirs = self._people[who.id], self._people[host.id]
        if place == "direct":
            channel = self.server.im(mine)
        else:
            channel = self.server.channel(f"room-{len(self._channels)}", members=[mine, theirs])
        self._channels[channel.id] = channel
        if place not in ("direct", "unlisted"):
            self.listed.append(channel.id)
        if place == "ours":
            self._ours[channel.id] = ""
        thread = self.server.say(channel, theirs, "good morning").ts if place == "other" else ""
        return Room(chat=channel.id, thread=thread, group=place != "direct")

    def direct(self, who: Who) -> Room:
        channel = self.server.im(self._people[who.id])
        self._channels[channel.id] = channel
        return Room(chat=channel.id, group=False)

    def connected(self) -> bool:
        return self.server.connected(2)

    def say(self, room: Room, who: Who, saying: Saying) -> str:
        channel, person = self._channels[room.chat], self._people[who.id]
        text, options = self._named(room, saying), self._options(room)
        if saying.handed_on:
            options["extra"] = {"attachments": [{"is_share": True, "author_name": "Eve", "text": text, "id": 1}]}
            text = ""
        if saying.thing:
            options["files"] = [self._file(person, saying.thing)]
        said = self.server.say(channel, person, text, **options).ts
        if self._ours.get(room.chat) == "":
            self._ours[room.chat] = said
        return said

    def _file(self, person: Person, thing: str) -> File:
        name, content = _FILES[thing]
        file = self.server.file(person, name, content)
        return recorded(self.server.platform, file) if thing == "voice" else file

    def _options(self, room: Room) -> SayOptions:
        thread = room.thread or self._ours.get(room.chat)
        return {"thread": thread} if thread else {}

    def _named(self, room: Room, saying: Saying) -> str:
        return f"<@{self.server.bot.user_id}> {saying.text}" if saying.named and room.group else saying.text

    def edit(self, room: Room, message: str, text: str) -> None:
        self.server.edit(self._channels[room.chat], message, f"<@{self.server.bot.user_id}> {text}")

    def pick(self, room: Room, who: Who, command: str) -> None:
        self.server.slash(self._channels[room.chat], self._people[who.id], "/frontdesk", command)

    def ask_about(self, room: Room, who: Who, message: str, question: str) -> None:
        """Slack asks for no question: the message itself is handed on."""
        self.server.shortcut(room.chat, message, self._people[who.id], "frontdesk_ask")

    def look(self, room: Room, who: Who, what: str) -> None:
        if what == "opens Home":
            self.server.open_home(self._people[who.id])
        else:
            self._ours[room.chat] = self.server.open_assistant(self._people[who.id]).ts

    def shown(self, room: Room, who: Who, what: str) -> Sequence[str] | None:
        if what == "opens Home":
            home = self.server.home(self._people[who.id])
            return None if home is None else _conversations(home.body)
        found = [one.prompts for one in self.server.prompts if one.channel_id == room.chat]
        return [title for title, _ in found[-1]] if found else None

    def button(self, room: Room, label: str, within: str = "") -> bool:
        return bool(self._with_button(room, label, within))

    def _with_button(self, room: Room, label: str, within: str) -> list[tuple[Message, str]]:
        """Messages with the button's name."""
        said = [one for one in self.server.from_bot(room.chat) if within in _shown(one)]
        return [(one, name) for one in said if (name := _actions(one).get(label)) is not None]

    def press(self, room: Room, who: Who, label: str, within: str = "") -> None:
        message, name = self._with_button(room, label, within)[-1]
        self.server.click(room.chat, message.ts, self._people[who.id], name)

    def press_at_home(self, who: Who) -> None:
        home = self.server.home(self._people[who.id])
        assert home is not None
        _, button = next(elements_of(_blocks(home.body)))
        self.server.click_view(home, text_of(button, "action_id"))

    def say_as_nobody(self, room: Room, manner: str, who: Who, text: str) -> None:
        words, options = self._named(room, Saying(text=text, named=True)), self._options(room)
        options["subtype"] = "bot_message"
        if manner == "impostor":
            options["extra"] = {"user": who.id, "username": self._people[who.id].name}
        self.server.say(room.chat, self._hook, words, **options)

    def come_and_go(self, room: Room, who: Who) -> None:
        self.server.leave(room.chat, self._people[who.id])
        self.server.join(room.chat, self._people[who.id])

    def put_out_and_in(self, room: Room, who: Who) -> None:
        bot = self.server.as_person(self.server.bot)
        self.server.leave(room.chat, bot)
        self.server.join(room.chat, bot, inviter=self._people[who.id])

    def react(self, room: Room, who: Who) -> None:
        last = self.server.from_bot(room.chat)[-1]
        self.server.react(room.chat, last.ts, self._people[who.id], "thumbsup")

    def said(self, room: Room) -> Sequence[str]:
        return [_shown(one) for one in self.server.from_bot(room.chat) if one.subtype not in _SLACKS_OWN]

    def whispered(self, room: Room) -> Sequence[str]:
        return [one.text for one in self.server.ephemerals() if one.channel_id == room.chat]

    def fetched(self, room: Room) -> int:
        with self.server.platform.lock:
            files = self.server.platform.files.values()
            mine = {one.id for one in files if room.chat in one.channel_ids and one.user_id in self._people}
        asked = [str(call.params) for method in ("download", "files.info") for call in self.server.calls_of(method)]
        return sum(any(file in params for file in mine) for params in asked)

    def signs(self, room: Room) -> int:
        return sum(one.channel_id == room.chat and bool(one.status) for one in self.server.statuses)

    @property
    def problems(self) -> Sequence[object]:
        return self.server.problems


def _shown(message: Message) -> str:
    found = [str(block["text"]) for block in message.blocks if block["type"] == "markdown"]
    return "\n".join(found) or message.text or " ".join(message.file_ids)


def _blocks(view: JsonObject) -> list[JsonObject]:
    return objects_of(view.get("blocks"))


def _conversations(home: JsonObject) -> list[str]:
    """Those that can be resumed there; [""] where it says that there are none yet."""
    found = [text_of(one, "value") for _, one in elements_of(_blocks(home))]
    return found or ([] if HOME_CLOSED in str(home) else [""])


def _actions(message: Message) -> dict[str, str]:
    """The names of the buttons, by their labels."""
    return {text_of(one, "text", "text"): text_of(one, "action_id") for _, one in elements_of(list(message.blocks))}


@contextmanager
def slack() -> Iterator[SlackStage]:
    with ThreadedSlackServer(limits=None, answer_s=_PATIENT_S) as server:
        yield SlackStage(server)
