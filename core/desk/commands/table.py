"""The command table: one row a command, for help, dispatch, menus, access and lanes."""

from __future__ import annotations

import re
import unicodedata
from enum import Enum, auto

from msgspec import Struct

from core.store.inbox import Lane

COMMAND = re.compile(r"[a-z][a-z0-9_]{0,31}")


class Command(Struct, frozen=True, kw_only=True):
    """`hint` shows the argument in the help. `reserved`: in a shared conversation only for the turn's author, those
    who run the group, and owners; with `shows`, what it says without an argument is for everybody. `turn`: its effect
    is a turn, so it waits in order and is admitted like a message. `private`: its answer is for the asker alone, where
    the platform can do that; `personal`: else in the direct chat, also where it was typed."""

    name: str
    lane: Lane
    aliases: tuple[str, ...] = ()
    hint: str = ""
    reserved: bool = False
    shows: bool = False
    turn: bool = False
    private: bool = False
    personal: bool = False


class Reach(Enum):
    """How far a command of somebody goes in a conversation that others talk in as well."""

    NONE = auto()
    """It is refused."""
    WAITING = auto()
    """Their own messages that wait, and nothing of what another began."""
    OWN = auto()
    """What they began, and their own messages that wait."""
    ALL = auto()
    """Everybody's."""


COMMANDS = (
    Command(name="help", lane=Lane.INSTANT, aliases=("start", "commands"), private=True),
    Command(name="reset", lane=Lane.CONTROL, aliases=("new",), hint="[text]", reserved=True),
    Command(name="resume", lane=Lane.ORDERED, hint="[n|title|id]", reserved=True),
    Command(name="sessions", lane=Lane.INSTANT, private=True, personal=True),
    Command(name="title", lane=Lane.ORDERED, hint="TEXT", reserved=True, shows=True),
    Command(name="status", lane=Lane.INSTANT, private=True),
    Command(name="stop", lane=Lane.CONTROL, reserved=True),
    Command(name="retry", lane=Lane.ORDERED, reserved=True, turn=True),
    Command(name="undo", lane=Lane.ORDERED, hint="[n]", reserved=True),
    Command(name="clear", lane=Lane.ORDERED, reserved=True),
    Command(name="compact", lane=Lane.ORDERED, hint="[topic]", reserved=True),
    Command(name="model", lane=Lane.ORDERED, hint="[name|default]", reserved=True, shows=True),
    Command(name="agent", lane=Lane.ORDERED, hint="[name|default]", reserved=True, shows=True),
    Command(name="usage", lane=Lane.INSTANT, private=True, personal=True),
    Command(name="export", lane=Lane.INSTANT, private=True, personal=True),
    Command(name="whoami", lane=Lane.INSTANT, private=True, personal=True),
    Command(name="again", lane=Lane.ORDERED),
    Command(name="queue", lane=Lane.ORDERED, hint="TEXT", turn=True),
    Command(name="steer", lane=Lane.CONTROL, hint="TEXT", reserved=True),
    Command(name="approve", lane=Lane.CONTROL, hint="[id|all]", reserved=True),
    Command(name="deny", lane=Lane.CONTROL, hint="[id|all]", reserved=True),
    Command(name="forget", lane=Lane.ORDERED, hint="[yes]", private=True, personal=True),
    Command(name="version", lane=Lane.INSTANT, private=True),
)
BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}
UNKNOWN = "unknown"
"""What an unknown command is stored as: answered at once, with its name."""


class Parsed(Struct, frozen=True, kw_only=True):
    """A command as typed: `command` is None where the table has none of this name."""

    name: str
    argument: str
    command: Command | None


def _plain(word: str) -> str:
    """Case, width and invisible characters make no difference."""
    folded = unicodedata.normalize("NFKC", word)
    return "".join(c for c in folded if unicodedata.category(c) != "Cf").casefold()


def argument(text: str) -> str:
    """What is said to a command; the whole text where it is none."""
    parsed = parse(text)
    return parsed.argument if parsed is not None else text


def parse(text: str) -> Parsed | None:
    """The command that a text is, or None where it is an ordinary message."""
    stripped = text.strip()
    while stripped and unicodedata.category(stripped[0]) == "Cf":
        stripped = stripped[1:].lstrip()
    if not stripped or unicodedata.normalize("NFKC", stripped[0]) != "/":
        return None
    word, *rest = stripped.split(maxsplit=1)
    name = _plain(word)[1:]
    if COMMAND.fullmatch(name) is None:
        return None
    return Parsed(name=name, argument=rest[0] if rest else "", command=BY_NAME.get(name))
