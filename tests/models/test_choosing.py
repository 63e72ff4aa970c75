"""The chosen model answers, instructions are those of the moment, and a person's day has its bound."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import structlog
from structlog.typing import EventDict

from tests.fakes.models.replies import Gate, Say
from tests.fakes.models.server import ModelServer
from tests.flow.house import House
from tests.models.conftest import ModelHouse, agent_of

LET_IN: dict[str, object] = {"access": {"allow": ["telegram:7"]}}


async def ask_as(user: str, house: House, text: str) -> None:
    await house.ended(await house.offer(house.message(text, user=user)))


async def test_the_chosen_model_answers_until_the_choice_is_taken_back(
    furnish: ModelHouse, server: ModelServer
) -> None:
    house = await furnish(models={"small": "openai:gpt-small"}, desk=LET_IN)
    for text in ("one", "/model small", "two", "three", "/model default", "four"):
        await house.ask(text)
    assert [request.model for request in server.requests] == ["gpt-test", "gpt-small", "gpt-small", "gpt-test"]
    assert house.core.cache.hits == 1
    talk = [role for role, _ in server.requests[-1].talk if role != "system"]
    assert talk == ["user", "assistant"] * 3 + ["user"]


async def test_a_model_of_another_provider_goes_on_with_the_conversation(
    furnish: ModelHouse, server: ModelServer
) -> None:
    agents = {"claude": agent_of(server, model="anthropic:claude-test")}
    house = await furnish()
    house.options["agents"] = {"default": agent_of(server), **agents}
    await house.restart()
    server.on("one", Say("first"))
    await house.ask("one")
    await house.say("/agent claude")
    await house.ask("two")
    last = server.requests[-1]
    assert (last.api, last.model) == ("messages", "claude-test")
    assert ("assistant", "first") in last.talk


# instructions


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "instructions.md"
    path.write_text("Be kind.", encoding="utf-8")
    return path


def write(file: Path, content: str | bytes | None) -> None:
    """None: it is gone."""
    match content:
        case None:
            file.unlink()
        case bytes():
            file.write_bytes(content)
        case _:
            file.write_text(content, encoding="utf-8")


async def test_instructions_that_changed_reach_the_next_turn_of_every_conversation(
    furnish: ModelHouse, server: ModelServer, file: Path
) -> None:
    house = await furnish(instructions_file=str(file))
    for user in ("7", "8"):
        await ask_as(user, house, "one")
    write(file, "Be brief, please.")
    for user in ("7", "8"):
        await ask_as(user, house, "two")
    assert [request.system for request in server.requests] == ["Be kind."] * 2 + ["Be brief, please."] * 2
    assert house.core.cache.misses["digest"] == 2


async def test_a_file_that_is_as_it_was_costs_no_cached_agent(
    furnish: ModelHouse, server: ModelServer, file: Path
) -> None:
    house = await furnish(instructions_file=str(file))
    for text in ("one", "two", "three"):
        await house.ask(text)
    assert house.core.cache.hits == 2


async def test_a_file_that_was_only_touched_costs_no_cached_agent(
    furnish: ModelHouse, server: ModelServer, file: Path
) -> None:
    house = await furnish(instructions_file=str(file))
    await house.ask("one")
    os.utime(file, ns=(1, 1))
    await house.ask("two")
    assert house.core.cache.hits == 1


async def test_a_turn_goes_on_with_the_instructions_that_it_began_with(
    furnish: ModelHouse, server: ModelServer, file: Path
) -> None:
    house = await furnish(instructions_file=str(file))
    server.on("slow", Gate("slow"), Say("done"))
    slow = await house.offer(house.message("slow"))
    await server.until(lambda: server.in_flight == 1)
    write(file, "Be brief, please.")
    await ask_as("8", house, "other")
    server.gate("slow").set()
    await house.ended(slow)
    await house.ask("next")
    assert [request.system for request in server.requests] == ["Be kind.", "Be brief, please.", "Be brief, please."]
    assert house.core.cache.hits == 0


def warned(logs: list[EventDict]) -> list[str]:
    return [str(line["why"]) for line in logs if line["event"] == "instructions_not_read"]


async def test_a_file_that_is_gone_or_spoilt_leaves_the_last_instructions_with_one_warning_for_each_change(
    furnish: ModelHouse, server: ModelServer, file: Path
) -> None:
    house = await furnish(instructions_file=str(file))
    with structlog.testing.capture_logs() as logs:
        write(file, None)
        await house.ask("one")
        await house.ask("two")
        write(file, b"\xff\xfe")
        await house.ask("three")
        await house.ask("four")
        write(file, " \n")
        await house.ask("five")
    assert warned(logs) == ["No such file or directory", "not UTF-8 text", "empty"]
    assert {request.system for request in server.requests} == {"Be kind."}
    write(file, "Be brief.")
    await house.ask("six")
    assert server.requests[-1].system == "Be brief."


# tokens


async def limited(furnish: ModelHouse, tokens: int) -> House:
    return await furnish(limits={"person_day_tokens": tokens})


async def test_who_has_used_up_the_day_is_told_so_and_nothing_is_asked_of_the_provider(
    furnish: ModelHouse, server: ModelServer
) -> None:
    house = await limited(furnish, 20)
    await house.ask("one")
    await house.ask("two")
    assert len(server.requests) == 1
    assert house.seen()[-1].startswith("You have used up what you may use in one day")
    await house.offer(house.group_message("three", user="7"))
    await house.idle()
    assert len(server.requests) == 1
    await ask_as("8", house, "four")
    assert len(server.requests) == 2


async def test_the_next_day_it_goes_on(furnish: ModelHouse, server: ModelServer) -> None:
    house = await limited(furnish, 100)
    await house.ask("one")
    await house.advance(12 * 3600)
    await house.ask("two")
    assert len(server.requests) == 2


async def test_below_the_bound_everything_is_answered(furnish: ModelHouse, server: ModelServer) -> None:
    house = await limited(furnish, 1_000_000)
    for text in ("one", "two"):
        await house.ask(text)
    assert house.seen() == ["re: one", "re: two"]


@pytest.mark.parametrize(("model", "cost"), [("openai:gpt-4o", ", $0.0002"), ("openai:of-our-own", "")])
async def test_usage_tells_what_the_provider_counted_and_what_it_costs_where_that_is_known(
    furnish: ModelHouse, server: ModelServer, model: str, cost: str
) -> None:
    house = await furnish(model=model)
    await house.ask("one")
    (request,) = server.requests
    await house.say("/usage")
    counted = f"1 request, {request.tokens:,} in, 2 out{cost}."
    assert house.seen()[-1].split("\n") == [
        f"The last answer: {counted}",
        f"This conversation: 1 message, 2 entries. {counted}",
        f"You, today: {counted}",
    ]
