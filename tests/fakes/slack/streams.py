"""Streamed messages: chat.startStream, chat.appendStream, chat.stopStream.

Source: the methods' pages and https://docs.slack.dev/messaging/sending-and-scheduling-messages#text-streaming.
"""

from dataclasses import replace

from tests.fakes.slack.blocks import MAX_MESSAGE_BLOCKS, check_blocks
from tests.fakes.slack.composing import addressed, by_bot, checked_metadata, thread_of, with_ids
from tests.fakes.slack.errors import ApiError, refused
from tests.fakes.slack.events import message_json, tell_change, tell_message
from tests.fakes.slack.model import (
    JsonObject,
    JsonValue,
    Message,
    Stream,
    StreamPiece,
    Version,
    objects_of,
    text_of,
)
from tests.fakes.slack.params import Params
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.records import Installation, Room
from tests.fakes.slack.schema import Shape, anything, flag, listed, text, typed, word
from tests.fakes.slack.text import MAX_MARKDOWN, pinged_by, pinged_by_blocks, rich_text

TASK_TITLE = 256
_CHUNK = typed(
    {
        "markdown_text": Shape({"text": text(MAX_MARKDOWN)}),
        "task_update": Shape(
            {
                "id": text(255),
                "title": text(TASK_TITLE),
                "status": word("pending", "in_progress", "complete", "error"),
            },
            {"details": text(MAX_MARKDOWN, 0), "output": text(MAX_MARKDOWN, 0), "sources": anything}
            | {"hide_title": flag, "icon": anything},
        ),
        "plan_update": Shape({"title": text(TASK_TITLE)}),
        "blocks": Shape({"blocks": listed(anything, MAX_MESSAGE_BLOCKS)}),
    }
)


def start_stream(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    room = addressed(platform, caller, params)
    thread_ts = thread_of(platform, room, params)
    if thread_ts is None:
        raise refused("invalid_thread_ts", "a stream answers somebody: thread_ts is needed")
    recipient = _recipient(platform, room, params)
    mode = params.text("task_display_mode") or "timeline"
    if mode not in {"timeline", "plan", "dense"}:
        raise refused("invalid_arguments", f"task_display_mode {mode}")
    piece, blocks = _piece(platform, params, "chat.startStream")
    version = Version(text="", blocks=(), metadata=None, at=platform.clock())
    message = platform.keep(room, replace(by_bot(caller, room, version, thread_ts), streaming=True))
    stream = Stream(room.channel.id, message.ts, caller.app.id, platform.clock(), recipient)
    platform.streams[room.channel.id, message.ts] = stream
    _add(platform, room, stream, piece, blocks)
    tell_message(platform, room, room.messages[message.ts])
    return {"channel": room.channel.id, "ts": message.ts}


def _recipient(platform: Platform, room: Room, params: Params) -> str | None:
    """Needed outside direct messages: https://docs.slack.dev/reference/methods/chat.startStream."""
    user_id, team_id = params.text("recipient_user_id"), params.text("recipient_team_id")
    if room.channel.kind == "im" and user_id is None and team_id is None:
        return None
    if not team_id:
        raise refused("missing_recipient_team_id")
    if not user_id:
        raise refused("missing_recipient_user_id")
    if team_id not in platform.teams:
        raise refused("team_not_found", team_id)
    if user_id not in platform.people:
        raise refused("user_not_found", user_id)
    return user_id


def append_stream(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    room = addressed(platform, caller, params)
    stream = _open_stream(platform, caller, room, params)
    if stream.stopped_by_user:
        raise ApiError("stopped_by_user")
    piece, blocks = _piece(platform, params, "chat.appendStream")
    if not piece.text and not piece.chunks:
        raise refused("markdown_text_or_chunks_required")
    _add(platform, room, stream, piece, blocks)
    return {"channel": room.channel.id, "ts": stream.ts}


def stop_stream(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    room = addressed(platform, caller, params)
    stream = _open_stream(platform, caller, room, params)
    last = params.array("blocks", "invalid_blocks") or []
    check_blocks(last)
    metadata = checked_metadata(params)
    piece, blocks = _piece(platform, params, "chat.stopStream")
    _add(platform, room, stream, piece, [*blocks, *last])
    stream.stopped_at = platform.clock()
    message = finish(platform, room, stream, metadata)
    return {
        "channel": room.channel.id,
        "ts": stream.ts,
        "message": message_json(platform, room, message, metadata=True),
    }


def finish(platform: Platform, room: Room, stream: Stream, metadata: JsonObject | None) -> Message:
    """The message is an ordinary one from now on."""
    before = room.messages[stream.ts]
    last = before.versions[-1]
    after = replace(before, streaming=False, versions=(*before.versions[:-1], replace(last, metadata=metadata)))
    room.messages[stream.ts] = after
    tell_change(platform, room, before, after)
    return after


def _open_stream(platform: Platform, caller: Installation, room: Room, params: Params) -> Stream:
    ts = params.ts("ts", "message_not_found") or ""
    message = room.standing(ts)
    if message is None:
        raise ApiError("message_not_found", detail=ts)
    if message.app_id != caller.app.id:
        raise refused("message_not_owned_by_app", ts)
    stream = platform.streams.get((room.channel.id, ts))
    if stream is not None and stream.stopped_at is None and not platform.stream_is_open(stream):
        stream.stopped_at = platform.clock()
        finish(platform, room, stream, None)
    if stream is None or stream.stopped_at is not None:
        raise ApiError("message_not_in_streaming_state", detail=ts)
    return stream


def _piece(platform: Platform, params: Params, method: str) -> tuple[StreamPiece, list[JsonValue]]:
    """What a call adds: markdown as one text or in chunks, and the blocks that are among the chunks."""
    markdown, chunks = params.text("markdown_text"), params.array("chunks", "invalid_chunks")
    if markdown is not None and chunks is not None:
        raise refused("cannot_provide_both_markdown_text_and_chunks")
    if markdown is not None and len(markdown) > MAX_MARKDOWN:
        raise refused("msg_too_long", f"markdown_text has {len(markdown)} characters")
    faults: list[str] = []
    for place, chunk in enumerate(chunks or []):
        _CHUNK(chunk, f"/chunks/{place}", faults)
    if faults:
        raise refused("invalid_chunks", "; ".join(faults))
    known = objects_of(chunks or [])
    said = "".join(text_of(one, "text") for one in known if one["type"] == "markdown_text")
    if len(said) > MAX_MARKDOWN:
        raise refused("msg_too_long", f"the chunks' markdown has {len(said)} characters")
    blocks: list[JsonValue] = [one for chunk in known for one in objects_of(chunk.get("blocks"))]
    check_blocks(blocks)
    piece = StreamPiece(method=method, text=markdown or said, chunks=tuple(known), at=platform.clock())
    return piece, blocks


def _cards(stream: Stream) -> list[JsonObject]:
    """Task updates as people see them: one card for each id, as it was said last."""
    updates = [chunk for piece in stream.pieces for chunk in piece.chunks if chunk["type"] == "task_update"]
    latest = {text_of(one, "id"): one for one in updates}
    return [
        {"type": "task_card", "task_id": key, "title": one["title"], "status": one["status"]}
        for key, one in latest.items()
    ]


def _add(platform: Platform, room: Room, stream: Stream, piece: StreamPiece, blocks: list[JsonValue]) -> None:
    """Appends, in the mode in which the stream was begun. Raises `ApiError` streaming_mode_mismatch."""
    mode = "chunks" if piece.chunks else "markdown_text" if piece.text else None
    if mode is not None and stream.mode is not None and mode != stream.mode:
        raise refused("streaming_mode_mismatch", f"begun with {stream.mode}, went on with {mode}")
    if len(stream.blocks) + len(blocks) > 2 * MAX_MESSAGE_BLOCKS:
        raise refused("msg_blocks_too_many")
    if piece.chunks:
        stream.mode = "chunks"
    elif piece.text:
        stream.mode = "markdown_text"
    stream.pieces.append(piece)
    stream.blocks += blocks
    shown = [rich_text(stream.text, platform.new_id("b")[-5:])] if stream.text else []
    version = Version(
        text=stream.text,
        blocks=(*shown, *_cards(stream), *with_ids(platform, objects_of(stream.blocks))),
        metadata=None,
        at=platform.clock(),
        pings=pinged_by(stream.text) | pinged_by_blocks(stream.blocks),
        markdown=True,
    )
    platform.revise(room, room.messages[stream.ts], version)
