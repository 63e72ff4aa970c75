"""The methods that send files, and getFile.

Sources: https://core.telegram.org/bots/api#sending-files, #sendphoto, #senddocument, #sendvoice, #sendaudio,
#sendvideo, #sendmediagroup, #getfile. Where Telegram sends a file as something else than was asked for, the double
refuses.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tests.fakes.telegram.entities import read_entities
from tests.fakes.telegram.errors import ApiError, bad_request
from tests.fakes.telegram.images import dimensions
from tests.fakes.telegram.markup import check_markup
from tests.fakes.telegram.messages import formatted, may_write, replied_to, thread_of
from tests.fakes.telegram.model import Entity, JsonObject, JsonValue, Media, Message, Upload
from tests.fakes.telegram.params import Params
from tests.fakes.telegram.platform import Platform, Room
from tests.fakes.telegram.text import finished_text

MAX_PHOTO = 10 << 20  # "The photo must be at most 10 MB in size"; TDLib counts 10485760 bytes
MAX_FILE = 50 << 20  # "Bots can currently send files of any type of up to 50 MB in size"
MAX_FILE_LOCAL = 2000 << 20  # https://core.telegram.org/bots/api#using-a-local-bot-api-server
MAX_DOWNLOAD = 20 << 20  # "bots can download files of up to 20MB in size"; MAX_DOWNLOAD_FILE_SIZE of telegram-bot-api
MAX_SIDES = 10_000  # "The photo's width and height must not exceed 10000 in total"
MAX_RATIO = 20  # "Width and height ratio must be at most 20"
GROUP_SIZES = range(2, 11)  # "must include 2-10 items"

_ENDINGS = {
    "voice": ("ogg", "oga", "opus", "mp3", "m4a"),  # "an .OGG file encoded with OPUS, or in .MP3 [...] or .M4A format"
    "audio": ("mp3", "m4a"),  # "must be in the .MP3 or .M4A format"
    "video": ("mp4", "m4v"),  # "Telegram clients support MPEG4 videos"
}
_NAMES = {"photo": "photos", "document": "documents", "voice": "voice notes", "audio": "audios", "video": "videos"}
_ALIKE = {"photo": "visual", "video": "visual", "document": "document", "audio": "audio"}
_ITEM = frozenset({"type", "media", "caption", "caption_entities"})
_ITEM_MORE = {
    "photo": frozenset({"has_spoiler", "show_caption_above_media"}),
    "video": frozenset(
        {"supports_streaming", "has_spoiler", "show_caption_above_media", "width", "height", "duration"}
    ),
    "audio": frozenset({"duration", "performer", "title"}),
    "document": frozenset({"disable_content_type_detection"}),
}


@dataclass(frozen=True, kw_only=True)
class _Words:
    text: str | None
    entities: tuple[Entity, ...]


def sender_of(kind: str) -> Callable[[Platform, Params], JsonValue]:
    """The method that sends one file of a kind."""

    def send(platform: Platform, params: Params) -> JsonValue:
        room = platform.reachable_room(params.values.get("chat_id"))
        text, entities = formatted(params, caption=True)
        check_markup(params.object("reply_markup"))
        upload = _uploaded(params, kind, params.values.get(kind))
        _check(platform, kind, upload)
        may_write(platform, room, _NAMES[kind])
        message = _draft(platform, room, params)
        platform.flood.admit(f"send{kind}", room.chat)
        room.draft = None
        words = _Words(text=text or None, entities=entities)
        return platform.message_json(_posted(platform, message, _media(platform, kind, upload), words))

    return send


def send_media_group(platform: Platform, params: Params) -> JsonValue:
    room = platform.reachable_room(params.values.get("chat_id"))
    items = params.array("media")
    if items is None or len(items) not in GROUP_SIZES:
        raise _album(f"an album has 2-10 items, not {len(items or ())}")
    read = [_item(platform, params, item) for item in items]
    if len({_ALIKE[kind] for kind, _, _ in read}) != 1:
        raise _album("can't use the media of the specified type in the album")
    for kind, _, _ in read:
        may_write(platform, room, _NAMES[kind])
    if unused := params.uploads.keys() - {str(item.get("media"))[9:] for item in items if isinstance(item, dict)}:
        raise _album(f"files that no item attaches: {sorted(unused)}")
    message = _draft(platform, room, params)
    platform.flood.admit("sendmediagroup", room.chat)
    room.draft = None
    group = f"album{params.number}"
    posted = [
        _posted(platform, message, _media(platform, kind, upload), words, group=group) for kind, upload, words in read
    ]
    return [platform.message_json(one) for one in posted]


def _item(platform: Platform, params: Params, item: JsonValue) -> tuple[str, Upload, _Words]:
    if not isinstance(item, dict) or str(item.get("type")) not in _ALIKE:
        raise _album("can't parse InputMedia: wrong type")
    kind = str(item["type"])
    if unknown := item.keys() - _ITEM - _ITEM_MORE[kind]:
        raise _album(f"can't parse InputMedia: unknown fields {sorted(unknown)}")
    upload = _uploaded(params, kind, item.get("media"))
    _check(platform, kind, upload)
    listed, caption = item.get("caption_entities") or [], item.get("caption") or ""
    if not isinstance(listed, list) or not isinstance(caption, str):
        raise _album("can't parse InputMedia: wrong caption")
    text, entities = finished_text(caption, read_entities(listed), may_be_empty=True, caption=True)
    return kind, upload, _Words(text=text or None, entities=entities)


def _uploaded(params: Params, kind: str, given: JsonValue) -> Upload:
    name = given[len("attach://") :] if isinstance(given, str) and given.startswith("attach://") else kind
    upload = params.uploads.get(name)
    if upload is None:
        raise bad_request(f"there is no {kind} in the request", rule="upload")
    return upload


def _check(platform: Platform, kind: str, upload: Upload) -> None:
    size, most = len(upload.content), MAX_FILE if platform.local is None else MAX_FILE_LOCAL
    if not size:
        raise bad_request("file must be non-empty", rule="upload")
    if size > most:
        raise ApiError(413, "Request Entity Too Large", rule="file_size")
    if kind == "photo":
        _check_photo(upload)
    ending = upload.name.rpartition(".")[2].lower()
    if ending not in _ENDINGS.get(kind, (ending,)):
        raise bad_request(f"a file {upload.name} is no {kind}", rule="upload")


def _check_photo(upload: Upload) -> None:
    size = len(upload.content)
    if size > MAX_PHOTO:
        reason = f"file of size {size} bytes is too big for a photo; the maximum size is {MAX_PHOTO} bytes"
        raise bad_request(reason, rule="file_size")
    sides = dimensions(upload.content)
    if sides is None:
        raise bad_request("IMAGE_PROCESS_FAILED")
    if sum(sides) > MAX_SIDES or max(sides) > MAX_RATIO * min(sides):
        raise bad_request("PHOTO_INVALID_DIMENSIONS")


def _media(platform: Platform, kind: str, upload: Upload) -> Media:
    size = dimensions(upload.content) or (90, 60)
    media = Media(
        kind=kind, file_id="", name=upload.name, media_type=upload.media_type, content=upload.content, size=size
    )
    return platform.keep(media)


def _draft(platform: Platform, room: Room, params: Params) -> Message:
    reply_to = replied_to(params, room)
    thread_id = thread_of(params, room, reply_to)
    return Message(
        chat_id=room.chat.id,
        message_id=0,
        date=platform.date(),
        at=platform.clock(),
        sender=None if room.chat.type == "channel" else platform.bot,
        sender_chat=room.chat if room.chat.type == "channel" else None,
        by_our_bot=True,
        reply_to=reply_to,
        thread_id=thread_id,
        is_topic_message=thread_id is not None and (room.chat.is_forum or room.chat.type == "private"),
        reply_markup=params.object("reply_markup"),
        silent=params.flag("disable_notification"),
    )


def _posted(platform: Platform, draft: Message, media: Media, words: _Words, *, group: str | None = None) -> Message:
    message = replace(draft, media=media, caption=words.text, caption_entities=words.entities, media_group_id=group)
    return platform.post(platform.room(draft.chat_id), message)


def get_file(platform: Platform, params: Params) -> JsonValue:
    file_id = params.text("file_id") or ""
    if file_id not in platform.files:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    size = len(platform.files[file_id])
    if size > MAX_DOWNLOAD and platform.local is None:
        raise bad_request("file is too big")
    path = file_id if platform.local is None else str(platform.local_path(file_id))
    return {"file_id": file_id, "file_unique_id": f"u{file_id}", "file_size": size, "file_path": path}


def _album(reason: str) -> ApiError:
    return bad_request(reason, rule="album")


def upload_notes(uploads: Mapping[str, Upload]) -> JsonObject:
    """What the record of calls says of the files in a body."""
    return {name: upload.json() for name, upload in uploads.items() if name in _NAMES}
