"""The manifest that sets the app up in one paste at https://api.slack.com/apps
(https://docs.slack.dev/reference/app-manifest). Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal

from bots.slack import words
from bots.slack.interactions import ASK
from core.ports import CommandHelp

SCOPES_OF_METHODS: Final[Mapping[str, tuple[str, ...]]] = {
    "assistant.threads.setStatus": ("chat:write",),
    "assistant.threads.setSuggestedPrompts": ("assistant:write",),
    "assistant.threads.setTitle": ("assistant:write",),
    "auth.test": (),
    "bots.info": ("users:read",),
    "chat.appendStream": ("chat:write",),
    "chat.postEphemeral": ("chat:write",),
    "chat.postMessage": ("chat:write",),
    "chat.startStream": ("chat:write",),
    "chat.stopStream": ("chat:write",),
    "chat.update": ("chat:write",),
    "conversations.history": ("channels:history", "groups:history", "im:history", "mpim:history"),
    "conversations.info": ("channels:read", "groups:read", "im:read", "mpim:read"),
    "conversations.open": ("im:write",),
    "conversations.replies": ("channels:history", "groups:history", "im:history", "mpim:history"),
    "files.completeUploadExternal": ("files:write",),
    "files.getUploadURLExternal": ("files:write",),
    "files.info": ("files:read",),
    "reactions.add": ("reactions:write",),
    "users.conversations": ("im:read",),
    "users.info": ("users:read",),
    "views.open": (),
    "views.publish": (),
}
"""Every method that is called with the bot token, and what it needs (https://docs.slack.dev/reference/methods)."""
SCOPES_OF_EVENTS: Final[Mapping[str, str]] = {
    "app_home_opened": "",
    "app_mention": "app_mentions:read",
    "app_uninstalled": "",
    "assistant_thread_started": "assistant:write",
    "channel_id_changed": "groups:read",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.im": "im:history",
    "message.mpim": "mpim:history",
    "tokens_revoked": "",
}
"""Every event that is understood, and what it needs (https://docs.slack.dev/reference/events)."""
_OF_ASSISTANTS: Final = frozenset({"assistant_thread_started"})
"""What an app is told that was made an assistant before there were agents; a new one can only be an agent:
https://docs.slack.dev/ai/migrating-to-agent-messaging."""
COMMAND: Final = "/frontdesk"
_NAME: Final = 35
_HINT: Final = 1_000
_LEAST_DESCRIPTION: Final = 174
_MOST_DESCRIPTION: Final = 4_000


def scopes() -> tuple[str, ...]:
    """What the bot token needs, for all that is called and heard."""
    of_methods = {scope for needed in SCOPES_OF_METHODS.values() for scope in needed}
    return tuple(sorted(of_methods | {scope for scope in SCOPES_OF_EVENTS.values() if scope} | {"commands"}))


def lacking(scopes_held: Collection[str]) -> tuple[str, ...]:
    """What a bot token with these scopes can't do."""
    return tuple(scope for scope in scopes() if scope not in scopes_held)


def manifest(name: str, commands: Sequence[CommandHelp], mode: Literal["socket", "http"], url: str = "") -> str:
    """As JSON. `name` is what people call the app, `commands` the command table; `url` is where Slack reaches us, for
    the mode "http"."""
    return json.dumps(_manifest(name, commands, mode, url), indent=2, ensure_ascii=False)


def _manifest(name: str, commands: Sequence[CommandHelp], mode: str, url: str) -> dict[str, object]:
    address = {"request_url": url} if mode == "http" else {}
    menus = {"message_menu_options_url": url} if mode == "http" else {}
    table = ", ".join(_typed(one) for one in commands)
    return {
        "display_information": {
            "name": name[:_NAME],
            "description": words.COMMAND_DESCRIPTION,
            "long_description": _long(name, commands),
        },
        "features": {
            "app_home": {
                "home_tab_enabled": True,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "agent_view": {"agent_description": words.COMMAND_DESCRIPTION},
            "bot_user": {"display_name": name, "always_online": True},
            "shortcuts": [
                {
                    "name": words.ASK_SHORTCUT,
                    "type": "message",
                    "callback_id": ASK,
                    "description": words.ASK_DESCRIPTION,
                }
            ],
            "slash_commands": [
                {
                    "command": COMMAND,
                    "description": words.COMMAND_DESCRIPTION,
                    "usage_hint": table[:_HINT] or "help",
                    "should_escape": True,
                    **({"url": url} if mode == "http" else {}),
                }
            ],
        },
        "oauth_config": {"scopes": {"bot": list(scopes())}},
        "settings": {
            "event_subscriptions": {**address, "bot_events": sorted(SCOPES_OF_EVENTS.keys() - _OF_ASSISTANTS)},
            "interactivity": {"is_enabled": True, **address, **menus},
            "org_deploy_enabled": False,
            "socket_mode_enabled": mode == "socket",
            "token_rotation_enabled": False,
        },
    }


def _typed(command: CommandHelp) -> str:
    if not command.argument:
        return command.name
    return f"{command.name} {command.argument}" if command.needs_argument else f"{command.name} [{command.argument}]"


def _long(name: str, commands: Sequence[CommandHelp]) -> str:
    """Slack wants it to be of some length."""
    lines = [
        f"{name} hands what people write to it, in direct messages and where it is mentioned, to an agent, and brings"
        f" the answers back. Each thread is a conversation of its own. {COMMAND} takes a command:",
        *(f"{COMMAND} {_typed(one)}: {one.summary}" for one in commands),
    ]
    return "\n".join(lines)[:_MOST_DESCRIPTION].ljust(_LEAST_DESCRIPTION, ".")
