"""Long conversations sum themselves up: whole turns, the last ones verbatim, and once where a provider says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.agents import ContextSettings, ModelAgentSettings
from config.secret import Secret
from core.agents.compaction import CHARS_PER_TOKEN, _pieces, estimate, older
from core.agents.configured import Configured
from core.agents.providers import Providers
from core.store.entries import Kind
from tests.fakes.models.replies import Attempts, Call, Empty, Fail, Say, Steps
from tests.fakes.models.server import ModelServer
from tests.flow.house import House
from tests.models.conftest import ModelHouse
from tests.models.making import Log
from tests.models.test_compacting import shown, talk
from tests.models.test_faults import is_notice

SUMS_UP = "The conversation:"


def summaries(server: ModelServer) -> int:
    return sum(SUMS_UP in request.last_user for request in server.requests)


async def test_a_conversation_sums_itself_up_before_the_window_is_full(
    furnish: ModelHouse, server: ModelServer
) -> None:
    server.on(SUMS_UP, Say("They counted."))
    house = await furnish(context={"window": 3000, "compact_at": 0.5, "keep_turns": 2})
    for n in range(12):
        await house.ask(f"question {n} {'words ' * 100}")
    assert [kind for kind, _ in await house.told()].count("compaction") >= 2
    assert shown(server)[0] == ("user", "They counted.")
    assert all(request.status == 200 for request in server.requests)
    await house.restart()
    before = shown(server)
    await house.ask("short")
    assert shown(server)[: len(before)] == before
    assert [kind for kind, _ in await house.told()].count("user") == 13


async def test_a_full_context_is_summed_up_once_and_the_turn_goes_on(house: House, server: ModelServer) -> None:
    await talk(house, 6)
    server.on("too much", Attempts(Fail("context_length"), Say("Now it fits.")))
    server.on(SUMS_UP, Say("They counted."))
    await house.ask("too much")
    assert house.seen()[-1] == "Now it fits."
    assert summaries(server) == 1
    assert [kind for kind, _ in await house.told()][-3:] == ["user", "compaction", "assistant"]
    assert shown(server)[0] == ("user", "They counted.")
    assert shown(server)[-1] == ("user", "too much")


async def test_a_context_that_stays_full_is_told(house: House, server: ModelServer) -> None:
    await talk(house, 6)
    server.on("too much", Fail("context_length"))
    server.on(SUMS_UP, Say("They counted."))
    await house.ask("too much")
    assert summaries(server) == 1
    assert is_notice(house.seen()[-1], "model_context_full")
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"


async def test_a_summary_that_fails_changes_nothing(house: House, server: ModelServer) -> None:
    await talk(house, 6)
    for reply in (Fail("bad_request"), Empty()):
        server.forget_rules()
        server.on("too much", Fail("context_length"))
        server.on(SUMS_UP, reply)
        await house.ask("too much")
        assert is_notice(house.seen()[-1], "model_context_full")
    assert "compaction" not in [kind for kind, _ in await house.told()]


async def test_a_summary_in_pieces_of_which_one_is_empty_changes_nothing(
    house: House, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.agents.compaction.PIECE_CHARS", 1000)
    for n in range(6):
        await house.ask(f"question {n} {'words ' * 100}")
    server.on(SUMS_UP, Attempts(Say("They began."), Empty(), Say("They went on.")))
    before = await house.told()
    await house.ask("/compact")
    assert summaries(server) == 2
    assert await house.told() == before


async def test_a_context_that_fills_up_in_the_middle_of_a_turn_is_summed_up(house: House, server: ModelServer) -> None:
    await talk(house, 6)
    full = Attempts(Fail("context_length"), Say("Noon."))
    server.on("time", Steps((Say("Let me see."), Call("current_time")), full))
    server.on(SUMS_UP, Say("They counted."))
    await house.ask("time?")
    assert house.seen()[-1] == "Let me see.\n\nNoon."
    kinds = [entry.kind for entry in await house.log()]
    assert kinds.count(Kind.TOOL_CALL) == kinds.count(Kind.TOOL_RESULT) == 1
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"


# pure


def _long(turns: int) -> Log:
    log = Log()
    for n in range(turns):
        log.user(f"question {n}", f"t{n}")
        log.call(f"c{n}", turn=f"t{n}")
        log.result(f"c{n}", "noon", f"t{n}")
        log.user("steered", f"t{n}")
        log.said(f"answer {n}", f"t{n}")
    return log


@given(st.integers(1, 12), st.integers(1, 12))
def test_what_is_summed_up_ends_between_two_turns(turns: int, keep: int) -> None:
    entries = _long(turns).entries
    past = older(entries, keep)
    kept = entries[len(past) :]
    assert past
    assert not {entry.turn for entry in past} & {entry.turn for entry in kept}
    assert len({entry.turn for entry in kept}) == min(keep, turns // 2)


@given(st.lists(st.text(max_size=50)), st.integers(4, 60))
def test_pieces_hold_everything_and_no_piece_is_too_long(told: list[str], size: int) -> None:
    pieces = list(_pieces(told, size))
    assert all(0 < len(piece) <= size for piece in pieces)
    whole, said = "".join(pieces).replace("\n\n", ""), "".join(told).replace("\n\n", "")
    assert whole.replace("\n", "") == said.replace("\n", "")


def test_the_providers_own_count_is_believed_and_not_from_before_a_summary() -> None:
    log = Log()
    log.user("x" * 300)
    log.add(Kind.ASSISTANT, "y", response={"usage": {"input_tokens": 5000, "output_tokens": 10}})
    assert estimate(log.entries, sees=True) == 5010
    log.user("z" * 30)
    assert estimate(log.entries, sees=True) == 5010 + len("[Mon]\n" + 30 * "z") // CHARS_PER_TOKEN + 4
    summary = log.summary("short", 1)
    assert estimate([summary, *log.entries[1:3]], sees=True) < 50


def test_the_window_is_known_for_a_known_model_and_can_be_told_for_any() -> None:
    providers = Providers()
    known = ModelAgentSettings(model="openai:gpt-4o", api_key=Secret("k"))
    told = ModelAgentSettings(model="openai:gpt-4o", api_key=Secret("k"), context=ContextSettings(window=777))
    strange = ModelAgentSettings(model="openai:nobody-knows-it", api_key=Secret("k"), base_url="http://127.0.0.1:9")
    agents = [Configured(name="one", digest=str(i), settings=one) for i, one in enumerate((known, told, strange))]
    windows = [providers.model(agent, agent.settings.model).window for agent in agents]
    assert windows == [128_000, 777, None]
