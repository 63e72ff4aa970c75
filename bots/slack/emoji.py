"""What Slack calls an emoji: it takes names only (https://docs.slack.dev/reference/methods/reactions.add)."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Final

_VARIATION: Final = "\ufe0f"
_TONE: Final = re.compile("[\U0001f3fb-\U0001f3ff]")
_FLAG: Final = re.compile("[\U0001f1e6-\U0001f1ff]{2}")
_NAMES: Final = dict(
    line.split(" ") for line in Path(__file__).with_name("emoji.txt").read_text(encoding="utf-8").splitlines()
)
"""Those whose name is not the Unicode Standard's, in the set that Slack uses: https://github.com/iamcal/emoji-data,
Unicode 15.1."""


def name_of(emoji: str) -> str | None:
    """Slack's name, None where it is not to be guessed. A name between colons is taken as it is."""
    if found := re.fullmatch(r":([a-z0-9_+'-]{1,100}(?:::skin-tone-[2-6])?):", emoji):
        return found[1]
    tones = _TONE.findall(emoji)
    name = _toneless(_TONE.sub("", emoji.replace(_VARIATION, "")))
    return f"{name}::skin-tone-{ord(tones[0]) - 0x1F3F9}" if name is not None and len(tones) == 1 else name


def _toneless(emoji: str) -> str | None:
    if emoji in _NAMES:
        return _NAMES[emoji]
    if _FLAG.fullmatch(emoji):
        return "flag-" + "".join(chr(ord(letter) - 0x1F1E6 + ord("a")) for letter in emoji)
    called = unicodedata.name(emoji, "") if len(emoji) == 1 else ""
    return re.sub(r"[ -]", "_", called.lower()) or None
