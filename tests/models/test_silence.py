"""An agent may say nothing, where it was told how."""

from __future__ import annotations

import pytest

from core.service.notices import Notices
from tests.fakes.models.replies import Call, Say, Steps
from tests.fakes.models.server import ModelServer
from tests.flow.house import GROUP, House
from tests.models.conftest import ModelHouse


async def ask(house: House, text: str) -> None:
    """In a group; until its turn has ended."""
    await house.ended(await house.offer(house.group_message(text)))


PIECES = [("[SILENT]",), ("[SI", "LENT]"), (" \n", "[", "SILENT", "]\n"), ("<think>no", "</think>\n\n[SILENT]")]


@pytest.mark.parametrize("pieces", PIECES)
async def test_t08_the_word_for_silence_is_not_sent(
    furnish: ModelHouse, server: ModelServer, pieces: tuple[str, ...]
) -> None:
    server.on("psst", Say("", deltas=pieces))
    house = await furnish(silence="[SILENT]")
    await ask(house, "psst")
    assert house.seen(GROUP) == []
    await ask(house, "and now?")
    assert house.seen(GROUP) == ["re: and now?"]


@pytest.mark.parametrize("text", ["[SILENT] is what I say", "[SIL", "not [SILENT]"])
async def test_t08_what_says_more_is_sent(furnish: ModelHouse, server: ModelServer, text: str) -> None:
    server.on("psst", Say(text, deltas=3))
    house = await furnish(silence="[SILENT]")
    await ask(house, "psst")
    assert house.seen(GROUP) == [text]


async def test_t08_silence_after_a_call_is_silence(furnish: ModelHouse, server: ModelServer) -> None:
    server.on("psst", Steps(Call("current_time"), Say("[SILENT]")))
    house = await furnish(silence="[SILENT]")
    await ask(house, "psst")
    assert house.seen(GROUP) == []


async def test_t08_without_the_setting_it_is_text_and_blanks_are_told(furnish: ModelHouse, server: ModelServer) -> None:
    server.on("psst", Say("[SILENT]"))
    server.on("blank", Say(" \n "))
    house = await furnish()
    await ask(house, "psst")
    await ask(house, "blank")
    assert house.seen(GROUP) == ["[SILENT]", Notices("en").say("agent_empty")]
