"""People on Telegram's test server."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Generic, TypeVar

from config.bots import TelegramSettings
from config.secret import Secret
from core.vocabulary import BotName
from tests.drivers.driver import Button, Driver, Hits, Person, Place, Saying, Shown, Stored
from tests.fakes.telegram import Chat, JsonObject, Message, Said, TelegramServer, ThreadedTelegramServer, User
from tests.fakes.telegram.files import MAX_DOWNLOAD
from tests.fakes.telegram.people import MessageOptions
from tests.fakes.telegram.sharing import Shared
from tests.fakes.telegram.things import STICKER_ID, thing

S = TypeVar("S", TelegramServer, ThreadedTelegramServer)

NAME: Final = BotName("telegram")
SENDING: Final = ("sendMessage", "sendDocument", "sendMediaGroup")
_APART_S: Final = 60
"""Telegram's times are whole seconds."""
_LONG_AGO_S: Final = 40_000
"""What is said apart begins so long ago, so that it never comes from the future."""
_KINDS: Final = {"png": "photo", "ogg": "audio"}
"""What a client sends a file as, by the end of its name."""


def settings_for(server: TelegramServer | ThreadedTelegramServer, **more: object) -> TelegramSettings:
    """Of a bot in the test's own process."""
    account = {"name": NAME, "token": Secret(server.token), "api_base": server.url}
    return TelegramSettings.model_validate({**account, **more}, strict=False)


class TelegramDriver(Driver, Generic[S]):
    name = NAME
    keeps_messages = True
    keeps_presses = True
    full_chars = 4096  # https://core.telegram.org/bots/api#sendmessage
    gives_bytes = MAX_DOWNLOAD

    server: S

    def __init__(self, server: S, more: str = "") -> None:
        super().__init__(more)
        self.server = server
        self._users: dict[str, User] = {}
        self._chats: dict[str, Chat] = {}
        self._updates: dict[tuple[str, str], int] = {}
        self._apart: Counter[str] = Counter()
        self._pressed: list[tuple[str, str]] = []
        """(id of the callback query, person)."""

    def user(self, who: Person) -> User:
        return self._users[who.id]

    def chat(self, place: Place) -> Chat:
        return self._chats[place.chat]

    @property
    def account(self) -> Mapping[str, object]:
        return {"token": self.server.token, "api_base": self.server.url}

    @property
    def account_id(self) -> str:
        return str(self.server.bot.id)

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.server.token,)

    # who is there, and where

    def person(self, name: str, *, robot: bool = False) -> Person:
        username = f"{name.lower().replace(' ', '_')}_bot" if robot else None
        user = self.server.user(name, is_bot=robot, username=username)
        self._users[str(user.id)] = user
        self.server.private(user)
        return Person(id=str(user.id), identity=f"telegram:{user.id}")

    def rename(self, who: Person, name: str) -> None:
        self._users[who.id] = replace(self._users[who.id], first_name=name, username=name.lower())

    def mention(self, who: Person | None = None) -> str:
        return f"@{(self.server.bot if who is None else self._users[who.id]).username}"

    def direct(self, who: Person) -> Place:
        return self._place(self.server.private(self._users[who.id]))

    def group(self, people: Sequence[Person], *, listed: bool = True) -> Place:
        place = self._place(self.server.group(f"Room {next(self._numbers)}"))
        self.listed += [place.chat] if listed else []
        return place

    def thread(self, people: Sequence[Person], *, root: str | None = " ") -> Place:
        """A topic in a forum."""
        forum = self.server.group(f"Forum {next(self._numbers)}", forum=True)
        place = self._place(forum)
        self.listed.append(place.chat)
        return replace(place, thread=str(self.server.topic(forum, self._users[people[0].id])))

    def _place(self, chat: Chat) -> Place:
        self._chats[str(chat.id)] = chat
        return Place(chat=str(chat.id), group=chat.is_group)

    # what people do

    def say(self, place: Place, who: Person, saying: Saying) -> str:
        options = self._options(place)
        if saying.apart:
            options["date"] = int(time.time()) - _LONG_AGO_S + _APART_S * self._apart[place.chat]
            self._apart[place.chat] += 1
        if saying.reply:
            options["reply_to"] = self._last(place)
        if saying.forwarded:
            origin: JsonObject = {"type": "hidden_user", "sender_user_name": "Eve", "date": 1_700_000_000}
            options["extra"] = {"forward_origin": origin}
        said = self._say(place, who, saying, options)
        if said.update_id is not None:
            self._updates[place.chat, str(said.message_id)] = said.update_id
        return str(said.message_id)

    def _say(self, place: Place, who: Person, saying: Saying, options: MessageOptions) -> Said:
        chat, user, text = self.chat(place), self.user(who), self._named(place, saying)
        if saying.voice:
            sound: Shared = {"content": saying.voice, "media_type": "audio/ogg"}
            return self.server.share(chat, user, "voice", sound, **options)
        if saying.thing:
            options["extra"] = thing(saying.thing, text)
            return self.server.say(chat, user, None, **options)
        if not saying.files:
            return self.server.say(chat, user, text, **options)
        sent = [self.server.share(chat, user, kind, one, **options) for kind, one in _shared(saying.files, text)]
        return sent[0]

    def _named(self, place: Place, saying: Saying) -> str:
        if not saying.named or not place.group:
            return saying.text
        word, _, rest = saying.text.partition(" ")
        return f"{word}{self.mention()} {rest}".strip() if word.startswith("/") else f"{self.mention()} {saying.text}"

    def _options(self, place: Place) -> MessageOptions:
        return {"message_thread_id": int(place.thread)} if place.thread else {}

    def say_as_nobody(self, place: Place, manner: str, who: Person, text: str) -> None:
        chat, options, channel = self.chat(place), self._options(place), self.server.channel("News")
        words = self._named(place, Saying(text=text, named=True))
        match manner:
            case "nobody":
                self.server.say_anonymously(chat, words, **options)
            case "impostor":
                sender = self.user(who)
                self.server.posted(chat, self.server.draft_of(chat, words, options, sender=sender, sender_chat=channel))
            case "channel":
                self.server.say_as_channel(chat, channel, words, **options)
                self.server.say_without_from(chat, channel, words, **options)
            case _:
                self.server.auto_forward(chat, channel, words, **options)

    def update_of(self, place: Place, message: str) -> int:
        return self._updates[place.chat, message]

    def tell_again(self, place: Place, message: str) -> None:
        self.server.redeliver(self.update_of(place, message))

    def edit(self, place: Place, message: str, text: str) -> None:
        self.server.edit(self.chat(place), int(message), text)

    def press(self, place: Place, who: Person, button: Button) -> None:
        chat, user = self.chat(place), self.user(who)
        pressed = self.server.press(chat, user, int(button.message), button.data, check=False)
        assert pressed.update_id is not None
        query = self.server.platform.updates.body(pressed.update_id)["callback_query"]
        assert isinstance(query, dict)
        self._pressed.append((str(query["id"]), who.id))

    def forged(self, place: Place, button: Button) -> Button:
        return replace(button, message=str(self._last(place)))

    def react(self, place: Place, who: Person) -> None:
        self.server.react(self.chat(place), self.user(who), self._last(place), "👍")

    def come_and_go(self, place: Place, who: Person) -> None:
        self.server.join(self.chat(place), self.user(who))
        self.server.leave(self.chat(place), self.user(who))

    def put_out_and_in(self, place: Place, who: Person) -> None:
        chat, user = self.chat(place), self.user(who)
        if not place.group:
            self.server.block(user)
            self.server.unblock(user)
            return
        self.server.set_status(chat, user, "left")
        self.server.set_status(chat, user, "administrator")

    # what people see

    def shown(self, place: Place) -> list[Shown]:
        grouped = itertools.groupby(self._from_bot(place), lambda one: one.media_group_id or str(one.message_id))
        return [_together(list(album)) for _, album in grouped]

    def _from_bot(self, place: Place) -> tuple[Message, ...]:
        return self.server.chat(int(place.chat)).from_bot

    def _last(self, place: Place) -> int:
        return self._from_bot(place)[-1].message_id

    def told(self, place: Place, who: Person) -> list[str]:
        answers = self.server.answered_callbacks
        return [
            str(one["text"]) for one in answers if "text" in one and (one["callback_query_id"], who.id) in self._pressed
        ]

    def seconds_of(self, place: Place, message: str) -> float:
        return next(one.at for one in self.server.chat(int(place.chat)).messages if str(one.message_id) == message)

    # what the bot did

    def connected(self) -> bool:
        return self.server.polling

    def handed_over(self, said: Stored, stored: Callable[[], Stored]) -> bool:
        return not self.server.unconfirmed

    @property
    def presses_waiting(self) -> int:
        with self.server.platform.lock:
            return len(self.server.platform.callbacks)

    def fetched(self, place: Place) -> int:
        said = [one for one in self.server.chat(int(place.chat)).messages if not one.by_our_bot]
        theirs = {one.media.file_id for one in said if one.media is not None}
        theirs |= {STICKER_ID for one in said if "sticker" in one.extra}
        return sum(call.params.get("file_id") in theirs for call in self.server.calls_of("getFile"))

    @property
    def uploads(self) -> int:
        return sum(len(self.server.calls_of(method)) for method in ("sendDocument", "sendPhoto", "sendMediaGroup"))

    def signs(self, place: Place) -> int:
        return len(self.server.chat(int(place.chat)).actions)

    @property
    def violations(self) -> tuple[object, ...]:
        return self.server.violations

    # what goes wrong

    def flood(self, place: Place, seconds: int, *, edits: bool = False, after: int = 0) -> None:
        self.server.flood(int(place.chat), seconds, after=after, method="editMessageText" if edits else None)

    def refuse_next(self) -> None:
        for method in SENDING:
            self.server.answer_error(method, 400, "Bad Request: message is too long")

    def close(self, place: Place, who: Person) -> None:
        self.server.block(self.user(who))

    def drop_next(self, *, applied: bool) -> Sequence[Hits]:
        return [self.server.drop(method, applied=applied) for method in SENDING]

    def fail(self) -> None:
        self.server.answer_error("*", 502, "Bad Gateway", count=None)

    def lose_files(self, place: Place) -> None:
        """Telegram still knows them, and serves nothing where it says that they are."""
        gone: JsonObject = {"ok": True, "result": {"file_path": "documents/gone"}}
        self.server.answer("getFile", 200, gone, count=None)

    def revoke(self) -> None:
        self.server.revoke()

    def mend(self, place: Place, who: Person) -> None:
        self.server.clear_faults()
        self.server.unblock(self.user(who))


def _shared(files: Mapping[str, bytes], text: str) -> Iterator[tuple[str, Shared]]:
    """Several are an album, whose words stand under the first."""
    for number, (name, content) in enumerate(files.items()):
        shared: Shared = {"name": name, "content": content, "caption": "" if number else text}
        if len(files) > 1:
            shared["album"] = f"album of {next(iter(files))}"
        yield _KINDS.get(name.rpartition(".")[2], "document"), shared


def _together(album: Sequence[Message]) -> Shown:
    media = [one.media for one in album if one.media is not None]
    texts = [one.text or one.caption or "" for one in album]
    return Shown(
        id=str(album[0].message_id),
        thread=str(album[0].thread_id or ""),
        text="\n".join(text for text in texts if text),
        files=tuple((one.name, one.content) for one in media),
        buttons=tuple(button for one in album for button in _buttons(one)),
        spoken=any(one.kind == "voice" for one in media),
    )


def _buttons(message: Message) -> Iterator[Button]:
    rows = (message.reply_markup or {}).get("inline_keyboard")
    for row in rows if isinstance(rows, list) else []:
        for one in row if isinstance(row, list) else []:
            if isinstance(one, dict):
                data = str(one["callback_data"])
                yield Button(label=str(one["text"]), message=str(message.message_id), data=data)
