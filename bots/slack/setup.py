"""What is asked to set up a bot on Slack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.ports import CommandHelp, Questions, SecretWanted


def _manifest(name: str, commands: Sequence[CommandHelp], address: str) -> str:
    from bots.slack.manifest import manifest

    return manifest(name, commands, "http" if address else "socket", address)


QUESTIONS: Final = Questions(
    platform="slack",
    title="Slack",
    secrets=(
        SecretWanted(
            option="bot_token",
            title="Bot token of the app",
            source="At https://api.slack.com/apps open the app, OAuth & Permissions, install it, and copy xoxb-…",
        ),
        SecretWanted(
            option="app_token",
            title="App-level token of the app",
            source="At Basic Information, App-Level Tokens, make one with the scope connections:write (xapp-).",
        ),
    ),
    own_id="TEAM/USER: both ids stand in Slack in your profile's menu and in the address of the web client, and /whoami"
    " tells them once the bot runs",
    offer=("groups", "stream"),
    paper=_manifest,
    paste_at="https://api.slack.com/apps, Create New App, From a manifest, JSON",
)
