"""OpenAI's responses, spoken to by OpenAI's SDK."""

import json
from typing import Any

import openai as sdk
import pytest
from openai import AsyncOpenAI
from openai.types.responses import Response

from tests.fakes.models import Call, Empty, Fail, Filtered, ModelServer, Say, Steps, Think, Truncated

MODEL = "gpt-5.2"
TOOL: Any = {"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": False}
ENCRYPTED = "reasoning.encrypted_content"


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def called(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "weather", "arguments": "{}", **more}


def result(call_id: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "sunny"}


async def stream(client: AsyncOpenAI, said: Any, **more: Any) -> Response:
    async with client.responses.stream(model=MODEL, input=said, **more) as opened:
        return await opened.get_final_response()


async def whole(client: AsyncOpenAI, said: Any, **more: Any) -> Response:
    answer: Response = await client.responses.create(model=MODEL, input=said, **more)
    return answer


async def events(client: AsyncOpenAI, said: Any, **more: Any) -> list[Any]:
    opened: Any = await client.responses.create(model=MODEL, input=said, stream=True, **more)
    return [event async for event in opened]


def items(response: Response) -> list[Any]:
    return [item.model_dump(exclude_none=True) for item in response.output]


@pytest.mark.parametrize("send", [stream, whole])
async def test_by_default_the_model_repeats_the_last_line(server: ModelServer, openai: AsyncOpenAI, send: Any) -> None:
    response = await send(openai, "first\nand last", instructions="Be kind.")
    assert (response.output_text, response.status) == ("re: and last", "completed")
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (server.requests[0].tokens, 3)
    assert server.requests[0].talk == (("system", "Be kind."), ("user", "first\nand last"))


async def test_the_events_come_in_the_documented_order(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.on("x", Think("hm", deltas=1), Say("a b", deltas=2), Call("weather", {"city": "Ghent"}))
    seen = await events(openai, "x", include=[ENCRYPTED])
    assert [event.sequence_number for event in seen] == list(range(len(seen)))
    summary, arguments = "reasoning_summary", "function_call_arguments"
    assert [event.type.removeprefix("response.") for event in seen] == [
        *("created", "in_progress"),
        *("output_item.added", f"{summary}_part.added", f"{summary}_text.delta"),
        *(f"{summary}_text.done", f"{summary}_part.done", "output_item.done"),
        *("output_item.added", "content_part.added", "output_text.delta", "output_text.delta"),
        *("output_text.done", "content_part.done", "output_item.done"),
        *("output_item.added", *[f"{arguments}.delta"] * 3, f"{arguments}.done", "output_item.done"),
        "completed",
    ]
    assert json.loads("".join(event.delta for event in seen if event.type == f"response.{arguments}.delta")) == {
        "city": "Ghent"
    }


@pytest.mark.parametrize("send", [stream, whole])
@pytest.mark.parametrize("stored", [True, False])
async def test_a_tool_loop_with_reasoning_goes_step_by_step(
    server: ModelServer, openai: AsyncOpenAI, send: Any, stored: bool
) -> None:
    server.on("weather", Steps((Think("hm"), Say("Looking."), Call("weather"), Call("weather")), Say("Sunny.")))
    more: Any = {"tools": [TOOL], "store": stored, "include": [] if stored else [ENCRYPTED]}
    said: list[Any] = [user("weather please")]
    response = await send(openai, said, **more)
    assert [item["type"] for item in items(response)] == ["reasoning", "message", "function_call", "function_call"]
    ids = [item.call_id for item in response.output if item.type == "function_call"]
    said += [*items(response), *map(result, ids)]
    assert (await send(openai, said, **more)).output_text == "Sunny."
    assert (server.requests[1].step, server.requests[1].tool_results) == (1, ("sunny", "sunny"))
    assert server.requests[1].messages[1].thinking == "hm"
    assert server.requests[1].talk[1] == ("assistant", "Looking.\nweather({})\nweather({})")


async def test_a_response_goes_on_from_a_stored_one(server: ModelServer, openai: AsyncOpenAI) -> None:
    first = await whole(openai, "hello")
    second = await stream(openai, "and you", previous_response_id=first.id)
    reference = {"type": "item_reference", "id": items(second)[0]["id"]}
    await whole(openai, [user("who said this?"), reference, user("well?")])
    assert [role for role, _ in server.requests[1].talk] == ["user", "assistant", "user"]
    assert server.requests[2].talk[1] == ("assistant", "re: and you")
    unstored = await whole(openai, "hello", store=False)
    with pytest.raises(sdk.BadRequestError, match=f"Previous response with id '{unstored.id}' not found"):
        await whole(openai, "and you", previous_response_id=unstored.id)


async def test_answers_may_end_early_or_say_nothing(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.on("long", Say("half a"), Truncated())
    server.on("bad", Say("I"), Filtered())
    server.on("nothing", Empty())
    asked = ("long", "bad", "nothing")
    streamed = [(await events(openai, text))[-1] for text in asked]
    assert [event.type.removeprefix("response.") for event in streamed] == ["incomplete", "incomplete", "completed"]
    for endings in ([event.response for event in streamed], [await whole(openai, text) for text in asked]):
        assert [ending.status for ending in endings] == ["incomplete", "incomplete", "completed"]
        reasons = [ending.incomplete_details and ending.incomplete_details.reason for ending in endings]
        assert reasons == ["max_output_tokens", "content_filter", None]
        assert endings[2].output == []


async def test_a_failure_in_the_middle_is_an_event(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.on("fail", Say("one"), Fail("server_error"))
    server.on("long", Say("one"), Fail("context_length"))
    failed = (await events(openai, "fail"))[-1]
    assert (failed.type, failed.response.status, failed.response.error.code) == (
        *("response.failed", "failed"),
        "server_error",
    )
    error = (await events(openai, "long"))[-1]
    assert (error.type, error.code) == ("error", "context_length_exceeded")


MESSAGE = {"type": "message", "role": "assistant", "status": "completed"}
OUTPUT = {"type": "output_text", "text": "x", "annotations": []}
REFUSED: list[tuple[Any, type[sdk.APIStatusError], str]] = [
    ([], sdk.BadRequestError, 'One of "input" or "previous_response_id"'),
    ([user("")], sdk.BadRequestError, "Invalid 'input[0].content': empty string"),
    ([{"role": "user", "content": []}], sdk.BadRequestError, "Invalid 'input[0].content': empty array"),
    ([{"role": "bot", "content": "x"}], sdk.BadRequestError, "Invalid value: 'bot'"),
    ([{"role": "user", "content": "x", "name": "Ada"}], sdk.BadRequestError, "Unknown parameter: 'input[0].name'"),
    ([{"role": "user", "content": [OUTPUT]}], sdk.BadRequestError, "Invalid value: 'output_text'. Supported values"),
    ([user("x"), called("a")], sdk.BadRequestError, "No tool output found for function call a."),
    ([user("x"), result("a")], sdk.BadRequestError, "No tool call found for function call output with call_id a."),
    ([user("x"), called("a"), called("a"), result("a")], sdk.BadRequestError, "Duplicate function call"),
    ([user("x"), called("a", id="msg_1"), result("a")], sdk.BadRequestError, "Expected an ID that begins with 'fc'."),
    ([user("x"), called("a", arguments={}), result("a")], sdk.BadRequestError, "expected a string, but got an object"),
    ([user("x"), called("a", name="a b"), result("a")], sdk.BadRequestError, "string does not match pattern"),
    ([{**MESSAGE, "id": "msg_1", "content": [OUTPUT]}] * 2, sdk.BadRequestError, "Duplicate item found with id msg_1"),
    ([{"type": "item_reference", "id": "msg_1"}], sdk.NotFoundError, "Item with id 'msg_1' not found. Items are not"),
    (
        [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAAB"}, user("x")],
        sdk.BadRequestError,
        "The encrypted content for item rs_1 could not be verified.",
    ),
]


@pytest.mark.parametrize(("said", "kind", "words"), REFUSED)
async def test_an_input_that_openai_refuses_is_refused(
    server: ModelServer, openai: AsyncOpenAI, said: Any, kind: type[sdk.APIStatusError], words: str
) -> None:
    with pytest.raises(kind) as refusal:
        await whole(openai, said)
    assert words in str(refusal.value)
    assert server.requests[0].outcome == "refused"


@pytest.mark.parametrize("stored", [True, False])
async def test_reasoning_comes_with_what_it_led_to(server: ModelServer, openai: AsyncOpenAI, stored: bool) -> None:
    server.on("think", Think("hm"), Say("so"))
    more: Any = {"store": stored, "include": [ENCRYPTED]}
    reasoning, message = items(await whole(openai, "think", **more))
    without_id = {name: value for name, value in message.items() if name != "id"}
    await whole(openai, [user("think"), reasoning, message, user("go on")], **more)
    with pytest.raises(sdk.BadRequestError, match="of type 'reasoning' was provided without its required following"):
        await whole(openai, [user("think"), reasoning, user("go on")], **more)
    if not stored:
        await whole(openai, [user("think"), reasoning, without_id, user("go on")], **more)
        await whole(openai, [user("think"), message, user("go on")], **more)
        bare = {**reasoning, "encrypted_content": None}
        with pytest.raises(sdk.NotFoundError, match="Items are not persisted when `store` is set to false"):
            await whole(openai, [user("think"), bare, message, user("go on")], **more)
        return
    with pytest.raises(sdk.BadRequestError, match="of type 'reasoning' was provided without its required following"):
        await whole(openai, [user("think"), reasoning, without_id, user("go on")], **more)
    with pytest.raises(sdk.BadRequestError, match="was provided without its required 'reasoning' item: 'rs_"):
        await whole(openai, [user("think"), message, user("go on")], **more)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"messages": []}, "Unknown parameter: 'messages'."),
        ({"max_output_tokens": 5}, "Expected a value >= 16, but got 5 instead"),
        ({"model": "gpt-5", "temperature": 0.5}, "Unsupported parameter: 'temperature' is not supported with"),
        ({"include": ["everything"]}, "Invalid value: 'everything'"),
        ({"reasoning": {"effort": "huge"}}, "Invalid value: 'huge'"),
        ({"reasoning": {"budget": 1}}, "Unknown parameter: 'reasoning.budget'"),
        ({"tools": [{"type": "function", "function": {"name": "a"}}]}, "Unknown parameter: 'tools[0].function'"),
        ({"tools": [{**TOOL, "name": "a b"}]}, "Invalid 'tools[0].name'"),
        ({"stream_options": {"include_obfuscation": False}}, "only allowed when 'stream' is enabled"),
    ],
)
async def test_a_parameter_that_openai_refuses_is_refused(
    openai: AsyncOpenAI, extra: dict[str, Any], words: str
) -> None:
    with pytest.raises(sdk.BadRequestError) as refusal:
        await whole(openai, "x", extra_body=extra)
    assert words in str(refusal.value)


async def test_too_much_context_is_refused(server: ModelServer, openai: AsyncOpenAI) -> None:
    server.set_context(100)
    with pytest.raises(sdk.BadRequestError, match="Your input exceeds the context window of this model") as refusal:
        await whole(openai, "x" * 500)
    assert refusal.value.code == "context_length_exceeded"
