"""The methods about conversations: history, members, opening, joining."""

import base64
import binascii
from collections.abc import Sequence
from typing import TypeVar

from tests.fakes.slack.errors import ApiError, missing_scope, refused
from tests.fakes.slack.events import HISTORY, message_json
from tests.fakes.slack.model import Channel, JsonObject, JsonValue, Message, present
from tests.fakes.slack.params import Params
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.records import Installation, Room

READ = {"channel": "channels:read", "group": "groups:read", "im": "im:read", "mpim": "mpim:read"}
MAX_HISTORY = 999
MAX_REPLIES = 1_000
MAX_MPIM = 8
LIST_PAGE = 100

T = TypeVar("T")


def history(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    """The channel's own messages, newest first; replies only where they were broadcast."""
    room = _readable(platform, caller, params)
    found = [one for one in _standing(room) if not one.is_reply or one.broadcast]
    return _page(platform, room, params, list(reversed(_between(found, params))), (100, MAX_HISTORY))


def replies(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    """A thread, its root first, then the replies, oldest first."""
    room = _readable(platform, caller, params)
    ts = params.ts("ts", "thread_not_found")
    asked = room.standing(ts or "")
    if asked is None:
        raise ApiError("thread_not_found", detail=str(ts))
    root = asked.thread_ts if asked.is_reply else asked.ts
    found = [one for one in _standing(room) if one.is_reply and one.thread_ts == root]
    parent = room.standing(root or "")
    thread = [*([parent] if parent is not None else []), *_between(found, params)]
    return _page(platform, room, params, thread, (MAX_REPLIES, MAX_REPLIES))


def _readable(platform: Platform, caller: Installation, params: Params) -> Room:
    room = platform.seen_room(caller, params.text("channel"))
    need(caller, HISTORY[room.channel.kind])
    return platform.joined_room(caller, room.channel.id)


def need(caller: Installation, scope: str) -> None:
    if scope not in caller.scopes:
        raise missing_scope(scope, caller.provided)


def _standing(room: Room) -> list[Message]:
    return sorted((one for one in room.messages.values() if not one.deleted), key=lambda one: one.ts)


def _between(messages: Sequence[Message], params: Params) -> list[Message]:
    oldest, latest = params.moment("oldest", "invalid_ts_oldest"), params.moment("latest", "invalid_ts_latest")
    low = round((oldest or 0.0) * 1_000_000)
    high = None if latest is None else round(latest * 1_000_000)
    if params.flag("inclusive"):
        low -= 1
        high = None if high is None else high + 1
    times = [(one, round(float(one.ts) * 1_000_000)) for one in messages]
    return [one for one, at in times if at > low and (high is None or at < high)]


def _page(platform: Platform, room: Room, params: Params, found: list[Message], limits: tuple[int, int]) -> JsonObject:
    chosen, cursor = paged(found, _limit(params, *limits), params)
    metadata = params.flag("include_all_metadata")
    shown: list[JsonValue] = [message_json(platform, room, one, metadata=metadata) for one in chosen]
    body: JsonObject = {"messages": shown, "has_more": bool(cursor), "pin_count": 0}
    if cursor:
        body["response_metadata"] = {"next_cursor": cursor}
    return body


def _limit(params: Params, default: int, most: int) -> int:
    limit = params.integer("limit")
    if limit is not None and not 1 <= limit <= most:
        raise refused("invalid_limit", str(limit))
    return limit or default


def paged(found: Sequence[T], limit: int, params: Params) -> tuple[list[T], str]:
    """The page that the cursor names, and the cursor of the next one (empty at the end)."""
    begin = _offset(params.text("cursor"))
    end = begin + limit
    return list(found[begin:end]), _cursor(end) if end < len(found) else ""


def _cursor(offset: int) -> str:
    return base64.b64encode(f"next_ts:{offset}".encode()).decode()


def _offset(cursor: str | None) -> int:
    if not cursor:
        return 0
    try:
        word, _, number = base64.b64decode(cursor, validate=True).decode().partition(":")
        if word == "next_ts":
            return int(number)
    except (binascii.Error, ValueError):
        raise refused("invalid_cursor", cursor) from None
    raise refused("invalid_cursor", cursor)


def info(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    room = platform.seen_room(caller, params.text("channel"))
    need(caller, READ[room.channel.kind])
    body = channel_json(platform, caller, room)
    if params.flag("include_num_members"):
        body["num_members"] = len(room.members)
    if params.flag("include_locale"):
        body["locale"] = "en-US"
    return {"channel": body}


def channel_json(platform: Platform, caller: Installation, room: Room) -> JsonObject:
    """https://docs.slack.dev/reference/objects/conversation-object."""
    kind = room.channel.kind
    body: JsonObject = {
        "id": room.channel.id,
        "created": 1_700_000_000,
        "is_archived": room.archived,
        "is_im": kind == "im",
        "is_org_shared": False,
        "context_team_id": room.channel.team_id,
        "updated": 1_700_000_000_000,
    }
    if kind == "im":
        others = sorted(room.members - {caller.bot.user_id})
        return {**body, "user": others[0] if others else caller.bot.user_id, "is_open": True}
    return {
        **body,
        "name": room.channel.name,
        "name_normalized": room.channel.name,
        "is_channel": kind == "channel",
        "is_group": kind == "group",
        "is_mpim": kind == "mpim",
        "is_private": kind != "channel",
        "is_general": room.channel.name == "general",
        "is_member": caller.bot.user_id in room.members,
        "is_shared": False,
        "is_ext_shared": False,
        "creator": room.channel.creator,
        "topic": {"value": "", "creator": "", "last_set": 0},
        "purpose": {"value": "", "creator": "", "last_set": 0},
    }


def members(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    room = platform.seen_room(caller, params.text("channel"))
    need(caller, READ[room.channel.kind])
    chosen, cursor = paged(sorted(room.members), _limit(params, LIST_PAGE, MAX_REPLIES), params)
    return {"members": [*chosen], "response_metadata": {"next_cursor": cursor}}


def join(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    room = platform.seen_room(caller, params.text("channel"))
    if room.channel.kind != "channel":
        raise ApiError("method_not_supported_for_channel_type")
    if room.archived:
        raise ApiError("is_archived")
    already = caller.bot.user_id in room.members
    room.members.add(caller.bot.user_id)
    body = {"channel": channel_json(platform, caller, room)}
    return present({**body, "warning": "already_in_channel" if already else None})


def open_conversation(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    """One person: the direct conversation. Two to eight: a group of them."""
    if params.text("channel"):
        room = platform.joined_room(caller, params.text("channel"))
        if room.channel.kind not in {"im", "mpim"}:
            raise ApiError("method_not_supported_for_channel_type")
    else:
        room = _opened(platform, caller, params)
    short: JsonObject = {"id": room.channel.id}
    return {"channel": channel_json(platform, caller, room) if params.flag("return_im") else short}


def _opened(platform: Platform, caller: Installation, params: Params) -> Room:
    wanted = [one.strip() for one in (params.text("users") or "").split(",") if one.strip()]
    if not wanted:
        raise refused("users_list_not_supplied")
    if len(wanted) > MAX_MPIM:
        raise refused("too_many_users")
    people = [platform.people.get(one) for one in wanted]
    if any(one is None or one.team_id != caller.bot.team_id for one in people):
        raise ApiError("user_not_found")
    need(caller, "im:write" if len(wanted) == 1 else "mpim:write")
    if len(wanted) == 1:
        return platform.im(wanted[0], caller.bot.user_id)
    inside = {*wanted, caller.bot.user_id}
    for room in platform.rooms.values():
        if room.channel.kind == "mpim" and room.members == inside:
            return room
    name = f"mpdm-{'--'.join(platform.people[one].name for one in wanted)}-1"
    channel = Channel(id=platform.new_id("C"), kind="mpim", name=name, team_id=caller.bot.team_id)
    return platform.add_room(channel, inside)


def users_conversations(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    wanted = params.text("user") or caller.bot.user_id
    names = {"public_channel": "channel", "private_channel": "group", "im": "im", "mpim": "mpim"}
    kinds = {names.get(one.strip(), "") for one in (params.text("types") or "public_channel").split(",")}
    for kind in kinds & READ.keys():
        need(caller, READ[kind])
    hide_archived = params.flag("exclude_archived")
    found = [
        room
        for room in platform.rooms.values()
        if wanted in room.members and room.channel.kind in kinds and not (hide_archived and room.archived)
    ]
    chosen, cursor = paged(found, _limit(params, LIST_PAGE, MAX_HISTORY), params)
    shown: list[JsonValue] = [channel_json(platform, caller, room) for room in chosen]
    return {"channels": shown, "response_metadata": {"next_cursor": cursor}}
