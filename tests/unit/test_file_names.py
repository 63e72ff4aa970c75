"""A file's name that is too long loses the end of its stem, never its extension."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.people.names import file_name


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("字" * 140 + ".md", "字" * 65 + ".md"),
        ("字" * 140 + ".pdf", "字" * 65 + ".pdf"),
        ("a" * 300 + ".tar.gz", "a" * 197 + ".gz"),
        ("a" * 300, "a" * 200),
        ("." + "a" * 300, "." + "a" * 199),
        ("a." + "b" * 300, "a." + "b" * 198),
        ("a sentence. And another one", "a sentence. And another one"),
        ("cat.png", "cat.png"),
        ("", ""),
    ],
)
def test_t02_a_long_name_keeps_its_extension(name: str, kept: str) -> None:
    assert file_name(name) == kept


@given(st.text(max_size=400), st.integers(30, 255))
def test_t02_any_name_fits_and_stays_as_it_is_then(name: str, limit: int) -> None:
    kept = file_name(name, limit)
    assert len(kept.encode()) <= limit
    assert file_name(kept, limit) == kept
