"""What is asked to set up a bot on Discord."""

from __future__ import annotations

from typing import Final

from core.ports import Questions, SecretWanted

QUESTIONS: Final = Questions(
    platform="discord",
    title="Discord",
    secrets=(
        SecretWanted(
            option="token",
            title="Token of the bot",
            source=(
                "Open https://discord.com/developers/applications, New Application; under Bot switch on Message "
                "Content Intent and copy the token with Reset Token; under Installation add the scope bot, and "
                "invite it by the link there."
            ),
        ),
    ),
    own_id="a number: turn on Developer Mode under Advanced, then Copy User ID in the menu of your own name",
    offer=("groups", "auto_thread", "stream"),
)
