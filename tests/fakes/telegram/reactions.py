"""Which reactions a bot can set. Source: https://core.telegram.org/bots/api#setmessagereaction, #reactiontypeemoji."""

from collections.abc import Sequence

from tests.fakes.telegram.errors import bad_request
from tests.fakes.telegram.model import JsonValue

_EMOJI = """
👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾
💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡
"""
EMOJI = frozenset(_EMOJI.split())
MAX_REACTIONS_OF_A_BOT = 1
_VARIATION_SELECTOR = "\ufe0f"


def _plain(emoji: str) -> str:
    return emoji.replace(_VARIATION_SELECTOR, "")


def reaction_emoji(reactions: Sequence[JsonValue]) -> tuple[str, ...]:
    """The emoji of a `reaction` parameter. Raises `ApiError` for what bots may not set."""
    if len(reactions) > MAX_REACTIONS_OF_A_BOT:
        raise bad_request("REACTIONS_TOO_MANY", rule="reaction")
    found: list[str] = []
    for reaction in reactions:
        if not isinstance(reaction, dict) or str(reaction.get("type")) not in {"emoji", "custom_emoji"}:
            raise bad_request("can't parse reaction type: Unsupported type specified", rule="reaction")
        emoji = reaction.get("emoji") if reaction["type"] == "emoji" else reaction.get("custom_emoji_id")
        if not isinstance(emoji, str):
            raise bad_request("can't parse reaction type: Can't find field \"emoji\"", rule="reaction")
        known = emoji.isdecimal() if reaction["type"] == "custom_emoji" else _plain(emoji) in EMOJI
        if not known:
            raise bad_request("REACTION_INVALID", rule="reaction")
        found.append(emoji)
    return tuple(found)
