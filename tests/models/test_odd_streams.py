"""Streams of Ollama, llama.cpp, vLLM and LM Studio, and streams that end too early."""

from __future__ import annotations

import pytest

from core.vocabulary import CallOpened
from tests.fakes.models import local_servers as local
from tests.fakes.models.local_servers import DONE, chunk, event
from tests.fakes.models.replies import Attempts, Cut, Raw, Say, Steps, Think
from tests.fakes.models.server import ModelServer
from tests.flow.asking import verb
from tests.flow.house import House
from tests.models.conftest import ModelHouse
from tests.models.test_faults import MODELS, is_notice
from tests.models.watching import followed

PIECES = ("Hal", "lo", " there.")

NO_DELTA = event({"choices": [{"index": 0}]})
WHOLE = {
    "Ollama": local.ollama(PIECES),
    "Ollama that thinks": local.ollama(PIECES, thought="secret"),
    "llama.cpp": local.llama_cpp(PIECES),
    "vLLM": local.vllm(PIECES),
    "vLLM that thinks": local.vllm(PIECES, thought="secret"),
    "LM Studio": local.lm_studio(PIECES),
    "no [DONE]": local.ollama(PIECES).removesuffix(DONE),
    "no finish reason, but [DONE]": event(chunk({"content": "Hallo there."})) + DONE,
    "text and finish reason in one": event(chunk({"content": "Hallo there."}, "stop")) + DONE,
    "text as parts": event(chunk({"content": [{"type": "text", "text": "Hallo there."}]}, "stop")) + DONE,
    "no delta": event(chunk({"content": "Hallo there."})) + NO_DELTA + event(chunk({}, "stop")),
    "Windows line ends": local.ollama(PIECES).replace(b"\n", b"\r\n"),
    "an error that is null": event(chunk({"content": "Hallo there."}, "stop", error=None)) + DONE,
    "no ids, times and models": event({"choices": [{"delta": {"content": "Hallo there."}, "finish_reason": "stop"}]}),
}  # fmt: skip


@pytest.mark.parametrize("kind", WHOLE)
async def test_r06_a_whole_answer_of_a_local_server_is_one(house: House, server: ModelServer, kind: str) -> None:
    server.on("please", Raw(WHOLE[kind]))
    await house.ask("please")
    assert house.seen() == ["Hallo there."]
    await house.ask("and now?")
    assert house.seen()[1:] == ["re: and now?"]


SEARCH = "search_conversations"
CALLS: dict[str, bytes] = {
    "in one piece": local.ollama_calls(
        local.call("current_time", "{}", id="c1", index=0), local.call(SEARCH, '{"words": "x"}', id="c2", index=1)
    ),
    "all with the number 0": local.ollama_calls(
        local.call("current_time", "{}", id="c1", index=0), local.call(SEARCH, '{"words": "x"}', id="c2", index=0)
    ),
    "without numbers": local.ollama_calls(
        local.call("current_time", "{}", id="c1"), local.call(SEARCH, '{"words": "x"}', id="c2")
    ),
    "without numbers and ids": local.ollama_calls(
        local.call("current_time", "{}"), local.call(SEARCH, '{"words": "x"}')
    ),
    "without ids": local.ollama_calls(
        local.call("current_time", "{}", index=0), local.call(SEARCH, '{"words": "x"}', index=1)
    ),
    "with arguments as objects": local.ollama_calls(
        local.call("current_time", {}, id="c1", index=0),
        local.call(SEARCH, {"words": "x"}, id="c2", index=1),
    ),
    "with the id in every piece": b"".join(
        event(chunk({"tool_calls": [one]}))
        for one in (
            local.call("current_time", "{}", id="c1", index=0),
            local.call(SEARCH, '{"wor', id="c2", index=1),
            local.more('ds": "x"}', id="c2", index=1),
        )
    )
    + event(chunk({}, "tool_calls"))
    + DONE,
    "in pieces without numbers": b"".join(
        event(chunk({"tool_calls": [one]}))
        for one in (
            local.call("current_time", "{}", id="c1"),
            local.call(SEARCH, '{"wor', id="c2"),
            local.more('ds": "x"}'),
        )
    )
    + event(chunk({}, "tool_calls")),
}  # fmt: skip
"""Two calls, as servers tell them."""


@pytest.mark.parametrize("kind", CALLS)
async def test_r06_both_calls_of_a_local_server_are_made(house: House, server: ModelServer, kind: str) -> None:
    server.on("look", Steps(Raw(CALLS[kind]), Say("Done.")))
    said = await house.offer(house.message("look"))
    async with followed(house, said) as seen:
        await house.ended(said)
    opened = [(one.tool, one.arguments.replace(" ", "")) for one in seen.events if isinstance(one, CallOpened)]
    assert opened == [("current_time", "{}"), ("search_conversations", '{"words":"x"}')]
    assert house.seen() == ["Done."]


FAILS = {
    "llama.cpp": local.llama_cpp_fails("the template failed", builds_of_2025=False),
    "llama.cpp of 2025": local.llama_cpp_fails("the template failed", builds_of_2025=True),
    "vLLM": local.vllm_fails("the template failed"),
    "LM Studio": local.lm_studio_fails("the template failed"),
    "a text": event({"error": "the template failed"}),
}


@pytest.mark.parametrize("said", [b"", event(chunk({"content": "half an answ"}))], ids=["at once", "later"])
@pytest.mark.parametrize("kind", FAILS)
async def test_r06_an_error_in_the_stream_is_told_and_its_words_are_kept(
    furnish: ModelHouse, server: ModelServer, kind: str, said: bytes
) -> None:
    server.on("please", Raw(said + FAILS[kind]))
    house = await furnish(limits={"retries": 0})
    await house.ask("please")
    reference = house.seen()[-1].partition("reference ")[2].rstrip(")")
    [turn, *_] = (await verb(house, "explain", id=reference))["findings"]
    assert turn["state"] == "failed"
    assert "the template failed" in turn["why"]
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"


@pytest.mark.parametrize("model", MODELS)
async def test_r06_a_stream_that_ends_before_the_answer_is_told_as_cut(
    furnish: ModelHouse, server: ModelServer, model: str
) -> None:
    server.on("please", Attempts((Say("half an answ"), Cut(clean=True)), Say("A whole answer.")))
    house = await furnish(model=model)
    await house.ask("please")
    [notice] = house.seen()
    assert await house.told() == [("user", "please"), ("assistant", "half an answ"), ("notice", notice)]
    assert is_notice(notice, "model_broke_off")
    assert "/retry" in notice
    await house.ask("/retry")
    assert house.seen()[-1] == "A whole answer."


@pytest.mark.parametrize("begun", [(), (Think("hm"),)], ids=["nothing", "a thought"])
@pytest.mark.parametrize("model", MODELS)
async def test_r06_a_stream_that_ends_before_the_first_word_is_asked_for_again(
    furnish: ModelHouse, server: ModelServer, model: str, begun: tuple[Think, ...]
) -> None:
    server.on("please", Attempts((*begun, Cut(clean=True)), Say("A whole answer.")))
    house = await furnish(model=model)
    await house.ask("please")
    assert house.seen() == ["A whole answer."]
