"""The values of the double: what Telegram knows, and what it saw the bot do."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

JsonValue: TypeAlias = dict[str, "JsonValue"] | list["JsonValue"] | str | int | float | bool | None
JsonObject: TypeAlias = dict[str, JsonValue]
ChatType: TypeAlias = Literal["private", "group", "supergroup", "channel"]

GROUP_ANONYMOUS_BOT_ID = 1087968824  # https://core.telegram.org/bots/api#message: "from" of anonymous administrators
SERVICE_ACCOUNT_ID = 777000  # the same place: "from" of posts forwarded from the linked channel
CHANNEL_BOT_ID = 136817688  # the same place: "from" of messages sent on behalf of a channel


@dataclass(frozen=True, kw_only=True)
class User:
    """A person or a bot. The id is unique everywhere and is also the id of the private chat."""

    id: int
    first_name: str
    is_bot: bool = False
    last_name: str | None = None
    username: str | None = None
    language_code: str | None = None

    def json(self) -> JsonObject:
        return present(
            {
                "id": self.id,
                "is_bot": self.is_bot,
                "first_name": self.first_name,
                "last_name": self.last_name,
                "username": self.username,
                "language_code": self.language_code,
            }
        )


@dataclass(frozen=True, kw_only=True)
class Chat:
    """Where people talk. Users have positive ids, groups negative ones, supergroups and channels below -10^12."""

    id: int
    type: ChatType
    title: str | None = None
    username: str | None = None
    first_name: str | None = None
    is_forum: bool = False

    @property
    def is_group(self) -> bool:
        return self.type in {"group", "supergroup"}

    def json(self) -> JsonObject:
        return present(
            {
                "id": self.id,
                "type": self.type,
                "title": self.title,
                "username": self.username,
                "first_name": self.first_name,
                "is_forum": self.is_forum or None,
            }
        )


@dataclass(frozen=True)
class Entity:
    """A span of a text. Offset and length count UTF-16 code units."""

    type: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None
    custom_emoji_id: str | None = None
    user: JsonObject | None = field(default=None, hash=False)
    unix_time: int | None = None
    date_time_format: str | None = None

    @property
    def end(self) -> int:
        return self.offset + self.length

    def json(self) -> JsonObject:
        return present(
            {
                "type": self.type,
                "offset": self.offset,
                "length": self.length,
                "url": self.url,
                "language": self.language,
                "custom_emoji_id": self.custom_emoji_id,
                "user": self.user,
                "unix_time": self.unix_time,
                "date_time_format": self.date_time_format,
            }
        )


@dataclass(frozen=True, kw_only=True)
class Upload:
    """A file in the body of a call."""

    name: str
    media_type: str
    content: bytes = field(repr=False)

    def json(self) -> JsonObject:
        """For the record of calls."""
        return {"file_name": self.name, "content_type": self.media_type, "size": len(self.content)}


@dataclass(frozen=True, kw_only=True)
class Media:
    """The file of a message. `kind` is the field of the Message object that tells of it."""

    kind: str
    file_id: str
    name: str = ""
    media_type: str = ""
    content: bytes = field(default=b"", repr=False)
    size: tuple[int, int] = (90, 60)
    """Width and height in pixels, where it has any."""

    def json(self) -> JsonValue:
        width, height = self.size
        whole: JsonObject = {
            "file_id": self.file_id,
            "file_unique_id": f"u{self.file_id}",
            "file_size": len(self.content),
        }
        if self.kind == "photo":
            small: JsonObject = {"file_id": f"{self.file_id}.small", "file_unique_id": f"s{self.file_id}"}
            return [{**small, "width": 30, "height": 20, "file_size": 9}, {**whole, "width": width, "height": height}]
        if self.kind == "video_note":
            return {**whole, "length": width, "duration": 3}
        named: JsonObject = {"file_name": self.name or None, "mime_type": self.media_type or None}
        shown: JsonObject = {"width": width, "height": height} if self.kind in {"video", "animation"} else {}
        lasting: JsonObject = {} if self.kind == "document" else {"duration": 3}
        if self.kind == "voice":
            del named["file_name"]
        return present({**whole, **named, **shown, **lasting})


@dataclass(frozen=True, kw_only=True)
class Edit:
    """What a message said before an edit, and when (server clock) it was replaced."""

    text: str
    entities: tuple[Entity, ...]
    at: float


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message as people see it now. `edits` holds what it said before, oldest first."""

    chat_id: int
    message_id: int
    date: int
    at: float
    text: str | None = None
    entities: tuple[Entity, ...] = ()
    caption: str | None = None
    caption_entities: tuple[Entity, ...] = ()
    media: Media | None = None
    media_group_id: str | None = None
    sender: User | None = None
    sender_chat: Chat | None = None
    by_our_bot: bool = False
    reply_to: int | None = None
    thread_id: int | None = None
    is_topic_message: bool = False
    reply_markup: JsonObject | None = None
    reactions: tuple[str, ...] = ()
    silent: bool = False
    edit_date: int | None = None
    edits: tuple[Edit, ...] = ()
    deleted: bool = False
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Draft:
    """One state of a streamed draft (sendMessageDraft)."""

    draft_id: int
    text: str
    entities: tuple[Entity, ...]
    thread_id: int | None
    at: float


@dataclass(frozen=True, kw_only=True)
class Action:
    """One sendChatAction."""

    action: str
    thread_id: int | None
    at: float


@dataclass(frozen=True, kw_only=True)
class ChatView:
    """A chat as people see it at the moment of asking. Deleted messages stay in `messages`, marked so."""

    chat: Chat
    messages: tuple[Message, ...]
    drafts: tuple[Draft, ...]
    draft: Draft | None
    actions: tuple[Action, ...]

    @property
    def visible(self) -> tuple[Message, ...]:
        return tuple(message for message in self.messages if not message.deleted)

    @property
    def from_bot(self) -> tuple[Message, ...]:
        return tuple(message for message in self.visible if message.by_our_bot)

    @property
    def bot_texts(self) -> tuple[str, ...]:
        return tuple(message.text or message.caption or "" for message in self.from_bot)


@dataclass(frozen=True, kw_only=True)
class Call:
    """One API call in the order of arrival. `status` is None as long as, and if, no HTTP answer was given.

    `applied` says whether the call took effect, which an answer that got lost does not tell the client.
    """

    number: int
    method: str
    params: JsonObject
    at: float
    status: int | None = None
    description: str | None = None
    applied: bool = False
    result: JsonValue = None

    @property
    def ok(self) -> bool:
        return self.status == 200 and self.applied

    @property
    def chat_id(self) -> JsonValue:
        return self.params.get("chat_id")


@dataclass(frozen=True, kw_only=True)
class Violation:
    """The bot broke a documented limit or rule. `rule` is a short stable word, `detail` is for the reader."""

    rule: str
    method: str
    detail: str
    at: float
    chat_id: JsonValue = None


@dataclass(frozen=True, kw_only=True)
class Said:
    """What an act of a person led to. `update_id` is None where the bot does not get to know."""

    update_id: int | None
    message_id: int


def present(values: JsonObject) -> JsonObject:
    """The object without the fields that are None, as Telegram leaves them out."""
    return {key: value for key, value in values.items() if value is not None}
