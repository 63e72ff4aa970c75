"""Files on their way to Telegram: one call, whatever their number; an album takes no buttons.

Which kind of message a file becomes goes by what Telegram takes as one
(https://core.telegram.org/bots/api#sending-files, #sendphoto, #sendvoice, #sendaudio, #sendvideo, #sendmediagroup);
anything can be sent as a document.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import IO, Any, Final

import telegram
from telegram import error as sdk
from telegram.constants import FileSizeLimit, MediaGroupLimit

from bots.telegram.api import call
from bots.telegram.wording import caption, plainer
from core.delivery.split import whole_characters
from core.errors import Rejected
from core.vocabulary import Delivery, FileKind, OutFile

_READ_TIMEOUT_S: Final = 60.0
_SLOWEST: Final = 64 * 1024
"""Bytes a second that a line carries at least."""

_PHOTOS: Final = frozenset({"image/jpeg", "image/png", "image/webp"})
_VOICES: Final = frozenset({"audio/ogg", "audio/opus", "audio/mpeg", "audio/mp4"})
_AUDIOS: Final = frozenset({"audio/mpeg", "audio/mp4"})
_VIDEOS: Final = frozenset({"video/mp4"})
_SAME: Final[Mapping[str, str]] = {
    "application/ogg": "audio/ogg",
    "audio/m4a": "audio/mp4",
    "audio/mp3": "audio/mpeg",
    "audio/x-m4a": "audio/mp4",
    "image/jpg": "image/jpeg",
}
_METHODS: Final[Mapping[str, str]] = {
    "photo": "send_Photo",
    "document": "send_Document",
    "voice": "send_Voice",
    "audio": "send_Audio",
    "video": "send_Video",
}
_ITEMS: Final[Mapping[str, Callable[..., telegram.InputMedia]]] = {
    "photo": telegram.InputMediaPhoto,
    "document": telegram.InputMediaDocument,
    "audio": telegram.InputMediaAudio,
    "video": telegram.InputMediaVideo,
}
_CAPTION: Final = ("caption", "caption_entities")
_ANIMATED: Final = "image/gif"
_NO_PHOTO: Final = ("photo_invalid_dimensions", "image_process_failed", "photo_ext_invalid", "photo_save_file_invalid",
                    "unsupported extension", "too big for a photo")  # fmt: skip
_NO_VOICE: Final = ("voice_messages_forbidden", "restricted receiving of voice messages")
"""Some people take no voice messages; then it is a file like others."""
_NOT_TOGETHER: Final = "specified type in the album"


async def send_files(api: telegram.Bot, delivery: Delivery, where: Mapping[str, object]) -> Any:
    """The raw result: a message, or a list of them. What Telegram does not take as a photo goes as a document. Raises
    `Rejected`, and `telegram.error.TelegramError`."""
    files = delivery.files
    if len(files) > MediaGroupLimit.MAX_MEDIA_LENGTH:
        raise Rejected(f"Telegram takes {MediaGroupLimit.MAX_MEDIA_LENGTH:d} files at once, not {len(files)}")
    kinds = _kinds(files)

    async def with_caption(plainly: bool) -> Any:
        return await _send(api, files, kinds, {**where, **caption(delivery.text, plainly)})

    try:
        return await plainer(with_caption)
    except sdk.BadRequest as error:
        if not _refused_as_such(error, kinds):
            raise
    kinds = ["document"] * len(files)
    return await plainer(with_caption)


def _kinds(files: Sequence[OutFile]) -> list[str]:
    """What each becomes. Photos and videos may be mixed; otherwise an album is of one kind, and none is of voice."""
    kinds = [_kind(file) for file in files]
    if len(files) == 1 or set(kinds) <= {"photo", "video"} or set(kinds) == {"audio"}:
        return kinds
    return ["document"] * len(files)


def _kind(file: OutFile) -> str:
    media_type = file.media_type.partition(";")[0].strip().lower()
    media_type = _SAME.get(media_type, media_type)
    match file.kind:
        case FileKind.IMAGE if media_type in _PHOTOS and file.size <= FileSizeLimit.PHOTOSIZE_UPLOAD:
            return "photo"
        case FileKind.VOICE if media_type in _VOICES:
            return "voice"
        case FileKind.VOICE | FileKind.AUDIO if media_type in _AUDIOS:
            return "audio"
        case FileKind.VIDEO if media_type in _VIDEOS:
            return "video"
        case _:
            return "document"


def _refused_as_such(error: sdk.BadRequest, kinds: Sequence[str]) -> bool:
    words = error.message.lower()
    photo = "photo" in kinds and any(sign in words for sign in _NO_PHOTO)
    voice = "voice" in kinds and any(sign in words for sign in _NO_VOICE)
    return photo or voice or (set(kinds) != {"document"} and _NOT_TOGETHER in words)


async def _send(api: telegram.Bot, files: Sequence[OutFile], kinds: Sequence[str], where: Mapping[str, object]) -> Any:
    body_s = _READ_TIMEOUT_S + sum(file.size for file in files) / _SLOWEST
    with ExitStack() as stack:
        opened = await asyncio.to_thread(_open, files, stack)
        if len(files) == 1:
            (file,), (kind,) = files, kinds
            arguments = {**where, **_more(kind, file), kind: _input(file, opened[0])}
            return await call(api, _METHODS[kind], arguments, _READ_TIMEOUT_S, body_s)
        return await call(api, "send_Media_Group", _album(files, kinds, opened, where), _READ_TIMEOUT_S, body_s)


def _album(
    files: Sequence[OutFile], kinds: Sequence[str], opened: Sequence[IO[bytes]], where: Mapping[str, object]
) -> dict[str, object]:
    """The caption of an album is its first item's."""
    rest = {key: value for key, value in where.items() if key not in _CAPTION}
    items: list[telegram.InputMedia] = []
    for file, kind, handle in zip(files, kinds, opened, strict=True):
        words = {} if items else _of_sdk(where)
        items.append(_ITEMS[kind](_input(file, handle, attached=True), **_more_in_album(kind), **words))
    return {**rest, "media": items}


def _of_sdk(where: Mapping[str, object]) -> dict[str, object]:
    """The caption with the SDK's own entities: in an album it takes nothing else."""
    listed = where.get("caption_entities")
    entities = [telegram.MessageEntity(**one) for one in listed] if isinstance(listed, list) else []
    return {"caption": where.get("caption"), "caption_entities": entities}


def _more(kind: str, file: OutFile) -> dict[str, object]:
    if kind == "document" and file.media_type != _ANIMATED:
        return {"disable_content_type_detection": True}  # else a song would become audio, a picture a sticker
    return _more_in_album(kind)


def _more_in_album(kind: str) -> dict[str, object]:
    return {"supports_streaming": True} if kind == "video" else {}


def _input(file: OutFile, opened: IO[bytes], *, attached: bool = False) -> telegram.InputFile:
    name = whole_characters(file.name) or "file"
    made = telegram.InputFile(opened, filename=name, attach=attached, read_file_handle=False)
    if file.media_type:
        made.mimetype = file.media_type
    return made


def _open(files: Sequence[OutFile], stack: ExitStack) -> list[IO[bytes]]:
    """On a thread. Raises `Rejected`."""
    try:
        return [stack.enter_context(file.path.open("rb")) for file in files]
    except OSError as error:
        raise Rejected(f"a file to be sent can't be read ({error.strerror})") from error
