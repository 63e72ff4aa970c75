"""Entries become messages that every provider accepts, and responses come back from their entries as they were."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
    FilePart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from core.agents.transcript import messages_of, presentable, response_data, result_data
from core.store.entries import Kind
from core.store.history import CLOSED_BY_KILL, for_model
from tests.flow.clock import START
from tests.models.making import Log

OPENAI = frozenset({"openai"})


def store(log: Log, response: ModelResponse, turn: str = "") -> None:
    """As the turn's scribe stores a response with its calls."""
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    data = response_data(response)
    if text.strip():
        log.add(Kind.ASSISTANT, text, turn, response=data)
    silent = {} if text.strip() else {"response": data}
    for call in response.tool_calls:
        log.call(call.tool_call_id, call.tool_name, turn, **silent)
        silent = {}


def dumped(*messages: ModelMessage) -> str:
    return ModelMessagesTypeAdapter.dump_json(list(messages)).decode()


def check(messages: Sequence[ModelMessage]) -> None:
    """What every provider insists on."""
    owed: list[str] = []
    for message in messages:
        assert message.parts, "an empty message"
        if isinstance(message, ModelResponse):
            assert not owed, f"no results for {owed}"
            owed = [call.tool_call_id for call in message.tool_calls]
            assert len(set(owed)) == len(owed), f"twice the same id: {owed}"
            continue
        results = [part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)]
        assert results == owed
        owed = []
    assert not owed, f"no results for {owed}"


# round trips

CALL = ToolCallPart("current_time", '{"a": 1}', "call_1")
PARTS: dict[str, list[ModelResponsePart]] = {
    "a text": [TextPart("Hello.")],
    "a text with an id": [TextPart("Hello.", id="msg_1", provider_name="openai", provider_details={"phase": "final"})],
    "two texts": [TextPart("Hello. "), TextPart("How are you?")],
    "signed thoughts": [ThinkingPart("hm", signature="c2ln", provider_name="openai"), TextPart("Hello.")],
    "thoughts that nobody may read": [
        ThinkingPart("", id="redacted_thinking", signature="c2ln", provider_name="openai"), TextPart("Hello.")
    ],
    "thoughts with details": [
        ThinkingPart("hm", id="rs_1", provider_name="openai", provider_details={"raw": ["a", None], "b": {"c": None}}),
        TextPart("Hello."),
    ],
    "thoughts between texts": [TextPart("One"), ThinkingPart("hm", signature="c2ln"), TextPart("two")],
    "a call": [CALL],
    "a call with arguments as an object": [ToolCallPart("t", {"a": {"b": None}, "c": [1, None]}, "call_1", id="fc_1")],
    "a call without arguments": [ToolCallPart("t", None, "call_1")],
    "a call with broken arguments": [ToolCallPart("t", '{"a": ', "call_1")],
    "a text and calls": [TextPart("Let me see."), CALL, ToolCallPart("t", "{}", "call_2")],
    "thoughts and calls": [ThinkingPart("hm", signature="c2ln", provider_name="openai"), CALL],
    "a text behind a call": [CALL, TextPart("That is what I want to know.")],
    "an empty text and a call": [TextPart("", id="msg_1"), CALL],
    "a file": [FilePart(BinaryContent(b"\x00\xff\xfe", media_type="image/png"), id="f"), TextPart("A picture.")],
    "a search of the provider": [
        NativeToolCallPart("web_search", {"q": "x"}, "s1", provider_name="openai"),
        NativeToolReturnPart("web_search", {"hits": [None]}, "s1", provider_name="openai", timestamp=START),
        TextPart("Found."),
    ],
    "the provider's own summary": [CompactionPart("so far", id="c", provider_name="openai"), TextPart("Go on.")],
    "a text with all sorts of characters": [TextPart(" \tä\u200d👩\u200d👧 \r\n")],
}  # fmt: skip


@pytest.mark.parametrize("kind", PARTS)
def test_a_response_comes_back_exactly(kind: str) -> None:
    response = ModelResponse(
        parts=PARTS[kind], usage=RequestUsage(input_tokens=3, output_tokens=4, details={"reasoning": 1}),
        model_name="gpt-test", timestamp=START, provider_name="openai", provider_url="http://here/v1",
        provider_details={"finish_reason": "stop", "timestamp": START, "nothing": None},
        provider_response_id="resp_1", finish_reason="stop",
    )  # fmt: skip
    log = Log()
    log.user("hello")
    store(log, response)
    for call in response.tool_calls:
        log.result(call.tool_call_id, "noon")
    _, rebuilt, *rest = messages_of(log.entries, OPENAI | {"openai responses"}).messages
    assert dumped(rebuilt) == dumped(response)
    assert [[part.tool_call_id for part in one.parts if isinstance(part, ToolReturnPart)] for one in rest] == (
        [[call.tool_call_id for call in response.tool_calls]] if response.tool_calls else []
    )


@pytest.mark.parametrize(
    "content",
    ["noon", {"a": None, "b": [1, None]}, [1, "two"], 3, True, "\U0001f600 \u2028", ["", {}]],
    ids=repr,
)
@pytest.mark.parametrize("outcome", ["success", "failed", "denied"])
def test_a_result_comes_back_exactly(content: object, outcome: str) -> None:
    result = ToolReturnPart("current_time", content, "call_1", timestamp=START, metadata={"a": 1})
    result.outcome = outcome  # type: ignore[assignment]  # one of them
    log = Log()
    log.user("hello")
    log.call("call_1")
    log.result("call_1", result.model_response_str(wrap_if_error=False), part=result_data(result))
    again = messages_of(log.entries, OPENAI).messages[-1].parts[0]
    assert isinstance(again, ToolReturnPart)
    assert again.model_response_str() == result.model_response_str()
    assert again.outcome == outcome


def test_a_picture_that_a_tool_gave_comes_back() -> None:
    picture = BinaryContent(b"\xff\xfe", media_type="image/png")
    result = ToolReturnPart("draw", ["Here it is.", picture], "call_1", timestamp=START)
    log = Log()
    log.user("draw")
    log.call("call_1", "draw")
    log.result("call_1", "Here it is.", part=result_data(result))
    again = messages_of(log.entries, OPENAI).messages[-1]
    assert dumped(again) == dumped(replace(ModelRequest(parts=[result]), timestamp=again.timestamp))


@pytest.mark.parametrize("content", ["", " \n", None])
def test_a_result_of_nothing_says_so(content: object) -> None:
    result = ToolReturnPart("current_time", content, "call_1", timestamp=START)
    log = Log()
    log.user("hello")
    log.call("call_1")
    log.result("call_1", result.model_response_str(wrap_if_error=False), part=result_data(result))
    [again] = messages_of(log.entries, OPENAI).messages[-1].parts
    assert isinstance(again, ToolReturnPart)
    assert again.content == "(no output)"
    assert presentable([ModelRequest(parts=[result])])[0].parts == [again]


def test_blanks_before_a_call_are_not_shown() -> None:
    log = Log()
    log.user("hello")
    response = ModelResponse(parts=[TextPart("\n\n"), CALL], provider_name="openai")
    store(log, response)
    _, again, _ = messages_of(log.entries, OPENAI).messages
    assert again.parts == [CALL]
    assert presentable([response])[0].parts == [CALL]


@pytest.mark.parametrize("name", ["functions.time", "x" * 65, "", "get time"])
def test_a_name_that_no_tool_can_have_is_not_shown(name: str) -> None:
    log = Log()
    log.user("hello")
    store(log, ModelResponse(parts=[ToolCallPart(name, "{}", "call_1")], provider_name="openai"))
    log.result("call_1", "Unknown tool")
    _, again, results = messages_of(log.entries, OPENAI).messages
    assert isinstance(again, ModelResponse)
    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", again.tool_calls[0].tool_name)
    assert isinstance(results.parts[0], ToolReturnPart)
    assert results.parts[0].tool_name == again.tool_calls[0].tool_name


def test_what_no_database_takes_is_replaced() -> None:
    response = ModelResponse(
        parts=[ThinkingPart("half a smile \ud83d"), ToolCallPart("t", {"nul \0": "\0"}, "call_1")], timestamp=START
    )
    kept = repr(response_data(response))
    assert "half a smile \ufffd" in kept
    assert "\\x00" not in kept
    result = repr(result_data(ToolReturnPart("t", {"a": ["\ud83d"]}, "call_1")))
    assert "\\ud83d" not in result


# what a provider is shown of another's history


def test_anothers_thoughts_are_dropped_and_its_words_and_calls_stay() -> None:
    log = Log()
    log.user("hello")
    thoughts = ThinkingPart("hm", id="rs_1", signature="c2ln", provider_name="anthropic")
    text = TextPart("Let me see.", id="msg_1", provider_name="anthropic")
    call = ToolCallPart("current_time", {"a": 1}, "toolu_1", id="fc_1", provider_name="anthropic")
    store(log, ModelResponse(parts=[thoughts, text, call], provider_name="anthropic", provider_response_id="x"))
    log.result("toolu_1", "noon")
    rebuilt = messages_of(log.entries, OPENAI)
    response = rebuilt.messages[1]
    assert isinstance(response, ModelResponse)
    assert response.parts == [TextPart("Let me see."), ToolCallPart("current_time", '{"a":1}', "toolu_1")]
    assert response.provider_response_id is None
    assert rebuilt.dropped == 1


def test_a_response_of_thoughts_alone_leaves_no_message() -> None:
    log = Log()
    log.user("hello")
    data = response_data(ModelResponse(parts=[ThinkingPart("hm")], provider_name="anthropic"))
    log.add(Kind.ASSISTANT, "", response=data)
    log.user("hello?")
    [asked] = messages_of(log.entries, OPENAI).messages
    assert [part.content for part in _prompts([asked])] == ["[Mon]\nhello\n\n[Mon]\nhello?"]


def test_blanks_of_another_provider_are_not_shown() -> None:
    log = Log()
    log.user("hello")
    store(log, ModelResponse(parts=[TextPart("\n"), CALL], provider_name="anthropic"))
    log.result("call_1", "noon")
    rebuilt = messages_of(log.entries, OPENAI)
    assert [type(part) for part in rebuilt.messages[1].parts] == [ToolCallPart]
    assert rebuilt.dropped == 0


@pytest.mark.parametrize("known", ["functions.time:0", "x" * 41, "", "ä"])
def test_an_id_that_not_every_provider_takes_is_replaced_in_anothers_history(known: str) -> None:
    log = Log()
    log.user("hello")
    store(log, ModelResponse(parts=[ToolCallPart("t", "{}", known)], provider_name="kimi"))
    log.result(known, "noon")
    _, response, results = messages_of(log.entries, OPENAI).messages
    assert isinstance(response, ModelResponse)
    [call] = response.tool_calls
    [result] = results.parts
    assert isinstance(result, ToolReturnPart)
    assert call.tool_call_id == result.tool_call_id
    assert call.tool_call_id.isalnum()
    assert result.content == "noon"
    own = messages_of(log.entries, frozenset({"kimi"})).messages[1]
    assert isinstance(own, ModelResponse)
    assert own.tool_calls[0].tool_call_id == known


def test_ids_that_come_again_keep_their_own_results() -> None:
    log = Log()
    for word in ("one", "two"):
        log.user(word)
        store(log, ModelResponse(parts=[ToolCallPart("t", "{}", "call_0")], provider_name="local"))
        log.result("call_0", f"result {word}")
    messages = messages_of(log.entries, OPENAI).messages
    results = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    assert [result.content for result in results] == ["result one", "result two"]
    assert len({result.tool_call_id for result in results}) == 2


def test_one_id_for_two_calls_of_a_response_becomes_two() -> None:
    log = Log()
    log.user("hello")
    twice = [ToolCallPart("t", '{"n": 1}', "call_0"), ToolCallPart("t", '{"n": 2}', "call_0")]
    store(log, ModelResponse(parts=list(twice), provider_name="openai"))
    log.result("call_0", "first")
    log.result("call_0", "second")
    messages = messages_of(log.entries, OPENAI).messages
    check(messages)
    assert [part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart)] == ["first", "second"]


def test_calls_of_an_agent_without_responses_keep_their_order() -> None:
    log = Log()
    log.user("hello")
    log.said("Let me see.")
    for n in range(3):
        log.call("tool")
        log.result("tool", f"result {n}")
    messages = messages_of(log.entries, OPENAI).messages
    check(messages)
    assert [part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart)] == [
        "result 0", "result 1", "result 2",
    ]  # fmt: skip


# what was cut


def test_a_call_without_a_result_is_told_as_interrupted() -> None:
    log = Log()
    log.user("hello")
    store(log, ModelResponse(parts=[CALL], provider_name="openai"))
    log.user("and now?")
    check(messages_of(log.entries, OPENAI).messages)
    result, _ = messages_of(log.entries, OPENAI).messages[2].parts
    assert isinstance(result, ToolReturnPart)
    assert (result.content, result.outcome) == (CLOSED_BY_KILL, "failed")


def test_a_result_that_came_late_stands_behind_its_call() -> None:
    log = Log()
    log.user("hello")
    store(log, ModelResponse(parts=[CALL], provider_name="openai"))
    log.user("and now?")
    log.result("call_1", "noon")
    messages = messages_of(log.entries, OPENAI).messages
    check(messages)
    assert [part.content for part in messages[2].parts if isinstance(part, ToolReturnPart)] == ["noon"]


def test_a_call_that_somebody_is_asked_about_has_no_result_yet() -> None:
    log = Log()
    log.user("hello")
    store(log, ModelResponse(parts=[CALL, ToolCallPart("t", "{}", "call_2")], provider_name="openai"))
    log.result("call_2", "denied")
    messages = messages_of(log.entries, OPENAI, frozenset({"call_1"})).messages
    assert [part.tool_call_id for part in messages[-1].parts if isinstance(part, ToolReturnPart)] == ["call_2"]


def test_what_another_version_wrote_is_read_as_far_as_it_goes() -> None:
    log = Log()
    log.user("hello")
    log.add(Kind.ASSISTANT, "Let me see.", response={"parts": [{"part_kind": "dream", "of": "sheep"}]})
    log.call("call_1")
    log.result("call_1", "noon", part={"outcome": "perhaps"})
    log.add(Kind.TOOL_CALL, "t", call="call_2", tool="t", arguments="{}", response={"parts": "none"})
    rebuilt = messages_of(log.entries, OPENAI)
    check(rebuilt.messages)
    assert rebuilt.messages[1].parts[0] == TextPart("Let me see.")
    assert rebuilt.dropped >= 1


def test_a_summary_stands_where_older_turns_stood() -> None:
    log = Log()
    log.user("one")
    log.said("re: one")
    log.user("two")
    log.said("re: two")
    log.summary("They said one.", 2)
    log.user("three")
    texts = [part.content for part in _prompts(messages_of(for_model(log.entries), OPENAI).messages)]
    summary = "Summary of the conversation before this point:\n\nThey said one."
    assert texts == [f"{summary}\n\n[Mon]\ntwo", "[Mon]\nthree"]


def _prompts(messages: Sequence[ModelMessage]) -> Iterator[UserPromptPart]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                yield part
