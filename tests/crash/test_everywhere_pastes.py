"""A paste is one turn on each platform, though a client sends it as several messages."""

from __future__ import annotations

from typing import Final

import pytest

from tests.crash.conftest import WorldOn
from tests.crash.daemon import until
from tests.crash.everywhere import EVERYWHERE

PASTED: Final = ",".join(f"{number:04}" for number in range(1_000))
"""More than one message of Telegram, than two of Discord, and less than one of Slack."""

pytestmark = [pytest.mark.crash, pytest.mark.parametrize("name", EVERYWHERE)]


def test_a_paste_that_a_client_splits_is_one_turn(world_on: WorldOn, name: str) -> None:
    with world_on(name) as world:
        world.begin()
        for begin in range(0, len(PASTED), world.ada.full_chars):
            world.ada.say(PASTED[begin : begin + world.ada.full_chars])
        until(lambda: bool(world.heard), "the agent is asked")
        world.settle()
        assert world.heard == [PASTED]
