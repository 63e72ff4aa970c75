"""What apps are told: the shapes of messages and events, and who gets them.

Source: https://docs.slack.dev/reference/events and https://docs.slack.dev/apis/events-api.
"""

from tests.fakes.slack.delivery import Delivery
from tests.fakes.slack.files_json import file_json
from tests.fakes.slack.model import JsonObject, JsonValue, Message, present, text_of
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.records import Installation, Room

HISTORY = {"channel": "channels:history", "group": "groups:history", "im": "im:history", "mpim": "mpim:history"}


def message_json(platform: Platform, room: Room, message: Message, *, metadata: bool = False) -> JsonObject:
    """The message as methods return it. `metadata` with what the app attached to it."""
    body: JsonObject = {
        "type": "message",
        "subtype": message.subtype,
        "user": message.user_id or None,
        "ts": message.ts,
        "bot_id": message.bot_id or None,
        "app_id": message.app_id or None,
        "username": message.username,
        "client_msg_id": message.client_msg_id,
        "text": message.text,
        "team": message.team_id,
        "thread_ts": message.thread_ts,
        "blocks": list(message.blocks) or None,
        "attachments": list(message.attachments) or None,
        "bot_profile": _profile(platform, message),
    }
    if message.edited_ts is not None:
        body["edited"] = {"user": message.user_id, "ts": message.edited_ts}
    if message.file_ids:
        files: list[JsonValue] = [file_json(platform, platform.files[one]) for one in message.file_ids]
        body |= {"files": files, "upload": False}
    if metadata and message.metadata:
        body["metadata"] = message.metadata
    if message.streaming:
        body["streaming_state"] = "in_progress"
    return present({**body, **_thread(room, message), **_reactions(message), **message.extra})


def _profile(platform: Platform, message: Message) -> JsonObject | None:
    if not message.bot_id or message.subtype == "bot_message":
        return None
    user = platform.people[message.user_id]
    return {
        "id": message.bot_id,
        "deleted": False,
        "name": user.name,
        "updated": 1_700_000_000,
        "app_id": user.app_id,
        "user_id": user.id,
        "icons": {},
        "team_id": message.team_id,
    }


def _thread(room: Room, message: Message) -> JsonObject:
    if message.is_reply:
        root = room.messages.get(message.thread_ts or "")
        fields: JsonObject = {"parent_user_id": root.user_id if root is not None else None}
        if message.broadcast and root is not None:
            fields["root"] = {"type": "message", "user": root.user_id, "text": root.text, "ts": root.ts}
        return fields
    replies = room.replies(message.ts)
    if not replies:
        return {}
    users: list[JsonValue] = list(dict.fromkeys(one.user_id for one in replies))
    return {
        "thread_ts": message.ts,
        "reply_count": len(replies),
        "reply_users_count": len(users),
        "latest_reply": replies[-1].ts,
        "reply_users": users,
        "is_locked": False,
        "subscribed": True,
    }


def _reactions(message: Message) -> JsonObject:
    names = dict.fromkeys(one.name for one in message.reactions)
    if not names:
        return {}
    listed: list[JsonValue] = []
    for name in names:
        users: list[JsonValue] = [one.user_id for one in message.reactions if one.name == name]
        listed.append({"name": name, "users": users, "count": len(users)})
    return {"reactions": listed}


def event_json(platform: Platform, room: Room, message: Message) -> JsonObject:
    """The message as an event. Thread figures and metadata are in methods' answers only."""
    body = message_json(platform, room, message)
    for name in ("reply_count", "reply_users_count", "latest_reply", "reply_users", "is_locked", "subscribed"):
        body.pop(name, None)
    if not message.is_reply and message.thread_ts is None:
        body.pop("thread_ts", None)
    if message.team_id != room.channel.team_id:
        body |= {"user_team": message.team_id, "source_team": message.team_id}
    return {**body, "channel": room.channel.id, "event_ts": message.ts, "channel_type": room.channel.kind}


def tell(platform: Platform, installation: Installation, event: JsonObject) -> Delivery | None:
    """Queues the event for one app in one workspace. None where its token no longer works."""
    if installation.state != "active":
        return None
    team = platform.teams[installation.bot.team_id]
    authorization: JsonObject = {
        "enterprise_id": team.enterprise_id,
        "team_id": team.id,
        "user_id": installation.bot.user_id,
        "is_bot": True,
        "is_enterprise_install": False,
    }
    payload: JsonObject = {
        "token": "legacy-verification-token",
        "team_id": team.id,
        "enterprise_id": team.enterprise_id,
        "context_team_id": team.id,
        "context_enterprise_id": team.enterprise_id,
        "api_app_id": installation.app.id,
        "event": event,
        "type": "event_callback",
        "event_id": platform.new_id("Ev"),
        "event_time": int(platform.clock()),
        "authorizations": [authorization],
        "is_ext_shared_channel": _is_shared(platform, event),
        "event_context": f"4-{platform.new_secret('context')[:20]}",
    }
    if team.enterprise_id is None:
        payload.pop("enterprise_id")
    delivery = platform.courier.add(installation.app.id, "events_api", payload)
    platform.changed()
    return delivery


def _is_shared(platform: Platform, event: JsonObject) -> bool:
    """Whether people of another workspace are in the channel (Slack Connect)."""
    room = platform.rooms.get(text_of(event, "channel"))
    if room is None:
        return False
    return any(platform.people[one].team_id != room.channel.team_id for one in room.members)


def audience(platform: Platform, room: Room) -> list[Installation]:
    """Our apps that are in the room."""
    return [one for one in platform.installed(room.channel.team_id) if one.bot.user_id in room.members]


def tell_message(platform: Platform, room: Room, message: Message) -> list[Delivery]:
    """A new message: `message` where the app may read the room, and `app_mention` where its bot is mentioned."""
    told: list[Delivery] = []
    for installation in audience(platform, room):
        events = [
            _as_message(platform, installation, room, message),
            _as_mention(platform, installation, room, message),
        ]
        pair = [tell(platform, installation, one) for one in _ordered(platform, events)]
        known = [one for one in pair if one is not None]
        for second in known[1:]:
            second.next_at += platform.pair_gap_s
        told += known
    return told


def _ordered(platform: Platform, events: list[JsonObject | None]) -> list[JsonObject]:
    ordered = reversed(events) if platform.mention_first else events
    return [one for one in ordered if one is not None]


def _as_message(platform: Platform, installation: Installation, room: Room, message: Message) -> JsonObject | None:
    if HISTORY[room.channel.kind] not in installation.scopes:
        return None
    return event_json(platform, room, message)


def _as_mention(platform: Platform, installation: Installation, room: Room, message: Message) -> JsonObject | None:
    """Not in direct messages, and not for what the bot itself says."""
    mentioned = installation.bot.user_id in message.pings and message.user_id != installation.bot.user_id
    if not mentioned or room.channel.kind == "im" or "app_mentions:read" not in installation.scopes:
        return None
    if message.subtype not in {None, "file_share", "thread_broadcast", "bot_message"}:
        return None
    body = event_json(platform, room, message)
    for name in ("channel_type", "subtype", "parent_user_id"):
        body.pop(name, None)
    return {**body, "type": "app_mention"}


def tell_change(platform: Platform, room: Room, before: Message, after: Message) -> list[Delivery]:
    """message_changed. The event has a timestamp of its own; `message.ts` says which message it is."""
    return _tell_hidden(
        platform,
        room,
        {
            "subtype": "message_changed",
            "message": message_json(platform, room, after),
            "previous_message": message_json(platform, room, before),
        },
    )


def tell_deletion(platform: Platform, room: Room, before: Message) -> list[Delivery]:
    body: JsonObject = {
        "subtype": "message_deleted",
        "previous_message": message_json(platform, room, before),
        "deleted_ts": before.ts,
    }
    return _tell_hidden(platform, room, body)


def _tell_hidden(platform: Platform, room: Room, body: JsonObject) -> list[Delivery]:
    ts = platform.new_ts()
    event: JsonObject = {
        "type": "message",
        **body,
        "channel": room.channel.id,
        "hidden": True,
        "ts": ts,
        "event_ts": ts,
        "channel_type": room.channel.kind,
    }
    scope = HISTORY[room.channel.kind]
    told = [tell(platform, one, event) for one in audience(platform, room) if scope in one.scopes]
    return [one for one in told if one is not None]
