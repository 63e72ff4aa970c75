"""Who may choose which agent and which model, and what another person's choice is worth to them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from core.agents.agent import AgentEvent, Suspend, TurnContext
from core.vocabulary import CallOpened, TextDelta
from tests.fakes.agents import STAGES, Stage
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, OWNER, House
from tests.flow.test_choosing import CHOICES, LET_IN, model_agent, other, reconfigure

OFFERED, HIDDEN = "Other", "modelled"


@pytest.fixture
async def choosing(furnish: Furnish) -> House:
    return await furnish(agents={"default": model_agent(models=CHOICES)}, access=LET_IN)


@pytest.fixture
async def two(house: House) -> AsyncIterator[House]:
    """Two scripted agents, `default` and `Other`, and one with models; everybody may choose any."""
    name = f"{house.stage_name}, other"
    house.options["access"] = LET_IN
    STAGES[name] = Stage()
    scripted = {"backend": "tests.fakes.agents:make"}
    await reconfigure(
        house,
        default={**scripted, "options": {"stage": house.stage_name}},
        Other={**scripted, "options": {"stage": name}},
        modelled=model_agent(models=CHOICES),
    )
    yield house
    del STAGES[name]


@pytest.fixture
async def offering(two: House) -> House:
    """Who is no owner may choose `Other` and nothing else."""
    two.options["bots"] = {"main": {"agents": [OFFERED]}}
    await two.restart()
    return two


async def test_s02_by_default_nobody_but_an_owner_has_a_choice(two: House) -> None:
    two.options["bots"] = {"main": {"agents": []}}
    await two.restart()
    for typed in ("/agent Other", "/agent modelled"):
        await two.say(typed)
        assert two.seen()[-1].startswith("I have no agent")
        assert "Other" not in two.seen()[-1].split("There are:")[1]
    await two.say("/agent")
    assert two.seen()[-1] == "Agent: default."
    await two.say("hello")
    assert two.stage.texts == ["hello"]
    await two.say("/agent", user=OWNER)
    assert two.seen(OWNER)[-1].split("\n")[2:] == ["- `default`", "- `Other`", "- `modelled`"]
    await two.say("/agent other", user=OWNER)
    await two.say("hi", user=OWNER)
    assert other(two).texts == ["hi"]


@pytest.mark.parametrize("user", ["7", "66"])
async def test_s02_people_and_guests_choose_among_those_that_the_bot_names(offering: House, user: str) -> None:
    await offering.say("/agent", user=user)
    assert offering.seen(user)[-1].split("\n")[2:] == ["- `default`", "- `Other`"]
    await offering.say(f"/agent {HIDDEN}", user=user)
    assert offering.seen(user)[-1].startswith(f"I have no agent “{HIDDEN}”.")
    assert HIDDEN not in offering.seen(user)[-1].split("There are:")[1]
    await offering.say("/agent other", user=user)
    await offering.say("hello", user=user)
    assert other(offering).texts == ["hello"]


async def test_s02_a_choice_from_before_gives_nobody_an_agent_that_they_may_not_choose(two: House) -> None:
    for user in ("7", "66", OWNER):
        await two.say("/agent other", user=user)
    two.options["bots"] = {"main": {"agents": []}}
    await two.restart()
    for user in ("7", "66", OWNER):
        await two.say(f"from {user}", user=user)
    assert (two.stage.texts, other(two).texts) == (["from 7", "from 66"], [f"from {OWNER}"])
    await two.say("/status")
    assert "Agent: default." in two.seen()[-1]


async def test_s02_what_an_owner_chose_in_a_group_answers_only_whom_it_may(offering: House) -> None:
    default, chosen = offering.stage, other(offering)
    offering.options["bots"] = {"main": {"agents": []}}
    await offering.restart()
    await offering.say_in_group("/agent other", user=OWNER)
    for user in ("7", "66", OWNER, "7"):
        await offering.say_in_group(f"from {user}", user=user)
    assert (default.texts, chosen.texts) == (["from 7", "from 66", "from 7"], [f"from {OWNER}"])
    assert chosen.asked[0].history[-1] == ("assistant", "re: from 66")
    await offering.say_in_group("/agent", user="7")
    assert offering.seen(GROUP)[-1] == "Agent: default."


async def test_s02_a_turn_goes_on_with_the_agent_of_its_author(offering: House) -> None:
    """After a call was answered, and after the process died."""
    default, chosen = offering.stage, other(offering)
    offering.options["bots"] = {"main": {"agents": []}}
    agents = offering.options["agents"]
    assert isinstance(agents, dict)
    await reconfigure(offering, default=agents["default"], Other=agents["Other"])
    await offering.say_in_group("/agent other", user=OWNER)
    calls: list[str] = []

    async def asks(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        if turn.answers:
            calls.append("default")
            yield TextDelta(text="done")
            return
        await turn.opened([CallOpened(call="c1", tool="delete", arguments="{}", read_only=False)])
        yield Suspend()

    default.on("ask", asks)
    await offering.say_in_group("ask", user="7")
    await offering.say_in_group("/approve", user=OWNER)
    assert calls == ["default"]
    default.on("slow", default.waits())
    await offering.say_in_group("slow", user="7")
    await offering.restart()
    default.gate().set()
    await offering.idle()
    assert default.texts == ["ask", "ask", "slow", "slow"]
    assert chosen.texts == []


async def test_s02_another_agent_s_model_goes_with_it(two: House) -> None:
    """Both have a model of that name."""
    await reconfigure(two, default=model_agent("openai:usual", models=CHOICES), dear=model_agent(models=CHOICES))
    two.options["bots"] = {"main": {"agents": []}}
    await two.restart()
    await two.say_in_group("/agent dear", user=OWNER)
    await two.say_in_group("/model fast", user=OWNER)
    await two.say_in_group("/model", user="7")
    assert two.seen(GROUP)[-1].startswith("Model: openai:usual.")


@pytest.mark.parametrize("typed", ["fast", "default", "nonsense"])
async def test_s02_a_guest_chooses_no_model_and_sees_which_one_answers(choosing: House, typed: str) -> None:
    await choosing.say("/model", user="66")
    assert choosing.seen("66")[-1] == "Model: openai:gpt-usual."
    await choosing.say(f"/model {typed}", user="66")
    said = "Only people who were let in can change the model. Model: openai:gpt-usual."
    assert choosing.seen("66")[-1] == said
    assert (await choosing.conversation("main/dm/66")).model is None


async def test_s02_what_a_guest_chose_before_counts_no_more_and_a_group_s_model_is_everybody_s(choosing: House) -> None:
    await choosing.say("/model fast")
    await choosing.say_in_group("/model fast", user="7")
    choosing.options["access"] = {"allow": []}
    await choosing.restart()
    await choosing.say("/model")
    assert choosing.seen()[-1] == "Model: openai:gpt-usual."
    await choosing.say_in_group("/model", user="66")
    assert choosing.seen(GROUP)[-1] == "Model: openai:gpt-mini."
