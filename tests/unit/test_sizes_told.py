"""Sizes as people read them."""

from __future__ import annotations

import pytest

from core.desk.handing import MIB, mib


@pytest.mark.parametrize(
    ("size", "told"),
    [(MIB // 20, "0.05"), (MIB, "1"), (50_000_000, "47.7"), (500 * MIB, "500"), (1024 * MIB, "1,024")],
)
def test_a_limit_is_told_plainly(size: int, told: str) -> None:
    assert mib(size) == told
