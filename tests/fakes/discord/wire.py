"""The objects of the API as JSON."""

import hashlib
from urllib.parse import quote

from tests.fakes.discord.model import (
    DM,
    FORUM,
    Attachment,
    JsonObject,
    JsonValue,
    Message,
    User,
    Version,
    present,
)
from tests.fakes.discord.platform import Account, GuildState, Member, Platform, Room

LINK_S = 24 * 3600  # attachment links carry their own end (docs, "Signed Attachment CDN URLs")


def member_json(platform: Platform, member: Member, *, with_user: bool = True) -> JsonObject:
    body: JsonObject = {
        "nick": member.nick,
        "avatar": None,
        "banner": None,
        "roles": [str(role) for role in sorted(member.roles)],
        "joined_at": member.joined_at,
        "premium_since": None,
        "deaf": False,
        "mute": False,
        "pending": False,
        "flags": 0,
        "communication_disabled_until": None,
    }
    return {**body, "user": platform.users[member.user_id].json()} if with_user else body


def channel_json(platform: Platform, room: Room, account: Account | None = None) -> JsonObject:
    last = max(room.messages, default=None)
    body: JsonObject = {"id": str(room.id), "type": room.type, "flags": 0}
    body["last_message_id"] = None if last is None else str(last)
    if room.type == DM:
        others = [one for one in room.recipients if account is None or one != account.user_id]
        return {**body, "recipients": [platform.users[one].json() for one in others]}
    body |= {"guild_id": str(room.guild_id), "name": room.name, "rate_limit_per_user": 0}
    body["parent_id"] = None if room.parent_id is None else str(room.parent_id)
    if room.thread is not None:
        return body | _thread_fields(room, account)
    overwrites: list[JsonValue] = [
        {"id": str(one.id), "type": int(one.of_member), "allow": str(one.allow), "deny": str(one.deny)}
        for one in room.overwrites.values()
    ]
    body |= {"position": 0, "nsfw": False, "topic": None, "permission_overwrites": overwrites}
    if room.type == FORUM:
        body |= {"available_tags": [], "default_reaction_emoji": None, "default_sort_order": None}
        body |= {"default_forum_layout": 0}
    return body


def _thread_fields(room: Room, account: Account | None) -> JsonObject:
    thread = room.thread
    assert thread is not None
    shown = [message for message in room.messages.values() if not message.deleted]
    body: JsonObject = {
        "owner_id": str(thread.owner_id),
        "message_count": len(shown),
        "total_message_sent": thread.sent,
        "member_count": len(thread.members),
        "thread_metadata": {
            "archived": thread.archived,
            "auto_archive_duration": thread.auto_archive_minutes,
            "archive_timestamp": thread.archived_at,
            "locked": thread.locked,
            "create_timestamp": thread.archived_at,
        },
    }
    if account is not None and account.user_id in thread.members:
        body["member"] = thread_member_json(room, account.user_id)
    return body


def thread_member_json(room: Room, user_id: int) -> JsonObject:
    assert room.thread is not None
    return {
        "id": str(room.id),
        "user_id": str(user_id),
        "join_timestamp": room.thread.members[user_id],
        "flags": 0,
    }


def guild_json(platform: Platform, guild: GuildState) -> JsonObject:
    """What GET /guilds/{id} answers; GUILD_CREATE has more."""
    return {
        "id": str(guild.id),
        "name": guild.name,
        "icon": None,
        "splash": None,
        "discovery_splash": None,
        "description": None,
        "banner": None,
        "owner_id": str(guild.owner_id),
        "features": [],
        "emojis": [],
        "stickers": [],
        "afk_channel_id": None,
        "afk_timeout": 300,
        "system_channel_id": None,
        "system_channel_flags": 0,
        "rules_channel_id": None,
        "public_updates_channel_id": None,
        "safety_alerts_channel_id": None,
        "verification_level": 0,
        "default_message_notifications": 0,
        "explicit_content_filter": 0,
        "mfa_level": 0,
        "nsfw_level": 0,
        "premium_tier": 0,
        "premium_subscription_count": 0,
        "premium_progress_bar_enabled": False,
        "preferred_locale": "en-US",
        "vanity_url_code": None,
        "application_id": None,
        "roles": [role.json() for role in guild.roles.values()],
    }


def guild_create_json(platform: Platform, guild: GuildState, account: Account) -> JsonObject:
    """Without the members intent only the bot itself is among the members; threads are those it sees."""
    rooms = [room for room in platform.rooms.values() if room.guild_id == guild.id]
    seen = [room for room in rooms if platform.sees(room, account.user_id)]
    threads = [room for room in seen if room.thread is not None and not room.thread.archived]
    own = guild.members[account.user_id]
    return guild_json(platform, guild) | {
        "joined_at": own.joined_at,
        "large": False,
        "unavailable": False,
        "member_count": len(guild.members),
        "voice_states": [],
        "members": [member_json(platform, own)],
        "channels": [channel_json(platform, room) for room in rooms if not room.is_thread],
        "threads": [channel_json(platform, room, account) for room in threads],
        "presences": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }


def attachment_json(platform: Platform, channel_id: int, attachment: Attachment, *, ephemeral: bool) -> JsonObject:
    until = int(platform.wall_clock()) + LINK_S
    path = attachment_path(channel_id, attachment)
    signed = f"{path}?ex={until:x}&is={until - LINK_S:x}&hm={link_seal(path, f'{until:x}')}&"
    return present(
        {
            "id": str(attachment.id),
            "filename": attachment.filename,
            "size": len(attachment.content),
            "url": f"{platform.root}{signed}",
            "proxy_url": f"{platform.root}{signed}",
            "content_type": attachment.content_type,
            "description": attachment.description,
            "ephemeral": ephemeral or None,
            **attachment.extra,
        }
    )


def attachment_path(channel_id: int, attachment: Attachment) -> str:
    return f"/cdn/attachments/{channel_id}/{attachment.id}/{quote(attachment.filename)}"


def link_seal(path: str, until: str) -> str:
    return hashlib.sha256(f"{path}?{until}".encode()).hexdigest()


def message_json(
    platform: Platform, message: Message, *, reader: Account | None = None, deep: bool = True
) -> JsonObject:
    """The Message object; `deep` includes the message it replies to. `reader` decides on `me` of reactions."""
    now = message.now
    files: list[JsonValue] = [
        attachment_json(platform, message.channel_id, one, ephemeral=message.ephemeral) for one in now.attachments
    ]
    body: JsonObject = {
        "id": str(message.id),
        "channel_id": str(message.channel_id),
        "type": message.type,
        "content": now.content,
        "author": author_json(platform, message),
        "timestamp": message.date,
        "edited_timestamp": message.edited,
        "tts": False,
        "mention_everyone": message.mentions.everyone,
        "mentions": [platform.users[one].json() for one in message.mentions.users if one in platform.users],
        "mention_roles": [str(role) for role in message.mentions.roles],
        "attachments": files,
        "embeds": list(now.embeds),
        "components": list(now.components),
        "pinned": False,
        "flags": message.flags,
    }
    for name in ("webhook_id", "application_id"):
        value = getattr(message, name)
        body |= {} if value is None else {name: str(value)}
    if message.reactions:
        body["reactions"] = _reactions(message, reader)
    if message.snapshots:
        body["message_snapshots"] = list(message.snapshots)
    if message.stickers:
        body["sticker_items"] = list(message.stickers)
    if message.nonce is not None:
        body["nonce"] = message.nonce
    if message.reference is not None:
        body |= _referenced(platform, message, deep=deep)
    return body | message.extra


def author_json(platform: Platform, message: Message) -> JsonObject:
    """Users as they are now; a webhook as it called itself."""
    known = platform.users.get(message.author.id)
    author = message.author if known is None or message.webhook_id == message.author.id else known
    return author.json()


def _referenced(platform: Platform, message: Message, *, deep: bool) -> JsonObject:
    body: JsonObject = {"message_reference": message.reference}
    target = message.reference.get("message_id") if message.reference is not None else None
    if not deep or message.snapshots or not isinstance(target, str):
        return body
    found = platform.find_message(int(target))
    gone = found is None or found.deleted
    return body | {"referenced_message": None if gone or found is None else message_json(platform, found, deep=False)}


def _reactions(message: Message, reader: Account | None) -> list[JsonValue]:
    counted: dict[str, list[int]] = {}
    for emoji, user_id in message.reactions:
        counted.setdefault(emoji, []).append(user_id)
    own = 0 if reader is None else reader.user_id
    return [
        {
            "emoji": {"id": None, "name": emoji},
            "count": len(who),
            "count_details": {"burst": 0, "normal": len(who)},
            "me": own in who,
            "me_burst": False,
            "burst_colors": [],
        }
        for emoji, who in counted.items()
    ]


def snapshot_json(platform: Platform, message: Message) -> JsonObject:
    """The minimal message that a forward carries: no author."""
    whole = message_json(platform, message, deep=False)
    kept = ("type", "content", "embeds", "attachments", "timestamp", "edited_timestamp", "flags", "mentions")
    more = ("mention_roles", "sticker_items", "components")
    return {"message": {name: whole[name] for name in (*kept, *more) if name in whole}}


def redacted(body: JsonObject) -> JsonObject:
    """Without what the message content intent is needed for."""
    empty: JsonObject = {"content": "", "embeds": [], "attachments": [], "components": []}
    hidden = body | empty
    replied = body.get("referenced_message")
    if isinstance(replied, dict):
        hidden["referenced_message"] = replied | empty
    if "message_snapshots" in body:
        hidden["message_snapshots"] = []
    return hidden


def user_view(user: User) -> JsonObject:
    """The full user object of users/@me."""
    return user.json() | {
        "verified": True,
        "email": None,
        "mfa_enabled": True,
        "locale": "en-US",
        "flags": 0,
        "bio": "",
    }


def same_text(one: Version, other: Version) -> bool:
    return (one.content, one.embeds, one.components) == (other.content, other.embeds, other.components)
