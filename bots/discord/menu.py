"""The command table as Discord's application commands, and the form behind the entry in a message's menu.

https://docs.discord.com/developers/interactions/application-commands
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from bots.discord.interactions import MESSAGE_MENU, QUESTION, SLASH
from bots.discord.sdk import discord
from core.fields import Json, records
from core.ports import Choice, CommandHelp

ASK: Final = "Ask about this"
"""The entry in the menu of a message."""

_MOST_NAME: Final = 32
_MOST_WORDS: Final = 100
"""Characters of a description, and of the name and the value of a suggestion."""
_MOST_CHOICES: Final = 25
_MOST_COMMANDS: Final = 100
_STRING: Final = discord.AppCommandOptionType.string.value
_TEXT_ROW: Final = discord.ComponentType.action_row.value
_TEXT_INPUT: Final = discord.ComponentType.text_input.value
_PARAGRAPH: Final = discord.TextStyle.paragraph.value
_MOST_QUESTION: Final = 4000  # https://docs.discord.com/developers/components/reference#text-input
_EVERYWHERE: Final = (0, 1)
"""In servers and in the direct chat with the bot."""
_INTO_SERVERS: Final = (0,)
_LISTS: Final = ("contexts", "integration_types")
_OURS: Final = ("type", "name", "description", "options", "required", "autocomplete", *_LISTS)
_NAME: Final = re.compile(r"[-_'\w]{1,32}")
_UNFIT: Final = re.compile(r"[^-_'\w]+")


def payload(commands: Sequence[CommandHelp]) -> list[dict[str, object]]:
    """What is registered: each command that Discord can have, and the entry in the menu of messages."""
    fit = [_command(one) for one in commands if _NAME.fullmatch(one.name) and one.name == one.name.lower()]
    return [*fit[:_MOST_COMMANDS], {"type": MESSAGE_MENU, "name": ASK, **_where()}]


def is_registered(wanted: Sequence[Json], found: object) -> bool:
    """Whether Discord has this table. It leaves out what is false or empty, and adds fields of its own."""
    return isinstance(found, list) and _table(wanted) == _table(records(found))


def choices(found: Sequence[Choice]) -> list[dict[str, str]]:
    """Suggestions for an argument; one whose value is too long for Discord can still be typed."""
    fit = [one for one in found if 0 < len(one.value) <= _MOST_WORDS]
    return [{"name": (one.label or one.value)[:_MOST_WORDS], "value": one.value} for one in fit[:_MOST_CHOICES]]


def form(name: str) -> dict[str, object]:
    """What asks for the question about a message."""
    question = {
        "type": _TEXT_INPUT,
        "custom_id": QUESTION,
        "style": _PARAGRAPH,
        "label": "Question",
        "min_length": 1,
        "max_length": _MOST_QUESTION,
        "required": True,
    }
    return {"custom_id": name, "title": ASK, "components": [{"type": _TEXT_ROW, "components": [question]}]}


def _command(one: CommandHelp) -> dict[str, object]:
    made: dict[str, object] = {
        "type": SLASH,
        "name": one.name,
        "description": _words(one.summary) or one.name,
        **_where(),
    }
    if one.argument:
        made["options"] = [
            {
                "type": _STRING,
                "name": _UNFIT.sub("-", one.argument.lower()).strip("-")[:_MOST_NAME] or "argument",
                "description": _words(one.argument),
                "required": one.needs_argument,
                "autocomplete": one.completes,
            }
        ]
    return made


def _where() -> dict[str, object]:
    return {"contexts": list(_EVERYWHERE), "integration_types": list(_INTO_SERVERS)}


def _table(commands: Sequence[Json]) -> dict[tuple[object, object], object]:
    return {(one.get("type"), one.get("name")): _ours(one) for one in commands}


def _ours(one: Json) -> dict[str, object]:
    """What we say of a command or an option; lists of numbers have no order."""
    kept: dict[str, object] = {key: one[key] for key in _OURS if one.get(key)}
    for key in _LISTS:
        if isinstance(numbers := kept.get(key), list):
            kept[key] = sorted(numbers, key=str)
    if "options" in kept:
        kept["options"] = [_ours(option) for option in records(kept["options"])]
    return kept


def _words(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_WORDS else f"{line[: _MOST_WORDS - 1]}…"
