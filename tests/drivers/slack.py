"""People on Slack's test server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Generic, TypeVar

from bots.slack.words import HOME_CLOSED
from config.bots import SlackSettings
from config.secret import Secret
from core.vocabulary import BotName
from tests.clock import ShiftedClock
from tests.drivers.driver import Button, Driver, Hits, Person, Place, Saying, Shown, Stored
from tests.fakes.slack import Channel, JsonObject, Message, Said, SlackServer, ThreadedSlackServer
from tests.fakes.slack import Person as Member
from tests.fakes.slack.clicking import elements_of
from tests.fakes.slack.clips import recorded
from tests.fakes.slack.model import File, objects_of, text_of
from tests.fakes.slack.people import SayOptions
from tests.fakes.slack.text import MAX_TEXT

S = TypeVar("S", SlackServer, ThreadedSlackServer)

NAME: Final = BotName("slack")
SENDING: Final = ("chat.postMessage", "files.completeUploadExternal")
ANSWER_S: Final = 30.0
"""In place of three seconds: a clock that leaps with each message wants a patient server."""
_BY_SLACK: Final = frozenset({"channel_join", "assistant_app_thread"})
"""What Slack itself says in the bot's name."""
_SOUNDS: Final = (".ogg", ".mp3", ".wav")


def settings_for(server: SlackServer | ThreadedSlackServer, **more: object) -> SlackSettings:
    """Of a bot in the test's own process."""
    secrets = {"bot_token": Secret(server.bot.token), "app_token": Secret(server.bot.app_token)}
    account = {"name": NAME, "api_base": server.api_base.rstrip("/"), **secrets}
    return SlackSettings.model_validate({**account, **more}, strict=False)


def shown(message: Message) -> str:
    """What people see of a message: its blocks; the text beside them is for notifications, and cut short."""
    texts = [text_of(block, "text") or text_of(block, "text", "text") for block in message.blocks]
    return "\n".join(text for text in texts if text) or message.text


class SlackDriver(Driver, Generic[S]):
    """Each group is a channel of its own."""

    name = NAME
    keeps_messages = True
    full_chars = MAX_TEXT
    a_thread_each = True
    asks_in_private = True

    server: S

    def __init__(self, server: S, more: str = "", shifted: ShiftedClock | None = None) -> None:
        super().__init__(more, shifted)
        self.server = server
        self._members: dict[str, Member] = {}
        self._said: dict[tuple[str, str], Said] = {}
        self._roots: dict[str, str] = {}
        """Of the threads that people talk in by default, by channel; "": it will hang on the next message."""
        self._hook: Member | None = None
        self.forgives_late_acks = shifted is not None
        """On a busy machine some are late, and what they were for comes again."""

    def member(self, who: Person) -> Member:
        return self._members[who.id]

    @property
    def account(self) -> Mapping[str, object]:
        bot, root = self.server.bot, self.server.api_base.rstrip("/")
        return {"bot_token": bot.token, "app_token": bot.app_token, "api_base": root}

    @property
    def account_id(self) -> str:
        return f"{self.server.team.id}/{self.server.bot.user_id}"

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.server.bot.token, self.server.bot.app_token, self.server.bot.signing_secret)

    # who is there, and where

    def person(self, name: str, *, robot: bool = False) -> Person:
        member = self.server.other_bot(name.lower()) if robot else self.server.person(name)
        self._members[member.id] = member
        return Person(id=member.id, identity=f"slack:{member.team_id}/{member.id}")

    def rename(self, who: Person, name: str) -> None:
        with self.server.platform.lock:
            known = self.server.platform.people
            known[who.id] = Member(id=who.id, team_id=known[who.id].team_id, name=name.lower(), real_name=name)

    def mention(self, who: Person | None = None) -> str:
        return f"<@{self.server.bot.user_id if who is None else who.id}>"

    def direct(self, who: Person) -> Place:
        return Place(chat=self.server.im(self.member(who)).id, group=False)

    def group(self, people: Sequence[Person], *, listed: bool = True) -> Place:
        return self._place(self.server.channel(f"room-{next(self._numbers)}", members=self._all(people)), listed)

    def private_group(self, people: Sequence[Person]) -> Place:
        name = f"room-{next(self._numbers)}"
        return self._place(self.server.channel(name, members=self._all(people), private=True), listed=True)

    def thread(self, people: Sequence[Person], *, root: str | None = " ") -> Place:
        """Words and files of the root would be the agent's, too."""
        place = self.group(people)
        if root is None:
            self._roots[place.chat] = ""
            return place
        return replace(place, thread=self.server.say(place.chat, self.member(people[0]), root).ts)

    def _place(self, channel: Channel, listed: bool) -> Place:
        self.listed += [channel.id] if listed else []
        return Place(chat=channel.id)

    def _all(self, people: Sequence[Person]) -> list[Member]:
        return [self.member(one) for one in people]

    def is_ordered(self, place: Place) -> bool:
        return not place.group or bool(place.thread)

    # what people do

    def say(self, place: Place, who: Person, saying: Saying) -> str:
        if saying.apart:
            self._move_clock()
        text, options = self._named(place, saying), self._options(place)
        if saying.forwarded:
            shared: JsonObject = {"is_share": True, "author_name": "Eve", "text": text, "id": 1}
            options["extra"], text = {"attachments": [shared]}, ""
        if saying.files or saying.voice:
            options["files"] = self._files(self.member(who), saying)
        said = self.server.say(place.chat, self.member(who), text, **options)
        if self._roots.get(place.chat) == "":
            self._roots[place.chat] = said.ts
        self._said[place.chat, said.ts] = said
        return said.ts

    def _files(self, who: Member, saying: Saying) -> list[File]:
        if saying.voice:
            clip = self.server.file(who, "audio_message.m4a", saying.voice, mimetype="audio/mp4")
            return [recorded(self.server.platform, clip)]
        return [self.server.file(who, name, content) for name, content in saying.files.items()]

    def _options(self, place: Place) -> SayOptions:
        thread = place.thread or self._roots.get(place.chat)
        return {"thread": thread} if thread else {}

    def _named(self, place: Place, saying: Saying) -> str:
        return f"{self.mention()} {saying.text}" if saying.named and place.group else saying.text

    def say_as_nobody(self, place: Place, manner: str, who: Person, text: str) -> None:
        self._hook = self._hook or self.server.other_bot("hook")
        words, options = self._named(place, Saying(text=text, named=True)), self._options(place)
        options["subtype"] = "bot_message"
        if manner == "impostor":
            options["extra"] = {"user": who.id, "username": self.member(who).name}
        self.server.say(place.chat, self._hook, words, **options)

    def tell_again(self, place: Place, message: str) -> None:
        self.server.redeliver(self._said[place.chat, message])

    def edit(self, place: Place, message: str, text: str) -> None:
        self.server.edit(place.chat, message, text)

    def press(self, place: Place, who: Person, button: Button) -> None:
        versions = self.server.message(place.chat, button.message).versions
        seen = next(
            number
            for number in reversed(range(len(versions)))
            if any(one["action_id"] == button.data for _, one in elements_of(list(versions[number].blocks)))
        )
        self.server.click_stale(place.chat, button.message, self.member(who), button.data, version=seen)

    def forged(self, place: Place, button: Button) -> Button:
        """Slack itself vouches for what stood under a message, so that it has to stand there."""
        platform = self.server.platform
        last: Message = self._from_bot(place)[-1]
        with platform.lock:
            known = (
                (block, element)
                for room in platform.rooms.values()
                for message in room.messages.values()
                for block in message.blocks
                for _, element in elements_of([block])
            )
            block, element = next(one for one in known if one[1]["action_id"] == button.data)
            moved: JsonObject = {**block, "elements": [element]}
            blocks = (*last.blocks, moved)
            platform.revise(platform.rooms[place.chat], last, replace(last.versions[-1], blocks=blocks))
        return replace(button, message=last.ts)

    def pick(self, place: Place, who: Person, command: str) -> None:
        self.server.slash(place.chat, self.member(who), "/frontdesk", command)

    def ask_about(self, place: Place, who: Person, message: str, question: str) -> None:
        """Slack asks for no question: the message itself is handed on."""
        self.server.shortcut(place.chat, message, self.member(who), "frontdesk_ask")

    def look(self, place: Place, who: Person, what: str) -> None:
        if what == "home":
            self.server.open_home(self.member(who))
        else:
            self._roots[place.chat] = self.server.open_assistant(self.member(who)).ts

    def press_at_home(self, who: Person) -> None:
        home = self.server.home(self.member(who))
        assert home is not None
        _, button = next(elements_of(_blocks(home.body)))
        self.server.click_view(home, text_of(button, "action_id"))

    def react(self, place: Place, who: Person) -> None:
        self.server.react(place.chat, self._from_bot(place)[-1].ts, self.member(who), "thumbsup")

    def come_and_go(self, place: Place, who: Person) -> None:
        self.server.leave(place.chat, self.member(who))
        self.server.join(place.chat, self.member(who))

    def put_out_and_in(self, place: Place, who: Person) -> None:
        bot = self.server.as_person(self.server.bot)
        self.server.leave(place.chat, bot)
        self.server.join(place.chat, bot, inviter=self.member(who))

    # what people see

    def shown(self, place: Place) -> list[Shown]:
        return [self._shown(one) for one in self._from_bot(place)]

    def _from_bot(self, place: Place) -> list[Message]:
        return [one for one in self.server.from_bot(place.chat) if one.subtype not in _BY_SLACK]

    def _shown(self, message: Message) -> Shown:
        """Slack has no voice messages of bots."""
        held = self.server.platform.files
        files = tuple((held[one].name, held[one].content) for one in message.file_ids)
        found = [one for _, one in elements_of(list(message.blocks))]
        return Shown(
            id=message.ts,
            thread=message.thread_ts or "",
            text=shown(message),
            files=files,
            buttons=tuple(_button(message, one) for one in found),
            spoken=bool(files) and all(name.endswith(_SOUNDS) for name, _ in files),
        )

    def told(self, place: Place, who: Person) -> list[str]:
        return [one.text for one in self.server.ephemerals(self.member(who)) if one.channel_id == place.chat]

    def whispered(self, place: Place) -> list[str]:
        return [one.text for one in self.server.ephemerals() if one.channel_id == place.chat]

    def choices(self, place: Place, who: Person, what: str) -> Sequence[str] | None:
        if what == "home":
            home = self.server.home(self.member(who))
            return None if home is None else _conversations(home.body)
        found = [one.prompts for one in self.server.prompts if one.channel_id == place.chat]
        return [title for title, _ in found[-1]] if found else None

    def seconds_of(self, place: Place, message: str) -> float:
        return float(message)

    def plain(self, text: str) -> str:
        return text.replace("/frontdesk ", "/").replace("@frontdesk /", "/")

    # what the bot did

    def connected(self) -> bool:
        return self.server.connected(2)

    def gone(self) -> bool:
        return self.server.connected(0)

    def handed_over(self, said: Stored, stored: Callable[[], Stored]) -> bool:
        """What a process took and did not acknowledge comes again later; what counts is what was stored."""
        return set(said) <= set(stored())

    @property
    def presses_waiting(self) -> int:
        pressed = [one for one in self.server.deliveries if one.kind == "interactive"]
        return sum(one.state in ("waiting", "open") for one in pressed)

    def fetched(self, place: Place) -> int:
        with self.server.platform.lock:
            files = [one for one in self.server.platform.files.values() if one.user_id in self._members]
        calls = [call for method in ("download", "files.info") for call in self.server.calls_of(method)]
        return sum(any(one.id in str(call.params) for call in calls) for one in files if place.chat in one.channel_ids)

    @property
    def uploads(self) -> int:
        return len(self.server.calls_of("files.getUploadURLExternal"))

    def signs(self, place: Place) -> int:
        return sum(one.channel_id == place.chat and bool(one.status) for one in self.server.statuses)

    @property
    def violations(self) -> tuple[object, ...]:
        return tuple(one for one in self.server.problems if one.rule != "late_ack" or not self.forgives_late_acks)

    # what goes wrong

    def flood(self, place: Place, seconds: int, *, edits: bool = False, after: int = 0) -> None:
        for method in ("chat.update",) if edits else SENDING:
            self.server.rate_limit(method, seconds, channel=place.chat, after=after)

    def refuse_next(self) -> None:
        self.server.error("chat.postMessage", "msg_too_long", count=2)  # plainer, too
        self.server.error("files.completeUploadExternal", "file_not_found")

    def close(self, place: Place, who: Person) -> None:
        self.server.archive(place.chat)

    def drop_next(self, *, applied: bool) -> Sequence[Hits]:
        return [self.server.drop(method, applied=applied) for method in SENDING]

    def fail(self) -> None:
        self.server.answer("*", 503, b"", count=None)

    def lose_files(self, place: Place) -> None:
        """People delete them."""
        platform = self.server.platform
        with platform.lock:
            for number in [one.id for one in platform.files.values() if one.user_id in self._members]:
                del platform.files[number]

    def revoke(self) -> None:
        self.server.set_token_state("token_revoked")
        self.server.cut_sockets()

    def mend(self, place: Place, who: Person) -> None:
        self.server.clear_faults()
        self.server.archive(place.chat, archived=False)


class SlackThreads(SlackDriver[S]):
    """Whoever talks there in private does so in a thread of the assistant, where answers are streams."""

    def direct(self, who: Person) -> Place:
        return replace(super().direct(who), thread=self.server.open_assistant(self.member(who)).ts)


def _button(message: Message, element: JsonObject) -> Button:
    return Button(label=text_of(element, "text", "text"), message=message.ts, data=text_of(element, "action_id"))


def _blocks(view: JsonObject) -> list[JsonObject]:
    return objects_of(view.get("blocks"))


def _conversations(home: JsonObject) -> list[str]:
    """Those that can be resumed there; [""] where it says that there are none yet."""
    found = [text_of(one, "value") for _, one in elements_of(_blocks(home))]
    return found or ([] if HOME_CLOSED in str(home) else [""])
