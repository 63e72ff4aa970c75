"""What a body wants a message to be, checked against every documented limit.

https://docs.discord.com/developers/resources/message#create-message
"""

from dataclasses import dataclass

from tests.fakes.discord.components import check_components, check_embeds
from tests.fakes.discord.errors import ApiError, empty_message, too_large
from tests.fakes.discord.forms import Faults, Form, as_snowflake
from tests.fakes.discord.mentions import Allowed, read_allowed
from tests.fakes.discord.model import (
    COMPONENTS_V2,
    SUPPRESS_EMBEDS,
    SUPPRESS_NOTIFICATIONS,
    VOICE_MESSAGE,
    Attachment,
    JsonObject,
    Version,
    present,
)
from tests.fakes.discord.platform import Platform
from tests.fakes.discord.request import Upload

MOST_CONTENT = 2000  # code points
MOST_NONCE = 25
MOST_FILES = 10
FILE_LIMIT = 10 * 1024 * 1024  # docs, "Uploading Files": 10 MiB where nobody pays
SETTABLE = SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | VOICE_MESSAGE | COMPONENTS_V2

EDITED_WITH = frozenset(
    {"content", "embeds", "flags", "allowed_mentions", "components", "attachments", "tts", "poll", "payload_json"}
)
CREATED_WITH = EDITED_WITH | {"nonce", "enforce_nonce", "message_reference", "sticker_ids", "shared_client_theme"}


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A checked body. None means that the body does not speak of it."""

    content: str | None
    embeds: tuple[JsonObject, ...] | None
    components: tuple[JsonObject, ...] | None
    attachments: tuple[Attachment, ...] | None
    flags: int
    allowed: Allowed
    nonce: str | int | None = None
    enforce_nonce: bool = False
    reference: JsonObject | None = None
    stickers: tuple[int, ...] = ()

    def version(self, before: Version | None, at: float) -> Version:
        """What the message says with this draft, on top of what it said before. Outer white space is cut off."""
        was = before or Version(content="")
        return Version(
            content=was.content if self.content is None else self.content.strip(),
            embeds=was.embeds if self.embeds is None else self.embeds,
            components=was.components if self.components is None else self.components,
            attachments=was.attachments if self.attachments is None else self.attachments,
            at=at,
        )


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What the place of the draft allows: flags beyond the usual, the default mentions, what is edited.

    `place` is where the draft stands in the body, for the faults.
    """

    default: Allowed
    extra_flags: int = 0
    had: Version | None = None
    had_flags: int = 0
    place: str = ""


def read_draft(
    platform: Platform, body: JsonObject, uploads: tuple[Upload, ...], terms: Terms, faults: Faults | None = None
) -> Draft:
    """Raises `ApiError` 40005, 50035 or 50006. With `faults` it leaves the refusing to the caller."""
    if any(len(upload.content) > FILE_LIMIT for upload in uploads):
        raise too_large()
    own = faults or Faults()
    form = Form(body, own, terms.place)
    flags = form.integer("flags") or 0
    if terms.had is None and flags & ~(SETTABLE | terms.extra_flags):
        form.fault("flags", "MESSAGE_FLAGS_INVALID", "Invalid flags")
    layout = bool((flags | terms.had_flags) & COMPONENTS_V2)
    draft = Draft(
        content=_cleared(form, "content", form.text("content", most=MOST_CONTENT)),
        embeds=_listed(form, "embeds", check_embeds(form)),
        components=_listed(form, "components", check_components(form, layout=layout)),
        attachments=_read_files(platform, form, uploads, terms.had),
        flags=flags,
        allowed=read_allowed(form, terms.default),
        nonce=_read_nonce(form),
        enforce_nonce=form.flag("enforce_nonce"),
        reference=_read_reference(form),
        stickers=tuple(form.snowflakes("sticker_ids", most=3)),
    )
    form.flag("tts")
    if layout and (draft.content or draft.embeds or draft.stickers):
        words = "The 'content' field cannot be used when using MessageFlags.IS_COMPONENTS_V2"
        form.fault("content", "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", words)
    if faults is None:
        own.refuse()
    if flags & VOICE_MESSAGE and terms.had is None:
        _check_voice(draft)
    return draft


def _check_voice(draft: Draft) -> None:
    """Raises `ApiError` where the draft is no voice message."""
    files = draft.attachments or ()
    if draft.content or draft.embeds or draft.components or draft.stickers:
        raise ApiError(400, 50159, "Voice messages do not support additional content.", rule="voice_message")
    if len(files) != 1 or not (files[0].content_type or "").startswith("audio/"):
        raise ApiError(400, 50160, "Voice messages must have a single audio attachment.", rule="voice_message")
    if not {"duration_secs", "waveform"} <= files[0].extra.keys():
        raise ApiError(400, 50161, "Voice messages must have supporting metadata.", rule="voice_message")


def refuse_empty(version: Version, stickers: tuple[int, ...] = (), *, poll: bool = False) -> None:
    """Raises `ApiError` 50006 where nothing would be seen."""
    shown = version.content.strip() or version.embeds or version.components or version.attachments
    if not shown and not stickers and not poll:
        raise empty_message()


def _cleared(form: Form, name: str, value: str | None) -> str | None:
    """null empties the field; a missing field leaves it."""
    return "" if value is None and name in form.values else value


def _listed(form: Form, name: str, values: list[JsonObject]) -> tuple[JsonObject, ...] | None:
    return tuple(values) if name in form.values else None


def _read_nonce(form: Form) -> str | int | None:
    value = form.values.get("nonce")
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if not isinstance(value, str):
        form.fault("nonce", "NONCE_TYPE_CONVERT", "Nonce must be an integer or a string.")
        return None
    if len(value) > MOST_NONCE:
        form.fault("nonce", "NONCE_TYPE_TOO_LONG", "Nonces must be 25 characters or fewer.")
    return value


def _read_reference(form: Form) -> JsonObject | None:
    inner = form.within("message_reference")
    if inner is None:
        return None
    kind = inner.choice("type", frozenset({0, 1})) or 0
    message_id = inner.snowflake("message_id", required=True)
    channel_id = inner.snowflake("channel_id", required=kind == 1)
    lenient = "fail_if_not_exists" in inner.values and not inner.flag("fail_if_not_exists")
    ids = {
        "message_id": None if message_id is None else str(message_id),
        "channel_id": None if channel_id is None else str(channel_id),
    }
    return present({"type": kind, **ids, "lenient": lenient})


def _read_files(
    platform: Platform, form: Form, uploads: tuple[Upload, ...], had: Version | None
) -> tuple[Attachment, ...] | None:
    """Uploads by their number, described by `attachments`; on an edit, those listed there by id are kept."""
    listed = form.each("attachments", most=MOST_FILES)
    named = {one.snowflake("id", required=True): one for one in listed}
    fresh: dict[int, Upload] = {}
    for upload in uploads:
        place = upload.name.removeprefix("files[").removesuffix("]")
        fresh[int(place) if place.isdecimal() else len(fresh)] = upload
    kept = {one.id: one for one in (had.attachments if had is not None else ())}
    if len(fresh) > MOST_FILES:
        form.fault("attachments", "BASE_TYPE_MAX_LENGTH", f"Must be {MOST_FILES} or fewer in length.")
    for file_id, one in named.items():
        if file_id is not None and file_id not in fresh and file_id not in kept:
            one.fault("id", "ATTACHMENT_NOT_FOUND", f"Attachment data for id {file_id} was not found.")
    if "attachments" not in form.values and not fresh:
        return None
    still = [one for key, one in kept.items() if key in named or "attachments" not in form.values]
    return tuple(still + [_made(platform, upload, named.get(number)) for number, upload in sorted(fresh.items())])


def _made(platform: Platform, upload: Upload, described: Form | None) -> Attachment:
    extra: JsonObject = {}
    description = filename = None
    if described is not None:
        description = described.text("description", most=1024)
        filename = described.text("filename", most=260)
        for name in ("duration_secs", "waveform"):
            extra |= {name: described.values[name]} if name in described.values else {}
    return Attachment(
        id=platform.new_id(),
        filename=filename or upload.filename,
        content=upload.content,
        content_type=content_type_of(upload.filename),
        description=description,
        extra=extra,
    )


_TYPES = {
    "txt": "text/plain; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "pdf": "application/pdf",
    "ogg": "audio/ogg",
    "mp3": "audio/mpeg",
    "wav": "audio/x-wav",
    "mp4": "video/mp4",
    "json": "application/json; charset=utf-8",
}


def content_type_of(filename: str) -> str | None:
    """As Discord guesses it from the name; None where it doesn't."""
    return _TYPES.get(filename.rpartition(".")[2].lower())


def reference_ids(reference: JsonObject) -> tuple[int | None, int | None]:
    """The message's and the channel's id of a checked reference."""
    return as_snowflake(reference.get("message_id")), as_snowflake(reference.get("channel_id"))
