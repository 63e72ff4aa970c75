"""A provider fails: people get one plain notice, the log a reason without the provider's words, the next message an
answer."""

from __future__ import annotations

import re

import pytest

from core.service.notices import Notices
from core.vocabulary import CallClosed, CallOpened, TextDelta, ThinkingDelta
from tests.fakes.models.replies import (
    PLANTED_KEY,
    PLANTED_PATH,
    Attempts,
    Call,
    Cut,
    Empty,
    Fail,
    Filtered,
    Garbage,
    Gate,
    Reply,
    Say,
    Steps,
    Think,
    Truncated,
)
from tests.fakes.models.server import ModelServer
from tests.flow.house import House
from tests.models.conftest import ModelHouse
from tests.models.watching import followed, printed, usage

CHAT, MESSAGES, RESPONSES = "openai:gpt-test", "anthropic:claude-sonnet-4-6", "openai-responses:gpt-test"
MODELS = (CHAT, MESSAGES, RESPONSES)

KINDS: dict[str, tuple[Reply, str]] = {
    "auth": (Fail("auth", planted=True), "model_key_refused"),
    "rate limit": (Fail("rate_limit", planted=True), "model_busy"),
    "rate limit with a long wait": (Fail("rate_limit", retry_after_s=61, planted=True), "model_busy"),
    "quota": (Fail("quota", planted=True), "model_quota"),
    "overloaded": (Fail("overloaded", planted=True), "model_overloaded"),
    "server error": (Fail("server_error", planted=True), "model_overloaded"),
    "page of a proxy": (Fail(502, body=f"<html>{PLANTED_KEY} {PLANTED_PATH}</html>"), "model_overloaded"),
    "not found": (Fail("not_found", planted=True), "model_missing"),
    "content filter": (Fail("content_filter", planted=True), "model_filtered"),
    "context length": (Fail("context_length", planted=True), "model_context_full"),
    "bad request": (Fail("bad_request", planted=True), "model_rejected"),
    "strange status": (Fail(418, planted=True), "agent_failed"),
    "cut before the first word": (Cut(), "model_unreachable"),
    "cut in the middle": ((Say("some words"), Cut()), "model_broke_off"),
    "ends in the middle": ((Say("some words"), Cut(clean=True)), "model_broke_off"),
    "ends before the first word": (Cut(clean=True), "model_unreachable"),
    "fails in the middle": ((Say("some words"), Fail("server_error", planted=True)), "model_overloaded"),
    "overloaded in the middle": ((Say("some words"), Fail("overloaded", planted=True)), "model_overloaded"),
    "a page of HTML": (Garbage(), "model_useless"),
    "broken JSON": ((Say("some words"), Garbage()), "agent_failed"),
    "nothing but a full answer": ((Empty(), Truncated()), "model_useless"),
    "nothing but thoughts and a full answer": ((Think("hm"), Truncated()), "model_useless"),
    "filtered before the first word": ((Empty(), Filtered()), "model_filtered"),
}
"""What happens, and what people are told of it."""


def is_notice(text: str, key: str) -> bool:
    """Is this that notice, with a reference?"""
    head, _, tail = Notices("en").say(key, reference="REFERENCE").partition("REFERENCE")
    return re.fullmatch(f"{re.escape(head)}[A-Z0-9]{{8}}{re.escape(tail)}", text) is not None


def leaks(text: str, server: ModelServer) -> list[str]:
    return [secret for secret in (PLANTED_KEY, PLANTED_PATH, server.key) if secret in text]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
async def test_a_fault_is_one_plain_notice_and_the_next_message_works(
    furnish: ModelHouse, server: ModelServer, model: str, kind: str
) -> None:
    reply, notice = KINDS[kind]
    server.on("please", reply)
    house = await furnish(model=model, limits={"retries": 0})
    with printed(server.key) as log:
        await house.ask("please")
    [seen] = house.seen()
    assert is_notice(seen, notice)
    said = [("assistant", "some words")] if isinstance(reply, tuple) and Say("some words") in reply else []
    assert await house.told() == [("user", "please"), *said, ("notice", seen)]
    assert leaks(f"{seen}{log}", server) == []
    [fault] = log.named(notice)
    assert str(fault["reference"]) in seen
    await house.ask("and now?")
    assert house.seen()[1:] == ["re: and now?"]


@pytest.mark.parametrize("model", MODELS)
async def test_nobody_listens_at_the_providers_address(furnish: ModelHouse, server: ModelServer, model: str) -> None:
    house = await furnish(model=model, limits={"retries": 0})
    await server.pause()
    with printed(server.key) as log:
        await house.ask("please")
    assert is_notice(house.seen()[0], "model_unreachable")
    assert server.url.partition("//")[2] not in house.seen()[0]
    assert leaks(str(log), server) == []
    await server.resume()
    await house.ask("and now?")
    assert house.seen()[1:] == ["re: and now?"]


async def test_the_log_says_what_the_provider_calls_a_fault(house: House, server: ModelServer) -> None:
    server.on("please", Fail("quota", planted=True))
    with printed() as log:
        await house.ask("please")
    text = str(log)
    assert "status 429" in text
    assert "insufficient_quota" in text
    assert "Traceback" not in text
    assert leaks(text, server) == []


async def test_a_code_that_is_no_word_stays_out_of_the_log(house: House, server: ModelServer) -> None:
    error = {"message": "no", "type": "invalid_request_error", "param": None, "code": PLANTED_KEY}
    server.on("please", Fail(400, body={"error": dict(error)}))
    with printed() as log:
        await house.ask("please")
    assert is_notice(house.seen()[0], "model_rejected")
    assert leaks(str(log), server) == []


async def test_all_fallbacks_that_failed_are_told_without_their_words(furnish: ModelHouse, server: ModelServer) -> None:
    server.on("please", Fail("bad_request", planted=True))
    house = await furnish(fallbacks=["openai:other"], limits={"retries": 0})
    with printed(server.key) as log:
        await house.ask("please")
    assert is_notice(house.seen()[0], "model_rejected")
    assert "model gpt-test, status 400" in str(log)
    assert "model other, status 400" in str(log)
    assert leaks(str(log), server) == []


@pytest.mark.parametrize("model", MODELS)
async def test_c03_refused_then_answered_is_one_exchange(furnish: ModelHouse, server: ModelServer, model: str) -> None:
    """C03."""
    server.on("please", Attempts(Fail("auth"), Say("Here.")))
    house = await furnish(model=model)
    said = await house.ask("please")
    await house.redeliver(said)
    assert house.seen() == ["Here."]
    assert await house.told() == [("user", "please"), ("assistant", "Here.")]
    assert len(server.requests) == 2


async def test_a_refused_key_is_tried_once_more_even_without_retries(furnish: ModelHouse, server: ModelServer) -> None:
    server.on("please", Fail("auth"))
    house = await furnish(limits={"retries": 0})
    await house.ask("please")
    assert len(server.requests) == 2


async def test_an_empty_completion_is_asked_for_once_more(house: House, server: ModelServer) -> None:
    server.always(Attempts(Empty(), Say("After all.")))
    await house.ask("please")
    assert house.seen() == ["After all."]
    assert await house.told() == [("user", "please"), ("assistant", "After all.")]


@pytest.mark.parametrize("model", MODELS)
async def test_a_model_that_says_nothing_at_all_is_given_up(
    furnish: ModelHouse, server: ModelServer, model: str
) -> None:
    server.always(Empty())
    house = await furnish(model=model)
    await house.ask("please")
    assert is_notice(house.seen()[0], "model_useless")
    assert len(server.requests) == 2
    server.always(Say("Here."))
    await house.ask("and now?")
    assert house.seen()[1:] == ["Here."]


async def test_nothing_but_blanks_is_no_answer(house: House, server: ModelServer) -> None:
    server.on("please", Say("\n \n", deltas=2))
    await house.ask("please")
    assert house.seen() == [Notices("en").say("agent_empty")]
    await house.ask("and now?")
    assert house.seen()[1:] == ["re: and now?"]


async def test_an_answer_at_the_token_limit_is_kept(house: House, server: ModelServer) -> None:
    server.on("please", Say("As far as I got"), Truncated())
    await house.ask("please")
    assert house.seen() == ["As far as I got", Notices("en").say("answer_cut")]
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"


# retries


@pytest.mark.parametrize("model", MODELS)
async def test_what_may_pass_is_tried_again_before_the_first_word(
    furnish: ModelHouse, server: ModelServer, model: str
) -> None:
    soon = Fail("rate_limit", retry_after_s=0)
    server.on("please", Attempts(soon, soon, Say("Here.")))
    house = await furnish(model=model)
    await house.ask("please")
    assert house.seen() == ["Here."]
    assert await house.told() == [("user", "please"), ("assistant", "Here.")]
    assert [request.status for request in server.requests] == [429, 429, 200]


async def test_retries_end(furnish: ModelHouse, server: ModelServer) -> None:
    server.on("please", Fail("rate_limit", retry_after_s=0))
    house = await furnish(limits={"retries": 3})
    await house.ask("please")
    assert is_notice(house.seen()[0], "model_busy")
    assert len(server.requests) == 4


async def test_a_wait_of_more_than_a_minute_is_not_waited_for(house: House, server: ModelServer) -> None:
    server.on("please", Fail("rate_limit", retry_after_s=61))
    await house.ask("please")
    assert is_notice(house.seen()[0], "model_busy")
    assert len(server.requests) == 1


async def test_a_wait_of_up_to_a_minute_is_waited_for_and_can_be_stopped(house: House, server: ModelServer) -> None:
    server.on("please", Fail("rate_limit", retry_after_s=60))
    with printed() as log:
        said = await house.offer(house.message("please"))
        await server.until(lambda: bool(server.requests) and server.requests[-1].outcome == "refused")
        await house.ask("/stop")
        await house.ended(said)
    assert [event["wait_s"] for event in log.named("model_asked_again")] in ([60.0], [])
    assert len(server.requests) == 1
    assert not any("too many" in text for text in house.seen())


async def test_nothing_is_tried_again_once_a_word_was_heard(house: House, server: ModelServer) -> None:
    server.on("please", Attempts((Say("some words"), Fail("overloaded")), Say("Here.")))
    await house.ask("please")
    assert len(server.requests) == 1
    assert is_notice(house.seen()[-1], "model_overloaded")


async def test_nothing_is_tried_again_once_a_tool_was_called(house: House, server: ModelServer) -> None:
    server.on("please", Steps(Call("current_time"), Fail("rate_limit", retry_after_s=0)))
    await house.ask("please")
    assert len(server.requests) == 2
    assert is_notice(house.seen()[-1], "model_busy")
    kinds = [kind for kind, _ in await house.told()]
    assert kinds == ["user", "tool_call", "tool_result", "notice"]
    await house.ask("and now?")
    assert house.seen()[-1] == "re: and now?"


async def test_a_fault_that_stays_is_not_tried_again(house: House, server: ModelServer) -> None:
    server.on("please", Fail("bad_request"))
    await house.ask("please")
    assert len(server.requests) == 1


# fallbacks


@pytest.mark.parametrize("fault", [Fail("rate_limit"), Fail("server_error"), Fail("auth"), Cut()], ids=str)
async def test_a_fallback_answers_in_place_of_what_fails(
    furnish: ModelHouse, server: ModelServer, fault: Reply
) -> None:
    server.on(lambda request: request.model == "gpt-test", fault)
    server.on(lambda request: request.model == "second", fault)
    house = await furnish(fallbacks=["openai:second", "openai:third"])
    await house.ask("please")
    assert house.seen() == ["re: please"]
    assert await house.told() == [("user", "please"), ("assistant", "re: please")]
    assert [request.model for request in server.requests] == ["gpt-test", "second", "third"]


async def test_a_fallback_does_not_go_on_with_anothers_half_answer(furnish: ModelHouse, server: ModelServer) -> None:
    server.on(lambda request: request.model == "gpt-test", Say("some words"), Cut())
    house = await furnish(fallbacks=["openai:second"])
    await house.ask("please")
    assert [request.model for request in server.requests] == ["gpt-test"]
    assert is_notice(house.seen()[-1], "model_broke_off")


async def test_what_a_turn_used_is_counted(house: House, server: ModelServer) -> None:
    server.on("please", Steps(Call("current_time"), Say("Noon.")))
    await house.ask("please")
    used = await usage(house)
    assert used["requests"] == 2
    assert used["input_tokens"] == sum(request.tokens for request in server.requests)
    assert used["output_tokens"] > 0


# what is seen while it streams


@pytest.mark.parametrize("shows", [True, False])
@pytest.mark.parametrize("model", MODELS)
async def test_thoughts_are_kept_and_shown_only_where_configured(
    furnish: ModelHouse, server: ModelServer, model: str, shows: bool
) -> None:
    server.on("please", Think("What may they mean?"), Gate("rest"), Say("Here."))
    house = await furnish(model=model, show_thinking=shows)
    said = await house.offer(house.message("please"))
    async with followed(house, said) as seen:
        if shows:
            await seen.until(lambda: any(isinstance(event, ThinkingDelta) for event in seen.events))
            assert seen.text == ""
        server.gate("rest").set()
        await house.ended(said)
    thoughts = "".join(event.text for event in seen.events if isinstance(event, ThinkingDelta))
    assert thoughts == ("What may they mean?" if shows else "")
    assert house.seen() == ["> What may they mean?\n\nHere." if shows else "Here."]
    assert "What may they mean?" in str((await house.log())[-1].data)
    assert await house.told() == [("user", "please"), ("assistant", "Here.")]


async def test_what_comes_quickly_is_gathered_and_keeps_its_order(house: House, server: ModelServer) -> None:
    words = [f"{n} " for n in range(300)]
    server.on("please", Steps((Say("", deltas=tuple(words)), Call("current_time")), Say("end")))
    said = await house.offer(house.message("please"))
    async with followed(house, said) as seen:
        await house.ended(said)
    assert seen.text.replace("\n", "") == f"{''.join(words)}end"
    opened = next(i for i, event in enumerate(seen.events) if isinstance(event, CallOpened))
    closed = next(i for i, event in enumerate(seen.events) if isinstance(event, CallClosed))
    before = "".join(event.text for event in seen.events[:opened] if isinstance(event, TextDelta))
    assert before == "".join(words)
    assert opened < closed
    assert len(seen.events) < 150


@pytest.mark.parametrize("model", MODELS)
async def test_the_first_word_is_seen_before_the_rest(furnish: ModelHouse, server: ModelServer, model: str) -> None:
    server.on("please", Say("Well, "), Gate("rest"), Say("that is all."))
    house = await furnish(model=model)
    said = await house.offer(house.message("please"))
    async with followed(house, said) as seen:
        await server.until(lambda: server.gate("rest").waiting == 1)
        await seen.until_text("Well, ")
        server.gate("rest").set()
        await house.ended(said)
    assert seen.text == "Well, that is all."
    assert house.seen() == ["Well, that is all."]
