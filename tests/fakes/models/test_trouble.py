"""Errors on order, streams that break off, gates, and what the record says of them."""

import asyncio
from collections.abc import Sequence
from typing import Any

import anthropic as anthropic_sdk
import httpx
import openai as sdk
import pytest
from anthropic import AsyncAnthropic
from anthropic.types import Message
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionChunk

from tests.fakes.models import (
    PLANTED_KEY,
    PLANTED_PATH,
    Attempts,
    Call,
    Cut,
    Delayed,
    Fail,
    Garbage,
    Gate,
    Hang,
    ModelServer,
    Paced,
    Say,
    Steps,
)
from tests.fakes.models.replies import FailKind, HangPlace

SIX = Say("one two three four five six")


class Ear:
    """What came of an answer so far, even if the stream breaks."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._more = asyncio.Event()

    def __str__(self) -> str:
        return "".join(self.pieces)

    def hear(self, chunk: ChatCompletionChunk) -> None:
        self.pieces += [choice.delta.content or "" for choice in chunk.choices]
        self._more.set()

    async def heard(self, *pieces: str) -> None:
        while self.pieces != list(pieces):
            await self._more.wait()
            self._more.clear()


async def ask(client: AsyncOpenAI, text: str, ear: Ear | None = None) -> str:
    """The streamed answer."""
    ear = ear or Ear()
    opened = await client.chat.completions.create(
        model="gpt-4o", messages=[{"role": "user", "content": text}], stream=True
    )
    async for chunk in opened:
        ear.hear(chunk)
    return str(ear)


async def ask_whole(client: AsyncOpenAI, text: str) -> str | None:
    answer = await client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": text}])
    return answer.choices[0].message.content


async def ask_anthropic(client: AsyncAnthropic, text: str) -> Message:
    messages: Any = [{"role": "user", "content": text}]
    async with client.messages.stream(model="claude-opus-5", max_tokens=9, messages=messages) as opened:
        return await opened.get_final_message()


@pytest.mark.parametrize(
    ("kind", "error", "status", "code"),
    [
        ("auth", sdk.AuthenticationError, 401, "invalid_api_key"),
        ("rate_limit", sdk.RateLimitError, 429, "rate_limit_exceeded"),
        ("quota", sdk.RateLimitError, 429, "insufficient_quota"),
        ("overloaded", sdk.InternalServerError, 503, None),
        ("server_error", sdk.InternalServerError, 500, None),
        ("not_found", sdk.NotFoundError, 404, "model_not_found"),
        ("content_filter", sdk.BadRequestError, 400, "content_filter"),
        ("context_length", sdk.BadRequestError, 400, "context_length_exceeded"),
        ("bad_request", sdk.BadRequestError, 400, "invalid_value"),
    ],
)
async def test_every_kind_of_failure_is_the_sdks_own(
    server: ModelServer, openai: AsyncOpenAI, kind: FailKind, error: type[sdk.APIStatusError], status: int, code: str
) -> None:
    server.on("fail", Fail(kind, planted=True))
    with pytest.raises(error) as failure:
        await ask(openai, "fail")
    assert failure.value.code == code
    assert PLANTED_KEY in str(failure.value)
    assert PLANTED_PATH in str(failure.value)
    assert (server.requests[0].status, server.requests[0].outcome) == (status, "refused")
    assert PLANTED_KEY in server.requests[0].error


@pytest.mark.parametrize(
    ("kind", "error", "status"),
    [
        ("auth", anthropic_sdk.AuthenticationError, 401),
        ("rate_limit", anthropic_sdk.RateLimitError, 429),
        ("quota", anthropic_sdk.BadRequestError, 400),
        ("overloaded", anthropic_sdk.OverloadedError, 529),
        ("server_error", anthropic_sdk.InternalServerError, 500),
        ("not_found", anthropic_sdk.NotFoundError, 404),
        ("context_length", anthropic_sdk.BadRequestError, 400),
        ("bad_request", anthropic_sdk.BadRequestError, 400),
    ],
)
async def test_every_kind_of_failure_is_anthropics_own(
    server: ModelServer,
    anthropic: AsyncAnthropic,
    kind: FailKind,
    error: type[anthropic_sdk.APIStatusError],
    status: int,
) -> None:
    server.on("fail", Attempts(Fail(kind, planted=True, retry_after_s=3), (Say("one"), Fail(kind, planted=True))))
    for _ in range(2):
        with pytest.raises(anthropic_sdk.APIStatusError) as failure:
            await ask_anthropic(anthropic, "fail")
        assert PLANTED_KEY in str(failure.value)
    assert isinstance(failure.value, anthropic_sdk.APIStatusError)
    assert [request.status for request in server.requests] == [status, 200]
    with pytest.raises(error) as first:
        server.forget_rules()
        server.on("fail", Fail(kind, retry_after_s=3))
        await ask_anthropic(anthropic, "fail")
    assert first.value.response.headers["retry-after"] == "3"


async def test_anthropic_refuses_by_a_stop_reason(server: ModelServer, anthropic: AsyncAnthropic) -> None:
    server.on("fail", Fail("content_filter"))
    assert (await ask_anthropic(anthropic, "fail")).stop_reason == "refusal"


async def test_a_failure_may_be_of_ones_own_making(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.on("limit", Fail("rate_limit", "slow down", retry_after_s=7))
    server.on("gateway", Fail(502, body="<html>bad gateway</html>"))
    server.on("teapot", Fail(418, "short and stout"))
    with pytest.raises(sdk.RateLimitError, match="slow down") as limited:
        await ask(openai, "limit")
    assert limited.value.response.headers["retry-after"] == "7"
    with pytest.raises(sdk.InternalServerError) as gateway:
        await ask(openai, "gateway")
    assert gateway.value.response.headers["content-type"].startswith("text/html")
    with pytest.raises(sdk.APIStatusError, match="short and stout"):
        await ask(openai, "teapot")


async def test_attempts_are_counted_and_the_last_reply_stays(server: ModelServer, openai: AsyncOpenAI) -> None:
    rule = server.on("try", Attempts(Fail("auth"), Steps(Attempts(Say("one"), Say("two")))))
    with pytest.raises(sdk.AuthenticationError):
        await ask(openai, "try")
    assert [await ask(openai, "try") for _ in range(3)] == ["one", "two", "two"]
    assert rule.hits == 4


async def test_the_newest_rule_wins_and_rules_may_look_at_everything(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.on("hello", Say("old"))
    server.on("hello", Say("new"))
    server.on(lambda request: request.stream is False, Say("whole"))
    server.always(lambda request: Say(f"{len(request.messages)} message"))
    assert await ask(openai, "hello you") == "new"
    assert await ask_whole(openai, "hello you") == "whole"
    assert await ask(openai, "else") == "1 message"
    server.forget_rules()
    assert await ask(openai, "hello you") == "1 message"


@pytest.mark.parametrize("row", [(SIX, Cut(after_deltas=2)), (Cut(2), SIX), (Say("one two "), Cut()), (Cut(2),)])
async def test_a_stream_is_cut_in_the_middle(server: ModelServer, openai: AsyncOpenAI, row: Any) -> None:
    server.on("one two", *row)
    ear = Ear()
    with pytest.raises(sdk.APIConnectionError):
        await ask(openai, "one two", ear)
    assert str(ear) in ("one two ", "re: one ")
    await server.until(lambda: server.requests[0].outcome == "cut")
    assert server.requests[0].deltas == 2
    assert server.open_streams == 0


async def test_a_stream_that_ends_without_its_last_events_looks_complete_to_the_sdks(
    server: ModelServer, openai: AsyncOpenAI, anthropic: AsyncAnthropic
) -> None:
    server.on("cut", Say("one two three"), Cut(after_deltas=2, clean=True))
    assert await ask(openai, "cut") == "one two "
    message = await ask_anthropic(anthropic, "cut")
    assert (message.content[0].model_dump()["text"], message.stop_reason) == ("one two ", None)
    assert [(request.outcome, request.deltas) for request in server.requests] == [("cut", 2), ("cut", 2)]


async def test_a_connection_is_cut_before_any_answer(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.on("cut", Cut())
    with pytest.raises(sdk.APIConnectionError):
        await ask(openai, "cut")
    with pytest.raises(sdk.APIConnectionError):
        await ask_whole(openai, "cut")
    assert server.connections == 2
    await server.pause()
    with pytest.raises(sdk.APIConnectionError):
        await ask(openai, "hello")
    await server.resume()
    assert await ask(openai, "hello") == "re: hello"


@pytest.mark.parametrize(
    ("where", "heard"), [("connect", []), ("headers", []), ("first_token", [""]), ("mid_stream", ["", "one ", "two "])]
)
async def test_a_hanging_answer_hangs_until_the_client_goes(
    server: ModelServer, openai: AsyncOpenAI, where: HangPlace, heard: list[str]
) -> None:
    server.on("hang", Hang(where, after_deltas=2) if where == "mid_stream" else Hang(where), SIX)
    ear = Ear()
    asking = asyncio.create_task(ask(openai, "hang", ear))
    await server.until(lambda: server.in_flight == 1)
    await server.until(lambda: where in ("connect", "headers") or server.open_streams == 1)
    await ear.heard(*heard)
    assert not asking.done()
    assert server.requests[0].outcome == "open"
    asking.cancel()
    await server.until(lambda: server.requests[0].disconnected)
    assert server.requests[0].deltas == len([piece for piece in heard if piece])
    assert (server.open_streams, server.in_flight) == (0, 0)


async def test_a_hanging_answer_may_show_signs_of_life(server: ModelServer) -> None:
    server.on("hang", Hang("first_token", ping_s=0.001))
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {server.key}"}) as client:
        body = {"model": "x", "stream": True, "messages": [{"role": "user", "content": "hang"}]}
        async with client.stream("POST", f"{server.openai_url}/chat/completions", json=body) as response:
            lines = response.aiter_lines()
            pings = [line for _ in range(8) if (line := await anext(lines)).startswith(":")]
    assert len(pings) >= 2
    await server.until(lambda: server.requests[0].disconnected)


async def test_all_connections_may_be_cut_at_once(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.on("wait", Say("one "), Gate("never"))
    ears = [Ear(), Ear()]
    asking = [asyncio.create_task(ask(openai, "wait", ear)) for ear in ears]
    await server.until(lambda: server.gate("never").waiting == 2)
    await asyncio.gather(*(ear.heard("", "one ") for ear in ears))
    server.cut_connections()
    failures = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(failure, sdk.APIConnectionError) for failure in failures)
    await server.until(lambda: server.in_flight == 0)
    assert server.gate("never").waiting == 0
    assert [request.outcome for request in server.requests] == ["cut", "cut"]
    assert await ask(openai, "hello") == "re: hello"


async def test_held_connections_are_never_served(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.hold_connections()
    with pytest.raises(sdk.APITimeoutError):
        await ask(openai.with_options(timeout=0.05), "hello")
    assert (server.connections, server.requests) == (1, ())
    asking = asyncio.create_task(ask(openai, "hello"))
    await server.until(lambda: server.connections == 2)
    server.cut_connections()
    with pytest.raises(sdk.APIConnectionError):
        await asking
    server.hold_connections(False)
    assert await ask(openai, "hello") == "re: hello"


async def test_a_server_that_stops_lets_nobody_hang(openai: AsyncOpenAI) -> None:
    async with ModelServer(key=openai.api_key) as server:
        server.on("hang", Hang("first_token"))
        server.on("wait", Gate("never"))
        client = openai.with_options(base_url=server.openai_url)
        asking = [asyncio.create_task(ask(client, text)) for text in ("hang", "wait")]
        await server.until(lambda: server.in_flight == 2)
    failures = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(failure, sdk.APIConnectionError) for failure in failures)
    assert [request.outcome for request in server.requests] == ["cut", "cut"]


async def test_a_gate_holds_an_answer(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.on("wait", Say("before "), Gate("door"), Say("after"))
    server.on("knock", Gate("door"), Fail("auth"))
    ear = Ear()
    asking = asyncio.create_task(ask(openai, "wait", ear))
    await server.until(lambda: server.gate("door").waiting == 1)
    await ear.heard("", "before ")
    assert server.open_streams == 1
    server.gate("door").set()
    assert await asking == "before after"
    with pytest.raises(sdk.AuthenticationError):
        await ask(openai, "knock")


async def test_garbage_instead_of_an_answer(
    server: ModelServer, openai: AsyncOpenAI, anthropic: AsyncAnthropic
) -> None:
    server.on("html", Garbage())
    server.on("broken", Say("one two "), Garbage())
    assert await ask(openai, "html") == ""
    answer: Any = await openai.chat.completions.create(model="x", messages=[{"role": "user", "content": "html"}])
    assert "502 Bad Gateway" in str(answer)
    ear = Ear()
    with pytest.raises(ValueError, match="Unterminated string"):
        await ask(openai, "broken", ear)
    assert str(ear) == "one two "
    with pytest.raises((ValueError, sdk.APIError)):
        await ask_whole(openai, "broken")
    with pytest.raises(ValueError, match="Unterminated string"):
        await ask_anthropic(anthropic, "broken")


async def test_a_failure_in_the_middle_is_an_event(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.on("fail", Say("one two "), Fail("server_error", planted=True))
    ear = Ear()
    with pytest.raises(sdk.APIError, match=PLANTED_KEY) as failure:
        await ask(openai, "fail", ear)
    assert type(failure.value) is sdk.APIError
    assert str(ear) == "one two "
    assert server.requests[0].status == 200


async def test_paced_and_delayed_answers_take_their_time(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.on("paced", Paced("a b", per_s=200, tokens=6))
    server.on("late", Delayed(0.02, "at last"))
    loop = asyncio.get_running_loop()
    start = loop.time()
    ear = Ear()
    assert await ask(openai, "paced", ear) == "a b a b a b "
    assert len([piece for piece in ear.pieces if piece]) == 6
    assert loop.time() - start >= 6 / 200
    assert await ask_whole(openai, "late") == "at last"
    assert loop.time() - start >= 6 / 200 + 0.02


async def test_a_client_that_goes_is_noticed(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.on("paced", Paced(per_s=1000, tokens=100_000))
    opened = await openai.chat.completions.create(
        model="gpt-4o", messages=[{"role": "user", "content": "paced"}], stream=True
    )
    await anext(opened)
    await opened.close()
    await server.until(lambda: server.requests[0].disconnected)
    assert server.open_streams == 0


async def test_calls_are_repeated_for_ever_if_the_script_says_so(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.on("loop", Call("again", {}, id="call_fixed"))
    calls: Sequence[Any] = (
        await openai.chat.completions.create(model="x", messages=[{"role": "user", "content": "loop"}])
    ).choices[0].message.tool_calls or ()
    assert [(call.id, call.function.name, call.function.arguments) for call in calls] == [("call_fixed", "again", "{}")]


async def test_models_are_listed_for_both(openai: AsyncOpenAI, anthropic: AsyncAnthropic) -> None:
    key = openai.api_key
    async with ModelServer(key=key, models=("gpt-5.2", "claude-opus-5")) as server:
        ours, theirs = openai.with_options(base_url=server.openai_url), anthropic.with_options(base_url=server.url)
        assert [model.id async for model in ours.models.list()] == ["gpt-5.2", "claude-opus-5"]
        assert [model.id async for model in theirs.models.list()] == ["gpt-5.2", "claude-opus-5"]
        with pytest.raises(sdk.NotFoundError, match="The model `gpt-4o` does not exist"):
            await ask(ours, "hello")
        with pytest.raises(sdk.AuthenticationError):
            await ours.with_options(api_key="sk-wrong").models.list()
        with pytest.raises(sdk.NotFoundError, match="Invalid URL"):
            await ours.embeddings.create(model="x", input="x")
