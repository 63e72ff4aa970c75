"""The access table's Telegram."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from tests.fakes.telegram import Chat, JsonObject, ThreadedTelegramServer, User
from tests.fakes.telegram.model import Message
from tests.fakes.telegram.people import MessageOptions
from tests.fakes.telegram.things import STICKER_ID, thing
from tests.wire.access_stage import Room, Saying, Stage, Who

_KINDS: Final = {"photo": "photo", "file": "document", "voice": "voice", "sound": "audio"}


class TelegramStage(Stage):
    platform = "telegram"

    def __init__(self, server: ThreadedTelegramServer) -> None:
        self.server = server
        self.listed = []
        self._users: dict[str, User] = {}
        self._chats: dict[str, Chat] = {}
        self._channel = server.channel("News")

    def table(self) -> dict[str, object]:
        return {"token": self.server.token, "api_base": self.server.url, "drafts": False}

    def person(self, name: str, *, robot: bool = False) -> Who:
        user = self.server.user(name, is_bot=robot, username=f"{name.replace(' ', '_')}_bot" if robot else None)
        self._users[str(user.id)] = user
        self.server.private(user)
        return Who(id=str(user.id), identity=f"telegram:{user.id}")

    def rename(self, who: Who, name: str) -> None:
        self._users[who.id] = replace(self._users[who.id], first_name=name, username=name.lower())

    def room(self, place: str, who: Who, host: Who) -> Room:
        if place == "direct":
            chat = self.server.private(self._users[who.id])
        else:
            chat = self.server.group(forum=place in ("ours", "other"))
        self._chats[str(chat.id)] = chat
        if place not in ("direct", "unlisted"):
            self.listed.append(str(chat.id))
        thread = str(self.server.topic(chat, self._users[host.id])) if chat.is_forum else ""
        return Room(chat=str(chat.id), thread=thread, group=chat.is_group)

    def direct(self, who: Who) -> Room:
        self._chats[who.id] = self.server.private(self._users[who.id])
        return Room(chat=who.id, group=False)

    def connected(self) -> bool:
        return self.server.polling

    def say(self, room: Room, who: Who, saying: Saying) -> str:
        chat, user, text = self._chats[room.chat], self._users[who.id], self._named(room, saying)
        options = self._options(room)
        if saying.reply:
            options["reply_to"] = self._last(room)
        if saying.handed_on:
            origin: JsonObject = {"type": "hidden_user", "sender_user_name": "Eve", "date": 1_700_000_000}
            options["extra"] = {"forward_origin": origin}
        if saying.thing in _KINDS:
            like = {"caption": text} if text else {}
            said = self.server.share(chat, user, _KINDS[saying.thing], like, **options)  # type: ignore[arg-type]
        elif saying.thing:
            options["extra"] = thing(saying.thing, text)
            said = self.server.say(chat, user, None, **options)
        else:
            said = self.server.say(chat, user, text, **options)
        return str(said.message_id)

    def _named(self, room: Room, saying: Saying) -> str:
        if not saying.named or not room.group:
            return saying.text
        name = f"@{self.server.bot.username}"
        word, _, rest = saying.text.partition(" ")
        return f"{word}{name} {rest}".strip() if word.startswith("/") else f"{name} {saying.text}"

    def _options(self, room: Room) -> MessageOptions:
        return {"message_thread_id": int(room.thread)} if room.thread else {}

    def _last(self, room: Room) -> int:
        return self.server.chat(self._chats[room.chat]).from_bot[-1].message_id

    def edit(self, room: Room, message: str, text: str) -> None:
        name = f"@{self.server.bot.username}"
        self.server.edit(self._chats[room.chat], int(message), f"{name} {text}")

    def pick(self, room: Room, who: Who, command: str) -> None:
        raise NotImplementedError

    def button(self, room: Room, label: str, within: str = "") -> bool:
        return bool(self._with_button(room, label, within))

    def _with_button(self, room: Room, label: str, within: str) -> list[tuple[Message, str]]:
        """Messages with what the button sends."""
        said = self.server.chat(self._chats[room.chat]).from_bot
        found = [(one, _data(one, label)) for one in said if within in (one.text or "")]
        return [(one, data) for one, data in found if data is not None]

    def press(self, room: Room, who: Who, label: str, within: str = "") -> None:
        message, data = self._with_button(room, label, within)[-1]
        self.server.press(self._chats[room.chat], self._users[who.id], message.message_id, data)

    def say_as_nobody(self, room: Room, manner: str, who: Who, text: str) -> None:
        chat, options = self._chats[room.chat], self._options(room)
        words = self._named(room, Saying(text=text, named=True))
        match manner:
            case "nobody":
                self.server.say_anonymously(chat, words, **options)
            case "impostor":
                sender, channel = self._users[who.id], self._channel
                self.server.posted(chat, self.server.draft_of(chat, words, options, sender=sender, sender_chat=channel))
            case "channel":
                self.server.say_as_channel(chat, self._channel, words, **options)
                self.server.say_without_from(chat, self._channel, words, **options)
            case _:
                self.server.auto_forward(chat, self._channel, words, **options)

    def come_and_go(self, room: Room, who: Who) -> None:
        self.server.join(self._chats[room.chat], self._users[who.id])
        self.server.leave(self._chats[room.chat], self._users[who.id])

    def put_out_and_in(self, room: Room, who: Who) -> None:
        user, chat = self._users[who.id], self._chats[room.chat]
        if not room.group:
            self.server.block(user)
            self.server.unblock(user)
            return
        self.server.set_status(chat, user, "left")
        self.server.set_status(chat, user, "administrator")

    def react(self, room: Room, who: Who) -> None:
        self.server.react(self._chats[room.chat], self._users[who.id], self._last(room), "👍")

    def said(self, room: Room) -> Sequence[str]:
        return [
            one.text or one.caption or (one.media.name if one.media is not None else "")
            for one in self.server.chat(self._chats[room.chat]).from_bot
            if not one.deleted
        ]

    def whispered(self, room: Room) -> Sequence[str]:
        return ()

    def fetched(self, room: Room) -> int:
        shown = self.server.chat(self._chats[room.chat]).messages
        mine = {one.media.file_id for one in shown if one.media is not None and not one.by_our_bot}
        mine |= {STICKER_ID for one in shown if "sticker" in one.extra}
        return sum(call.params.get("file_id") in mine for call in self.server.calls_of("getFile"))

    def signs(self, room: Room) -> int:
        return len(self.server.chat(self._chats[room.chat]).actions)

    @property
    def problems(self) -> Sequence[object]:
        return self.server.violations


def _data(message: Message, label: str) -> str | None:
    """What the button of this label sends."""
    rows = (message.reply_markup or {}).get("inline_keyboard")
    buttons = [one for row in rows if isinstance(row, list) for one in row] if isinstance(rows, list) else []
    shown = {str(one["text"]): str(one["callback_data"]) for one in buttons if isinstance(one, dict)}
    return shown.get(label)


@contextmanager
def telegram() -> Iterator[TelegramStage]:
    with ThreadedTelegramServer(limits=None) as server:
        yield TelegramStage(server)
