"""What people bring reaches the model: pictures to those that see, the text of files to all."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from core.agents.compaction import CHARS_PER_TOKEN, PICTURE_TOKENS, estimate
from core.agents.files import GONE, LEFT_OUT, REFUSED, UNSEEN
from core.store.entries import Kind
from core.vocabulary import Quote
from tests.fakes.models.replies import Attempts, Fail, Say
from tests.fakes.models.server import ModelServer
from tests.flow.files import MIB, bot_of, bring, file, on_disk, picture, png
from tests.flow.house import House
from tests.models.conftest import agent_of
from tests.models.filing import filed, pictures
from tests.models.making import Log
from tests.models.test_prefix import CHAT, MESSAGES, MODELS, RESPONSES, all_grow

Filing = Callable[..., Awaitable[House]]
ANTHROPIC_BYTES = 5 * MIB
"""Of one picture as it stands in the request, in base64: "image exceeds 5 MB maximum: N bytes > 5242880 bytes"."""


@pytest.fixture
async def filing(sqlite_state: Path, server: ModelServer) -> AsyncIterator[Filing]:
    async with AsyncExitStack() as stack:

        async def made(**options: object) -> House:
            return await stack.enter_async_context(filed(sqlite_state, server, **options))

        yield made


async def show(house: House, text: str, *seeds: int, size: int = 1000) -> None:
    """A message with pictures, and its answer."""
    refs = [f"p{seed}" for seed in seeds]
    for ref, seed in zip(refs, seeds, strict=True):
        bot_of(house).holds(ref, png(size, seed=seed))
    await house.advance(20)
    await house.ended(await bring(house, text, *(picture(ref, f"{ref}.png") for ref in refs)))


@pytest.mark.parametrize("model", MODELS)
async def test_a_model_is_shown_what_was_sent(filing: Filing, server: ModelServer, model: str) -> None:
    house = await filing(model=model)
    await show(house, "what are these?", 1, 2)
    [request] = server.requests
    assert pictures(request) == [("image/png", png(1000, seed=1)), ("image/png", png(1000, seed=2))]
    assert "what are these?\n[image p1.png]\n[image p2.png]" in request.last_user
    assert request.status == 200


@pytest.mark.parametrize("model", MODELS)
async def test_the_prefix_stays_with_pictures_files_and_quotes(filing: Filing, server: ModelServer, model: str) -> None:
    house = await filing(model=model)
    bot_of(house).holds("d", b"some words in a file")
    await show(house, "look", 1)
    await house.ended(await bring(house, "read", file("d", name="a.txt"), quote=Quote(name="Ada", text="A dog.")))
    await house.restart()
    await show(house, "and this", 2, 3)
    await house.restart()
    await house.ask("bye")
    all_grow(server)
    assert [len(pictures(request)) for request in server.requests][-1] == 3
    assert [data for _, data in pictures(server.requests[-1])] == [png(1000, seed=seed) for seed in (1, 2, 3)]


@pytest.mark.parametrize("model", MODELS)
async def test_a_model_without_eyes_gets_a_word_instead(filing: Filing, server: ModelServer, model: str) -> None:
    house = await filing(model=model, images=False)
    await show(house, "what is this?", 1)
    await house.ask("and now?")
    for request in server.requests:
        assert pictures(request) == []
        assert UNSEEN in "\n".join(text for _, text in request.talk)
    all_grow(server)


@pytest.mark.parametrize("model", MODELS)
async def test_a_picture_without_words_is_shown(filing: Filing, server: ModelServer, model: str) -> None:
    house = await filing(model=model)
    await show(house, "", 1)
    assert len(pictures(server.requests[-1])) == 1
    assert len(house.seen()) == 1


@pytest.mark.parametrize("model", MODELS)
async def test_the_text_of_a_file_is_read(filing: Filing, server: ModelServer, model: str) -> None:
    house = await filing(model=model)
    bot_of(house).holds("d", b"The answer is 42.")
    await house.ended(await bring(house, "read", file("d", name="a.txt")))
    assert "[content of a.txt]\nThe answer is 42.\n[end of a.txt]" in server.requests[-1].last_user
    await house.ask("and?")
    assert "The answer is 42." in "\n".join(text for _, text in server.requests[-1].talk)


@pytest.mark.parametrize("model", MODELS)
async def test_a_picture_that_is_gone_leaves_a_word(filing: Filing, server: ModelServer, model: str) -> None:
    house = await filing(model=model)
    await show(house, "look", 1)
    [path] = on_disk(house)
    path.unlink()
    await house.restart()
    await house.ask("what was it?")
    assert pictures(server.requests[-1]) == []
    assert GONE in "\n".join(text for _, text in server.requests[-1].talk)
    assert house.seen()[-1] == "re: what was it?"


@pytest.mark.parametrize("model", MODELS)
async def test_retry_shows_it_again(filing: Filing, server: ModelServer, model: str) -> None:
    house = await filing(model=model)
    await show(house, "look", 1)
    said = await house.say("/retry")
    await house.advance(5)
    await house.ended(said)
    first, again = server.requests
    assert pictures(again) == pictures(first)
    assert again.last_user.count("[image p1.png]") == 1


async def test_undo_takes_it_away(filing: Filing, server: ModelServer) -> None:
    house = await filing()
    await show(house, "look", 1)
    await house.say("/undo")
    await house.ask("hello")
    assert pictures(server.requests[-1]) == []


async def test_a_picture_of_another_session_is_not_shown(filing: Filing, server: ModelServer) -> None:
    house = await filing()
    await show(house, "look", 1)
    await house.say("/reset")
    await house.ask("hello")
    assert pictures(server.requests[-1]) == []


async def test_a_fallback_that_reads_another_way_is_shown_it_too(
    filing: Filing, server: ModelServer, sqlite_state: Path
) -> None:
    house = await filing(model=CHAT)
    await show(house, "look", 1)
    house.options = {"agents": {"default": agent_of(server, model=MESSAGES)}}
    await house.restart()
    await house.ask("and?")
    house.options = {"agents": {"default": agent_of(server, model=RESPONSES)}}
    await house.restart()
    await house.ask("and?")
    assert [request.api for request in server.requests] == ["chat", "messages", "responses"]
    assert [pictures(request) for request in server.requests] == [[("image/png", png(1000, seed=1))]] * 3


async def test_no_picture_is_larger_than_the_strictest_provider_takes(filing: Filing, server: ModelServer) -> None:
    house = await filing(model=MESSAGES)
    await show(house, "look", 1, size=4 * MIB)
    for _, data in pictures(server.requests[-1]):
        assert len(base64.b64encode(data)) <= ANTHROPIC_BYTES


async def test_a_session_with_many_pictures_goes_on(filing: Filing, server: ModelServer) -> None:
    """https://docs.claude.com/en/api/errors: a request has at most 32 MB."""
    server.set_context(None)  # the double counts a picture's letters, where a provider counts some 1,600 tokens
    house = await filing(model=MESSAGES, context={"window": 10_000_000_000})
    for number in range(8):
        await show(house, f"picture {number}", number, size=3_500_000)
    await house.ask("hello")
    assert house.seen()[-1] == "re: hello"
    talk = "\n".join(text for _, text in server.requests[-1].talk)
    assert (talk.count(LEFT_OUT), talk.count(GONE), len(pictures(server.requests[-1]))) == (3, 0, 5)


@pytest.mark.parametrize("model", MODELS)
async def test_a_picture_that_the_provider_refuses_spoils_no_session(
    filing: Filing, server: ModelServer, model: str
) -> None:
    house = await filing(model=model)
    server.on("look", Attempts(Fail("bad_request"), Say("I can't see it.")))
    await show(house, "look", 1)
    refused, again = server.requests
    assert (len(pictures(refused)), pictures(again)) == (1, [])
    assert REFUSED in "\n".join(text for _, text in again.talk)
    assert house.seen() == ["I can't see it."]
    await house.ask("hello")
    assert house.seen()[-1] == "re: hello"
    assert len(pictures(server.requests[-1])) == 1


async def test_what_is_refused_without_any_is_not_asked_again(filing: Filing, server: ModelServer) -> None:
    house = await filing()
    server.on("look", Fail("bad_request"))
    await house.ask("look")
    assert len(server.requests) == 1


async def test_documents_that_fill_the_window_spoil_no_session(filing: Filing, server: ModelServer) -> None:
    house = await filing()
    server.set_context(50_000)
    await house.ask("before")
    bot = bot_of(house)
    for ref in "abc":
        bot.holds(ref, (f"{ref} words " * 30_000).encode())
    await house.ended(await bring(house, "read", *(file(ref, name=f"{ref}.txt") for ref in "abc")))
    assert "too long" in house.seen()[-1] or "reference" in house.seen()[-1]
    await house.advance(60)
    await house.ask("hello")
    assert house.seen()[-1] == "re: hello"


def test_what_a_file_says_counts_when_the_window_fills() -> None:
    files = [{"kind": "file", "is": "file", "digest": "0" * 64, "name": "a", "media_type": "", "text": "x" * 90_000}]
    entry = Log().add(Kind.USER, "read", files=files)
    assert 90_000 // CHARS_PER_TOKEN <= estimate([entry], sees=True) < 91_000 // CHARS_PER_TOKEN


@pytest.mark.parametrize(("sees", "tokens"), [(True, 3 * PICTURE_TOKENS), (False, 0)])
def test_pictures_count_for_a_model_that_is_shown_them(sees: bool, tokens: int) -> None:
    log = Log()
    one: dict[str, str] = {"kind": "binary", "frontdesk_file": "0" * 64, "name": "a", "media_type": "image/png"}
    said = log.add(Kind.USER, "look", files=[one, one])
    result = log.add(Kind.TOOL_RESULT, "seen", call="1", part={"content": [one]})
    assert tokens <= estimate([said, result], sees=sees) < tokens + 100


async def test_files_that_fill_the_window_are_summed_up_in_time(filing: Filing, server: ModelServer) -> None:
    house = await filing(context={"window": 40_000, "compact_at": 0.75, "keep_turns": 1})
    bot = bot_of(house)
    for ref in "abc":
        bot.holds(ref, (f"{ref} words " * 6_000).encode())
        await house.advance(20)
        await house.ended(await bring(house, "read", file(ref, name=f"{ref}.txt")))
    assert [entry.kind for entry in await house.log()].count(Kind.COMPACTION) == 1
