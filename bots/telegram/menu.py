"""The menu of commands that people see (https://core.telegram.org/bots/api#setmycommands)."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Sequence
from typing import Final

from telegram.constants import BotCommandLimit

from bots.telegram.addressed import Account
from bots.telegram.api import call
from bots.telegram.line import Line
from core.errors import BotError, StoreError
from core.ports import CommandHelp, Desk

_LOG: Final = logging.getLogger(__name__)

NOTED: Final = "menu"
_NAME: Final = re.compile(
    rf"[a-z0-9_]{{1,{BotCommandLimit.MAX_COMMAND}}}"
)  # https://core.telegram.org/bots/api#botcommand

Menu = list[dict[str, str]]

SCOPES: Final = ("default", "all_private_chats", "all_group_chats")
"""Where they are shown: what somebody set before for a narrower one would hide them. The narrowest are left alone."""


async def publish(line: Line, desk: Desk, us: Account) -> None:
    """Show the desk's commands, if they are others than this account shows already. To fail is no trouble."""
    shown = menu(desk.commands)
    if not shown:
        return
    digest = hashlib.sha256(json.dumps([us.id, SCOPES, shown]).encode()).hexdigest()
    try:
        if await desk.recall(us.bot, NOTED) != digest:
            for scope in SCOPES:
                await _show(line, shown, scope)
            await desk.note(us.bot, NOTED, digest)
    except (BotError, StoreError) as trouble:
        _LOG.warning("the menu of commands is not set", extra={"bot": us.bot, "why": str(trouble)})


async def _show(line: Line, shown: Menu, scope: str) -> None:
    arguments = {"commands": shown, "scope": {"type": scope}}
    await line.ask(lambda api: call(api, "set_My_Commands", arguments), telling=False)


def menu(commands: Sequence[CommandHelp]) -> Menu:
    """What can be shown of them."""
    good = [command for command in commands if _NAME.fullmatch(command.name)]
    if len(good) < len(commands):
        _LOG.warning("commands that Telegram can't show", extra={"count": len(commands) - len(good)})
    return [_entry(command) for command in good[: BotCommandLimit.MAX_COMMAND_NUMBER]]


def _entry(command: CommandHelp) -> dict[str, str]:
    summary = " ".join(command.summary.split()) or command.name
    argument = " ".join(command.argument.split())
    if argument:
        summary += f" ({argument})" if command.needs_argument else f" [{argument}]"
    return {"command": command.name, "description": summary[: BotCommandLimit.MAX_DESCRIPTION]}
