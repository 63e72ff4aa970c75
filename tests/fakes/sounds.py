"""Sound files with no sound in them, built as the RFCs say."""

from __future__ import annotations

import struct
from collections.abc import Sequence

FRAME = 960
"""Samples of a packet of 20 ms."""
PRE_SKIP = 312


def ogg_opus(sizes: Sequence[int], *, per_page: int = 10) -> bytes:
    """Opus in Ogg: a packet of 20 ms for each size (https://www.rfc-editor.org/rfc/rfc7845)."""
    head = b"OpusHead" + struct.pack("<BBHIhB", 1, 1, PRE_SKIP, 48_000, 0, 0)
    tags = b"OpusTags" + struct.pack("<I", 4) + b"test" + struct.pack("<I", 0)
    pages = [_page([head], 0, 0, first=True), _page([tags], 0, 1)]
    for begin in range(0, len(sizes), per_page):
        part = sizes[begin : begin + per_page]
        granule = PRE_SKIP + (begin + len(part)) * FRAME
        pages.append(_page([bytes([n % 256 for n in range(size)]) for size in part], granule, len(pages)))
    return b"".join(pages)


def _page(packets: Sequence[bytes], granule: int, number: int, *, first: bool = False) -> bytes:
    """https://www.rfc-editor.org/rfc/rfc3533#section-6; nobody here looks at the checksum."""
    lengths = b"".join(bytes([255] * (len(one) // 255) + [len(one) % 255]) for one in packets)
    told = struct.pack("<4sBBqIIIB", b"OggS", 0, 2 if first else 0, granule, 1, number, 0, len(lengths))
    return told + lengths + b"".join(packets)
