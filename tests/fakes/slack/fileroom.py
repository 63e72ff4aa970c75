"""Files: upload in three steps, download with the token.

Source: https://docs.slack.dev/messaging/working-with-files.
"""

from dataclasses import replace

from aiohttp import web

from tests.fakes.slack.composing import by_bot, thread_of
from tests.fakes.slack.errors import ApiError, bad_arguments, refused
from tests.fakes.slack.events import tell_message
from tests.fakes.slack.files_json import file_json, shares_json
from tests.fakes.slack.model import File, JsonObject, JsonValue, Version, objects_of, text_of
from tests.fakes.slack.params import Params
from tests.fakes.slack.platform import Platform
from tests.fakes.slack.records import Installation, Room
from tests.fakes.slack.text import MAX_TEXT, pinged_by, rich_text

MAX_FILE_BYTES = 1024**3  # https://docs.slack.dev/messaging/working-with-files
MAX_SNIPPET_BYTES = 1024**2
MAX_ALT = 1_000
MIMETYPES = {
    "txt": "text/plain",
    "md": "text/markdown",
    "py": "text/x-python",
    "json": "application/json",
    "csv": "text/csv",
    "pdf": "application/pdf",
    "png": "image/png",
    "jpg": "image/jpeg",
    "gif": "image/gif",
    "mp3": "audio/mpeg",
    "m4a": "audio/mp4",
    "ogg": "audio/ogg",
    "mp4": "video/mp4",
}


def mimetype_of(name: str) -> str:
    return MIMETYPES.get(name.rpartition(".")[2].lower(), "application/octet-stream")


def get_upload_url(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    name, length = params.needed("filename"), params.integer("length")
    if not length:
        raise refused("missing_argument", "length")
    if length < 0 or length > MAX_FILE_BYTES:
        raise refused("file_upload_size_restricted")
    if len(params.text("alt_txt") or "") > MAX_ALT:
        raise refused("alt_txt_too_large")
    if params.text("snippet_type") and length > MAX_SNIPPET_BYTES:
        raise refused("snippet_too_large")
    file = File(
        id=platform.new_id("F"),
        team_id=caller.bot.team_id,
        user_id=caller.bot.user_id,
        name=name,
        title=name,
        mimetype=mimetype_of(name),
        content=b"",
        ready=False,
        expected_bytes=length,
        uploaded=False,
        created=int(platform.clock()),
    )
    platform.files[file.id] = file
    ticket = platform.new_secret("upload")
    platform.uploads[ticket] = file.id
    return {"upload_url": f"{platform.url}/upload/v1/{ticket}", "file_id": file.id}


def received(platform: Platform, ticket: str, content: bytes) -> web.Response:
    """The POST to the upload URL. Slack answers OK and the number of bytes, as text."""
    file_id = platform.uploads.get(ticket)
    if file_id is None:
        platform.journal.problem("upload", "upload", "unknown upload URL")
        return web.Response(status=404, text="not found")
    file = platform.files[file_id]
    if len(content) != file.expected_bytes:
        platform.journal.problem("upload", "upload", f"{len(content)} bytes, {file.expected_bytes} announced")
        return web.Response(status=400, text="length mismatch")
    platform.files[file_id] = replace(file, content=content, uploaded=True)
    return web.Response(text=f"OK - {len(content)}")


def complete_upload(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    listed = objects_of(params.array("files"))
    if not listed:
        raise bad_arguments("missing required field: files")
    files = [_finished(platform, caller, one) for one in listed]
    rooms = _rooms(platform, caller, params)
    if params.values.get("thread_ts") and len(rooms) != 1:
        raise refused("invalid_arguments", "thread_ts needs one channel")
    for file in files:
        platform.files[file.id] = replace(file, channel_ids=tuple(room.channel.id for room in rooms))
    for room in rooms:
        _share(platform, caller, room, [file.id for file in files], params)
    shown: list[JsonValue] = [file_json(platform, platform.files[one.id]) for one in files]
    return {"files": shown}


def _finished(platform: Platform, caller: Installation, wanted: JsonObject) -> File:
    file = platform.files.get(text_of(wanted, "id"))
    if file is None or file.ready or not file.uploaded or file.user_id != caller.bot.user_id:
        raise refused("file_not_found", str(wanted))
    return replace(file, ready=True, title=text_of(wanted, "title") or file.title)


def _rooms(platform: Platform, caller: Installation, params: Params) -> list[Room]:
    wanted = [params.text("channel_id") or "", *(params.text("channels") or "").split(",")]
    rooms = []
    for value in dict.fromkeys(one for one in wanted if one):
        room = platform.joined_room(caller, value)
        if room.archived:
            raise ApiError("is_archived")
        rooms.append(room)
    return rooms


def _share(platform: Platform, caller: Installation, room: Room, file_ids: list[str], params: Params) -> None:
    text = params.text("initial_comment") or ""
    if len(text) > MAX_TEXT:
        platform.remark("truncated", params.number, "initial_comment")
    version = Version(
        text=text[:MAX_TEXT],
        blocks=(rich_text(text, platform.new_id("b")[-5:]),) if text else (),
        metadata=None,
        at=platform.clock(),
        pings=pinged_by(text),
    )
    message = by_bot(caller, room, version, thread_of(platform, room, params))
    message = platform.keep(room, replace(message, subtype="file_share", file_ids=tuple(file_ids)))
    tell_message(platform, room, message)


def files_info(platform: Platform, caller: Installation, params: Params) -> JsonObject:
    file = platform.files.get(params.text("file") or "")
    if file is None or not _may_see(platform, caller, file):
        raise ApiError("file_not_found")
    body: JsonObject = {**file_json(platform, file), "shares": shares_json(platform, file)}
    return {"file": body, "comments": [], "response_metadata": {"next_cursor": ""}}


def _may_see(platform: Platform, caller: Installation, file: File) -> bool:
    mine = file.user_id == caller.bot.user_id
    shared = any(caller.bot.user_id in platform.rooms[one].members for one in file.channel_ids)
    return file.team_id == caller.bot.team_id and (mine or shared)


def downloaded(platform: Platform, place: str, token: str) -> web.Response | None:
    """The bytes, for a token that may read them; else None, and people are shown the login page."""
    file = platform.files.get(place.rpartition("-")[2])
    caller = platform.installations.get(token)
    if file is None or caller is None or caller.state != "active" or "files:read" not in caller.scopes:
        return None
    if not _may_see(platform, caller, file):
        return None
    return web.Response(body=file.content, content_type=file.mimetype)
