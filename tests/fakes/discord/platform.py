"""What Discord keeps: accounts, guilds, channels, messages, sessions, and the record of what the bots did.

Everything here is used under `Platform.lock`, from the server's loop and from test threads alike.
"""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from tests.fakes.discord import permissions as may
from tests.fakes.discord.errors import ApiError, missing_access, missing_permissions, unknown
from tests.fakes.discord.interaction_state import Interaction
from tests.fakes.discord.limits import RateLimiter, RateLimits
from tests.fakes.discord.model import (
    DM,
    PRIVATE_THREAD,
    THREADS,
    Call,
    GatewayNote,
    JsonObject,
    JsonValue,
    Message,
    Problem,
    Role,
    Typing,
    User,
)
from tests.fakes.discord.sessions import GatewayRules, Session
from tests.fakes.faults import FaultBook

EPOCH_MS = 1_420_070_400_000  # https://docs.discord.com/developers/reference#snowflakes: the first second of 2015
MESSAGE_CONTENT = 1 << 15


@dataclass
class Account:
    """One bot: its application, its token, and what was registered for it."""

    token: str
    user_id: int
    application_id: int
    privileged: int = MESSAGE_CONTENT
    global_commands: list[JsonObject] = field(default_factory=list)
    guild_commands: dict[int, list[JsonObject]] = field(default_factory=dict)
    command_writes: int = 0
    sessions: list[Session] = field(default_factory=list)
    identified: list[tuple[float, int]] = field(default_factory=list)
    nonces: dict[str, tuple[float, int]] = field(default_factory=dict)


@dataclass
class Member:
    user_id: int
    joined_at: str
    nick: str | None = None
    roles: set[int] = field(default_factory=set)


@dataclass
class GuildState:
    id: int
    name: str
    owner_id: int
    roles: dict[int, Role] = field(default_factory=dict)
    members: dict[int, Member] = field(default_factory=dict)
    unavailable: bool = False


@dataclass
class ThreadState:
    owner_id: int
    archived_at: str
    auto_archive_minutes: int = 4320
    archived: bool = False
    locked: bool = False
    members: dict[int, str] = field(default_factory=dict)
    sent: int = 0


@dataclass
class Room:
    """A channel, a thread or a direct conversation, with what was said in it."""

    id: int
    type: int
    name: str | None = None
    guild_id: int | None = None
    parent_id: int | None = None
    recipients: tuple[int, ...] = ()
    overwrites: dict[int, may.Overwrite] = field(default_factory=dict)
    thread: ThreadState | None = None
    messages: dict[int, Message] = field(default_factory=dict)

    @property
    def is_thread(self) -> bool:
        return self.type in THREADS


class Journal:
    """The calls in the order of arrival, the broken rules, and what happened on the gateway."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.calls: list[Call] = []
        self.problems: list[Problem] = []
        self.notes: list[GatewayNote] = []
        self.typings: list[Typing] = []

    def applied(self, number: int, result: JsonValue) -> None:
        self.calls[number] = replace(self.calls[number], applied=True, result=result)

    def answered(self, number: int, status: int, code: int | None = None) -> None:
        self.calls[number] = replace(self.calls[number], status=status, code=code)

    def problem(self, rule: str, where: str, detail: str, bot_id: int | None = None) -> None:
        self.problems.append(Problem(rule=rule, where=where, detail=detail, at=self._clock(), bot_id=bot_id))

    def note(self, what: str, bot_id: int | None, detail: str = "", code: int | None = None) -> None:
        self.notes.append(GatewayNote(what=what, bot_id=bot_id, at=self._clock(), detail=detail, code=code))


class Platform:
    """The whole of Discord as far as the bots under test are concerned. It outlives their processes."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        limits: RateLimits | None = None,
        gateway: GatewayRules | None = None,
    ) -> None:
        self.lock = threading.RLock()
        self.clock = clock
        self.wall_clock = wall_clock
        self.root = ""
        self.rules = gateway or GatewayRules()
        self.accounts: list[Account] = []
        self.users: dict[int, User] = {}
        self.guilds: dict[int, GuildState] = {}
        self.rooms: dict[int, Room] = {}
        self.interactions: dict[int, Interaction] = {}
        self.closed_dms: set[int] = set()
        self.limiter = RateLimiter(limits, clock, wall_clock)
        self.faults = FaultBook()
        self.journal = Journal(clock)
        self._listeners: list[Callable[[], None]] = []
        self._last_id = 0

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

    # ids and times

    def new_id(self) -> int:
        """A snowflake of now, greater than all before it."""
        fresh = (int(self.wall_clock() * 1000) - EPOCH_MS) << 22
        self._last_id = max(fresh, self._last_id + 1)
        return self._last_id

    def date(self) -> str:
        return datetime.fromtimestamp(self.wall_clock(), UTC).isoformat()

    # accounts

    def account_of(self, token: str) -> Account | None:
        return next((account for account in self.accounts if account.token == token), None)

    def account_of_user(self, user_id: int) -> Account | None:
        return next((account for account in self.accounts if account.user_id == user_id), None)

    def account_of_application(self, application_id: int) -> Account | None:
        return next((account for account in self.accounts if account.application_id == application_id), None)

    # rooms

    def guild_of(self, room: Room) -> GuildState | None:
        return None if room.guild_id is None else self.guilds[room.guild_id]

    def base_permissions(self, guild: GuildState, user_id: int) -> int:
        if user_id == guild.owner_id:
            return may.EVERYTHING
        member = guild.members.get(user_id)
        if member is None:
            return 0
        bits = may.combined(guild.roles[role].permissions for role in {guild.id, *member.roles})
        return may.EVERYTHING if bits & may.ADMINISTRATOR else bits

    def permissions(self, room: Room, user_id: int) -> int:
        """What somebody may do there; threads take it from the channel that they are in."""
        guild = self.guild_of(room)
        if guild is None:
            return may.EVERYTHING if user_id in room.recipients else 0
        member = guild.members.get(user_id)
        if member is None:
            return 0
        place = self.rooms[room.parent_id] if room.is_thread and room.parent_id is not None else room
        base = self.base_permissions(guild, user_id)
        bits = may.in_channel(base, place.overwrites.values(), guild.id, member.roles, user_id)
        hidden = room.type == PRIVATE_THREAD and room.thread is not None and user_id not in room.thread.members
        if not bits & may.VIEW_CHANNEL or (hidden and not bits & may.MANAGE_THREADS):
            return 0
        return bits

    def sees(self, room: Room, user_id: int) -> bool:
        return bool(self.permissions(room, user_id) & may.VIEW_CHANNEL)

    def room_for(self, account: Account, channel_id: int, *needed: int) -> Room:
        """The channel that a call addresses. Raises `ApiError` where the bot doesn't see it or lacks a permission."""
        room = self.rooms.get(channel_id)
        if room is None or (room.type == DM and account.user_id not in room.recipients):
            raise unknown("Channel")
        bits = self.permissions(room, account.user_id)
        if not bits & may.VIEW_CHANNEL:
            raise missing_access()
        if any(not bits & one for one in needed):
            raise missing_permissions()
        return room

    def message_in(self, room: Room, message_id: int) -> Message:
        """A message that everybody in the room can see. Raises `ApiError`."""
        message = room.messages.get(message_id)
        if message is None or message.deleted or message.ephemeral:
            raise unknown("Message")
        return message

    def find_message(self, message_id: int) -> Message | None:
        return next((room.messages[message_id] for room in self.rooms.values() if message_id in room.messages), None)

    def keep(self, message: Message) -> Message:
        self.rooms[message.channel_id].messages[message.id] = message
        return message

    def readers(self, room: Room) -> Iterator[int]:
        """Everybody, people and bots, who sees what is said there."""
        guild = self.guild_of(room)
        yield from room.recipients if guild is None else [one for one in guild.members if self.sees(room, one)]

    def dm_with(self, account: Account, user_id: int) -> Room:
        """The direct conversation of a person with a bot; made if it is not there."""
        pair = (user_id, account.user_id)
        found = next((room for room in self.rooms.values() if room.type == DM and room.recipients == pair), None)
        if found is None:
            found = Room(id=self.new_id(), type=DM, recipients=pair)
            self.rooms[found.id] = found
        return found

    def refuse(self, number: int, error: ApiError) -> None:
        if error.rule is not None:
            call = self.journal.calls[number]
            self.journal.problem(error.rule, f"{call.method} {call.path}", error.detail, call.bot_id)
