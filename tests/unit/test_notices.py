"""What Frontdesk itself says: one or several, and every sentence can be said."""

from __future__ import annotations

import string

import pytest

from core.desk.commands.table import COMMANDS
from core.service.notices import CATALOGUES, ENGLISH, Notices


@pytest.mark.parametrize(
    ("count", "said"), [(1, "1 waiting message was dropped."), (0, "0 waiting messages were dropped."),
                        (12, "12 waiting messages were dropped.")],
)  # fmt: skip
def test_one_is_not_several(count: int, said: str) -> None:
    assert Notices().say("closed_waiting", count=count) == said


def test_a_number_that_is_written_for_people_counts_too() -> None:
    assert Notices().say("usage_requests", count="1") == "1 request"
    assert Notices().say("usage_requests", count="1,234") == "1,234 requests"


def test_what_people_wrote_is_not_taken_for_our_own_marks() -> None:
    assert Notices().say("resumed", title="a(|b) {c}", messages=1) == "Back in “a(|b) {c}” (1 message)."


@pytest.mark.parametrize("language", CATALOGUES)
def test_every_sentence_can_be_said_with_one_and_with_several(language: str) -> None:
    for key, text in CATALOGUES[language].items():
        names = {name for _, name, _, _ in string.Formatter().parse(text.replace("|", "")) if name}
        for count in (1, 2):
            said = Notices(language).say(key, **dict.fromkeys(names, count))
            assert "|" not in said, key
            assert "{" not in said, key


def test_every_command_has_its_line_in_the_help() -> None:
    for command in COMMANDS:
        assert ENGLISH[f"help_{command.name}"]
