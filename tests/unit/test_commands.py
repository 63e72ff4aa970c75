"""Commands are read alike however they are typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.desk.carry_out import ALL_EFFECTS
from core.desk.commands.instant import ANSWERS
from core.desk.commands.menu import menu
from core.desk.commands.table import BY_NAME, COMMANDS, parse
from core.service.notices import ENGLISH, Notices
from core.store.inbox import Lane

NAMES = sorted(BY_NAME)
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e"


def wide(text: str) -> str:
    """Full-width forms, as an East Asian keyboard types them."""
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_parses(name: str) -> None:
    for typed in (f"/{name}", f"/{name.upper()}", f"  /{name.title()}\n", wide(f"/{name}"), f"\u200b/{name}\u200b"):
        parsed = parse(typed)
        assert parsed is not None, typed
        assert parsed.command is BY_NAME[name]
        assert parsed.argument == ""


@given(st.sampled_from(NAMES), st.text(alphabet=INVISIBLE, max_size=3), st.integers(0, 10), st.booleans())
def test_case_width_and_invisible_characters_make_no_difference(
    name: str, dust: str, where: int, in_wide: bool
) -> None:
    place = 1 + where % (len(name) + 1)
    typed = f"/{name}"
    typed = typed[:place] + dust + typed[place:]
    typed = "".join(c.upper() if i % 2 else c for i, c in enumerate(typed))
    parsed = parse(wide(typed) if in_wide else typed)
    assert parsed is not None
    assert parsed.command is BY_NAME[name]


@given(st.sampled_from(NAMES), st.text(min_size=1, max_size=30))
def test_an_argument_is_kept_as_it_was_typed(name: str, argument: str) -> None:
    parsed = parse(f"/{name} {argument}")
    assert parsed is not None
    assert parsed.command is BY_NAME[name]
    assert parsed.argument == argument.strip()


@pytest.mark.parametrize(
    "text", ["", " ", "/", "//", "/ help", "hello /help", "/path/to/file", "/1", "/usr/bin", "\\help", "/-", "/help/me"]
)
def test_what_is_no_command_is_a_message(text: str) -> None:
    assert parse(text) is None


@given(st.text(max_size=40))
def test_no_text_breaks_the_parser(text: str) -> None:
    parse(text)
    parse(f"/{text}")


def test_an_unknown_command_is_named() -> None:
    parsed = parse("/Nonsense and more")
    assert parsed is not None
    assert (parsed.name, parsed.command, parsed.argument) == ("nonsense", None, "and more")


def test_the_table_is_whole() -> None:
    """Each command has its help, and its lane has somebody who carries it out."""
    by_the_owner = {*ALL_EFFECTS, "compact"}
    for command in COMMANDS:
        assert f"help_{command.name}" in ENGLISH
        assert command.name in (ANSWERS if command.lane is Lane.INSTANT else by_the_owner)
    assert len(BY_NAME) == len(COMMANDS) + sum(len(command.aliases) for command in COMMANDS)


def test_what_is_about_the_asker_alone_is_answered_to_the_asker_alone() -> None:
    private = {"help", "sessions", "status", "usage", "export", "whoami", "version", "forget"}
    assert {command.name for command in COMMANDS if command.private} == private
    assert {command.name for command in menu(Notices()) if command.private} == private
