"""OpenAI's chat completions, spoken to by OpenAI's SDK."""

import json
from collections.abc import Sequence
from typing import Any

import openai as sdk
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionChunk

from tests.fakes.models import Call, Empty, Filtered, ModelServer, Say, Steps, Think, Truncated

MODEL = "gpt-4o"
WEATHER: Any = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def called(*ids: str, **more: Any) -> dict[str, Any]:
    """An assistant's message with calls of these ids."""
    calls = [{"id": one, "type": "function", "function": {"name": "weather", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "tool_calls": calls, **more}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "sunny"}


async def stream(client: AsyncOpenAI, messages: Any, **more: Any) -> list[ChatCompletionChunk]:
    opened = await client.chat.completions.create(
        model=MODEL, messages=messages, stream=True, stream_options={"include_usage": True}, **more
    )
    return [chunk async for chunk in opened]


def text_of(chunks: Sequence[ChatCompletionChunk]) -> str:
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


def finish_of(chunks: Sequence[ChatCompletionChunk]) -> str | None:
    return next((choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason), None)


async def test_by_default_the_model_repeats_the_last_line(server: ModelServer, openai: AsyncOpenAI) -> None:
    chunks = await stream(openai, [{"role": "developer", "content": "Be kind."}, user("first\nand last")])
    assert text_of(chunks) == "re: and last"
    assert finish_of(chunks) == "stop"
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices == []
    usage = chunks[-1].usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (server.requests[0].tokens, 3)
    whole = await openai.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "hello"}])
    assert whole.choices[0].message.content == "re: hello"
    assert server.requests[0].talk == (("system", "Be kind."), ("user", "first\nand last"))
    assert [request.outcome for request in server.requests] == ["answered", "answered"]
    assert [request.stream for request in server.requests] == [True, False]
    assert server.connections == 1


async def test_text_comes_in_the_deltas_that_were_asked_for(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.on("words", Say("one two three"))
    server.on("pieces", Say("one two three", deltas=2))
    server.on("exact", Say("", deltas=("on", "e")))
    said = [
        [chunk.choices[0].delta.content for chunk in await stream(openai, [user(text)]) if chunk.choices][1:-1]
        for text in ("words", "pieces", "exact")
    ]
    assert said == [["one ", "two ", "three"], ["one tw", "o three"], ["on", "e"]]


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_tool_loop_goes_step_by_step(server: ModelServer, openai: AsyncOpenAI, streamed: bool) -> None:
    server.on("weather", Steps((Say("Looking."), Call("weather", {"city": "Ghent"}), Call("weather")), Say("Sunny.")))
    messages: list[Any] = [user("weather please")]
    if streamed:
        async with openai.chat.completions.stream(model=MODEL, messages=messages, tools=[WEATHER]) as opened:
            message = (await opened.get_final_completion()).choices[0].message
    else:
        whole = await openai.chat.completions.create(model=MODEL, messages=messages, tools=[WEATHER])
        assert whole.choices[0].finish_reason == "tool_calls"
        message = whole.choices[0].message  # type: ignore[assignment]
    calls = message.tool_calls or []
    assert message.content == "Looking."
    assert [json.loads(call.function.arguments) for call in calls] == [{"city": "Ghent"}, {}]
    messages += [called(*(call.id for call in calls)), *(result(call.id) for call in calls)]
    assert text_of(await stream(openai, messages, tools=[WEATHER])) == "Sunny."
    assert server.requests[-1].tool_results == ("sunny", "sunny")
    assert server.requests[-1].talk[1] == ("assistant", "weather({})\nweather({})")
    assert server.requests[-1].tools == ("weather",)


async def test_reasoning_comes_as_vllm_sends_it(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.on("think", Think("hm hm"), Say("so"))
    chunks = await stream(openai, [user("think")])
    deltas = [choice.delta.model_dump() for chunk in chunks for choice in chunk.choices]
    assert "".join(delta.get("reasoning_content") or "" for delta in deltas) == "hm hm"
    assert text_of(chunks) == "so"


async def test_answers_may_end_early_or_say_nothing(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.on("long", Say("half a"), Truncated())
    server.on("bad", Say("I"), Filtered())
    server.on("nothing", Empty())
    for text, ending in (("long", ("half a", "length")), ("bad", ("I", "content_filter")), ("nothing", ("", "stop"))):
        chunks = await stream(openai, [user(text)])
        assert (text_of(chunks), finish_of(chunks)) == ending
        whole = await openai.chat.completions.create(model=MODEL, messages=[user(text)])  # type: ignore[list-item]
        assert (whole.choices[0].message.content, whole.choices[0].finish_reason) == ending


NOT_ANSWERED = "must be followed by tool messages responding to each 'tool_call_id'"
REFUSED: list[tuple[list[dict[str, Any]], str]] = [
    ([], "Invalid 'messages': empty array"),
    ([user("")], "Invalid 'messages[0].content': empty string"),
    ([{"role": "user", "content": None}], "Invalid value for 'content': expected a string, got null."),
    ([{"role": "user", "content": []}], "Invalid 'messages[0].content': empty array"),
    ([{"role": "user", "content": [{"type": "text", "text": ""}]}], "Invalid 'messages[0].content[0].text'"),
    ([{"role": "bot", "content": "x"}], "Invalid value: 'bot'"),
    ([{"role": "user", "content": "x", "date": 1}], "Unknown parameter: 'messages[0].date'"),
    ([{"role": "user", "content": "x", "name": "Ada L"}], "Invalid 'messages[0].name': string does not match"),
    ([user("x"), {"role": "assistant"}], "Invalid value for 'content': expected a string, got null."),
    ([user("x"), {"role": "assistant", "content": ""}], "Invalid 'messages[1].content': empty string"),
    ([user("x"), called("a")], f"{NOT_ANSWERED}. The following tool_call_ids did not have response messages: a"),
    ([user("x"), called("a", "b"), result("a"), user("y")], "did not have response messages: b"),
    ([user("x"), called("a"), user("y"), result("a")], NOT_ANSWERED),
    ([user("x"), result("a")], "messages with role 'tool' must be a response to a preceeding message"),
    ([user("x"), called("a"), result("b")], "'tool_call_id' of 'b' not found in 'tool_calls' of previous message"),
    ([user("x"), called("a"), result("a"), result("a")], "Duplicate value for 'tool_call_id' of 'a'"),
    ([user("x"), called("a", "a"), result("a")], "Duplicate value for 'id'"),
    ([user("x"), called("a" * 41), result("a" * 41)], "string too long. Expected a string with maximum length 40"),
    ([user("x"), called("a", tool_calls=[])], "Invalid 'messages[1].tool_calls': empty array"),
]


@pytest.mark.parametrize(("messages", "words"), REFUSED)
async def test_a_history_that_openai_refuses_is_refused(
    server: ModelServer, openai: AsyncOpenAI, messages: Any, words: str
) -> None:
    with pytest.raises(sdk.BadRequestError) as refusal:
        await stream(openai, messages)
    assert words in str(refusal.value.message)
    assert refusal.value.type == "invalid_request_error"
    assert (server.requests[0].status, server.requests[0].outcome) == (400, "refused")


async def test_arguments_and_names_of_calls_in_the_history_are_checked(openai: AsyncOpenAI) -> None:
    for function, words in (
        ({"name": "weather", "arguments": {}}, "expected a string, but got an object instead"),
        ({"name": "the weather", "arguments": "{}"}, "string does not match pattern"),
    ):
        call = {"id": "a", "type": "function", "function": function}
        with pytest.raises(sdk.BadRequestError, match=words):
            await stream(openai, [user("x"), {"role": "assistant", "tool_calls": [call]}, result("a")])


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"top_k": 4}, "Unrecognized request argument supplied: top_k"),
        ({"top_k": 4, "seat": 1}, "Unrecognized request arguments supplied: seat, top_k"),
        ({"temperature": 3}, "decimal above maximum value. Expected a value <= 2"),
        ({"temperature": "hot"}, "Invalid type for 'temperature': expected a decimal, but got a string instead"),
        ({"max_tokens": 0}, "integer below minimum value. Expected a value >= 1"),
        ({"tools": []}, "Invalid 'tools': empty array"),
        ({"tool_choice": "auto"}, "'tool_choice' is only allowed when 'tools' are specified"),
        ({"parallel_tool_calls": True}, "'parallel_tool_calls' is only allowed when 'tools' are specified"),
        ({"tools": [WEATHER], "tool_choice": "some"}, "Invalid value: 'some'"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "Invalid 'tools[0].function.name'"),
        ({"tools": [{"type": "function", "function": {"name": "a", "parameters": {}}}]}, "Invalid schema for function"),
        ({"reasoning_effort": "huge"}, "Invalid value: 'huge'"),
        ({"stream_options": {"include_tea": True}}, "Unknown parameter: 'stream_options.include_tea'"),
    ],
)
async def test_a_parameter_that_openai_refuses_is_refused(
    openai: AsyncOpenAI, extra: dict[str, Any], words: str
) -> None:
    with pytest.raises(sdk.BadRequestError) as refusal:
        await stream(openai, [user("x")], extra_body=extra)
    assert words in str(refusal.value.message)


@pytest.mark.parametrize(
    ("model", "extra", "words"),
    [
        ("gpt-5.2", {"max_tokens": 100}, "Use 'max_completion_tokens' instead."),
        ("o3", {"temperature": 0.5}, "'temperature' does not support 0.5 with this model."),
        ("gpt-5", {"top_p": 0.5}, "'top_p' does not support 0.5 with this model."),
    ],
)
async def test_models_that_reason_take_fewer_parameters(
    openai: AsyncOpenAI, model: str, extra: dict[str, Any], words: str
) -> None:
    messages: Any = [user("x")]
    with pytest.raises(sdk.BadRequestError) as refusal:
        await openai.chat.completions.create(model=model, messages=messages, extra_body=extra)
    assert words in str(refusal.value)
    await openai.chat.completions.create(model="gpt-4o", messages=messages, extra_body=extra)


async def test_stream_options_are_for_streams(openai: AsyncOpenAI) -> None:
    with pytest.raises(sdk.BadRequestError, match="only allowed when 'stream' is enabled"):
        await openai.chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": "x"}],
            extra_body={"stream_options": {"include_usage": True}},
        )


async def test_a_wrong_key_is_refused_and_repeated_in_part(server: ModelServer, openai: AsyncOpenAI) -> None:
    wrong = "sk-wrong-0123456789abcdef"
    with pytest.raises(sdk.AuthenticationError) as refusal:
        await stream(openai.with_options(api_key=wrong), [user("x")])
    assert "Incorrect API key provided: sk-wrong*************cdef." in str(refusal.value.message)
    assert refusal.value.code == "invalid_api_key"
    assert server.requests[0].status == 401


async def test_too_much_context_is_refused(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.set_context(100)
    await stream(openai, [user("x" * 300)])
    with pytest.raises(sdk.BadRequestError) as refusal:
        await stream(openai, [user("x" * 500)])
    assert refusal.value.code == "context_length_exceeded"
    tokens = server.requests[1].tokens
    assert f"maximum context length is 100 tokens. However, your messages resulted in {tokens}" in str(refusal.value)
