"""What an install compiles."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from core.bytecode import LATER


@pytest.mark.parametrize("name", LATER)
def test_what_is_imported_late_is_there_under_its_name(name: str) -> None:
    assert find_spec(name) is not None
