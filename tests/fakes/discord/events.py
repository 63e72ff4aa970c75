"""Who gets to know of what: each session by its intents, its shard and what its bot may see.

https://docs.discord.com/developers/events/gateway#list-of-intents. Without a session, events are lost.
"""

from tests.fakes.discord import permissions as may
from tests.fakes.discord.model import DM, JsonObject, Message
from tests.fakes.discord.platform import MESSAGE_CONTENT, Account, Platform, Room
from tests.fakes.discord.sessions import Session
from tests.fakes.discord.wire import channel_json, member_json, message_json, redacted, thread_member_json

GUILDS = 1 << 0
GUILD_MEMBERS = 1 << 1
GUILD_PRESENCES = 1 << 8
GUILD_MESSAGES, DIRECT_MESSAGES = 1 << 9, 1 << 12
GUILD_REACTIONS, DIRECT_REACTIONS = 1 << 10, 1 << 13
GUILD_TYPING, DIRECT_TYPING = 1 << 11, 1 << 14
PRIVILEGED = GUILD_MEMBERS | GUILD_PRESENCES | MESSAGE_CONTENT
KNOWN_INTENTS = (1 << 17) - 1 | 1 << 20 | 1 << 21 | 1 << 24 | 1 << 25


def living(platform: Platform, account: Account) -> list[Session]:
    """The sessions that are connected or may still be resumed; the others are forgotten here."""
    now = platform.clock()
    for session in account.sessions:
        if session.link is None and session.left_at is not None:
            session.dead = session.dead or now - session.left_at >= platform.rules.resume_s
    account.sessions = [session for session in account.sessions if not session.dead]
    return account.sessions


def dispatch(
    platform: Platform, account: Account, name: str, data: JsonObject, *, intent: int, guild_id: int | None
) -> bool:
    """Whether any session takes the event. Intent 0 means that none is needed.

    State of guilds is never lost: it comes again with the next READY.
    """
    sessions = living(platform, account)
    takers = [one for one in sessions if one.handles(guild_id) and (not intent or one.intents & intent)]
    for session in takers:
        session.push(name, data)
    if not sessions and name == "INTERACTION_CREATE":
        platform.journal.note("lost", account.user_id, name)
    platform.changed()
    return bool(takers)


def tell_of_message(platform: Platform, name: str, message: Message) -> bool:
    """MESSAGE_CREATE or MESSAGE_UPDATE to every bot that sees the room. Whether any session took it."""
    room = platform.rooms[message.channel_id]
    if message.ephemeral:
        body = message_json(platform, message)
        return _whisper(platform, name, message, body)
    taken = False
    for account in _witnesses(platform, room):
        body = message_event(platform, message, account)
        open_to = shows_content(message, account, room)
        for session in _takers(platform, account, room, GUILD_MESSAGES, DIRECT_MESSAGES, name):
            full = open_to or session.intents & MESSAGE_CONTENT
            session.push(name, body if full else redacted(body))
            taken = True
    platform.changed()
    return taken


def _whisper(platform: Platform, name: str, message: Message, body: JsonObject) -> bool:
    """Ephemeral messages come as direct ones, without guild_id, to the bot that sent them.

    https://github.com/discord/discord-api-docs/issues/4557
    """
    account = platform.account_of_user(message.author.id)
    assert account is not None
    return dispatch(platform, account, name, body, intent=DIRECT_MESSAGES, guild_id=None)


def message_event(platform: Platform, message: Message, account: Account) -> JsonObject:
    """The message with the fields that only events have: guild_id, the author's member, members of the mentioned."""
    body = message_json(platform, message, reader=account)
    room = platform.rooms[message.channel_id]
    guild = platform.guild_of(room)
    if guild is None:
        return body | {"channel_type": DM}
    body |= {"guild_id": str(guild.id), "channel_type": room.type}
    author = guild.members.get(message.author.id)
    if author is not None and message.webhook_id is None:
        body["member"] = member_json(platform, author, with_user=False)
    body["mentions"] = [
        platform.users[one].json() | {"member": member_json(platform, guild.members[one], with_user=False)}
        if one in guild.members
        else platform.users[one].json()
        for one in message.mentions.users
        if one in platform.users
    ]
    return body


def shows_content(message: Message, account: Account, room: Room) -> bool:
    """Exceptions of the message content intent: own messages, direct ones, those that mention the bot."""
    own = account.user_id in {message.author.id, *message.mentions.users}
    return own or room.type == DM or message.application_id == account.application_id


def tell_of_deletion(platform: Platform, message: Message) -> None:
    room = platform.rooms[message.channel_id]
    body: JsonObject = {"id": str(message.id), "channel_id": str(room.id)}
    if message.ephemeral:
        _whisper(platform, "MESSAGE_DELETE", message, body)
        return
    _tell(platform, room, "MESSAGE_DELETE", body, (GUILD_MESSAGES, DIRECT_MESSAGES))


def tell_of_typing(platform: Platform, room: Room, user_id: int) -> None:
    body: JsonObject = {"channel_id": str(room.id), "user_id": str(user_id), "timestamp": int(platform.wall_clock())}
    guild = platform.guild_of(room)
    if guild is not None and user_id in guild.members:
        body["member"] = member_json(platform, guild.members[user_id])
    _tell(platform, room, "TYPING_START", body, (GUILD_TYPING, DIRECT_TYPING))


def tell_of_reaction(platform: Platform, message: Message, user_id: int, emoji: str, *, added: bool) -> None:
    room = platform.rooms[message.channel_id]
    body: JsonObject = {
        "user_id": str(user_id),
        "channel_id": str(room.id),
        "message_id": str(message.id),
        "emoji": {"id": None, "name": emoji},
        "burst": False,
        "type": 0,
    }
    guild = platform.guild_of(room)
    if added:
        body["message_author_id"] = str(message.author.id)
    if added and guild is not None and user_id in guild.members:
        body["member"] = member_json(platform, guild.members[user_id])
    name = "MESSAGE_REACTION_ADD" if added else "MESSAGE_REACTION_REMOVE"
    _tell(platform, room, name, body, (GUILD_REACTIONS, DIRECT_REACTIONS))


def tell_of_channel(platform: Platform, name: str, room: Room, *, newly: bool = False) -> None:
    """CHANNEL_* and THREAD_*, to the bots that see it."""
    for account in _witnesses(platform, room):
        body = channel_json(platform, room, account) | ({"newly_created": True} if newly else {})
        if name == "THREAD_DELETE":
            body = {key: body[key] for key in ("id", "guild_id", "parent_id", "type")}
        dispatch(platform, account, name, body, intent=GUILDS, guild_id=room.guild_id)


def tell_of_thread_members(platform: Platform, room: Room, user_id: int, *, added: bool) -> None:
    """Without the members intent a bot hears of itself only."""
    assert room.thread is not None
    body: JsonObject = {"id": str(room.id), "guild_id": str(room.guild_id), "member_count": len(room.thread.members)}
    body |= {"added_members": [thread_member_json(room, user_id)]} if added else {"removed_member_ids": [str(user_id)]}
    for account in _witnesses(platform, room):
        intent = GUILDS if account.user_id == user_id else GUILD_MEMBERS
        dispatch(platform, account, "THREAD_MEMBERS_UPDATE", body, intent=intent, guild_id=room.guild_id)


def _tell(platform: Platform, room: Room, name: str, body: JsonObject, intents: tuple[int, int]) -> None:
    if room.guild_id is not None:
        body = body | {"guild_id": str(room.guild_id)}
    for account in _witnesses(platform, room):
        for session in _takers(platform, account, room, *intents, name):
            session.push(name, body)
    platform.changed()


def _takers(platform: Platform, account: Account, room: Room, of_guild: int, direct: int, name: str) -> list[Session]:
    intent = direct if room.type == DM else of_guild
    sessions = living(platform, account)
    if not sessions:
        platform.journal.note("lost", account.user_id, name)
    return [one for one in sessions if one.intents & intent and one.handles(room.guild_id)]


def _witnesses(platform: Platform, room: Room) -> list[Account]:
    guild = platform.guild_of(room)
    if guild is not None and guild.unavailable:
        return []
    return [one for one in platform.accounts if platform.permissions(room, one.user_id) & may.VIEW_CHANNEL]
