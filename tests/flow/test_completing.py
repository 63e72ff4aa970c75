"""What platforms offer while somebody types a command's argument: their own, and nothing to strangers."""

from __future__ import annotations

import pytest

from core.desk.completing import MOST, SHOWN_CHARS
from core.ports import Choice, Principal
from core.vocabulary import Address, BotName, ChatId, ChatKind, Sender, ThreadId, UserId
from tests.flow.asking import verb
from tests.flow.bot import AdminBot
from tests.flow.conftest import Furnish
from tests.flow.house import GROUP, OWNER, House
from tests.flow.test_choosing import model_agent

PAIRED: dict[str, object] = {"access": {"direct": "allow", "allow": ["telegram:7", "telegram:8"]}}


def principal(
    user: str | None = "7", chat: str | None = None, *, bot: str = "main", thread: str | None = None, within: str = ""
) -> Principal:
    place = chat if chat is not None else user or ""
    kind = ChatKind.GROUP if place.startswith("-") else ChatKind.DIRECT
    sender = Sender(user=None if user is None else UserId(user), name="x")
    address = Address(bot=BotName(bot), chat=ChatId(place), thread=None if thread is None else ThreadId(thread))
    return Principal(
        address=address, kind=kind if thread is None else ChatKind.THREAD, sender=sender, within=within
    )  # fmt: skip


async def offered(house: House, command: str = "resume", typed: str = "", who: Principal | None = None) -> list[Choice]:
    return list(await house.desk.complete(who or principal(), command, typed))


async def titled(house: House, *titles: str, user: str = "7") -> None:
    """Sessions of these titles, one after the other."""
    for title in titles:
        await house.say(f"about {title}", user=user)
        await house.say(f"/title {title}", user=user)
        await house.say("/reset", user=user)


async def test_resume_offers_one_s_own_conversations_latest_first(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **PAIRED)
    await titled(house, "holidays", "taxes")
    choices = await offered(house)
    assert [choice.label for choice in choices] == ["taxes (0 min)", "holidays (0 min)"]
    assert [choice.label for choice in await offered(house, typed=" HOLI ")] == ["holidays (0 min)"]
    assert await offered(house, typed="no such") == []
    await house.say(f"/resume {choices[1].value}")
    assert house.seen()[-1].startswith("Back in “holidays”")


async def test_each_offer_is_one_that_the_command_takes(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **PAIRED)
    await titled(house, "a", "a", "b" * 120, "12", "  ", "\u202eodd\u0000")
    for choice in await offered(house):
        await house.say(f"/resume {choice.value}")
        assert house.seen()[-1].startswith(("Back in", "That is the conversation you are in"))


async def test_nothing_of_other_people_s(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **PAIRED)
    await titled(house, "mine")
    await titled(house, "yours", user="8")
    assert [choice.label for choice in await offered(house)] == ["mine (0 min)"]
    assert [choice.label for choice in await offered(house, who=principal("8"))] == ["yours (0 min)"]
    assert await offered(house, typed=(await house.session("main/dm/8")).id) == []


@pytest.mark.parametrize("command", ["resume", "model", "agent"])
async def test_nothing_to_strangers_to_the_blocked_and_to_nobody(furnish: Furnish, command: str) -> None:
    house = await with_models(furnish)
    await house.say("/title mine")
    assert command == "resume" or await offered(house, command) != []
    assert await offered(house, command, who=principal("9")) == []
    assert await offered(house, command, who=principal(None, "7")) == []
    assert await offered(house, command, who=principal(bot="no such")) == []
    await verb(house, "people.block", who="telegram:7")
    assert await offered(house, command) == []


@pytest.mark.parametrize("command", ["", "help", "stop", "RESUME", "approve", "forget"])
async def test_nothing_for_other_commands(furnish: Furnish, command: str) -> None:
    house = await furnish(AdminBot(), **PAIRED)
    await titled(house, "mine")
    assert await offered(house, command) == []


async def test_of_a_group_s_only_there_and_to_owners_everywhere(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **PAIRED)
    for user in ("7", OWNER):
        await house.say_in_group("in the group", user=user)
        await house.say("in private", user=user)
    here = principal("7", GROUP)
    assert len(await offered(house)) == 1
    assert len(await offered(house, who=here)) == 2
    assert len(await offered(house, who=principal(OWNER))) == 2


async def test_no_more_than_platforms_show_and_no_longer(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **PAIRED)
    await titled(house, *[f"{number} " + "long " * 22 for number in range(MOST + 3)])
    choices = await offered(house)
    assert len(choices) == MOST
    assert max(len(choice.label) for choice in choices) <= SHOWN_CHARS + 20
    assert len({choice.value for choice in choices}) == MOST


async def with_models(furnish: Furnish) -> House:
    agents = {
        "default": model_agent(models={"fast": "openai:gpt-mini", "Slow": "openai:gpt-large"}),
        "other": model_agent("openai:other", models={"tiny": "openai:gpt-tiny"}),
    }
    return await furnish(AdminBot(), agents=agents, **PAIRED)


async def test_models_and_agents_as_they_are_configured(furnish: Furnish) -> None:
    house = await with_models(furnish)
    assert {"fast", "Slow"} <= {choice.value for choice in await offered(house, "model")}
    assert [choice.value for choice in await offered(house, "model", "SLOW")] == ["Slow"]
    assert [choice.value for choice in await offered(house, "agent")] == ["default", "other"]


async def test_models_are_those_of_the_agent_that_answers_there(furnish: Furnish) -> None:
    house = await with_models(furnish)
    await house.say("/agent other")
    for choice in await offered(house, "model"):
        await house.say(f"/model {choice.value}")
        assert "unknown" not in house.seen()[-1].casefold()
    assert "tiny" in {choice.value for choice in await offered(house, "model")}


async def test_where_no_chat_is_named(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **PAIRED)
    await titled(house, "mine")
    await house.say_in_group("in the group")
    assert [choice.label for choice in await offered(house, who=principal("7", ""))] == ["mine (0 min)"]


async def test_guests_who_may_speak_are_offered_theirs_too(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), access={"direct": "open"})
    await titled(house, "mine")
    assert [choice.label for choice in await offered(house)] == ["mine (0 min)"]


async def test_guests_of_a_listed_group_are_offered_what_is_theirs_there(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **PAIRED)
    await house.say_in_group("in the group", user="9")
    assert [choice.label for choice in await offered(house, who=principal("9", GROUP))] == ["in the group (0 min)"]
    assert await offered(house, who=principal("9", "-999")) == []


async def test_a_group_s_conversation_with_another_bot_is_not_offered_here(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), AdminBot("other"), **PAIRED)
    await house.say_in_group("with the other", bot="other")
    assert await offered(house, who=principal("7", GROUP)) == []


async def test_what_is_offered_in_a_thread_is_what_the_command_takes_there(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **PAIRED)
    await house.say_in_group("in the group")
    await house.say_in_group("in a thread", thread="5")
    await house.say_in_group("in another", thread="6")
    in_thread = await offered(house, who=principal("7", GROUP, thread="5"))
    assert [choice.label for choice in in_thread] == ["in a thread (0 min)"]
    assert [choice.label for choice in await offered(house, who=principal("7", GROUP))] == ["in the group (0 min)"]
    assert await offered(house, who=principal("7", GROUP, thread="7")) == []
    await house.say_in_group(f"/resume {in_thread[0].value}", thread="5")
    assert "No conversation of yours" not in house.seen(GROUP)[-1]


async def test_with_one_conversation_a_person_only_one_s_own_of_a_group_are_offered_there(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **{**PAIRED, "session": {"group_scope": "user"}})
    for user in ("7", "8"):
        await house.say_in_group(f"of {user}", user=user)
    for user in ("7", "8"):
        choices = await offered(house, who=principal(user, GROUP))
        assert [choice.label for choice in choices] == [f"of {user} (0 min)"]


async def test_agents_of_a_group_are_those_that_the_group_chose(furnish: Furnish) -> None:
    house = await with_models(furnish)
    await house.say_in_group("/agent other")
    assert "tiny" in {choice.value for choice in await offered(house, "model", who=principal("7", GROUP))}
    assert "tiny" not in {choice.value for choice in await offered(house, "model")}
    assert "tiny" not in {
        choice.value for choice in await offered(house, "model", who=principal("7", GROUP, thread="5"))
    }


async def test_a_group_that_is_listed_by_what_it_is_part_of(furnish: Furnish) -> None:
    house = await with_models(furnish)
    assert await offered(house, "agent", who=principal("9", "-999")) == []
    assert await offered(house, "agent", who=principal("9", "-999", within=GROUP)) != []


@pytest.mark.parametrize("direct", ["off", "pairing"])
async def test_nothing_where_no_command_is_taken(furnish: Furnish, direct: str) -> None:
    house = await furnish(AdminBot(), access={"direct": direct})
    assert await offered(house, "agent") == []
    assert bool(await offered(house, "agent", who=principal(OWNER))) is (direct != "off")


async def test_the_list_of_sessions_counts_as_resume_does(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), **PAIRED)
    await titled(house, "taxes", "holidays")
    await house.say_in_group("in the group")
    for user, chat, say in (("7", "7", house.say), ("7", GROUP, house.say_in_group)):
        await say("/sessions", user=user)
        listed = [line for line in house.seen(user)[-1].splitlines() if line[:1].isdigit()]
        assert ["in the group" in line for line in listed].count(True) == (chat == GROUP)
        number = next(line.partition(".")[0] for line in listed if "taxes" in line)
        await say(f"/resume {number}", user=user)
        assert house.seen(chat)[-1].startswith("Back in “taxes”")


async def test_s02_only_what_may_be_chosen_is_offered(furnish: Furnish) -> None:
    house = await with_models(furnish)
    house.options["bots"] = {"main": {"agents": []}}
    house.options["access"] = {"direct": "open", "allow": ["telegram:7"]}
    await house.restart()
    found = {
        (command, user): {one.value for one in await offered(house, command, who=principal(user))}
        for command in ("agent", "model")
        for user in ("7", "66", OWNER)
    }
    assert found["agent", "7"] == found["agent", "66"] == {"default"}
    assert found["agent", OWNER] == {"default", "other"}
    assert found["model", "66"] == set()
    assert found["model", "7"] == found["model", OWNER] == {"openai:gpt-usual", "fast", "Slow"}


async def test_s02_of_an_owner_s_agent_in_a_group_others_are_offered_nothing(furnish: Furnish) -> None:
    house = await with_models(furnish)
    house.options["bots"] = {"main": {"agents": []}}
    await house.restart()
    await house.say_in_group("/agent other", user=OWNER)
    assert "tiny" in {one.value for one in await offered(house, "model", who=principal(OWNER, GROUP))}
    assert "tiny" not in {one.value for one in await offered(house, "model", who=principal("7", GROUP))}
