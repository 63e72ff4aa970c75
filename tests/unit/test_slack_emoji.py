"""What Slack calls an emoji."""

from __future__ import annotations

import re

import pytest

from bots.slack.emoji import _NAMES, name_of


@pytest.mark.parametrize(
    ("emoji", "name"),
    [
        ("😂", "joy"), ("❌", "x"), ("🥳", "partying_face"), ("👀", "eyes"), ("👍", "+1"), ("🤔", "thinking_face"),
        ("🤗", "hugging_face"), ("❤️", "heart"), ("❤", "heart"), ("🔥", "fire"), ("✅", "white_check_mark"),
        ("🫡", "saluting_face"), ("🫨", "shaking_face"), ("🪿", "goose"), ("1️⃣", "one"), ("#️⃣", "hash"),
        ("🇩🇪", "flag-de"), ("🇺🇳", "flag-un"), ("🏴‍☠️", "pirate_flag"), ("👩‍💻", "female-technologist"),
        ("❤️‍🔥", "heart_on_fire"), ("🤷", "shrug"), ("👍🏽", "+1::skin-tone-4"),
        ("👩🏻‍💻", "female-technologist::skin-tone-2"),
        (":party_parrot:", "party_parrot"), (":wave::skin-tone-6:", "wave::skin-tone-6"),
    ],
)  # fmt: skip
def test_an_emoji_has_the_name_of_slacks_own_set(emoji: str, name: str) -> None:
    assert name_of(emoji) == name


@pytest.mark.parametrize("unknown", ["", "👩‍👩", "abc", "\ufe0f", "🏽", ":A b:"])
def test_what_has_no_name_there_has_none(unknown: str) -> None:
    assert name_of(unknown) is None


def test_every_name_can_be_one_of_slacks() -> None:
    assert len(_NAMES) > 700
    for emoji, name in _NAMES.items():
        assert re.fullmatch(r"[a-z0-9_+-]{1,100}", name), emoji
        assert "\ufe0f" not in emoji
