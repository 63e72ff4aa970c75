"""How large a picture is, from its first bytes: PNG (RFC 2083) and JPEG (ITU T.81)."""

import struct

_PNG = b"\x89PNG\r\n\x1a\n"
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})


def dimensions(content: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None for what is no picture."""
    if content.startswith(_PNG) and len(content) >= 24:
        width, height = struct.unpack(">II", content[16:24])
        return int(width), int(height)
    if content.startswith(b"\xff\xd8"):
        return _jpeg(content)
    return None


def _jpeg(content: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(content) and content[at] == 0xFF:
        marker, length = content[at + 1], int.from_bytes(content[at + 2 : at + 4], "big")
        if marker in _FRAMES:
            return int.from_bytes(content[at + 7 : at + 9], "big"), int.from_bytes(content[at + 5 : at + 7], "big")
        at += 2 + length
    return None


def png(width: int, height: int, *, padding: int = 0) -> bytes:
    """The beginning of a picture: enough to know its size."""
    return _PNG + struct.pack(">I4sII", 13, b"IHDR", width, height) + bytes(padding)
