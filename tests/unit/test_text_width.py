"""Columns, as a font of fixed width shows them."""

from __future__ import annotations

import pytest

from core.text_width import padded, text_width


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", 0),
        ("plain", 5),
        ("日本", 4),
        ("Ａ", 2),
        ("e\u0301", 1),
        ("👍", 2),
        ("👩\u200d👩\u200d👧", 2),
        ("🇩🇪", 2),
        ("❤\ufe0f", 2),
        ("\u202eabc\u202c", 3),
        ("a\u200bb", 2),
    ],
)
def test_wide_characters_take_two_and_what_is_not_seen_takes_none(text: str, columns: int) -> None:
    assert text_width(text) == columns


def test_text_is_filled_up_to_a_width_by_what_is_seen() -> None:
    assert [padded("日", 5, align) for align in ("left", "right", "center", "")] == ["日   ", "   日", " 日  ", "日   "]
    assert padded("too long", 3) == "too long"
