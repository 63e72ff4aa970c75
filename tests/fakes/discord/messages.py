"""Sending, changing, deleting and reading messages.

https://docs.discord.com/developers/resources/message
"""

from dataclasses import replace

from tests.fakes.discord import permissions as may
from tests.fakes.discord.drafts import Draft, Terms, read_draft, reference_ids, refuse_empty
from tests.fakes.discord.errors import (
    ApiError,
    cannot_send_to_user,
    not_your_message,
    unknown,
)
from tests.fakes.discord.events import (
    shows_content,
    tell_of_deletion,
    tell_of_message,
)
from tests.fakes.discord.forms import Faults, as_snowflake
from tests.fakes.discord.mentions import REGULAR, mentioned, shown_texts
from tests.fakes.discord.model import (
    COMPONENTS_V2,
    DM,
    FORUM,
    HAS_SNAPSHOT,
    SUPPRESS_EMBEDS,
    VOICE_MESSAGE,
    JsonObject,
    JsonValue,
    Message,
)
from tests.fakes.discord.platform import MESSAGE_CONTENT, Account, Platform, Room
from tests.fakes.discord.request import NOTHING, Reply, Request
from tests.fakes.discord.threads import draw_in, refuse_in_closed_thread, wake_thread
from tests.fakes.discord.wire import message_json, redacted, same_text, snapshot_json

NONCE_S = 5 * 60.0  # docs, "enforce_nonce": checked for uniqueness in the past few minutes


def sendable(platform: Platform, account: Account, channel_id: int, *needed: int) -> Room:
    """A room that the bot may write to. Raises `ApiError`."""
    room = platform.room_for(account, channel_id)
    if room.type == FORUM:
        raise ApiError(400, 50008, "Cannot send messages in a non-text channel", rule="non_text_channel")
    if room.type == DM:
        refuse_closed(platform, account, room)
        return room
    sending = may.SEND_MESSAGES_IN_THREADS if room.is_thread else may.SEND_MESSAGES
    return platform.room_for(account, channel_id, sending, *needed)


def refuse_closed(platform: Platform, account: Account, room: Room) -> None:
    """A person takes messages of bots that share a guild with them, unless they closed their door."""
    (person,) = set(room.recipients) - {account.user_id}
    known = any({person, account.user_id} <= guild.members.keys() for guild in platform.guilds.values())
    if person in platform.closed_dms or platform.users[person].is_bot:
        raise cannot_send_to_user()
    if not known:
        raise ApiError(403, 50278, "Cannot send messages to this user due to having no mutual guilds")


def refuse_voice(platform: Platform, account: Account, room: Room) -> None:
    if not platform.permissions(room, account.user_id) & may.SEND_VOICE_MESSAGES:
        raise ApiError(400, 50173, "Cannot send voice messages in this channel")


def create_message(platform: Platform, request: Request) -> Reply:
    account = request.bot
    files = (may.ATTACH_FILES,) if request.uploads else ()
    room = sendable(platform, account, request.ids["channel"], *files)
    faults = Faults()
    draft = read_draft(platform, request.body, request.uploads, Terms(default=REGULAR), faults)
    replied = _referenced(platform, room, draft, faults)
    faults.refuse()
    if draft.flags & VOICE_MESSAGE and room.type != DM:
        refuse_voice(platform, account, room)
    if (known := _sent_before(platform, account, draft)) is not None:
        return Reply(body=message_json(platform, known, reader=account))
    forwarded = replied if draft.reference is not None and draft.reference["type"] == 1 else None
    if forwarded is None:
        refuse_empty(draft.version(None, 0.0), draft.stickers, poll="poll" in request.body)
    if draft.reference is not None and not platform.permissions(room, account.user_id) & may.READ_MESSAGE_HISTORY:
        raise ApiError(403, 160002, "Cannot reply without permission to read message history")
    wake_thread(platform, room, account)
    message = _post_draft(platform, account, room, draft, replied)
    if draft.nonce is not None:
        account.nonces[str(draft.nonce)] = (platform.clock(), message.id)
    return Reply(body=message_json(platform, message, reader=account))


def _post_draft(platform: Platform, account: Account, room: Room, draft: Draft, replied: Message | None) -> Message:
    forward = draft.reference is not None and draft.reference["type"] == 1
    version = draft.version(None, platform.clock())
    texts = shown_texts(version.content, list(version.components))
    answered = None if forward else replied
    counted = mentioned(platform, room, account.user_id, texts, draft.allowed, answered)
    message = Message(
        id=platform.new_id(),
        channel_id=room.id,
        guild_id=room.guild_id,
        author=platform.users[account.user_id],
        date=platform.date(),
        versions=(version,),
        type=19 if answered is not None else 0,
        flags=draft.flags | (HAS_SNAPSHOT if forward else 0),
        mentions=counted,
        pinged=counted.pinged,
        reference=_kept_reference(room, replied, forward=forward),
        snapshots=(snapshot_json(platform, replied),) if forward and replied is not None else (),
        stickers=tuple({"id": str(one), "name": "sticker", "format_type": 1} for one in draft.stickers),
        nonce=draft.nonce,
    )
    return post(platform, message)


def post(platform: Platform, message: Message) -> Message:
    """Keeps a new message and tells everybody who sees it."""
    room = platform.rooms[message.channel_id]
    platform.keep(message)
    if room.thread is not None:
        room.thread.sent += 1
        draw_in(platform, room, message.author.id, *message.mentions.users)
    tell_of_message(platform, "MESSAGE_CREATE", message)
    platform.changed()
    return message


def _kept_reference(room: Room, target: Message | None, *, forward: bool) -> JsonObject | None:
    if target is None:
        return None
    body: JsonObject = {"type": int(forward), "message_id": str(target.id), "channel_id": str(target.channel_id)}
    return body if target.guild_id is None else body | {"guild_id": str(target.guild_id)}


def _referenced(platform: Platform, room: Room, draft: Draft, faults: Faults) -> Message | None:
    """The message that the draft replies to or forwards; a missing one is a fault unless the bot allows it."""
    if draft.reference is None:
        return None
    message_id, channel_id = reference_ids(draft.reference)
    forward = draft.reference["type"] == 1
    place = room if channel_id is None else platform.rooms.get(channel_id)
    if place is None or (place is not room and not forward):
        faults.add("message_reference", "REPLIES_UNKNOWN_CHANNEL", "Unknown channel")
        return None
    found = place.messages.get(message_id or 0)
    if found is None or found.deleted or found.ephemeral:
        if not draft.reference["lenient"]:
            faults.add("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
        return None
    if found.type not in {0, 19, 20, 23} and not forward:
        faults.add("message_reference", "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE", "Cannot reply to a system message")
    return found


def _sent_before(platform: Platform, account: Account, draft: Draft) -> Message | None:
    """What this bot sent with the same nonce a short while ago, wherever it was.

    Raises `ApiError` 10008 where it was deleted since; it is not sent again.
    """
    at, message_id = account.nonces.get(str(draft.nonce), (0.0, 0))
    if draft.nonce is None or not draft.enforce_nonce or not message_id or platform.clock() - at >= NONCE_S:
        return None
    found = platform.find_message(message_id)
    if found is None or found.deleted:
        raise unknown("Message")
    return found


def edit_message(platform: Platform, request: Request) -> Reply:
    account = request.bot
    room = platform.room_for(account, request.ids["channel"])
    message = platform.message_in(room, request.ids["message"])
    if message.author.id != account.user_id:
        raise not_your_message()
    refuse_in_closed_thread(platform, room, account)
    if message.flags & VOICE_MESSAGE:
        raise ApiError(400, 50162, "Voice messages cannot be edited.", rule="voice_message")
    changed = revise(platform, message, request, Terms(default=REGULAR, had=message.now, had_flags=message.flags))
    return Reply(body=message_json(platform, changed, reader=account))


def revise(platform: Platform, message: Message, request: Request, terms: Terms) -> Message:
    """The message with the body of the request, kept and told of. Raises `ApiError`."""
    draft = read_draft(platform, request.body, request.uploads, terms)
    version = draft.version(message.now, platform.clock())
    refuse_empty(version, (1,) if message.stickers else ())
    room = platform.rooms[message.channel_id]
    texts = shown_texts(version.content, list(version.components))
    target = message.reply_to
    replied = None if target is None else room.messages.get(target)
    counted = mentioned(platform, room, message.author.id, texts, draft.allowed, replied)
    unchanged = same_text(version, message.now) and version.attachments == message.now.attachments
    return change(
        platform,
        replace(
            message,
            versions=message.versions if unchanged else (*message.versions, version),
            edited=platform.date(),
            flags=_new_flags(message, draft) if "flags" in request.body else message.flags,
            mentions=counted,
        ),
    )


def _new_flags(message: Message, draft: Draft) -> int:
    """Edits set and unset SUPPRESS_EMBEDS and set IS_COMPONENTS_V2; other changes are overlooked."""
    kept = message.flags & ~SUPPRESS_EMBEDS
    return kept | draft.flags & (SUPPRESS_EMBEDS | COMPONENTS_V2)


def change(platform: Platform, message: Message) -> Message:
    """Keeps a new state of a message and tells everybody who sees it. An edit pings nobody."""
    platform.keep(message)
    tell_of_message(platform, "MESSAGE_UPDATE", message)
    platform.changed()
    return message


def delete_message(platform: Platform, request: Request) -> Reply:
    account = request.bot
    room = platform.room_for(account, request.ids["channel"])
    message = platform.message_in(room, request.ids["message"])
    if message.author.id != account.user_id:
        if room.type == DM:
            raise ApiError(403, 50003, "Cannot execute action on a DM channel")
        platform.room_for(account, room.id, may.MANAGE_MESSAGES)
    remove(platform, message)
    return NOTHING


def remove(platform: Platform, message: Message) -> None:
    platform.keep(replace(message, deleted=True))
    tell_of_deletion(platform, message)
    platform.changed()


def get_message(platform: Platform, request: Request) -> Reply:
    account = request.bot
    room = platform.room_for(account, request.ids["channel"], may.READ_MESSAGE_HISTORY)
    message = platform.message_in(room, request.ids["message"])
    return Reply(body=_read(platform, message, account, room))


def get_messages(platform: Platform, request: Request) -> Reply:
    """Newest first, whatever the bounds; without READ_MESSAGE_HISTORY there are none."""
    account = request.bot
    room = platform.room_for(account, request.ids["channel"])
    faults = Faults()
    limit = _limit(request.query.get("limit", "50"), faults)
    bounds = {name: request.query[name] for name in ("around", "before", "after") if name in request.query}
    if len(bounds) > 1:
        faults.add("_", "MUTUALLY_EXCLUSIVE", "Only one of around, before and after may be passed.")
    for name, value in bounds.items():
        if as_snowflake(value) is None:
            faults.add(name, "NUMBER_TYPE_COERCE", f'Value "{value}" is not snowflake.')
    faults.refuse()
    if not platform.permissions(room, account.user_id) & may.READ_MESSAGE_HISTORY:
        return Reply(body=[])
    shown = sorted(one.id for one in room.messages.values() if not one.deleted and not one.ephemeral)
    chosen = _window(shown, {name: int(value) for name, value in bounds.items()}, limit)
    page: list[JsonValue] = [_read(platform, room.messages[one], account, room) for one in reversed(chosen)]
    return Reply(body=page)


def _limit(value: str, faults: Faults) -> int:
    number = int(value) if value.removeprefix("-").isdecimal() else None
    if number is None:
        faults.add("limit", "NUMBER_TYPE_COERCE", f'Value "{value}" is not int.')
    elif number > 100:
        faults.add("limit", "NUMBER_TYPE_MAX", "int value should be less than or equal to 100.")
    elif number < 1:
        faults.add("limit", "NUMBER_TYPE_MIN", "int value should be greater than or equal to 1.")
    return number or 50


def _window(ids: list[int], bounds: dict[str, int], limit: int) -> list[int]:
    if "before" in bounds:
        return [one for one in ids if one < bounds["before"]][-limit:]
    if "after" in bounds:
        return [one for one in ids if one > bounds["after"]][:limit]
    if "around" in bounds:
        half = limit // 2
        older = [one for one in ids if one < bounds["around"]][-half:] if half else []
        return older + [one for one in ids if one >= bounds["around"]][: limit - half]
    return ids[-limit:]


def _read(platform: Platform, message: Message, account: Account, room: Room) -> JsonObject:
    body = message_json(platform, message, reader=account)
    free = account.privileged & MESSAGE_CONTENT or shows_content(message, account, room)
    return body if free else redacted(body)
