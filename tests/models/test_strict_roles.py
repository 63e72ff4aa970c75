"""Many models' templates refuse two messages of a user in a row, and some servers with them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.fakes.models.record import Request
from tests.fakes.models.replies import Attempts, Call, Cut, Fail, Gate, Say, Steps
from tests.fakes.models.server import ModelServer
from tests.flow.house import House
from tests.models.conftest import ModelHouse
from tests.models.test_faults import MODELS

WORDS = "After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."


def two_in_a_row(request: Request) -> bool:
    roles = [message.role for message in request.messages if message.role != "system"]
    return any(one == other and one in ("user", "assistant") for one, other in pairwise(roles))


def be_strict(server: ModelServer) -> None:
    server.on(two_in_a_row, Fail("bad_request", message=WORDS))


@pytest.mark.parametrize("model", MODELS)
async def test_r07_what_follows_a_turn_that_failed_is_answered(
    furnish: ModelHouse, server: ModelServer, model: str
) -> None:
    server.on("first", Fail("bad_request"))
    be_strict(server)
    house = await furnish(model=model)
    for text in ("first", "first again", "and now?"):
        await house.ask(text)
    assert house.seen()[-1] == "re: and now?"
    [shown] = [message for message in server.requests[-1].messages if message.role == "user"]
    assert [text in shown.text for text in ("first", "first again", "and now?")] == [True] * 3


async def test_r07_what_follows_a_cut_answer_a_summary_and_a_call_is_answered(
    furnish: ModelHouse, server: ModelServer
) -> None:
    house = await furnish(context={"keep_turns": 1})
    server.on("cut", Attempts((Say("half"), Cut()), (Say("half"), Cut())))
    server.on("when", Steps(Call("current_time"), Fail("bad_request")))
    be_strict(server)
    for text in ("one", "two", "cut", "when?", "three"):
        await house.ask(text)
    assert house.seen()[-1] == "re: three"
    await house.ask("/compact")
    await house.ask("four")
    assert house.seen()[-1] == "re: four"


async def test_r07_what_was_said_to_a_running_turn_is_one_message(house: House, server: ModelServer) -> None:
    server.on("begin", Steps((Gate("go"), Call("current_time")), Say("Never.")))
    server.on("and more", Say("Done."))
    be_strict(server)
    said = await house.offer(house.message("begin"))
    await server.until(lambda: server.gate("go").waiting == 1)
    for text in ("/steer more", "/steer and more"):
        await house.say(text)
    server.gate("go").set()
    await house.ended(said)
    assert house.seen()[-1] == "Done."
    assert [text in server.requests[-1].last_user for text in ("more", "and more")] == [True, True]
