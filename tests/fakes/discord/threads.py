"""Threads and forum posts: https://docs.discord.com/developers/topics/threads."""

from dataclasses import replace

from tests.fakes.discord import permissions as may
from tests.fakes.discord.errors import ApiError, thread_is_archived, unknown
from tests.fakes.discord.events import GUILDS, dispatch, tell_of_channel, tell_of_message, tell_of_thread_members
from tests.fakes.discord.forms import Faults, Form
from tests.fakes.discord.model import (
    ANNOUNCEMENT,
    HAS_THREAD,
    PRIVATE_THREAD,
    PUBLIC_THREAD,
    TEXT,
    JsonValue,
    Message,
    Version,
)
from tests.fakes.discord.platform import Account, Platform, Room, ThreadState
from tests.fakes.discord.request import NOTHING, Reply, Request
from tests.fakes.discord.wire import channel_json, thread_member_json

DURATIONS = frozenset({60, 1440, 4320, 10080})
THREAD_CREATED, THREAD_STARTER = 18, 21


def open_thread(
    platform: Platform, parent: Room, owner_id: int, name: str, *, id: int | None = None, type: int = PUBLIC_THREAD
) -> Room:
    """A new thread with its owner in it, announced."""
    now = platform.date()
    room = Room(
        id=id or platform.new_id(),
        type=type,
        name=name,
        guild_id=parent.guild_id,
        parent_id=parent.id,
        thread=ThreadState(owner_id=owner_id, archived_at=now, members={owner_id: now}),
    )
    platform.rooms[room.id] = room
    tell_of_channel(platform, "THREAD_CREATE", room, newly=True)
    return room


def start_on_message(platform: Platform, message: Message, owner_id: int, name: str) -> Room:
    """The thread has the message's id; in it stands a system message that points back."""
    parent = platform.rooms[message.channel_id]
    room = open_thread(platform, parent, owner_id, name, id=message.id)
    marked = platform.keep(replace(message, flags=message.flags | HAS_THREAD))
    tell_of_message(platform, "MESSAGE_UPDATE", marked)
    starter = Message(
        id=platform.new_id(),
        channel_id=room.id,
        guild_id=room.guild_id,
        author=message.author,
        date=platform.date(),
        versions=(Version(content="", at=platform.clock()),),
        type=THREAD_STARTER,
        reference={
            "type": 0,
            "message_id": str(message.id),
            "channel_id": str(message.channel_id),
            "guild_id": str(room.guild_id),
        },
    )
    platform.keep(starter)
    tell_of_message(platform, "MESSAGE_CREATE", starter)
    return room


def start_without_message(platform: Platform, parent: Room, owner_id: int, name: str, type: int) -> Room:
    """A public one is announced in its channel."""
    room = open_thread(platform, parent, owner_id, name, type=type)
    if type == PUBLIC_THREAD:
        notice = Message(
            id=platform.new_id(),
            channel_id=parent.id,
            guild_id=parent.guild_id,
            author=platform.users[owner_id],
            date=platform.date(),
            versions=(Version(content=name, at=platform.clock()),),
            type=THREAD_CREATED,
            reference={"type": 0, "channel_id": str(room.id), "guild_id": str(room.guild_id)},
        )
        platform.keep(notice)
        tell_of_message(platform, "MESSAGE_CREATE", notice)
    return room


def wake_thread(platform: Platform, room: Room, account: Account) -> None:
    """Writing to an archived thread opens it again, unless it is locked. Raises `ApiError`."""
    if room.thread is None:
        return
    _refuse_locked(platform, room, account)
    if room.thread.archived:
        room.thread.archived = False
        room.thread.archived_at = platform.date()
        tell_of_channel(platform, "THREAD_UPDATE", room)


def refuse_in_closed_thread(platform: Platform, room: Room, account: Account) -> None:
    """Nothing is edited in an archived thread, nor in a locked one. Raises `ApiError`."""
    if room.thread is not None and room.thread.archived:
        raise thread_is_archived()
    _refuse_locked(platform, room, account)


def _refuse_locked(platform: Platform, room: Room, account: Account) -> None:
    locked = room.thread is not None and room.thread.locked
    if locked and not platform.permissions(room, account.user_id) & may.MANAGE_THREADS:
        raise ApiError(403, 160005, "Thread is locked")


def draw_in(platform: Platform, room: Room, *user_ids: int) -> None:
    """Who writes in a thread, or is mentioned there, becomes its member."""
    guild = platform.guild_of(room)
    assert room.thread is not None
    for user_id in user_ids:
        if guild is not None and user_id in guild.members and user_id not in room.thread.members:
            _add_member(platform, room, user_id)


def _add_member(platform: Platform, room: Room, user_id: int) -> None:
    """A bot that is added gets THREAD_CREATE too, even for a thread that it knows."""
    assert room.thread is not None
    room.thread.members[user_id] = platform.date()
    account = platform.account_of_user(user_id)
    if account is not None:
        body = channel_json(platform, room, account)
        dispatch(platform, account, "THREAD_CREATE", body, intent=GUILDS, guild_id=room.guild_id)
    tell_of_thread_members(platform, room, user_id, added=True)


def read_name(form: Form) -> str:
    duration = form.integer("auto_archive_duration")
    if duration is not None and duration not in DURATIONS:
        words = f"Value must be one of {{{', '.join(str(one) for one in sorted(DURATIONS))}}}."
        form.fault("auto_archive_duration", "BASE_TYPE_CHOICES", words)
    form.integer("rate_limit_per_user", most=21600)
    return form.text("name", least=1, most=100, required=True) or ""


def start_thread_from_message(platform: Platform, request: Request) -> Reply:
    account = request.bot
    parent = platform.room_for(account, request.ids["channel"], may.CREATE_PUBLIC_THREADS)
    if parent.type not in {TEXT, ANNOUNCEMENT}:
        raise ApiError(400, 50024, "Cannot execute action on this channel type", rule="channel_type")
    message = platform.message_in(parent, request.ids["message"])
    form = Form(request.body, Faults())
    name = read_name(form)
    form.faults.refuse()
    if message.id in platform.rooms:
        raise ApiError(400, 160004, "A thread has already been created for this message", rule="thread_twice")
    room = start_on_message(platform, message, account.user_id, name)
    set_duration(room, form)
    return Reply(status=201, body=channel_json(platform, room, account))


def start_thread(platform: Platform, request: Request) -> Reply:
    """Without a message, and not in a forum."""
    account = request.bot
    parent = platform.room_for(account, request.ids["channel"])
    if parent.type not in {TEXT, ANNOUNCEMENT}:
        raise ApiError(400, 50024, "Cannot execute action on this channel type", rule="channel_type")
    form = Form(request.body, Faults())
    name = read_name(form)
    kind = form.choice("type", frozenset({10, PUBLIC_THREAD, PRIVATE_THREAD})) or PRIVATE_THREAD
    form.faults.refuse()
    private = kind == PRIVATE_THREAD
    platform.room_for(account, parent.id, may.CREATE_PRIVATE_THREADS if private else may.CREATE_PUBLIC_THREADS)
    room = start_without_message(platform, parent, account.user_id, name, kind)
    set_duration(room, form)
    return Reply(status=201, body=channel_json(platform, room, account))


def set_duration(room: Room, form: Form) -> None:
    value = form.integer("auto_archive_duration")
    if room.thread is not None and value is not None:
        room.thread.auto_archive_minutes = value


def thread_of(platform: Platform, account: Account, channel_id: int) -> Room:
    room = platform.room_for(account, channel_id)
    if room.thread is None:
        raise ApiError(400, 50024, "Cannot execute action on this channel type", rule="channel_type")
    return room


def join_thread(platform: Platform, request: Request) -> Reply:
    room = thread_of(platform, request.bot, request.ids["channel"])
    return _add(platform, room, request.bot.user_id)


def add_thread_member(platform: Platform, request: Request) -> Reply:
    room = thread_of(platform, request.bot, request.ids["channel"])
    guild = platform.guild_of(room)
    if guild is None or request.ids["user"] not in guild.members:
        raise unknown("Member")
    return _add(platform, room, request.ids["user"])


def _add(platform: Platform, room: Room, user_id: int) -> Reply:
    assert room.thread is not None
    if room.thread.archived:
        raise thread_is_archived()
    if user_id not in room.thread.members:
        _add_member(platform, room, user_id)
    return NOTHING


def leave_thread(platform: Platform, request: Request) -> Reply:
    return _take(platform, thread_of(platform, request.bot, request.ids["channel"]), request.bot.user_id)


def remove_thread_member(platform: Platform, request: Request) -> Reply:
    room = thread_of(platform, request.bot, request.ids["channel"])
    if room.thread is not None and room.thread.owner_id != request.bot.user_id:
        platform.room_for(request.bot, room.id, may.MANAGE_THREADS)
    return _take(platform, room, request.ids["user"])


def _take(platform: Platform, room: Room, user_id: int) -> Reply:
    assert room.thread is not None
    if user_id in room.thread.members:
        del room.thread.members[user_id]
        tell_of_thread_members(platform, room, user_id, added=False)
    return NOTHING


def get_thread_members(platform: Platform, request: Request) -> Reply:
    room = thread_of(platform, request.bot, request.ids["channel"])
    assert room.thread is not None
    members: list[JsonValue] = [thread_member_json(room, one) for one in room.thread.members]
    return Reply(body=members)


def modify_channel(platform: Platform, request: Request) -> Reply:
    """Threads only: name, archived, locked, auto_archive_duration."""
    account = request.bot
    room = thread_of(platform, account, request.ids["channel"])
    thread = room.thread
    assert thread is not None
    form = Form(request.body, Faults())
    name = form.text("name", least=1, most=100)
    form.faults.refuse()
    opens = form.values.get("archived") is False
    only_opens = opens and set(form.values) == {"archived"} and account.user_id in thread.members and not thread.locked
    if (thread.owner_id != account.user_id and not only_opens) or "locked" in form.values:
        platform.room_for(account, room.id, may.MANAGE_THREADS)
    if thread.archived and not opens:
        raise thread_is_archived()
    set_thread(platform, room, name=name, archived=_flag(form, "archived"), locked=_flag(form, "locked"))
    set_duration(room, form)
    return Reply(body=channel_json(platform, room, account))


def _flag(form: Form, name: str) -> bool | None:
    return form.flag(name) if name in form.values else None


def set_thread(
    platform: Platform,
    room: Room,
    *,
    name: str | None = None,
    archived: bool | None = None,
    locked: bool | None = None,
) -> None:
    """Changes a thread and tells of it."""
    assert room.thread is not None
    room.name = name or room.name
    if archived is not None:
        room.thread.archived = archived
        room.thread.archived_at = platform.date()
    if locked is not None:
        room.thread.locked = locked
    tell_of_channel(platform, "THREAD_UPDATE", room)
