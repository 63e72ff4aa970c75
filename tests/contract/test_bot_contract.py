"""What every bot promises to the desk, tried on each platform over a socket against its strict double."""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path

import pytest

from core.errors import BotRejected, ChatDead, FloodWait, NotSent, Rejected, SendError, Unknown
from core.ports import CanEdit, CanType
from core.vocabulary import Message
from tests.contract.discord import discord
from tests.contract.doubles import PATIENCE_S, RecordingDesk, running
from tests.contract.harness import FLOOD_WAIT_S, Fault, Harness
from tests.contract.slack import slack
from tests.contract.telegram import telegram, telegram_webhook

HARNESSES: dict[str, Callable[[], AbstractAsyncContextManager[Harness]]] = {
    "discord": discord,
    "slack": slack,
    "telegram": telegram,
    "telegram webhook": telegram_webhook,
}

ERRORS: dict[Fault, type[SendError]] = {
    Fault.NOT_REACHED: NotSent,
    Fault.FLOOD: FloodWait,
    Fault.REJECTED: Rejected,
    Fault.CHAT_DEAD: ChatDead,
    Fault.NO_ANSWER: Unknown,
    Fault.ACCOUNT_REFUSED: NotSent,
}

MARKDOWN = "**Bold** and `code`, https://example.com/, a fence:\n\n```\nprint('hi')\n```\n\n- one\n- two"


@pytest.fixture(params=HARNESSES)
async def harness(request: pytest.FixtureRequest) -> AsyncIterator[Harness]:
    async with HARNESSES[request.param]() as opened:
        yield opened


@pytest.fixture
def desk() -> RecordingDesk:
    return RecordingDesk()


async def up(desk: RecordingDesk) -> None:
    await desk.until(lambda: desk.health.last == "up")


def words(desk: RecordingDesk) -> list[str]:
    return [inbound.text for inbound in desk.heard if isinstance(inbound, Message)]


def chain(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


async def test_what_is_said_arrives_in_order_with_what_was_said_before_the_start(
    harness: Harness, desk: RecordingDesk
) -> None:
    for text in ("one", "two", "three"):
        harness.say(text)
    async with running(harness.bot, desk):
        await desk.until(lambda: len(desk.heard) == 3)
        harness.say("four")
        await desk.until(lambda: len(desk.heard) == 4)
    assert words(desk) == ["one", "two", "three", "four"]
    assert len({inbound.event for inbound in desk.heard}) == 4
    assert {inbound.address.bot for inbound in desk.heard} == {harness.bot.name}
    assert desk.health.accounts == [harness.account]


async def test_a_message_is_acknowledged_only_after_it_is_durable(harness: Harness, desk: RecordingDesk) -> None:
    desk.open.clear()
    harness.say("keep me")
    async with running(harness.bot, desk):
        await desk.until(lambda: desk.waiting == 1)
        assert harness.held_back() == 1
        harness.say("me too")
        desk.open.set()
        await desk.until(lambda: len(desk.heard) == 2)
        await eventually(lambda: harness.held_back() == 0)
    assert desk.most_waiting == 1


async def test_what_the_store_refuses_is_offered_again_whole(harness: Harness, desk: RecordingDesk) -> None:
    desk.refusing = True
    harness.say("once")
    async with running(harness.bot, desk):
        for attempt in (1, 2, 3):
            harness.clock.advance(await harness.clock.asleep(attempt) if attempt < 3 else 0)
        await desk.until(lambda: len(desk.refused) == 3)
        assert harness.held_back() == 1
        assert "store" in desk.health.last
        desk.refusing = False
        harness.clock.advance(await harness.clock.asleep(3))
        await desk.until(lambda: words(desk) == ["once"])
        await eventually(lambda: harness.held_back() == 0)
    assert set(desk.refused) == {desk.batches[0]}


async def test_a_kill_before_the_acknowledgement_leaves_everything_to_the_next_start(
    harness: Harness, desk: RecordingDesk
) -> None:
    desk.open.clear()
    harness.say("survivor")
    async with running(harness.bot, desk):
        await desk.until(lambda: desk.waiting == 1)
    desk.open.set()
    async with running(harness.bot, desk):
        await desk.until(lambda: words(desk) == ["survivor"])


async def test_sending_gives_each_message_an_id_of_its_own(harness: Harness, desk: RecordingDesk) -> None:
    async with running(harness.bot, desk):
        await up(desk)
        ids = [await harness.bot.send(harness.delivery(text)) for text in ("first", "second")]
    assert len(set(ids)) == 2
    assert harness.seen() == ("first", "second")
    assert not harness.broken_rules()


@pytest.mark.parametrize("fault", Fault)
async def test_every_fault_of_a_delivery_has_its_error(harness: Harness, desk: RecordingDesk, fault: Fault) -> None:
    with suppress(BotRejected):
        async with running(harness.bot, desk):
            await up(desk)
            await harness.order(fault)
            with pytest.raises(ERRORS[fault]) as caught:
                await harness.bot.send(harness.delivery("hello"))
    assert type(caught.value) is ERRORS[fault]
    if isinstance(caught.value, FloodWait):
        assert caught.value.wait_s == FLOOD_WAIT_S
    if caught.value.certain:
        assert harness.seen() == ()
    assert not any(secret in chain(caught.value) for secret in harness.secrets)


@pytest.mark.parametrize("fault", [Fault.NOT_REACHED, Fault.FLOOD, Fault.CHAT_DEAD])
async def test_after_a_fault_the_same_delivery_goes_through(
    harness: Harness, desk: RecordingDesk, fault: Fault
) -> None:
    delivery = harness.delivery("at last")
    async with running(harness.bot, desk):
        await up(desk)
        await harness.order(fault)
        with suppress(SendError):
            await harness.bot.send(delivery)
        await harness.mend()
        await harness.bot.send(delivery)
    assert harness.seen() == ("at last",)


async def test_a_refused_account_ends_the_bot_with_words_and_without_secrets(
    harness: Harness, desk: RecordingDesk
) -> None:
    with pytest.raises(BotRejected) as caught:
        async with running(harness.bot, desk) as task:
            await up(desk)
            await harness.order(Fault.ACCOUNT_REFUSED)
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.wait([task])
    assert "token" in str(caught.value)
    assert not any(secret in chain(caught.value) for secret in harness.secrets)


async def test_an_edit_replaces_the_text_and_may_be_repeated(harness: Harness, desk: RecordingDesk) -> None:
    bot = harness.bot
    if not isinstance(bot, CanEdit):
        pytest.skip(f"{bot.platform} has no edits")
    async with running(harness.bot, desk):
        await up(desk)
        message = await bot.send(harness.delivery("draft"))
        for _ in range(2):
            await bot.edit(harness.delivery("final"), message)
    assert harness.seen() == ("final",)
    assert not harness.broken_rules()


async def test_a_typing_sign_leaves_nothing_behind(harness: Harness, desk: RecordingDesk) -> None:
    bot = harness.bot
    if not isinstance(bot, CanType):
        pytest.skip(f"{bot.platform} has no typing sign")
    async with running(harness.bot, desk):
        await up(desk)
        await bot.typing(harness.address)
    assert harness.seen() == ()
    assert not harness.broken_rules()
    assert bot.capabilities.typing_interval_s


@pytest.mark.parametrize(
    "text",
    [
        MARKDOWN,
        "!" * 4096,
        "word " * 4_000,
        "🦊" * 5_000,
        "```\n" + "line of code\n" * 800 + "```",
        "- **item** `x`\n" * 600,
        "x" * 12_000,
    ],
    ids=["markdown", "4096", "words", "foxes", "fence", "list", "one word"],
)
async def test_every_part_of_a_text_is_one_message_that_the_platform_takes(
    harness: Harness, desk: RecordingDesk, text: str
) -> None:
    parts = harness.bot.parts(text)
    async with running(harness.bot, desk):
        await up(desk)
        for part in parts:
            await harness.bot.send(harness.delivery(part))
    assert len(harness.seen()) == len(parts)
    assert not harness.broken_rules()
    shown = "".join("".join(harness.seen()).split())
    assert all(shown.count(char) >= text.count(char) for char in set(text) if char.isalnum() and char.isascii())


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b"])
def test_what_nobody_could_see_has_no_parts(harness: Harness, text: str) -> None:
    assert harness.bot.parts(text) == ()


async def test_cancelling_leaves_no_task_and_no_socket(harness: Harness, desk: RecordingDesk) -> None:
    tasks, sockets = asyncio.all_tasks(), open_sockets()
    async with running(harness.bot, desk) as task:
        await up(desk)
        await harness.bot.send(harness.delivery("hello"))
    assert task.cancelled()
    await eventually(lambda: asyncio.all_tasks() == tasks and open_sockets() == sockets)


async def eventually(holds: Callable[[], bool]) -> None:
    """For what the other side of a socket does: one turn of the loop after the other."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)


def open_sockets() -> int:
    found = 0
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found += os.readlink(entry).startswith("socket:")
    return found
