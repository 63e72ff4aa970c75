"""What a file is, by its first bytes and its name."""

from __future__ import annotations

from pathlib import PurePath

from core.vocabulary import FileKind

SEEN = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
"""Pictures that every model with eyes takes, by how they begin; WebP is told apart below."""
PDF = "application/pdf"
_ENDINGS = """c cc cfg conf cpp cs css csv diff go h hpp htm html ini java js json jsonl kt log lua md markdown patch
php pl po py r rb rs rst sh sql srt svg swift tex toml ts tsv tsx txt vtt xml yaml yml"""
_TEXTS = frozenset(_ENDINGS.split())
_TEXT_TYPES = frozenset(
    ("application/json", "application/xml", "application/yaml", "application/toml", "application/x-sh",
     "application/javascript", "application/x-ndjson", "application/sql", "image/svg+xml")
)  # fmt: skip


def picture_type(head: bytes) -> str | None:
    """The media type of a picture that models can be shown; None for anything else."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for begin, media_type in SEEN.items() if head.startswith(begin)), None)


def is_pdf(head: bytes) -> bool:
    """By ISO 32000: `%PDF-` stands at the beginning, maybe behind a few bytes of something else."""
    return b"%PDF-" in head


def is_text(media_type: str, name: str) -> bool:
    """Does it claim to be text?"""
    plain = media_type.partition(";")[0].strip().lower()
    return plain.startswith("text/") or plain in _TEXT_TYPES or PurePath(name).suffix.lower().lstrip(".") in _TEXTS


def kind_of(media_type: str) -> FileKind:
    """How people should be shown a file that an agent sends."""
    main = media_type.partition("/")[0].lower()
    if media_type.lower() in {*SEEN.values(), "image/webp"}:
        return FileKind.IMAGE
    return {"audio": FileKind.AUDIO, "video": FileKind.VIDEO}.get(main, FileKind.FILE)
