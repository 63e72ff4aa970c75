"""The routes that the double knows, by the names that the documentation gives them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tests.fakes.discord import commands, downloads, interactions, marks, messages, posts, reads, threads
from tests.fakes.discord.drafts import CREATED_WITH, EDITED_WITH
from tests.fakes.discord.platform import Platform
from tests.fakes.discord.request import Reply, Request

Handler: TypeAlias = Callable[[Platform, Request], Reply]

IN_WORDS = frozenset({"token", "emoji", "response", "filename"})
DOWNLOAD = "download"


@dataclass(frozen=True, kw_only=True)
class Route:
    """`keys` are the documented fields of the body, where the double looks at that. `open` needs no bot token."""

    name: str
    method: str
    pattern: re.Pattern[str]
    handler: Handler
    keys: frozenset[str] | None = None
    open: bool = False


def _route(name: str, line: str, handler: Handler, keys: frozenset[str] | None = None, *, open: bool = False) -> Route:
    method, _, path = line.partition(" ")

    def part(match: re.Match[str]) -> str:
        word = match[1]
        return rf"(?P<{word}>[^/]+)" if word in IN_WORDS else rf"(?P<{word}>\d+)"

    pattern = re.compile(re.sub(r"\{(\w+)\}", part, path))
    return Route(name=name, method=method, pattern=pattern, handler=handler, keys=keys, open=open)


_REACTION = "/channels/{channel}/messages/{message}/reactions/{emoji}/@me"
_COMMANDS = "/applications/{application}/commands"
_LOCAL = "/applications/{application}/guilds/{guild}/commands"
_HOOK = "/webhooks/{application}/{token}"
_MEMBER = "/channels/{channel}/thread-members/{user}"

ROUTES: tuple[Route, ...] = (
    _route("get_me", "GET /users/@me", reads.get_me),
    _route("get_guilds", "GET /users/@me/guilds", reads.get_guilds),
    _route("create_dm", "POST /users/@me/channels", reads.create_dm),
    _route("get_user", "GET /users/{user}", reads.get_user),
    _route("get_application", "GET /applications/@me", reads.get_application),
    _route("get_application", "GET /oauth2/applications/@me", reads.get_application),
    _route("get_gateway", "GET /gateway", reads.get_gateway, open=True),
    _route("get_gateway_bot", "GET /gateway/bot", reads.get_gateway_bot),
    _route("get_guild", "GET /guilds/{guild}", reads.get_guild),
    _route("get_guild_channels", "GET /guilds/{guild}/channels", reads.get_guild_channels),
    _route("get_roles", "GET /guilds/{guild}/roles", reads.get_roles),
    _route("get_member", "GET /guilds/{guild}/members/{user}", reads.get_member),
    _route("get_active_threads", "GET /guilds/{guild}/threads/active", reads.get_active_threads),
    _route("get_channel", "GET /channels/{channel}", reads.get_channel),
    _route("modify_channel", "PATCH /channels/{channel}", threads.modify_channel),
    _route("get_messages", "GET /channels/{channel}/messages", messages.get_messages),
    _route("create_message", "POST /channels/{channel}/messages", messages.create_message, CREATED_WITH),
    _route("get_message", "GET /channels/{channel}/messages/{message}", messages.get_message),
    _route("edit_message", "PATCH /channels/{channel}/messages/{message}", messages.edit_message, EDITED_WITH),
    _route("delete_message", "DELETE /channels/{channel}/messages/{message}", messages.delete_message),
    _route("typing", "POST /channels/{channel}/typing", marks.typing),
    _route("create_reaction", f"PUT {_REACTION}", marks.create_reaction),
    _route("delete_reaction", f"DELETE {_REACTION}", marks.delete_reaction),
    _route(
        "start_thread_from_message",
        "POST /channels/{channel}/messages/{message}/threads",
        threads.start_thread_from_message,
    ),
    _route("start_thread", "POST /channels/{channel}/threads", posts.start_thread_or_post),
    _route("get_thread_members", "GET /channels/{channel}/thread-members", threads.get_thread_members),
    _route("join_thread", "PUT /channels/{channel}/thread-members/@me", threads.join_thread),
    _route("leave_thread", "DELETE /channels/{channel}/thread-members/@me", threads.leave_thread),
    _route("add_thread_member", f"PUT {_MEMBER}", threads.add_thread_member),
    _route("remove_thread_member", f"DELETE {_MEMBER}", threads.remove_thread_member),
    _route("get_commands", f"GET {_COMMANDS}", commands.get_commands),
    _route("create_command", f"POST {_COMMANDS}", commands.create_command),
    _route("overwrite_commands", f"PUT {_COMMANDS}", commands.overwrite_commands),
    _route("get_command", f"GET {_COMMANDS}/{{command}}", commands.get_command),
    _route("edit_command", f"PATCH {_COMMANDS}/{{command}}", commands.edit_command),
    _route("delete_command", f"DELETE {_COMMANDS}/{{command}}", commands.delete_command),
    _route("get_guild_commands", f"GET {_LOCAL}", commands.get_commands),
    _route("create_guild_command", f"POST {_LOCAL}", commands.create_command),
    _route("overwrite_guild_commands", f"PUT {_LOCAL}", commands.overwrite_commands),
    _route("get_guild_command", f"GET {_LOCAL}/{{command}}", commands.get_command),
    _route("edit_guild_command", f"PATCH {_LOCAL}/{{command}}", commands.edit_command),
    _route("delete_guild_command", f"DELETE {_LOCAL}/{{command}}", commands.delete_command),
    _route("callback", "POST /interactions/{interaction}/{token}/callback", interactions.callback, open=True),
    _route("followup", f"POST {_HOOK}", interactions.followup, open=True),
    _route("get_response", f"GET {_HOOK}/messages/{{response}}", interactions.get_response, open=True),
    _route("edit_response", f"PATCH {_HOOK}/messages/{{response}}", interactions.edit_response, open=True),
    _route(DOWNLOAD, "GET /cdn/attachments/{channel}/{attachment}/{filename}", downloads.download, open=True),
    _route("delete_response", f"DELETE {_HOOK}/messages/{{response}}", interactions.delete_response, open=True),
)


def find_route(method: str, path: str) -> tuple[Route | None, re.Match[str] | None, bool]:
    """The route with its match; the last value says whether the path is known with another method."""
    known = False
    for route in ROUTES:
        match = route.pattern.fullmatch(path)
        if match is not None and route.method == method:
            return route, match, True
        known = known or match is not None
    return None, None, known
