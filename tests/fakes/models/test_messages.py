"""Anthropic's messages, spoken to by Anthropic's SDK."""

from typing import Any

import anthropic as sdk
import pytest
from anthropic import AsyncAnthropic
from anthropic.types import Message

from tests.fakes.models import Call, Empty, Filtered, ModelServer, Say, Steps, Think, Truncated

MODEL = "claude-haiku-4-5"  # the answer may be begun for it
NEWER = "claude-sonnet-4-6"  # not for it
BINDING = "claude-opus-5-5"  # binds its thinking to the conversation
TOOL: Any = {"name": "weather", "input_schema": {"type": "object"}}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def said(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def called(*ids: str) -> dict[str, Any]:
    return said([{"type": "tool_use", "id": one, "name": "weather", "input": {}} for one in ids])


def result(*ids: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": one, "content": "sunny"} for one in ids]


async def stream(client: AsyncAnthropic, messages: Any, model: str = MODEL, **more: Any) -> Message:
    async with client.messages.stream(model=model, max_tokens=2048, messages=messages, **more) as opened:
        return await opened.get_final_message()


async def whole(client: AsyncAnthropic, messages: Any, model: str = MODEL, **more: Any) -> Message:
    answer: Message = await client.messages.create(model=model, max_tokens=2048, messages=messages, **more)
    return answer


def blocks(message: Message) -> list[dict[str, Any]]:
    return [block.model_dump(include={"type", "text", "thinking", "name", "input"}) for block in message.content]


@pytest.mark.parametrize("send", [stream, whole])
async def test_by_default_the_model_repeats_the_last_line(
    server: ModelServer, anthropic: AsyncAnthropic, send: Any
) -> None:
    message = await send(anthropic, [user("first\nand last")], system="Be kind.")
    assert blocks(message) == [{"type": "text", "text": "re: and last"}]
    assert message.stop_reason == "end_turn"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (server.requests[0].tokens, 3)
    assert server.requests[0].talk == (("system", "Be kind."), ("user", "first\nand last"))


async def test_the_events_come_in_the_documented_order(server: ModelServer, anthropic: AsyncAnthropic) -> None:
    server.on("x", Think("hm", deltas=1), Say("a b", deltas=2), Call("weather", {"city": "Ghent"}))
    messages: Any = [user("x")]
    events: Any = await anthropic.messages.create(model=MODEL, max_tokens=9, messages=messages, stream=True)
    seen = [event.delta.type if event.type == "content_block_delta" else event.type async for event in events]
    start, stop = "content_block_start", "content_block_stop"
    assert seen == [
        *("message_start", start, "thinking_delta", "signature_delta", stop),
        *(start, "text_delta", "text_delta", stop),
        *(start, "input_json_delta", "input_json_delta", "input_json_delta", "input_json_delta", stop),
        *("message_delta", "message_stop"),
    ]


@pytest.mark.parametrize("send", [stream, whole])
async def test_a_tool_loop_with_thinking_goes_step_by_step(
    server: ModelServer, anthropic: AsyncAnthropic, send: Any
) -> None:
    loop = Steps((Think("hm"), Say("Looking."), Call("weather", {"city": "Ghent"}), Call("weather")), Say("Sunny."))
    server.on("weather", loop)
    more: Any = {"tools": [TOOL], "thinking": {"type": "enabled", "budget_tokens": 1024}}
    messages: list[Any] = [user("weather please")]
    message = await send(anthropic, messages, **more)
    assert blocks(message) == [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "name": "weather", "input": {"city": "Ghent"}},
        {"type": "tool_use", "name": "weather", "input": {}},
    ]
    assert message.stop_reason == "tool_use"
    ids = [block.id for block in message.content if block.type == "tool_use"]
    messages += [said(message.content), user(result(*ids))]
    assert blocks(await send(anthropic, messages, **more)) == [{"type": "text", "text": "Sunny."}]
    assert server.requests[1].tool_results == ("sunny", "sunny")
    assert server.requests[1].messages[1].thinking == "hm"
    assert server.requests[1].tools == ("weather",)


async def test_answers_may_end_early_or_say_nothing(server: ModelServer, anthropic: AsyncAnthropic) -> None:
    server.on("long", Say("half a"), Truncated())
    server.on("bad", Say("I"), Filtered())
    server.on("nothing", Empty())
    for send in (stream, whole):
        endings = [await send(anthropic, [user(text)]) for text in ("long", "bad", "nothing")]
        assert [message.stop_reason for message in endings] == ["max_tokens", "refusal", "end_turn"]
        assert endings[1].stop_details is not None
        assert endings[2].content == []


async def test_turns_of_one_role_are_merged_and_each_text_is_a_message(
    server: ModelServer, anthropic: AsyncAnthropic
) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"}}
    texts = [{"type": "text", "text": "b"}, image, {"type": "text", "text": "c"}]
    await stream(anthropic, [user("a"), user(texts), called("t1"), user([*result("t1"), *texts[:1]])])
    assert server.requests[0].talk == (
        *(("user", "a"), ("user", "b\n[image]"), ("user", "c")),
        *(("assistant", "weather({})"), ("tool", "sunny"), ("user", "b")),
    )
    assert (server.requests[0].last_user, server.requests[0].step) == ("b", 0)


NOT_ANSWERED = "`tool_use` ids were found without `tool_result` blocks immediately after"
NOT_ASKED = "unexpected `tool_use_id` found in `tool_result` blocks: a"
TEXT = {"type": "text", "text": "x"}
REFUSED: list[tuple[list[dict[str, Any]], str]] = [
    ([], "messages: at least one message is required"),
    ([user("")], "messages.0: all messages must have non-empty content"),
    ([user([])], "messages.0: all messages must have non-empty content"),
    ([user("x"), said(""), user("y")], "messages.1: all messages must have non-empty content"),
    ([user([{"type": "text", "text": ""}])], "messages: text content blocks must be non-empty"),
    ([user(" \n")], "messages: text content blocks must contain non-whitespace text"),
    ([said("x"), user("y")], 'messages: first message must use the "user" role'),
    ([{"role": "system", "content": "x"}, user("y")], 'messages: Unexpected role "system"'),
    ([{"role": "bot", "content": "x"}], "messages.0.role: Input should be 'user' or 'assistant'"),
    ([{"role": "user", "content": "x", "name": "Ada"}], "messages.0.name: Extra inputs are not permitted"),
    ([user([{**TEXT, "date": 1}])], "messages.0.content.0.text.date: Extra inputs are not permitted"),
    ([user([{"type": "video"}])], "messages.0.content.0: Input tag 'video' found using 'type' does not match"),
    ([user("x"), called("a")], f"messages.1: {NOT_ANSWERED}: a. Each `tool_use` block must have"),
    ([user("x"), called("a", "b"), user(result("a"))], f"messages.1: {NOT_ANSWERED}: b."),
    ([user("x"), called("a"), user("y"), user(result("a"))], f"messages.1: {NOT_ANSWERED}: a."),
    ([user("x"), called("a"), user([TEXT, *result("a")])], f"messages.1: {NOT_ANSWERED}: a."),
    ([user(result("a"))], f"messages.0.content.0: {NOT_ASKED}"),
    ([user("x"), said("y"), user(result("a"))], f"messages.2.content.0: {NOT_ASKED}"),
    ([user("x"), called("a"), user(result("a", "a"))], "each tool_use must have a single result"),
    ([user("x"), called("a", "a"), user(result("a"))], "messages.1.content.1: `tool_use` ids must be unique"),
    ([user("x"), called("a b"), user(result("a b"))], "String should match pattern '^[a-zA-Z0-9_-]+$'"),
    ([user("x"), called("a"), said([TEXT]), user(result("b"))], "unexpected `tool_use_id` found"),
    ([user("x"), said("Once upon ")], "messages: final assistant content cannot end with trailing whitespace"),
    ([user("x"), said([{"type": "tool_use", "id": "a", "name": "w", "input": "{}"}])], "should be a valid dictionary"),
    (
        [user("x"), said([{"type": "thinking", "thinking": "hm", "signature": "c2lnbmF0dXJl"}, TEXT]), user("y")],
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    ([user("x"), said([{"type": "thinking", "thinking": "hm"}])], "content.0.thinking.signature: Field required"),
]


@pytest.mark.parametrize(("messages", "words"), REFUSED)
async def test_a_history_that_anthropic_refuses_is_refused(
    server: ModelServer, anthropic: AsyncAnthropic, messages: Any, words: str
) -> None:
    with pytest.raises(sdk.BadRequestError) as refusal:
        await whole(anthropic, messages)
    assert words in str(refusal.value)
    assert refusal.value.type == "invalid_request_error"
    assert (server.requests[0].status, server.requests[0].outcome) == (400, "refused")


async def test_newer_models_want_the_last_word_from_the_user(anthropic: AsyncAnthropic) -> None:
    assert (await whole(anthropic, [user("x"), said("Once upon")])).stop_reason == "end_turn"
    with pytest.raises(sdk.BadRequestError, match="does not support assistant message prefill"):
        await whole(anthropic, [user("x"), said("Once upon")], NEWER)
    await whole(anthropic, [user("x"), {"role": "system", "content": "Be brief."}], NEWER)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"max_tokens": 0}, "max_tokens: must be greater than or equal to 1"),
        ({"seed": 4}, "seed: Extra inputs are not permitted"),
        ({"context_management": {}}, "context_management: Extra inputs are not permitted"),
        ({"temperature": 0.5}, "`temperature` is not supported in API version 2026-10-21."),
        ({"tools": [TOOL, TOOL]}, "tools: Tool names must be unique."),
        ({"tools": [{**TOOL, "name": "a b"}]}, "tools.0.custom.name: String should match pattern"),
        ({"tools": [{"name": "a", "input_schema": {}}]}, "tools.0.custom.input_schema.type: Field required"),
        ({"tool_choice": {"type": "auto"}}, "`tool_choice` may only be specified while providing `tools`"),
        ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "x"}}, "Tool 'x' not found in provided tools"),
        ({"system": [{"type": "text", "text": ""}]}, "system: text content blocks must be non-empty"),
        ({"thinking": {"type": "enabled", "budget_tokens": 9}}, "greater than or equal to 1024"),
        ({"thinking": {"type": "enabled", "budget_tokens": 4096}}, "must be greater than `thinking.budget_tokens`"),
        ({"thinking": {"type": "adaptive", "block_binding": {}}}, "block_binding: Extra inputs are not permitted"),
        (
            {"system": [{**TEXT, "cache_control": {"type": "ephemeral"}}] * 5},
            "A maximum of 4 blocks with cache_control",
        ),
    ],
)
async def test_a_parameter_that_anthropic_refuses_is_refused(
    anthropic: AsyncAnthropic, extra: dict[str, Any], words: str
) -> None:
    with pytest.raises(sdk.BadRequestError) as refusal:
        await whole(anthropic, [user("x")], extra_body=extra)
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("model", "extra", "words"),
    [
        (MODEL, {"temperature": 1.5}, "temperature: range: 0..1"),
        (MODEL, {"temperature": 0.5, "top_p": 0.5}, "`temperature` and `top_p` cannot both be specified"),
        (
            MODEL,
            {"temperature": 0.5, "thinking": {"type": "adaptive"}},
            "may only be set to 1 when thinking is enabled",
        ),
        (BINDING, {"temperature": 0.5}, "`temperature` is deprecated for this model."),
        (BINDING, {"thinking": {"type": "enabled", "budget_tokens": 1024}}, '"thinking.type.enabled" is not supported'),
    ],
)
async def test_the_older_version_and_older_models_allow_more(
    anthropic: AsyncAnthropic, model: str, extra: dict[str, Any], words: str
) -> None:
    older: Any = {"extra_headers": {"anthropic-version": "2023-06-01"}}
    await whole(anthropic, [user("x")], extra_body={"temperature": 0.5}, **older)
    with pytest.raises(sdk.BadRequestError) as refusal:
        await whole(anthropic, [user("x")], model, extra_body=extra, **older)
    assert words in str(refusal.value)


async def test_keys_and_the_version_are_checked(server: ModelServer, anthropic: AsyncAnthropic) -> None:
    messages = [user("x")]
    omitted = sdk.Omit()
    await whole(anthropic, messages, extra_headers={"x-api-key": server.key, "authorization": omitted})
    with pytest.raises(sdk.AuthenticationError, match="Invalid bearer token"):
        await whole(anthropic.with_options(api_key="sk-ant-wrong"), messages)
    with pytest.raises(sdk.AuthenticationError, match="invalid x-api-key"):
        await whole(anthropic, messages, extra_headers={"x-api-key": "sk-ant-wrong", "authorization": omitted})
    with pytest.raises(sdk.BadRequestError, match="anthropic-version: header is required"):
        await whole(anthropic, messages, extra_headers={"anthropic-version": omitted})
    with pytest.raises(sdk.BadRequestError, match='anthropic-version: "2020-02-02" is not a valid version'):
        await whole(anthropic, messages, extra_headers={"anthropic-version": "2020-02-02"})
    assert [request.status for request in server.requests] == [200, 401, 401, 400, 400]


async def test_too_much_context_is_refused(server: ModelServer, anthropic: AsyncAnthropic) -> None:
    server.set_context(100)
    with pytest.raises(sdk.BadRequestError) as refusal:
        await whole(anthropic, [user("x" * 500)])
    assert f"prompt is too long: {server.requests[0].tokens} tokens > 100 maximum" in str(refusal.value)


# --- thinking that is sent back


async def thought(client: AsyncAnthropic, server: ModelServer, model: str, **more: Any) -> list[Any]:
    """A conversation of two turns with a thinking block in the middle."""
    server.on("think", Think("hm hm"), Say("so"))
    messages: list[Any] = [user("think")]
    answer = await stream(client, messages, model, **more)
    return [*messages, said([block.model_dump(exclude_none=True) for block in answer.content]), user("go on")]


@pytest.mark.parametrize("model", [MODEL, BINDING])
async def test_a_thinking_block_is_accepted_as_it_was(
    server: ModelServer, anthropic: AsyncAnthropic, model: str
) -> None:
    messages = await thought(anthropic, server, model, system="Be kind.")
    system = [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]
    assert (await stream(anthropic, messages, model, system=system)).stop_reason == "end_turn"
    messages[1]["content"][0]["thinking"] += "!"
    with pytest.raises(sdk.BadRequestError, match="Invalid `signature` in `thinking` block"):
        await stream(anthropic, messages, model, system=system)


async def test_newer_models_bind_a_thinking_block_to_what_came_before(
    server: ModelServer, anthropic: AsyncAnthropic
) -> None:
    messages = await thought(anthropic, server, BINDING, system="It is 10 o'clock.")
    with pytest.raises(sdk.BadRequestError, match=r"bound to a different conversation.*The `system` prompt differs"):
        await stream(anthropic, messages, BINDING, system="It is 11 o'clock.")
    with pytest.raises(sdk.BadRequestError, match="bound to a different conversation"):
        await stream(anthropic, messages, BINDING, system="It is 10 o'clock.", tools=[TOOL])
    await stream(anthropic, messages, MODEL, system="It is 11 o'clock.")
    answer = await anthropic.beta.messages.create(
        model=BINDING,
        max_tokens=2048,
        messages=messages,
        system="It is 11 o'clock.",
        thinking={"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}},
        betas=["thinking-binding-controls-2026-08-01"],
    )
    assert [change.path for change in answer.input_transformations or ()] == ["messages.1.content.0"]
    assert server.requests[-1].dropped == ("messages.1.content.0",)


async def test_only_the_oldest_thinking_may_be_left_out(server: ModelServer, anthropic: AsyncAnthropic) -> None:
    messages = await thought(anthropic, server, BINDING)
    for _ in range(2):
        messages[-1] = user("think again")
        answer = await stream(anthropic, messages, BINDING)
        messages += [said([block.model_dump(exclude_none=True) for block in answer.content]), user("go on")]
    without_first = [messages[0], said(messages[1]["content"][1:]), *messages[2:]]
    await stream(anthropic, without_first, BINDING)
    without_second = [*messages[:3], said(messages[3]["content"][1:]), *messages[4:]]
    with pytest.raises(sdk.BadRequestError, match=r"messages.5.*preceded this one when it was created is missing"):
        await stream(anthropic, without_second, BINDING)
