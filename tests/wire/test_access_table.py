"""The access table holds on each platform, with the real daemon; and what reaches the agent is what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

import pytest

from core.desk.commands.table import BY_NAME
from tests.wire.access_discord import discord
from tests.wire.access_play import Play, Seen, begin, furnished
from tests.wire.access_slack import slack
from tests.wire.access_stage import Stage
from tests.wire.access_table import (
    EVERYWHERE,
    EXPLAINED,
    HEARD,
    OTHER_DOORS,
    ROLES,
    SILENT,
    Cell,
    cells_of,
    rows_of,
    table_on,
)
from tests.wire.access_telegram import telegram

STAGES: Final[dict[str, Callable[[], AbstractContextManager[Stage]]]] = {
    "telegram": telegram, "discord": discord, "slack": slack,
}  # fmt: skip
DOORS: Final = ("allow", "open", "off")


@contextmanager
def played(platform: str, home: Path, cells: Sequence[Cell], direct: str = "pairing") -> Iterator[tuple[Play, list[Seen]]]:
    with STAGES[platform]() as stage:
        play = furnished(stage, home, cells, direct)
        with play.daemon:
            begin(play)
            yield play, play.play()
        assert stage.problems == ()


def check(play: Play, seen: Sequence[Seen]) -> None:
    wrong = [str(one) for one in seen if one.letter != one.part.cell.expected]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("platform", STAGES)
def test_the_table(platform: str, tmp_path: Path) -> None:
    with played(platform, tmp_path, table_on(platform)) as (play, seen):
        check(play, seen)
