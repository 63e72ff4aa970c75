"""The methods that write, edit and delete messages. Each runs under the platform's lock and applies at once."""

from dataclasses import replace

from tests.fakes.slack.composing import addressed, by_bot, checked_metadata, composed, thread_of
from tests.fakes.slack.errors import ApiError, refused
from tests.fakes.slack.events import message_json, tell_change, tell_deletion, tell_message
from tests.fakes.slack.model import Ephemeral, JsonObject, Message, Version
from tests.fakes.slack.params import Params
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.records import Installation, Room
from tests.fakes.slack.text import BEST_TEXT


def post_message(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    room = addressed(platform, caller, params)
    version = composed(platform, params)
    thread_ts = thread_of(platform, room, params)
    broadcast = params.flag("reply_broadcast") and thread_ts is not None
    message = replace(
        by_bot(caller, room, version, thread_ts),
        broadcast=broadcast,
        subtype="thread_broadcast" if broadcast else None,
        attachments=tuple(one for one in params.array("attachments") or [] if isinstance(one, dict)),
    )
    message = platform.keep(room, _customised(platform, caller, params, message))
    tell_message(platform, room, message)
    return {
        "channel": room.channel.id,
        "ts": message.ts,
        "message": message_json(platform, room, message, metadata=True),
    }


def _customised(platform: Platform, caller: Installation, params: Params, message: Message) -> Message:
    """A name or icon of its own makes a bot_message; without the scope Slack overlooks both."""
    username = params.text("username")
    if username is None and params.text("icon_emoji") is None and params.text("icon_url") is None:
        return message
    if "chat:write.customize" not in caller.scopes:
        platform.remark("customize_without_scope", params.number, "username and icons need chat:write.customize")
        return message
    return replace(message, username=username or caller.bot.name, subtype="bot_message")


def post_ephemeral(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    room = addressed(platform, caller, params)
    user_id = params.needed("user")
    if user_id not in room.members:
        raise ApiError("user_not_in_channel")
    version = composed(platform, params, max_text=BEST_TEXT)
    thread_ts = thread_of(platform, room, params)
    shown = Ephemeral(
        channel_id=room.channel.id,
        user_id=user_id,
        ts=platform.new_ts(),
        text=version.text,
        blocks=version.blocks,
        thread_ts=thread_ts,
        via="chat.postEphemeral",
        at=version.at,
        pings=version.pings,
    )
    platform.ephemerals.append(shown)
    return {"message_ts": shown.ts}


def update(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    room = platform.seen_room(caller, params.text("channel"))
    message = _own(platform, caller, room, params, "cant_update_message")
    if room.archived:
        raise ApiError("is_inactive")
    if message.streaming:
        raise refused("streaming_state_conflict")
    window = platform.edit_window_s
    if window is not None and platform.clock() - float(message.ts) > window:
        raise ApiError("edit_window_closed")
    version = _revision(platform, params, message)
    changed = platform.revise(room, message, version)
    if not params.values.get("blocks"):
        changed = replace(changed, edited_ts=platform.new_ts())
        room.messages[message.ts] = changed
    tell_change(platform, room, message, changed)
    shown = message_json(platform, room, changed, metadata=True)
    return {"channel": room.channel.id, "ts": message.ts, "text": changed.text, "message": shown}


def _revision(platform: Platform, params: Params, message: Message) -> Version:
    """Text without blocks takes the blocks away; metadata stays unless given. See `chat.update`."""
    metadata = checked_metadata(params)
    kept = message.metadata if "metadata" not in params.values else (metadata or None)
    says = ("text", "blocks", "markdown_text", "attachments")
    if "metadata" in params.values and not any(params.values.get(name) for name in says):
        return replace(message.versions[-1], metadata=kept, at=platform.clock())
    return replace(composed(platform, params, max_text=BEST_TEXT), metadata=kept)


def delete(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    room = platform.seen_room(caller, params.text("channel"))
    message = _own(platform, caller, room, params, "cant_delete_message")
    erase(platform, room, message)
    return {"channel": room.channel.id, "ts": message.ts}


def erase(platform: Platform, room: Room, message: Message) -> None:
    """The message is gone; the root of a thread with replies leaves a tombstone."""
    if room.replies(message.ts):
        stone = Version(text="This message was deleted.", blocks=(), metadata=None, at=platform.clock())
        buried = replace(
            message,
            versions=(*message.versions, stone),
            subtype="tombstone",
            user_id="USLACKBOT",
            bot_id="",
            app_id="",
            file_ids=(),
            reactions=(),
        )
        room.messages[message.ts] = buried
        tell_change(platform, room, message, buried)
        return
    room.messages[message.ts] = replace(message, deleted=True)
    tell_deletion(platform, room, message)


def _own(platform: Platform, caller: Installation, room: Room, params: Params, error: str) -> Message:
    ts = params.ts("ts", "message_not_found")
    if ts is None:
        raise refused("message_not_found", "ts is missing")
    message = room.standing(ts)
    if message is None:
        raise ApiError("message_not_found", detail=ts)
    if message.app_id != caller.app.id or message.user_id != caller.bot.user_id:
        raise refused(error, ts)
    return message


def me_message(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    room = addressed(platform, caller, params)
    message = replace(by_bot(caller, room, composed(platform, params), None), subtype="me_message")
    message = platform.keep(room, message)
    tell_message(platform, room, message)
    return {"channel": room.channel.id, "ts": message.ts}


def get_permalink(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    room = platform.seen_room(caller, params.text("channel"))
    ts = params.ts("message_ts", "message_not_found")
    if ts is None or room.standing(ts) is None:
        raise ApiError("message_not_found")
    domain = platform.teams[room.channel.team_id].domain
    link = f"https://{domain}.slack.com/archives/{room.channel.id}/p{ts.replace('.', '')}"
    return {"channel": room.channel.id, "permalink": link}
