"""The values of the double: what Slack knows, and what it saw the app do. Times are Unix seconds by its clock."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

JsonValue: TypeAlias = dict[str, "JsonValue"] | list["JsonValue"] | str | int | float | bool | None
JsonObject: TypeAlias = dict[str, JsonValue]
ChannelKind: TypeAlias = Literal["channel", "group", "im", "mpim"]


@dataclass(frozen=True, kw_only=True)
class Team:
    id: str
    name: str
    domain: str
    enterprise_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Person:
    """A member of a workspace, or the user of a bot. A bot that is not ours has `bot_id` and `app_id`.

    `str(person)` is the mention, so that f"{bot} hello" can be said.
    """

    id: str
    team_id: str
    name: str
    real_name: str
    bot_id: str = ""
    app_id: str = ""
    locale: str = "en-US"
    is_admin: bool = False
    """Of the workspace `team_id`."""
    runs_organization: bool = False
    deleted: bool = False

    @property
    def is_bot(self) -> bool:
        return bool(self.bot_id)

    def __str__(self) -> str:
        return f"<@{self.id}>"


@dataclass(frozen=True, kw_only=True)
class Bot:
    """Our app as it is installed in one workspace. `token` is the bot's; the other secrets are the app's."""

    app_id: str
    team_id: str
    bot_id: str
    user_id: str
    name: str
    token: str
    app_token: str
    signing_secret: str

    def __str__(self) -> str:
        return f"<@{self.user_id}>"


@dataclass(frozen=True, kw_only=True)
class Channel:
    id: str
    kind: ChannelKind
    name: str
    team_id: str
    creator: str = ""

    def __str__(self) -> str:
        return f"<#{self.id}|{self.name}>"


@dataclass(frozen=True, kw_only=True)
class Version:
    """What a message said, from `at` on. `pings` holds user ids, and "here", "channel", "everyone"."""

    text: str
    blocks: tuple[JsonObject, ...]
    metadata: JsonObject | None
    at: float
    pings: frozenset[str] = frozenset()
    markdown: bool = False


@dataclass(frozen=True, kw_only=True)
class Reaction:
    name: str
    user_id: str


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message as people see it now. `versions` holds all that it said, oldest first; the last is what stands.

    `streaming` is true between chat.startStream and chat.stopStream. `app_id` is empty for people.
    """

    channel_id: str
    ts: str
    user_id: str
    team_id: str
    versions: tuple[Version, ...]
    thread_ts: str | None = None
    broadcast: bool = False
    subtype: str | None = None
    file_ids: tuple[str, ...] = ()
    bot_id: str = ""
    app_id: str = ""
    username: str | None = None
    client_msg_id: str | None = None
    edited_ts: str | None = None
    deleted: bool = False
    streaming: bool = False
    reactions: tuple[Reaction, ...] = ()
    attachments: tuple[JsonObject, ...] = ()
    extra: JsonObject = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.versions[-1].text

    @property
    def blocks(self) -> tuple[JsonObject, ...]:
        return self.versions[-1].blocks

    @property
    def metadata(self) -> JsonObject | None:
        return self.versions[-1].metadata

    @property
    def pings(self) -> frozenset[str]:
        """Everybody who was pinged by any version."""
        return frozenset(target for version in self.versions for target in version.pings)

    @property
    def is_reply(self) -> bool:
        return self.thread_ts is not None and self.thread_ts != self.ts


@dataclass(frozen=True, kw_only=True)
class Said:
    """What an act of a person led to: where the message is, and the deliveries that tell the apps."""

    channel_id: str
    ts: str
    event_ids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Ephemeral:
    """A message that one person sees until the client reloads. `via` is the method, "response_url" or "ack"."""

    channel_id: str
    user_id: str
    ts: str
    text: str
    blocks: tuple[JsonObject, ...]
    thread_ts: str | None
    via: str
    at: float
    pings: frozenset[str] = frozenset()
    gone: bool = False


@dataclass(frozen=True, kw_only=True)
class StreamPiece:
    """What one chat.startStream, appendStream or stopStream added. `text` is its markdown, joined."""

    method: str
    text: str
    chunks: tuple[JsonObject, ...]
    at: float


@dataclass
class Stream:
    """One streamed message. `mode` is set by the first piece that has content, and holds for the rest."""

    channel_id: str
    ts: str
    app_id: str
    started_at: float
    recipient_user_id: str | None
    mode: Literal["markdown_text", "chunks"] | None = None
    pieces: list[StreamPiece] = field(default_factory=list)
    blocks: list[JsonValue] = field(default_factory=list)
    stopped_at: float | None = None
    stopped_by_user: bool = False

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True, kw_only=True)
class Status:
    """One assistant.threads.setStatus; an empty status clears it."""

    channel_id: str
    thread_ts: str
    status: str
    loading_messages: tuple[str, ...]
    at: float


@dataclass(frozen=True, kw_only=True)
class Prompts:
    channel_id: str
    thread_ts: str
    title: str | None
    prompts: tuple[tuple[str, str], ...]
    at: float


@dataclass(frozen=True, kw_only=True)
class Title:
    channel_id: str
    thread_ts: str
    title: str
    at: float


@dataclass(frozen=True, kw_only=True)
class View:
    """A Home tab (kind "home", one per person) or a modal."""

    id: str
    app_id: str
    user_id: str
    kind: str
    body: JsonObject
    hash: str
    at: float
    previous_id: str | None = None
    root_id: str | None = None
    closed: bool = False


@dataclass(frozen=True, kw_only=True)
class File:
    """A file. `ready` when its bytes are there and files.completeUploadExternal (or a person) finished it.
    `subtype`: a clip's, which was recorded in Slack."""

    id: str
    team_id: str
    user_id: str
    name: str
    title: str
    mimetype: str
    content: bytes
    ready: bool = True
    channel_ids: tuple[str, ...] = ()
    expected_bytes: int | None = None
    uploaded: bool = True
    created: int = 0
    subtype: str | None = None


@dataclass(frozen=True, kw_only=True)
class Call:
    """One API call in the order of arrival. `status` is None as long as, and if, no HTTP answer was given.

    `applied` says whether the call took effect, which an answer that got lost does not tell the client. `error` is
    Slack's word where it refused, or a note on a fault.
    """

    number: int
    method: str
    params: JsonObject
    at: float
    app_id: str = ""
    team_id: str = ""
    status: int | None = None
    error: str | None = None
    applied: bool = False
    result: JsonObject | None = None

    @property
    def ok(self) -> bool:
        return self.status == 200 and self.applied

    def text(self, name: str) -> str:
        """A parameter as text; empty if it is not there or no string."""
        value = self.params.get(name)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The app broke a documented limit or rule. `rule` is a short stable word, `detail` is for the reader."""

    rule: str
    method: str
    detail: str
    at: float


@dataclass(frozen=True, kw_only=True)
class Interaction:
    """What a click, a command or a shortcut gave the app. `delivery` is the number of its delivery."""

    delivery: int
    trigger_id: str
    response_url: str
    user_id: str
    channel_id: str


def present(values: JsonObject) -> JsonObject:
    """The object without the fields that are None, as Slack leaves them out."""
    return {key: value for key, value in values.items() if value is not None}


def text_of(body: JsonValue, *path: str) -> str:
    """The string at this path of objects; empty if there is none."""
    found: JsonValue = body
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, str) else ""


def objects_of(value: JsonValue | Iterable[JsonValue]) -> list[JsonObject]:
    """The objects in a list; empty if it is none."""
    if value is None or isinstance(value, str | int | float | bool | dict):
        return []
    return [one for one in value if isinstance(one, dict)]
