"""What every bot promises to the desk, tried on each platform over a socket against its strict double."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.errors import BotRejected, ChatDead, FloodWait, NotSent, Rejected, SendError, Unknown
from core.ports import CanEdit, CanType
from core.vocabulary import Button, Delivery, Earlier
from tests.clock import PATIENCE_S
from tests.contract.doubles import RecordingDesk, chain, eventually, running, up
from tests.contract.harness import FLOOD_WAIT_S, Fault, Harness, anew, out

ERRORS: dict[Fault, type[SendError]] = {
    Fault.NOT_REACHED: NotSent,
    Fault.FLOOD: FloodWait,
    Fault.REJECTED: Rejected,
    Fault.CHAT_DEAD: ChatDead,
    Fault.NO_ANSWER: Unknown,
    Fault.LOST: Unknown,
}

STOP = Button(label="Stop", data="STOPSTOP", style="bad")
MARKDOWN = "**Bold** and `code`, https://example.com/, a fence:\n\n```\nprint('hi')\n```\n\n- one\n- two"


async def test_what_is_said_arrives_in_order_with_what_was_said_before_the_start(
    harness: Harness, desk: RecordingDesk
) -> None:
    for text in ("one", "two", "three"):
        harness.say(text)
    async with running(harness.bot, desk):
        await desk.until(lambda: len(desk.heard) == 3)
        harness.say("four")
        await desk.until(lambda: len(desk.heard) == 4)
    assert desk.words == ["one", "two", "three", "four"]
    assert len({inbound.event for inbound in desk.heard}) == 4
    assert {inbound.address.bot for inbound in desk.heard} == {harness.bot.name}
    assert desk.health.accounts == [harness.account]


async def test_a_message_is_acknowledged_only_after_it_is_durable(harness: Harness, desk: RecordingDesk) -> None:
    async with running(harness.bot, desk):
        await up(desk)
        desk.open.clear()
        harness.say("keep me")
        await desk.until(lambda: desk.waiting == 1)
        await harness.bot.send(harness.delivery("there and back"))  # meanwhile what was acknowledged has arrived
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
        await desk.until(lambda: desk.words == ["once"])
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
    anew(harness, desk)
    async with running(harness.bot, desk):
        await desk.until(lambda: desk.words == ["survivor"])


async def test_sending_gives_each_message_an_id_of_its_own(harness: Harness, desk: RecordingDesk) -> None:
    async with running(harness.bot, desk):
        await up(desk)
        ids = [await harness.bot.send(harness.delivery(text)) for text in ("first", "second")]
    assert len(set(ids)) == 2
    assert harness.seen() == ("first", "second")
    assert not harness.broken_rules()


@pytest.fixture(params=["text", "file", "files", "buttons", "file and buttons"])
def delivery(request: pytest.FixtureRequest, harness: Harness, tmp_path: Path) -> Delivery:
    """Everything that one delivery may be."""
    offers = harness.bot.capabilities
    wanted = {"file": 1, "files": 2, "file and buttons": 1}.get(request.param, 0)
    if wanted and not offers.upload_limit_bytes:
        pytest.skip(f"no files go out on {harness.bot.platform}")
    if "buttons" in request.param and not offers.buttons:
        pytest.skip(f"{harness.bot.platform} has no buttons")
    files = [out(tmp_path, f"{number}.txt") for number in range(wanted)]
    return harness.delivery("hello", files=files, buttons=[STOP] if "buttons" in request.param else [])


@pytest.mark.parametrize("fault", ERRORS)
async def test_every_fault_of_a_delivery_has_its_error(
    harness: Harness, desk: RecordingDesk, delivery: Delivery, fault: Fault
) -> None:
    async with running(harness.bot, desk):
        await up(desk)
        await harness.order(fault)
        with pytest.raises(SendError) as caught:
            await harness.bot.send(delivery)
    # Where files are refused, it may be that words would not be.
    assert type(caught.value) in (ERRORS[fault], *([Rejected] if fault is Fault.CHAT_DEAD and delivery.files else []))
    if isinstance(caught.value, FloodWait):
        assert caught.value.wait_s == FLOOD_WAIT_S
    if caught.value.certain:
        assert harness.seen() == ()
    assert not any(secret in chain(caught.value) for secret in harness.secrets)


@pytest.mark.parametrize("fault", [Fault.NO_ANSWER, Fault.LOST])
async def test_what_may_have_arrived_is_there_once_however_often_it_is_sent_again(
    harness: Harness, desk: RecordingDesk, delivery: Delivery, fault: Fault
) -> None:
    if not harness.bot.capabilities.idempotent_for_s:
        pytest.skip(f"{harness.bot.platform} does not know what it was sent before")
    async with running(harness.bot, desk):
        await up(desk)
        since = harness.clock.now()
        twin = await harness.bot.send(replace(delivery, id=harness.delivery("").id))
        await harness.order(fault)
        with pytest.raises(Unknown):
            await harness.bot.send(delivery)
        await harness.mend()
    once = harness.shown()
    anew(harness, desk)
    async with running(harness.bot, desk):
        await up(desk)
        earlier = Earlier(since=since, others=frozenset([twin]))
        sent = {await harness.bot.send(replace(delivery, earlier=earlier)) for _ in range(2)}
    assert len(sent) == 1
    assert sent != {twin}
    assert harness.shown()[: len(once)] == once
    whole = harness.shown()
    assert whole == (*whole[: len(whole) // 2], *whole[: len(whole) // 2])


@pytest.mark.parametrize("fault", [Fault.NOT_REACHED, Fault.FLOOD, Fault.CHAT_DEAD])
async def test_after_a_fault_the_same_delivery_goes_through(
    harness: Harness, desk: RecordingDesk, delivery: Delivery, fault: Fault
) -> None:
    async with running(harness.bot, desk):
        await up(desk)
        await harness.order(fault)
        with suppress(SendError):
            await harness.bot.send(delivery)
        await harness.mend()
        await harness.bot.send(delivery)
    assert "".join(harness.seen()) == "hello"
    assert [name for one in harness.shown() for name, _ in one.files] == [file.name for file in delivery.files]


async def test_what_a_refused_account_was_to_send_waits(harness: Harness, desk: RecordingDesk) -> None:
    with suppress(BotRejected):
        async with running(harness.bot, desk):
            await up(desk)
            await harness.order(Fault.ACCOUNT_REFUSED)
            with pytest.raises(NotSent) as caught:
                await harness.bot.send(harness.delivery("hello"))
    assert type(caught.value) is NotSent
    assert not any(secret in chain(caught.value) for secret in harness.secrets)


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


def open_sockets() -> int:
    found = 0
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found += os.readlink(entry).startswith("socket:")
    return found
