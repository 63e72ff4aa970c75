"""The values of the double: what Discord knows, and what it saw the bots do. Ids are snowflakes, unique everywhere."""

from dataclasses import dataclass, field
from typing import TypeAlias

JsonValue: TypeAlias = dict[str, "JsonValue"] | list["JsonValue"] | str | int | float | bool | None
JsonObject: TypeAlias = dict[str, JsonValue]

TEXT, DM, ANNOUNCEMENT, PUBLIC_THREAD, PRIVATE_THREAD, FORUM = 0, 1, 5, 11, 12, 15
THREADS = frozenset({10, PUBLIC_THREAD, PRIVATE_THREAD})
"""https://docs.discord.com/developers/resources/channel#channel-object-channel-types"""

EPHEMERAL, LOADING, SUPPRESS_NOTIFICATIONS, VOICE_MESSAGE = 1 << 6, 1 << 7, 1 << 12, 1 << 13
HAS_THREAD, HAS_SNAPSHOT, COMPONENTS_V2, SUPPRESS_EMBEDS = 1 << 5, 1 << 14, 1 << 15, 1 << 2
"""https://docs.discord.com/developers/resources/message#message-object-message-flags"""


@dataclass(frozen=True, kw_only=True)
class User:
    """A person or a bot as it was when this value was made."""

    id: int
    username: str
    global_name: str | None = None
    is_bot: bool = False

    def json(self) -> JsonObject:
        body: JsonObject = {
            "id": str(self.id),
            "username": self.username,
            "discriminator": "0000" if self.is_bot else "0",
            "global_name": self.global_name,
            "avatar": None,
            "public_flags": 0,
        }
        return {**body, "bot": True} if self.is_bot else body


@dataclass(frozen=True, kw_only=True)
class Role:
    id: int
    name: str
    permissions: int
    position: int = 1
    mentionable: bool = False
    managed: bool = False

    def json(self) -> JsonObject:
        return {
            "id": str(self.id),
            "name": self.name,
            "color": 0,
            "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
            "hoist": False,
            "icon": None,
            "unicode_emoji": None,
            "position": self.position,
            "permissions": str(self.permissions),
            "managed": self.managed,
            "mentionable": self.mentionable,
            "flags": 0,
        }


@dataclass(frozen=True, kw_only=True)
class Guild:
    id: int
    name: str
    owner_id: int


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A place to talk: a channel of a guild, a thread, or a direct conversation of one person with one bot."""

    id: int
    type: int
    name: str | None = None
    guild_id: int | None = None
    parent_id: int | None = None


@dataclass(frozen=True, kw_only=True)
class Attachment:
    id: int
    filename: str
    content: bytes = field(repr=False)
    content_type: str | None = None
    description: str | None = None
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Version:
    """What a message said from one moment (server clock) on."""

    content: str
    embeds: tuple[JsonObject, ...] = ()
    components: tuple[JsonObject, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    at: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Mentions:
    """Whom a message mentions after `allowed_mentions`, and who is notified by it."""

    users: tuple[int, ...] = ()
    roles: tuple[int, ...] = ()
    everyone: bool = False
    pinged: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message with everything that it ever said, the oldest version first."""

    id: int
    channel_id: int
    guild_id: int | None
    author: User
    date: str
    versions: tuple[Version, ...]
    type: int = 0
    flags: int = 0
    edited: str | None = None
    mentions: Mentions = Mentions()
    pinged: frozenset[int] = frozenset()
    reference: JsonObject | None = None
    snapshots: tuple[JsonObject, ...] = ()
    stickers: tuple[JsonObject, ...] = ()
    nonce: str | int | None = None
    webhook_id: int | None = None
    application_id: int | None = None
    interaction_id: int | None = None
    reactions: tuple[tuple[str, int], ...] = ()
    visible_to: int | None = None
    deleted: bool = False
    extra: JsonObject = field(default_factory=dict)

    @property
    def now(self) -> Version:
        return self.versions[-1]

    @property
    def content(self) -> str:
        return self.now.content

    @property
    def texts(self) -> tuple[str, ...]:
        """What it said, one after the other."""
        return tuple(version.content for version in self.versions)

    @property
    def ephemeral(self) -> bool:
        """Only `visible_to` sees it."""
        return bool(self.flags & EPHEMERAL)

    @property
    def reply_to(self) -> int | None:
        if self.reference is None or self.reference.get("type", 0) != 0:
            return None
        value = self.reference.get("message_id")
        return int(value) if isinstance(value, str) else None

    @property
    def buttons(self) -> dict[str, str]:
        """The label of each button that can be pressed, by custom_id."""
        found: dict[str, str] = {}
        for row in self.now.components:
            inner = row.get("components")
            for one in inner if isinstance(inner, list) else []:
                if isinstance(one, dict) and one.get("type") == 2 and isinstance(one.get("custom_id"), str):
                    found[str(one["custom_id"])] = str(one.get("label") or "")
        return found


@dataclass(frozen=True, kw_only=True)
class Call:
    """One REST call in the order of arrival. `status` is None as long as, and if, no HTTP answer was given.

    `route` is the documented name in snake case ("create_message"). `applied` says whether the call took effect,
    which an answer that got lost does not tell the client.
    """

    number: int
    route: str
    method: str
    path: str
    query: JsonObject
    body: JsonObject
    bot_id: int | None
    at: float
    channel_id: int | None = None
    status: int | None = None
    code: int | None = None
    applied: bool = False
    result: JsonValue = None

    @property
    def ok(self) -> bool:
        return self.applied and self.status is not None and self.status < 300


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A client broke a documented limit or rule. `rule` is a short stable word, `detail` is for the reader."""

    rule: str
    where: str
    detail: str
    at: float
    bot_id: int | None = None


@dataclass(frozen=True, kw_only=True)
class Typing:
    channel_id: int
    user_id: int
    at: float


@dataclass(frozen=True, kw_only=True)
class GatewayNote:
    """Something that happened on the gateway: connected, identified, ready, resumed, refused, closed, lost."""

    what: str
    bot_id: int | None
    at: float
    detail: str = ""
    code: int | None = None


def objects(value: JsonValue) -> list[JsonObject]:
    """The objects of a list; whatever else is in it is left out."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def present(values: JsonObject) -> JsonObject:
    return {key: value for key, value in values.items() if value is not None}
