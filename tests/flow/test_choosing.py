"""Who answers in a conversation is chosen there: /model, /agent, /status. What was used is told: /usage."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest

from core.agents.agent import AgentEvent, Suspend, TurnContext, Used
from core.store import turns
from core.vocabulary import CallOpened, TextDelta
from tests.fakes.agents import STAGES, Script, Stage
from tests.flow.bot import AdminBot
from tests.flow.conftest import Furnish
from tests.flow.house import House

LET_IN = {"allow": ["telegram:7", "telegram:8", "telegram:9"]}
CHOICES = {"fast": "openai:gpt-mini", "Deep": "anthropic:claude-large", "local": "openai:Gpt-Usual-Next"}


def model_agent(model: str = "openai:gpt-usual", **options: object) -> dict[str, object]:
    """An agent with a model that no test asks anything."""
    return {"backend": "model", "model": model, "base_url": "http://127.0.0.1:9/v1", "api_key": "k", **options}


@pytest.fixture
async def choosing(furnish: Furnish) -> House:
    return await furnish(agents={"default": model_agent(models=CHOICES)}, access=LET_IN)


async def reconfigure(house: House, **agents: Mapping[str, object]) -> None:
    """The process is started anew with these agents."""
    house.options["agents"] = agents
    await house.restart()


# models


async def test_model_shows_who_answers_and_what_may_be_chosen(choosing: House) -> None:
    await choosing.say("/model")
    head, _, *lines = choosing.seen()[-1].split("\n")
    assert head.startswith("Model: openai:gpt-usual.")
    assert lines == [
        "- `openai:gpt-usual`",
        "- `fast`: openai:gpt-mini",
        "- `Deep`: anthropic:claude-large",
        "- `local`: openai:Gpt-Usual-Next",
    ]
    assert (await choosing.conversation()).model is None


@pytest.mark.parametrize(
    ("typed", "stored", "answers"),
    [
        ("fast", "fast", "openai:gpt-mini"),
        ("FAST", "fast", "openai:gpt-mini"),
        ("  deep ", "Deep", "anthropic:claude-large"),
        ("anthropic:claude-large", "anthropic:claude-large", "anthropic:claude-large"),
        ("Claude-LARGE", "anthropic:claude-large", "anthropic:claude-large"),
        ("gpt-usual-next", "openai:Gpt-Usual-Next", "openai:Gpt-Usual-Next"),
    ],
)
async def test_a_model_is_chosen_by_short_name_by_id_or_by_what_is_behind_the_colon(
    choosing: House, typed: str, stored: str, answers: str
) -> None:
    await choosing.say(f"/model {typed}")
    assert choosing.seen() == [f"From now on {answers} answers here."]
    assert (await choosing.conversation()).model == stored
    await choosing.say("/model")
    assert choosing.seen()[-1].startswith(f"Model: {answers}.")


async def test_an_unknown_model_is_answered_with_the_choices(choosing: House) -> None:
    await choosing.say("/model fast")
    await choosing.say("/model gpt-9")
    assert choosing.seen()[-1].startswith("I have no model “gpt-9” to choose")
    assert "- `fast`: openai:gpt-mini" in choosing.seen()[-1]
    assert (await choosing.conversation()).model == "fast"


async def test_a_name_that_fits_two_models_chooses_none(furnish: Furnish) -> None:
    house = await furnish(access=LET_IN, agents={"default": model_agent(models=["openai:twin", "openrouter:twin"])})
    await house.say("/model twin")
    assert "or more than one of that name" in house.seen()[-1]
    await house.say("/model openrouter:twin")
    assert (await house.conversation()).model == "openrouter:twin"


async def test_only_the_word_default_takes_a_choice_back(choosing: House) -> None:
    await choosing.say("/model fast")
    await choosing.say("/model gpt-usual")
    assert (await choosing.conversation()).model == "openai:gpt-usual"
    await choosing.say("/model DEFAULT")
    assert choosing.seen()[-1] == "The usual model answers here: openai:gpt-usual."
    assert (await choosing.conversation()).model is None


async def test_a_new_default_reaches_everyone_who_did_not_choose(choosing: House) -> None:
    await choosing.say("/model fast", user="8")
    await choosing.say("/model gpt-usual", user="9")
    await reconfigure(choosing, default=model_agent("openai:gpt-new", models=[*CHOICES.values(), "openai:gpt-usual"]))
    for user, model in (("7", "openai:gpt-new"), ("8", "openai:gpt-new"), ("9", "openai:gpt-usual")):
        await choosing.say("/status", user=user)
        assert f"Model: {model}." in choosing.seen(user)[-1]


async def test_a_short_name_goes_on_to_mean_what_the_config_says(choosing: House) -> None:
    await choosing.say("/model fast")
    await reconfigure(choosing, default=model_agent(models={"fast": "openai:gpt-mini-2"}))
    await choosing.say("/model")
    assert choosing.seen()[-1].startswith("Model: openai:gpt-mini-2.")


async def test_a_model_that_may_not_be_chosen_any_more_gives_way_to_the_default(choosing: House) -> None:
    await choosing.say("/model claude-large")
    await reconfigure(choosing, default=model_agent())
    for command in ("/model", "/status"):
        await choosing.say(command)
        assert "Model: openai:gpt-usual." in choosing.seen()[-1]
    await reconfigure(choosing, default=model_agent(models=CHOICES))
    await choosing.say("/model")
    assert choosing.seen()[-1].startswith("Model: anthropic:claude-large.")


@pytest.mark.parametrize("typed", ["/model", "/model fast", "/model default"])
async def test_an_agent_without_a_model_has_none_to_choose(house: House, typed: str) -> None:
    await house.say(typed)
    assert house.seen() == ["The agent default has no model to choose."]


async def test_a_choice_is_one_conversation_s_and_outlives_its_sessions(choosing: House) -> None:
    await choosing.say("/model fast")
    await choosing.say("/reset")
    await choosing.restart()
    await choosing.say("/model")
    await choosing.say("/model", user="8")
    assert choosing.seen()[-1].startswith("Model: openai:gpt-mini.")
    assert choosing.seen("8")[-1].startswith("Model: openai:gpt-usual.")


async def test_a_list_that_is_too_long_for_one_message_comes_in_several(furnish: Furnish) -> None:
    house = await furnish(
        access=LET_IN, agents={"default": model_agent(models=[f"openai:model-{n}" for n in range(60)])}
    )
    await house.say("/model")
    assert len(house.seen()) > 1
    assert all(len(text) <= house.bot.capabilities.text_limit for text in house.seen())
    assert "\n".join(house.seen()).count("- `") == 61


async def test_status_and_help_tell_of_agent_and_model(choosing: House) -> None:
    await choosing.say("/status")
    assert choosing.seen() == ["No conversation yet. Agent: default. Model: openai:gpt-usual."]
    await choosing.say("/model fast")
    await choosing.say("/status")
    assert choosing.seen()[-1] == "No conversation yet. Agent: default. Model: openai:gpt-mini."
    await choosing.say("/help")
    helped = "\n".join(choosing.seen())
    assert "/model [name|default]: which model answers here, or choose one" in helped
    assert "/agent [name|default]: which agent answers here, or choose one" in helped


# agents


@pytest.fixture
async def two(house: House) -> AsyncIterator[House]:
    """Two scripted agents, `default` and `Other`, and one with models."""
    name = f"{house.stage_name}, other"
    house.options["access"] = LET_IN
    STAGES[name] = Stage()
    await reconfigure(
        house,
        default={"backend": "tests.fakes.agents:make", "options": {"stage": house.stage_name}},
        Other={"backend": "tests.fakes.agents:make", "options": {"stage": name}},
        modelled=model_agent(models=CHOICES),
    )
    yield house
    del STAGES[name]


def other(house: House) -> Stage:
    return STAGES[f"{house.stage_name}, other"]


async def test_agent_shows_who_answers_and_who_may_be_chosen(two: House) -> None:
    await two.say("/agent")
    head, _, *lines = two.seen()[-1].split("\n")
    assert head.startswith("Agent: default.")
    assert lines == ["- `default`", "- `Other`", "- `modelled`"]


async def test_the_chosen_agent_answers_from_the_next_message_on_with_all_that_was_said(two: House) -> None:
    await two.say("one")
    await two.say("/agent OTHER")
    assert two.seen()[-1] == "From now on the agent Other answers here."
    await two.say("two")
    await two.say("hi", user="8")
    assert two.stage.texts == ["one", "hi"]
    assert other(two).texts == ["two"]
    assert other(two).asked[0].history == (("user", "one"), ("assistant", "re: one"))
    await two.say("/status")
    assert "Agent: Other." in two.seen()[-1]


async def test_a_choice_evicts_the_cached_agent(two: House) -> None:
    await two.say("one")
    assert len(two.core.cache) == 1
    await two.say("/agent other")
    assert (len(two.core.cache), two.core.cache.evictions) == (0, 1)
    await two.say("two")
    await two.say("three")
    assert two.core.cache.hits == 1


async def test_a_choice_waits_for_the_turn_before_it(two: House) -> None:
    two.stage.on("slow", two.stage.waits())
    for text in ("slow", "/agent other", "after"):
        await two.say(text)
    assert two.seen() == []
    two.stage.gate().set()
    await two.idle()
    assert two.stage.texts == ["slow"]
    assert other(two).texts == ["after"]


async def test_the_usual_agent_s_name_takes_the_choice_back(two: House) -> None:
    await two.say("/agent other")
    await two.say("/agent default")
    assert two.seen()[-1] == "The usual agent answers here: default."
    conversation = await two.conversation()
    assert (conversation.agent, conversation.model) == (None, None)
    await two.say("one")
    assert two.stage.texts == ["one"]


async def test_where_another_agent_is_usual_default_is_the_name_of_an_agent_like_any(two: House) -> None:
    two.options["bots"] = {"main": {"agent": "Other"}}
    await two.restart()
    await two.say("one")
    await two.say("/agent default")
    await two.say("two")
    await two.say("/agent other")
    await two.say("three")
    assert other(two).texts == ["one", "three"]
    assert two.stage.texts == ["two"]
    assert (await two.conversation()).agent is None


async def test_an_unknown_agent_is_answered_with_the_choices(two: House) -> None:
    await two.say("/agent nobody")
    assert two.seen()[-1].startswith("I have no agent “nobody”.")
    assert "- `Other`" in two.seen()[-1]
    assert (await two.conversation()).agent is None


async def test_another_agent_clears_the_model_and_the_same_one_keeps_it(two: House) -> None:
    await two.say("/agent modelled")
    await two.say("/model fast")
    await two.say("/agent Modelled")
    conversation = await two.conversation()
    assert (conversation.agent, conversation.model) == ("modelled", "fast")
    await two.say("/agent other")
    conversation = await two.conversation()
    assert (conversation.agent, conversation.model) == ("Other", None)
    await two.say("/agent modelled")
    await two.say("/model")
    assert two.seen()[-1].startswith("Model: openai:gpt-usual.")


async def test_an_agent_that_is_configured_no_more_gives_way_to_the_usual_one(two: House) -> None:
    await two.say("/agent other")
    await reconfigure(two, default={"backend": "tests.fakes.agents:make", "options": {"stage": two.stage_name}})
    await two.say("one")
    await two.say("/status")
    assert two.stage.texts == ["one"]
    assert "Agent: default." in two.seen()[-1]


async def test_another_agent_is_not_handed_calls_that_wait_for_a_word(two: House) -> None:
    async def asks(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        await turn.opened([CallOpened(call="c1", tool="delete", arguments="{}", read_only=False)])
        yield Suspend()

    two.stage.on("ask", asks)
    await two.say("ask")
    await two.say("/agent default")
    conversation = await two.conversation()
    assert await two.store.read(lambda tx: turns.open_in(tx, conversation.id)) == 1
    await two.say("/agent other")
    assert await two.store.read(lambda tx: turns.open_in(tx, conversation.id)) == 0
    assert (await two.told())[-1][1].startswith("Not answered:")


@pytest.mark.parametrize("command", ["/agent other", "/model fast"])
async def test_in_a_group_only_who_asked_last_or_runs_it_chooses(two: House, command: str) -> None:
    assert isinstance(two.bot, AdminBot)
    await two.say_in_group("hello", user="7")
    await two.say_in_group(command, user="8")
    assert two.seen("-100")[-1].startswith("Only the person who asked")
    await two.say_in_group(command, user="7")
    assert not two.seen("-100")[-1].startswith("Only the person who asked")


# usage


def uses(**counts: int) -> Script:
    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield Used(counts=counts)
        yield TextDelta(text="done")

    return script


async def tells_tokens(turn: TurnContext) -> AsyncIterator[AgentEvent]:
    yield TextDelta(text=str(await turn.desk.tokens_today()))


def used(house: House, user: str = "7") -> list[str]:
    return house.seen(user)[-1].split("\n")


async def test_usage_tells_of_the_last_answer_the_conversation_and_the_day(house: House) -> None:
    house.stage.on("a", uses(requests=2, input_tokens=1000, output_tokens=50, cached_tokens=800, cost_micro_usd=12_345))
    house.stage.on("b", uses(requests=1, input_tokens=234, output_tokens=6))
    await house.say("a")
    await house.say("/reset")
    await house.say("a")
    await house.say("b")
    await house.say("/usage")
    assert used(house) == [
        "The last answer: 1 request, 234 in, 6 out.",
        "This conversation: 2 messages, 4 entries. 3 requests, 1,234 in (800 cached), 56 out, $0.0123.",
        "You, today: 5 requests, 2,234 in (1,600 cached), 106 out, $0.0247.",
    ]


async def test_usage_leaves_out_what_nobody_counted(house: House) -> None:
    house.stage.on("words", uses(requests=1, words=7))
    house.stage.on("cheap", uses(cost_micro_usd=42))
    await house.say("hello")
    await house.say("/usage")
    assert used(house) == ["This conversation: 1 message, 2 entries. The agent counts nothing."]
    await house.say("words")
    await house.say("/usage")
    assert used(house)[0] == "The last answer: 1 request, words 7."
    await house.say("cheap")
    await house.say("/usage")
    assert used(house)[0] == "The last answer: $0.000042."


async def test_a_day_is_the_asker_s_own_and_ends_at_midnight_where_the_desk_is(furnish: Furnish) -> None:
    house = await furnish(desk={"timezone": "Asia/Tokyo"})  # it is nine in the evening there
    house.stage.on("use", uses(input_tokens=30, output_tokens=12))
    house.stage.on("tokens", tells_tokens)
    await house.say("use")
    await house.say_in_group("use", user="7")
    await house.say_in_group("use", user="8")
    await house.say("tokens")
    assert house.seen()[-1] == "84"
    await house.advance(3 * 3600 - 60)
    await house.say("/usage")
    assert used(house)[-1] == "You, today: 60 in, 24 out."
    await house.advance(120)
    await house.say("use", user="8")
    for user, tokens in (("7", "0"), ("8", "42")):
        await house.say("tokens", user=user)
        assert house.seen(user)[-1] == tokens
    await house.say("/usage")
    assert used(house)[-1].startswith("This conversation: ")


async def test_what_a_suspended_turn_and_the_one_that_goes_on_used_is_one_answer(house: House) -> None:
    async def asks(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield Used(counts={"input_tokens": 5})
        if turn.answers:
            yield TextDelta(text="done")
        else:
            await turn.opened([CallOpened(call="c1", tool="delete", arguments="{}", read_only=False)])
            yield Suspend()

    house.stage.on("use", uses(input_tokens=100))
    house.stage.on("ask", asks)
    await house.say("use")
    await house.say("ask")
    await house.say("/deny")
    await house.say("/usage")
    assert used(house)[0] == "The last answer: 10 in."
    assert used(house)[-1] == "You, today: 110 in."
