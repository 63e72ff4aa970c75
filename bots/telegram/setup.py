"""What is asked to set up a bot on Telegram."""

from __future__ import annotations

from typing import Final

from core.ports import Questions, SecretWanted

QUESTIONS: Final = Questions(
    platform="telegram",
    title="Telegram",
    secrets=(
        SecretWanted(
            option="token",
            title="Token of the bot",
            source="Open https://t.me/BotFather in Telegram, send /newbot, choose two names, and copy the token.",
        ),
    ),
    own_id="a number, as a bot like https://t.me/userinfobot tells it, and /whoami to this one once it runs",
    offer=("groups", "stream"),
)
