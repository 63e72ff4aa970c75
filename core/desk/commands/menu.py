"""The command table as platforms' menus show it."""

from __future__ import annotations

from collections.abc import Sequence

from core.desk.commands.table import COMMANDS
from core.desk.completing import COMPLETED
from core.ports import CommandHelp
from core.service.notices import Notices


def menu(notices: Notices) -> Sequence[CommandHelp]:
    """Every command, in the order of the table, in the language of the notices."""
    return [
        CommandHelp(
            name=command.name,
            summary=notices.say(f"help_{command.name}"),
            argument=command.hint.strip("[]").lower(),
            needs_argument=bool(command.hint) and not command.hint.startswith("["),
            private=command.private,
            completes=command.name in COMPLETED,
            aliases=command.aliases,
        )
        for command in COMMANDS
    ]
