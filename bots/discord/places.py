"""What the bot knows of servers: their channels, threads and roles, as the gateway tells of them.

Only what is needed to address an answer, to read a mention and to know who runs a channel is kept. Nothing that the
gateway sends makes it raise; a channel that it does not know is asked for by whoever needs it, and remembered.
https://docs.discord.com/developers/resources/channel, /guild, /topics/permissions.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from bots.discord.reading import one_line, opt_snowflake, snowflake
from bots.discord.sdk import discord
from core.fields import Json, Unreadable, get, objects, opt

DIRECT: Final = discord.ChannelType.private.value
OPEN_THREADS: Final = frozenset({discord.ChannelType.news_thread.value, discord.ChannelType.public_thread.value})
"""Whoever sees the channel sees these."""
THREADS: Final = OPEN_THREADS | {discord.ChannelType.private_thread.value}
FORUMS: Final = frozenset({discord.ChannelType.forum.value, discord.ChannelType.media.value})
"""Forum and media channels: what is said there is said in threads."""
TEXT: Final = discord.ChannelType.text.value
OPENS_THREADS: Final = frozenset({TEXT, discord.ChannelType.news.value})
"""Text and announcement channels: a message there can be made a thread."""

ADMINISTRATOR: Final = discord.Permissions.administrator.flag
MANAGE_CHANNELS: Final = discord.Permissions.manage_channels.flag
MANAGE_GUILD: Final = discord.Permissions.manage_guild.flag
VIEW_CHANNEL: Final = discord.Permissions.view_channel.flag
SEND_MESSAGES: Final = discord.Permissions.send_messages.flag
READ_MESSAGE_HISTORY: Final = discord.Permissions.read_message_history.flag
CREATE_PUBLIC_THREADS: Final = discord.Permissions.create_public_threads.flag
SEND_MESSAGES_IN_THREADS: Final = discord.Permissions.send_messages_in_threads.flag
EVERYTHING: Final = (1 << 64) - 1

_MIB: Final = 1024 * 1024
# https://docs.discord.com/developers/reference#uploading-files: 10 MiB, and more by the server's boosts; how much more
# stands at https://support.discord.com/hc/en-us/articles/360028038352.
UPLOAD_BYTES: Final = 10 * _MIB
_UPLOAD_BYTES: Final = {2: 50 * _MIB, 3: 100 * _MIB}
_MOST_STRAYS: Final = 2_000


class Overwrite(Struct, frozen=True, kw_only=True):
    """What a channel allows and denies a role or a member; the role with the server's own id is everybody."""

    who: str
    allow: int
    deny: int


class Place(Struct, frozen=True, kw_only=True):
    """Where something is said: a direct chat, a channel, or a thread with the channel that it belongs to."""

    id: str
    type: int
    guild: str | None = None
    parent: str | None = None
    parent_type: int | None = None
    name: str = ""
    overwrites: tuple[Overwrite, ...] = ()

    @property
    def is_thread(self) -> bool:
        return self.type in THREADS and self.parent is not None


class Role(Struct, frozen=True, kw_only=True):
    name: str
    permissions: int
    of_bot: str | None
    """The bot that this role was made for, if any."""


@dataclass(slots=True)
class _Guild:
    name: str = ""
    owner: str = ""
    tier: int = 0
    roles: dict[str, Role] = field(default_factory=dict)
    channels: set[str] = field(default_factory=set)


class Places:
    """All of them, by id."""

    def __init__(self) -> None:
        self._guilds: dict[str, _Guild] = {}
        self._places: dict[str, Place] = {}
        self._strays: OrderedDict[str, Place] = OrderedDict()
        """Direct chats, and what was asked for: no event takes them away, so only the latest are kept."""
        self._gone: OrderedDict[str, Place] = OrderedDict()
        """Threads that were deleted, the latest."""
        self._acts: Mapping[str, Callable[[Json], object]] = {
            "GUILD_CREATE": self._guild,
            "GUILD_UPDATE": self._guild_itself,
            "GUILD_DELETE": self._no_guild,
            "CHANNEL_CREATE": self._channel,
            "CHANNEL_UPDATE": self._channel,
            "CHANNEL_DELETE": self._no_channel,
            "THREAD_CREATE": self._channel,
            "THREAD_UPDATE": self._channel,
            "THREAD_DELETE": self._no_channel,
            "THREAD_LIST_SYNC": self._threads,
            "GUILD_ROLE_CREATE": self._role,
            "GUILD_ROLE_UPDATE": self._role,
            "GUILD_ROLE_DELETE": self._no_role,
        }

    @property
    def events(self) -> Iterable[str]:
        """What `note` wants to hear of."""
        return self._acts

    def note(self, event: str, data: object) -> None:
        """An event of the gateway; one that can't be read changes as much as could be read of it."""
        if not isinstance(data, dict):
            return
        try:
            self._acts[event](data)
        except Unreadable:
            return

    def remember(self, channel: Json) -> Place:
        """A channel as the API tells of it. Raises `Unreadable`."""
        place = self._place(channel, opt_snowflake(channel, "guild_id"))
        self._strays[place.id] = place
        self._strays.move_to_end(place.id)
        while len(self._strays) > _MOST_STRAYS:
            self._strays.popitem(last=False)
        return place

    # asking

    def get(self, channel: str) -> Place | None:
        place = self._places.get(channel) or self._strays.get(channel)
        if place is None or place.parent is None or place.parent_type is not None:
            return place
        parent = self._places.get(place.parent) or self._strays.get(place.parent)
        return replace(place, parent_type=parent.type if parent is not None else None)

    def is_read_along(self, thread: str) -> bool:
        """Could whoever reads the channel read this thread too, and could the same be said in the channel? Threads
        that were deleted while nobody listened are not known, so they count for private."""
        place = self.get(thread) or self._gone.get(thread)
        around = self.get(place.parent) if place is not None and place.parent is not None else None
        return place is not None and place.type in OPEN_THREADS and around is not None and around.type in OPENS_THREADS

    def guild_of(self, channel: str) -> str | None:
        place = self.get(channel)
        return place.guild if place is not None else None

    def channel_name(self, channel: str) -> str | None:
        place = self.get(channel)
        return place.name or None if place is not None else None

    def role(self, guild: str | None, role: str) -> Role | None:
        known = self._guilds.get(guild or "")
        return known.roles.get(role) if known is not None else None

    def upload_bytes(self, channel: str) -> int:
        """The most that one file may have there."""
        known = self._guilds.get(self.guild_of(channel) or "")
        return _UPLOAD_BYTES.get(known.tier, UPLOAD_BYTES) if known is not None else UPLOAD_BYTES

    def permissions(self, channel: str, user: str, roles: Iterable[str]) -> int:
        """What a member with these roles may do in a channel, by the order in
        https://docs.discord.com/developers/topics/permissions#permission-overwrites."""
        place = self.get(channel)
        guild = self._guilds.get(place.guild or "") if place is not None else None
        if place is None or guild is None or place.guild is None:
            return 0
        if user == guild.owner:
            return EVERYTHING
        held = [place.guild, *roles]
        base = 0
        for role in held:
            base |= known.permissions if (known := guild.roles.get(role)) is not None else 0
        if base & ADMINISTRATOR:
            return EVERYTHING
        over = {one.who: one for one in place.overwrites}
        for who in ([place.guild], held[1:], [user]):
            named = [over[one] for one in who if one in over]
            for one in named:
                base &= ~one.deny
            for one in named:
                base |= one.allow
        return base

    # what the gateway says

    def _guild(self, data: Json) -> None:
        self._no_channels(snowflake(data, "id"))
        guild = self._guild_itself(data)
        for key in ("channels", "threads"):
            for channel in objects(data, key):
                self._try(lambda one: self._keep(self._place(one, guild)), channel)

    def _guild_itself(self, data: Json) -> str:
        name = snowflake(data, "id")
        guild = self._guilds.setdefault(name, _Guild())
        guild.name = one_line(opt(data, "name", str) or guild.name)
        guild.owner = opt(data, "owner_id", str) or guild.owner
        tier = opt(data, "premium_tier", int)
        guild.tier = guild.tier if tier is None else tier
        if data.get("roles") is not None:
            guild.roles.clear()
        for role in objects(data, "roles"):
            self._try(lambda one: self._set_role(guild, one), role)
        return name

    def _no_guild(self, data: Json) -> None:
        if data.get("unavailable") is True:  # it is only away
            return
        self._no_channels(snowflake(data, "id"))
        self._guilds.pop(snowflake(data, "id"), None)

    def _no_channels(self, guild: str) -> None:
        known = self._guilds.get(guild)
        if known is not None:
            for channel in known.channels:
                self._places.pop(channel, None)
            known.channels.clear()

    def _channel(self, data: Json) -> None:
        if opt(data, "type", int) == DIRECT or data.get("guild_id") is None:
            self.remember(data)
            return
        self._keep(self._place(data, snowflake(data, "guild_id")))

    def _threads(self, data: Json) -> None:
        guild = snowflake(data, "guild_id")
        for thread in objects(data, "threads"):
            self._try(lambda one: self._keep(self._place(one, guild)), thread)

    def _no_channel(self, data: Json) -> None:
        gone = snowflake(data, "id")
        self._try(self._bury, data)
        self._strays.pop(gone, None)
        place = self._places.pop(gone, None)
        if place is not None and place.guild in self._guilds:
            self._guilds[place.guild].channels.discard(gone)

    def _bury(self, data: Json) -> None:
        place = self._place(data, opt_snowflake(data, "guild_id"))
        if place.is_thread:
            self._gone[place.id] = place
            while len(self._gone) > _MOST_STRAYS:
                self._gone.popitem(last=False)

    def _role(self, data: Json) -> None:
        guild = self._guilds.get(snowflake(data, "guild_id"))
        if guild is not None:
            self._set_role(guild, get(data, "role", dict))

    def _no_role(self, data: Json) -> None:
        guild = self._guilds.get(snowflake(data, "guild_id"))
        if guild is not None:
            guild.roles.pop(snowflake(data, "role_id"), None)

    def _keep(self, place: Place) -> None:
        self._places[place.id] = place
        self._strays.pop(place.id, None)
        self._guilds.setdefault(place.guild or "", _Guild()).channels.add(place.id)

    def _place(self, data: Json, guild: str | None) -> Place:
        parent = opt_snowflake(data, "parent_id")
        return Place(
            id=snowflake(data, "id"),
            type=get(data, "type", int),
            guild=guild,
            parent=parent,
            parent_type=None,
            name=one_line(opt(data, "name", str) or ""),
            overwrites=tuple(_overwrite(one) for one in objects(data, "permission_overwrites")),
        )

    def _set_role(self, guild: _Guild, data: Json) -> None:
        tags = opt(data, "tags", dict) or {}
        guild.roles[snowflake(data, "id")] = Role(
            name=one_line(opt(data, "name", str) or ""),
            permissions=_bits(data, "permissions"),
            of_bot=opt(tags, "bot_id", str),
        )

    def _try(self, act: Callable[[Json], None], data: Json) -> None:
        """One that can't be read keeps no other away."""
        try:
            act(data)
        except Unreadable:
            return


def _overwrite(data: Json) -> Overwrite:
    return Overwrite(who=snowflake(data, "id"), allow=_bits(data, "allow"), deny=_bits(data, "deny"))


def _bits(data: Json, key: str) -> int:
    """Permissions, which the API writes as decimal digits."""
    value = opt(data, key, str) or "0"
    if not (value.isascii() and value.isdigit() and len(value) <= 30):
        raise Unreadable(f"{key} is no number")
    return int(value)
