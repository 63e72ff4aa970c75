"""What Discord's refusals mean to us."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from bots.discord.sdk import discord
from bots.discord.trouble import ours
from core.errors import FloodWait, Unknown


@pytest.mark.parametrize(
    ("status", "code", "meaning"), [(408, 0, Unknown), (403, 40004, FloodWait), (400, 40004, FloodWait)]
)
def test_what_passes_is_no_refusal(status: int, code: int, meaning: type[Exception]) -> None:
    answer = SimpleNamespace(status=status, reason="", headers={"Content-Type": "application/json"})
    assert type(ours(discord.HTTPException(cast(Any, answer), {"code": code, "message": "not now"}))) is meaning
