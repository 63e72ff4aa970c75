"""What Slack calls an emoji: it takes names only (https://docs.slack.dev/reference/methods/reactions.add)."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_VARIATION: Final = "\ufe0f"
_NAMES: Final = {
    "👍": "+1", "👎": "-1", "✅": "white_check_mark", "⏳": "hourglass_flowing_sand", "❤": "heart", "🎉": "tada",
    "🙏": "pray", "👌": "ok_hand", "💯": "100", "⚡": "zap", "🔎": "mag_right", "🔍": "mag", "👋": "wave", "👏": "clap",
    "🙂": "slightly_smiling_face", "😀": "grinning", "😄": "smile", "✍": "writing_hand", "⚙": "gear", "✨": "sparkles",
    "🤝": "handshake", "💡": "bulb", "🧠": "brain", "🛠": "hammer_and_wrench", "🔄": "arrows_counterclockwise",
}  # fmt: skip
"""Those whose name is not the Unicode Standard's."""


def name_of(emoji: str) -> str | None:
    """Slack's name, None where it is not to be guessed. A name between colons is taken as it is."""
    if found := re.fullmatch(r":([a-z0-9_+'-]{1,100}):", emoji):
        return found[1]
    bare = emoji.replace(_VARIATION, "")
    if bare in _NAMES:
        return _NAMES[bare]
    called = unicodedata.name(bare, "") if len(bare) == 1 else ""
    return re.sub(r"[ -]", "_", called.lower()) or None
