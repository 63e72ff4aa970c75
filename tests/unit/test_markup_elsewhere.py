"""Cases of texts that people met on Telegram, by their ids, as Discord and Slack are given them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pytest

from bots.discord import markup as discord
from bots.slack import markup as slack

ODD: Final = "**List** uses `List<int>` and <CoT> & a < b; Name <a@example.com>"


@dataclass(frozen=True, kw_only=True, slots=True)
class Platform:
    parts: Callable[[str], tuple[str, ...]]
    sent: Callable[[str], str]
    """What a part is on the wire."""


PLATFORMS: Final = {
    "discord": Platform(parts=discord.parts, sent=discord.render),
    "slack": Platform(parts=slack.parts, sent=slack.defused),
}


@pytest.fixture(params=PLATFORMS)
def platform(request: pytest.FixtureRequest) -> Platform:
    return PLATFORMS[str(request.param)]


@pytest.mark.parametrize("nothing", ["<br>", "<br/>\n\n<br />", "\u200b", "   ", "\n\n", "\u2060\u200d", ""])
def test_c17_what_shows_nothing_is_not_sent(platform: Platform, nothing: str) -> None:
    assert platform.parts(nothing) == ()
    assert platform.parts(f"text\n\n{nothing}")[1:] == ()


def test_c17_an_image_of_nothing_is_not_sent_to_discord() -> None:
    assert discord.parts("![]()") == ()


def test_c17_no_part_of_a_long_text_shows_nothing(platform: Platform) -> None:
    found = platform.parts("word " * 390 + "<br>\n\n" * 6000 + "end")
    assert all(platform.sent(part).strip() for part in found)
    assert platform.sent(found[-1]).endswith("end")


@pytest.mark.parametrize(
    ("name", "shown"), [("discord", ODD), ("slack", ODD.replace("<CoT>", "&lt;CoT>").replace("a < b", "a &lt; b"))]
)
def test_c20_brackets_are_shown_and_bold_and_code_are_kept(name: str, shown: str) -> None:
    """Slack shows its entities outside code as the characters that they stand for."""
    assert PLATFORMS[name].parts(ODD) == (ODD,)
    assert PLATFORMS[name].sent(ODD) == shown


@pytest.mark.parametrize(("name", "counts"), [("discord", [2000, 2000, 96]), ("slack", [4096])])
def test_c21_exclamation_marks_all_arrive(name: str, counts: list[int]) -> None:
    found = [PLATFORMS[name].sent(part) for part in PLATFORMS[name].parts("!" * 4096)]
    assert [len(part) for part in found] == counts
    assert "".join(found) == "!" * 4096


def test_c67_hebrew_and_its_isolates_pass_unchanged(platform: Platform) -> None:
    text = "\u2068Dana\u2069: שלום https://example.com/a `code`"
    assert platform.parts(text) == (text,)
    assert platform.sent(text) == text


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("one<br>two<BR/>three", "one\ntwo\nthree"),
        ("|a|b|\n|-|-|\n|one<br>two|c|", "|a|b|\n|-|-|\n|one two|c|"),
        ("`<br>`", "`<br>`"),
        ("```\n<br>\n```", "```\n<br>\n```"),
    ],
)
def test_a_break_is_a_break_on_slack_too(source: str, shown: str) -> None:
    """Outside of code; a row of a table has one line."""
    assert slack.defused(source) == shown
