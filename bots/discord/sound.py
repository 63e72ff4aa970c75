"""What Discord wants to be told of a voice message: how long it is, and how loud where.

https://docs.discord.com/developers/resources/message#voice-messages: one file of sound, as clients record it Opus in
Ogg, `duration_secs`, and `waveform`: up to 256 bytes, at most one for each tenth of a second, in base64.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Final

from msgspec import Struct

from bots.discord.sdk import OggError, OggPage
from core.vocabulary import Delivery, FileKind

_RATE: Final = 48_000
"""Opus counts its samples so, whatever it was made from: https://www.rfc-editor.org/rfc/rfc7845#section-4."""
_NO_POSITION: Final = (1 << 64) - 1
"""Of a page on which no packet ends: https://www.rfc-editor.org/rfc/rfc3533#section-6."""
_HEADS: Final = 2
"""Packets before the sound."""
_MOST_POINTS, _POINTS_A_SECOND = 256, 10


class Sound(Struct, frozen=True, kw_only=True):
    """`waveform` as Discord wants it."""

    seconds: float
    waveform: str


def is_voice(delivery: Delivery) -> bool:
    """Is it a voice by itself? With words, buttons or other files it is a file like any other."""
    kinds = [file.kind for file in delivery.files]
    return kinds == [FileKind.VOICE] and not delivery.text.strip() and not delivery.buttons


def sound_in(path: Path) -> Sound | None:
    """None for what is no Opus in Ogg. Blocks."""
    try:
        with path.open("rb") as stream:
            head, samples, sizes = _read(stream)
    except (OggError, OSError):
        return None
    samples -= int.from_bytes(head[10:12], "little")
    if not head.startswith(b"OpusHead") or samples <= 0 or len(sizes) <= _HEADS:
        return None
    seconds = samples / _RATE
    points = min(_MOST_POINTS, max(1, int(seconds * _POINTS_A_SECOND)))
    waveform = bytes(_levels(sizes[_HEADS:], points))
    return Sound(seconds=round(seconds, 3), waveform=base64.b64encode(waveform).decode())


def _read(stream: IO[bytes]) -> tuple[bytes, int, list[int]]:
    """The first packet, how many samples there are, and the sizes of all packets. Raises `OggError`."""
    head, samples, sizes, begun = b"", 0, [], b""
    while stream.read(4) == b"OggS":
        page = OggPage(stream)
        if page.gran_pos != _NO_POSITION:
            samples = page.gran_pos
        for piece, whole in page.iter_packets():
            begun += piece
            if whole:
                head = head or begun
                sizes.append(len(begun))
                begun = b""
    return head, samples, sizes


def _levels(sizes: Sequence[int], points: int) -> Iterator[int]:
    """Without decoding it, how loud it is shows in how many bytes each stretch took."""
    ends = [len(sizes) * number // points for number in range(points + 1)]
    stretches = [sizes[begin : max(end, begin + 1)] for begin, end in pairwise(ends)]
    means = [sum(stretch) / len(stretch) for stretch in stretches]
    loudest = max(means) or 1.0
    for mean in means:
        yield round(255 * mean / loudest)
