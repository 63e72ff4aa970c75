"""What Telegram keeps: users, chats, messages, the update queue, and the record of what the bot did.

Everything here is used under `Platform.lock`, from the server's loop and from test threads alike.
"""

import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.fakes.faults import FaultBook
from tests.fakes.telegram.entities import find_entities
from tests.fakes.telegram.errors import ApiError, bad_request, forbidden, migrated
from tests.fakes.telegram.flood import FloodControl, FloodLimits
from tests.fakes.telegram.model import (
    Action,
    Call,
    Chat,
    Draft,
    Entity,
    JsonObject,
    JsonValue,
    Media,
    Message,
    User,
    Violation,
    present,
)
from tests.fakes.telegram.updates import UpdateQueue

DRAFT_S = 30.0  # https://core.telegram.org/bots/api#sendmessagedraft: "a temporary 30-second preview"
TOKEN = re.compile(r"[1-9][0-9]{0,15}:[A-Za-z0-9_-]{3,60}")

JOINED = frozenset({"creator", "administrator", "member", "restricted"})


@dataclass
class Room:
    """A chat with what was said in it."""

    chat: Chat
    messages: dict[int, Message] = field(default_factory=dict)
    last_message_id: int = 0
    threads: set[int] = field(default_factory=set)
    statuses: dict[int, str] = field(default_factory=dict)
    blocked: bool = False
    bot_removed: bool = False
    migrated_to: int | None = None
    drafts: list[Draft] = field(default_factory=list)
    draft: Draft | None = None
    actions: list[Action] = field(default_factory=list)


@dataclass
class Webhook:
    url: str = ""
    secret_token: str | None = None
    max_connections: int = 40
    ip_address: str | None = None
    last_error_date: int | None = None
    last_error_message: str | None = None


class Journal:
    """The calls in the order of arrival, and the broken rules."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.calls: list[Call] = []
        self.violations: list[Violation] = []

    def arrived(self, method: str, params: JsonObject) -> int:
        number = len(self.calls)
        self.calls.append(Call(number=number, method=method, params=params, at=self._clock()))
        return number

    def applied(self, number: int, result: JsonValue) -> None:
        self.calls[number] = replace(self.calls[number], applied=True, result=result)

    def answered(self, number: int, status: int, description: str | None = None) -> None:
        self.calls[number] = replace(self.calls[number], status=status, description=description)

    def unanswered(self, number: int, why: str) -> None:
        self.calls[number] = replace(self.calls[number], description=why)

    def violated(self, rule: str, call: Call, detail: str) -> None:
        self.violations.append(
            Violation(rule=rule, method=call.method, detail=detail, at=self._clock(), chat_id=call.chat_id)
        )


class Platform:
    """The whole of Telegram as far as one bot is concerned. It outlives the bot's process."""

    def __init__(
        self,
        *,
        token: str,
        username: str,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        limits: FloodLimits | None = None,
        local: Path | None = None,
    ) -> None:
        if not TOKEN.fullmatch(token):
            raise ValueError("a bot token looks like 123456789:AA-letters-and-digits")
        self.lock = threading.RLock()
        self.clock = clock
        self.wall_clock = wall_clock
        self.token = token
        self.bot = User(id=int(token.split(":")[0]), first_name="Frontdesk", username=username, is_bot=True)
        self.users: dict[int, User] = {self.bot.id: self.bot}
        self.rooms: dict[int, Room] = {}
        self.updates = UpdateQueue(clock, first_update_id=700_000_001)
        self.offsets_held = False
        self.flood = FloodControl(limits, clock)
        self.faults = FaultBook()
        self.journal = Journal(clock)
        self.webhook = Webhook()
        self.commands: dict[str, JsonValue] = {}
        self.callbacks: dict[str, JsonObject] = {}
        self.answered_callbacks: list[JsonObject] = []
        self.files: dict[str, bytes] = {}
        self.local = local
        self._last_file = 0
        self.poll_number = 0
        self.waiting_polls: set[int] = set()
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        """Called after every change, on the thread that made it and under the lock: it must only wake others."""
        with self.lock:
            self._listeners.append(listener)

    def unlisten(self, listener: Callable[[], None]) -> None:
        with self.lock:
            self._listeners.remove(listener)

    def changed(self) -> None:
        with self.lock:
            for listener in tuple(self._listeners):
                listener()

    def date(self) -> int:
        return int(self.wall_clock())

    def room(self, chat_id: int) -> Room:
        """A chat that the test made."""
        return self.rooms[chat_id]

    def add_room(self, chat: Chat) -> Room:
        return self.rooms.setdefault(chat.id, Room(chat))

    def reachable_room(self, value: JsonValue) -> Room:
        """The chat that a call addresses. Raises `ApiError` where the bot can't write to it."""
        room = self._addressed(value)
        if room.migrated_to is not None:
            raise migrated(room.migrated_to)
        if room.chat.type == "private" and self.users[room.chat.id].is_bot:
            raise forbidden("bot can't send messages to bots")
        if room.blocked:
            raise forbidden("bot was blocked by the user")
        if room.bot_removed:
            kind = {"group": "group chat", "supergroup": "supergroup chat", "channel": "channel chat"}
            raise forbidden(f"bot was kicked from the {kind.get(room.chat.type, 'chat')}")
        return room

    def _addressed(self, value: JsonValue) -> Room:
        if value is None or value == "":
            raise bad_request("chat_id is empty", rule="params")
        if isinstance(value, int) and not isinstance(value, bool) and value in self.rooms:
            return self.rooms[value]
        if isinstance(value, str) and value.startswith("@"):
            for room in self.rooms.values():
                if room.chat.type != "private" and room.chat.username == value[1:]:
                    return room
        raise bad_request("chat not found")

    def post(self, room: Room, message: Message) -> Message:
        """Gives the message the chat's next id and keeps it."""
        room.last_message_id += 1
        kept = replace(message, message_id=room.last_message_id)
        room.messages[kept.message_id] = kept
        return kept

    def keep(self, media: Media) -> Media:
        """Gives the file its id and makes it available to getFile; in local mode it is written down."""
        self._last_file += 1
        ending = media.name.rpartition(".")[2] if "." in media.name else "bin"
        kept = replace(media, file_id=f"{media.kind}s/file_{self._last_file}.{ending}")
        self.files[kept.file_id] = kept.content
        if self.local is not None:
            path = self.local_path(kept.file_id)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(kept.content)
        return kept

    def local_path(self, file_id: str) -> Path:
        """Where a server in local mode keeps a file: below a folder that is called as the token."""
        if self.local is None:
            raise ValueError("this server is not in local mode")
        return self.local / self.token / file_id

    def visible_draft(self, room: Room) -> Draft | None:
        if room.draft is None or self.clock() - room.draft.at >= DRAFT_S:
            return None
        return room.draft

    def message_json(self, message: Message, *, deep: bool = True) -> JsonObject:
        """The Message object of the API. `deep` includes the message it replies to, one level down."""
        room = self.rooms[message.chat_id]
        body: JsonObject = {"message_id": message.message_id, "date": message.date, "chat": room.chat.json()}
        if message.sender is not None:
            body["from"] = message.sender.json()
        if message.sender_chat is not None:
            body["sender_chat"] = message.sender_chat.json()
        if message.thread_id is not None:
            body["message_thread_id"] = message.thread_id
        if message.is_topic_message:
            body["is_topic_message"] = True
        replied = room.messages.get(message.reply_to or 0)
        if deep and replied is not None and not replied.deleted:
            body["reply_to_message"] = self.message_json(replied, deep=False)
        if message.media is not None:
            body[message.media.kind] = message.media.json()
        if message.media_group_id is not None:
            body["media_group_id"] = message.media_group_id
        for key, words, given in (
            ("", message.text, message.entities),
            ("caption_", message.caption, message.caption_entities),
        ):
            if words is not None:
                body["caption" if key else "text"] = words
            if entities := _all_entities(words or "", given):
                body[f"{key}entities"] = [entity.json() for entity in entities]
        body.update(present({"edit_date": message.edit_date, "reply_markup": _inline(message.reply_markup)}))
        return {**body, **message.extra}

    def status_of(self, room: Room, user_id: int) -> str:
        default = "member" if room.chat.type == "private" else "left"
        return room.statuses.get(user_id, default)

    def refuse(self, number: int, error: ApiError) -> None:
        if error.rule is not None:
            self.journal.violated(error.rule, self.journal.calls[number], error.description)


def _all_entities(text: str, given: Sequence[Entity]) -> list[Entity]:
    both = [*given, *find_entities(text, given)]
    return sorted(both, key=lambda entity: (entity.offset, -entity.length))


def _inline(markup: JsonObject | None) -> JsonObject | None:
    return markup if markup is not None and "inline_keyboard" in markup else None
