"""From the parameters of a call to what people will see: text or blocks or markdown, metadata, thread."""

import json

from tests.fakes.slack.blocks import check_blocks
from tests.fakes.slack.errors import ApiError, refused
from tests.fakes.slack.model import JsonObject, JsonValue, Message, Version, objects_of
from tests.fakes.slack.params import Params
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.records import Installation, Room
from tests.fakes.slack.text import (
    BEST_TEXT,
    MAX_MARKDOWN,
    MAX_TEXT,
    mrkdwn_in,
    pinged_by,
    pinged_by_blocks,
    rich_text,
    stray_bracket,
)

MAX_ATTACHMENTS = 100  # https://docs.slack.dev/reference/methods/chat.postMessage: too_many_attachments


def composed(platform: Platform, params: Params, *, max_text: int = MAX_TEXT) -> Version:
    """What the call says. Raises `ApiError` where Slack refuses it; a text over `max_text` is too long or cut."""
    markdown, text = params.text("markdown_text"), params.text("text") or ""
    blocks = params.array("blocks", "invalid_blocks_format") or []
    attachments = params.array("attachments") or []
    if markdown is not None and (text or blocks):
        raise refused("markdown_text_conflict")
    if not (text.strip() or blocks or attachments or (markdown or "").strip()):
        raise refused("no_text")
    if len(attachments) > MAX_ATTACHMENTS:
        raise refused("too_many_attachments")
    _check_characters(text + (markdown or ""))
    if markdown is not None and len(markdown) > MAX_MARKDOWN:
        raise refused("msg_too_long", f"markdown_text has {len(markdown)} characters")
    check_blocks(blocks)
    for inner in (one.get("blocks") for one in objects_of(attachments)):
        check_blocks(inner if isinstance(inner, list) else [])
    for shown in (text, *mrkdwn_in(blocks)):
        if stray := stray_bracket(shown):
            platform.remark("unescaped", params.number, stray)
    said = markdown if markdown is not None else _within(platform, params, text, max_text)
    visible = with_ids(platform, objects_of(blocks)) or [rich_text(said, platform.new_id("b")[:5])]
    pings = pinged_by(said, bare=params.text("parse") == "full") | pinged_by_blocks(blocks)
    return Version(
        text=said,
        blocks=tuple(visible) if said or blocks else (),
        metadata=checked_metadata(params),
        at=platform.clock(),
        pings=pings | pinged_by_blocks(attachments),
        markdown=markdown is not None,
    )


def _check_characters(text: str) -> None:
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise refused("invalid_arguments", "a lone surrogate is no character")


def _within(platform: Platform, params: Params, text: str, max_text: int) -> str:
    if len(text) > max_text and max_text < MAX_TEXT:
        raise refused("msg_too_long", f"text has {len(text)} characters, {max_text} at most")
    if len(text) > MAX_TEXT:
        platform.remark("truncated", params.number, f"text has {len(text)} characters")
    elif len(text) > BEST_TEXT:
        platform.remark("over_4000", params.number, f"text has {len(text)} characters: it is shown in pieces")
    return text[:MAX_TEXT]


def checked_metadata(params: Params) -> JsonObject | None:
    """`event_type` and `event_payload`, both needed; an empty object removes what was there."""
    metadata = params.object("metadata", "invalid_metadata_format")
    if not metadata:
        return metadata
    kind, payload = metadata.get("event_type"), metadata.get("event_payload")
    if not isinstance(kind, str) or not kind or not isinstance(payload, dict):
        raise refused("invalid_metadata_format", json.dumps(metadata)[:200])
    if unknown := metadata.keys() - {"event_type", "event_payload"}:
        raise refused("invalid_metadata_schema", ", ".join(sorted(unknown)))
    return metadata


def with_ids(platform: Platform, blocks: list[JsonObject]) -> list[JsonObject]:
    """Blocks and interactive elements get the ids that the app left out."""
    return [_with_action_ids(platform, {**block, "block_id": _block_id(platform, block)}) for block in blocks]


def _block_id(platform: Platform, block: JsonObject) -> JsonValue:
    return block.get("block_id") or platform.new_id("b")[-5:]


def _with_action_ids(platform: Platform, block: JsonObject) -> JsonObject:
    for name in ("elements", "accessory", "element"):
        value = block.get(name)
        if block.get("type") in {"rich_text", "context"} or value is None:
            continue
        listed = value if isinstance(value, list) else [value]
        named: list[JsonValue] = [
            {**one, "action_id": one.get("action_id") or platform.new_id("a")[-5:]} for one in objects_of(listed)
        ]
        block = {**block, name: named if isinstance(value, list) else named[0]}
    return block


def thread_of(platform: Platform, room: Room, params: Params) -> str | None:
    """The root of the thread that the call replies to. Raises `ApiError` where there is none."""
    ts = params.ts("thread_ts", "invalid_thread_ts")
    if ts is None:
        return None
    parent = room.messages.get(ts)
    if parent is None or parent.deleted:
        raise refused("thread_not_found", ts)
    if parent.is_reply:
        platform.remark("reply_as_thread", params.number, f"{ts} is itself a reply to {parent.thread_ts}")
        return parent.thread_ts
    return ts


def by_bot(caller: Installation, room: Room, version: Version, thread_ts: str | None) -> Message:
    """A message of our bot, without a timestamp yet."""
    return Message(
        channel_id=room.channel.id,
        ts="",
        user_id=caller.bot.user_id,
        team_id=caller.bot.team_id,
        bot_id=caller.bot.bot_id,
        app_id=caller.app.id,
        versions=(version,),
        thread_ts=thread_ts,
    )


def addressed(platform: Platform, caller: Installation, params: Params) -> Room:
    """Where a message goes: an id, a name, or a person's id for the direct conversation. Raises `ApiError`."""
    value = params.text("channel") or ""
    person = platform.people.get(value)
    if person is not None and person.team_id == caller.bot.team_id:
        room = platform.im(person.id, caller.bot.user_id)
    else:
        named = [
            one.channel.id for one in platform.rooms.values() if one.channel.name and one.channel.name == value[1:]
        ]
        room = platform.seen_room(caller, named[0] if named and value.startswith("#") else value)
    if room.archived:
        raise ApiError("is_archived")
    if room.channel.kind == "im" and not caller.app.messages_tab:
        raise ApiError("messages_tab_disabled")
    may_anywhere = room.channel.kind == "channel" and "chat:write.public" in caller.scopes
    if caller.bot.user_id not in room.members and not may_anywhere:
        raise ApiError("not_in_channel")
    return room
