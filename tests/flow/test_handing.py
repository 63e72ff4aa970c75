"""Files on their way to people: what an agent hands over, and what the desk sends by itself."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.agents.agent import AgentEvent, TurnContext
from core.errors import FileRefused, FloodWait, NotSent, Rejected, StoreError, ThreadGone, Unknown, Unreachable
from core.store import checks
from core.vocabulary import ChatId, FileKind, TextDelta
from tests.fakes.agents import Script
from tests.flow.bot import Fault
from tests.flow.conftest import Furnish
from tests.flow.files import FILING, MIB, FilingBot, NarrowBot, attached, bot_of, on_disk, parcels, png
from tests.flow.house import House


class Shelf:
    """A folder from which the agents of a house may send files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(exist_ok=True)

    def put(self, name: str, data: bytes = b"content") -> str:
        (self.root / name).write_bytes(data)
        return name

    def sends(self, *paths: str, caption: str = "") -> Script:
        """Hands these over, and says what came of it."""

        async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
            try:
                names = await turn.desk.hand_over(paths, caption, [self.root])
            except FileRefused as why:
                yield TextDelta(text=f"refused: {why}")
            else:
                yield TextDelta(text=f"done: {', '.join(names)}")

        return script


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "shelf")


@pytest.fixture
async def filing(furnish: Furnish) -> House:
    return await furnish(FilingBot())


async def test_a_file_arrives_before_the_answer(filing: House, shelf: Shelf) -> None:
    filing.stage.on("send", shelf.sends(shelf.put("a.txt", b"hello"), caption="**look**"))
    await filing.say("send it")
    assert filing.seen() == ["<a.txt> **look**", "done: a.txt"]
    [got] = bot_of(filing).received
    assert (got.contents, got.kinds, got.caption) == ((b"hello",), (FileKind.FILE,), "**look**")
    assert await attached(filing) == [("a.txt", 5)]


async def test_a_file_changed_after_it_was_handed_over_arrives_as_it_was(filing: House, shelf: Shelf) -> None:
    gate = asyncio.Event()
    filing.bot.fail("7", Fault(error=NotSent("later"), gate=gate))
    filing.stage.on("send", shelf.sends(shelf.put("a.txt", b"before")))
    await filing.say("send it")
    shelf.put("a.txt", b"after!")
    gate.set()
    await filing.advance(60)
    assert [got.contents for got in bot_of(filing).received] == [(b"before",)]


@pytest.mark.parametrize(
    "reply", ["MEDIA:/etc/passwd", "![x](file:///etc/passwd)", "[file](/etc/passwd)", "<file>/etc/passwd</file>"]
)
async def test_c32_a_reply_that_names_a_file_is_a_reply(filing: House, shelf: Shelf, reply: str) -> None:
    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text=reply)

    filing.stage.on("what", script)
    await filing.say("what?")
    assert filing.seen() == [reply]
    assert bot_of(filing).received == []


async def test_c32_a_link_to_the_outside_is_refused_and_told_to_the_agent(filing: House, shelf: Shelf) -> None:
    (shelf.root / "link").symlink_to("/etc/passwd")
    filing.stage.on("send", shelf.sends("link"))
    await filing.say("send it")
    assert filing.seen() == ["refused: link is not in a folder from which files may be sent."]
    assert on_disk(filing) == []


async def test_a_group_of_ten_is_one_message_and_eleven_are_refused(filing: House, shelf: Shelf) -> None:
    names = [shelf.put(f"{number}.png", png(seed=number)) for number in range(11)]
    filing.stage.on("ten", shelf.sends(*names[:10]))
    filing.stage.on("eleven", shelf.sends(*names))
    await filing.say("ten")
    await filing.say("eleven")
    [got] = bot_of(filing).received
    assert got.names == tuple(names[:10])
    assert filing.seen()[-1] == "refused: Name 1 to 10 files."


async def test_how_many_files_one_message_has_is_the_platforms_to_say(furnish: Furnish, shelf: Shelf) -> None:
    house = await furnish(FilingBot(capabilities=replace(FILING, files_limit=2)))
    for name in "abc":
        shelf.put(name)
    house.stage.on("two", shelf.sends("a", "b"))
    house.stage.on("three", shelf.sends("a", "b", "c"))
    await house.say("two")
    await house.say("three")
    assert house.seen() == ["<a, b>", "done: a, b", "refused: Name 1 to 2 files."]


@pytest.mark.parametrize(
    ("caption", "fits"), [("x" * 100, True), ("x" * 101, False), ("📊" * 50, True), ("📊" * 51, False)]
)
async def test_a_caption_that_is_too_long_is_a_message_before(
    filing: House, shelf: Shelf, caption: str, fits: bool
) -> None:
    filing.stage.on("send", shelf.sends(shelf.put("a.txt"), caption=caption))
    await filing.say("send it")
    before = [f"<a.txt> {caption}"] if fits else [caption, "<a.txt>"]
    assert filing.seen() == [*before, "done: a.txt"]


async def test_a_caption_of_many_messages_loses_nothing(filing: House, shelf: Shelf) -> None:
    caption = " ".join(f"word{number}" for number in range(300))
    filing.stage.on("send", shelf.sends(shelf.put("a.txt"), caption=caption))
    await filing.say("send it")
    *before, name, _ = filing.seen()
    assert name == "<a.txt>"
    assert " ".join(before).split() == caption.split()


@pytest.mark.parametrize("caption", ["", " ", "\n", "\ud800"])
async def test_a_caption_may_be_blank_or_odd(filing: House, shelf: Shelf, caption: str) -> None:
    filing.stage.on("send", shelf.sends(shelf.put("a.txt"), caption=caption))
    await filing.say("send it")
    assert filing.seen() == [f"<a.txt> {caption.strip()}".strip().replace("\ud800", "\ufffd"), "done: a.txt"]


async def test_the_limit_of_the_platform_is_told_before_it_fails(filing: House, shelf: Shelf) -> None:
    shelf.put("full.bin", bytes(10 * MIB))
    shelf.put("over.bin", bytes(10 * MIB + 1))
    filing.stage.on("send", shelf.sends("over.bin"))
    filing.stage.on("full", shelf.sends("full.bin"))
    await filing.say("send it")
    assert filing.seen() == ["refused: over.bin has 10.1 MiB; at most 10 MiB can be sent there."]
    await filing.say("full")
    assert len(bot_of(filing).received) == 1


async def test_the_limit_of_the_chat_counts(furnish: Furnish, shelf: Shelf) -> None:
    house = await furnish(NarrowBot())
    bot = bot_of(house)
    assert isinstance(bot, NarrowBot)
    bot.limits = {ChatId("7"): MIB, ChatId("8"): 20 * MIB}
    shelf.put("a.bin", bytes(11 * MIB))
    house.stage.on("send", shelf.sends("a.bin"))
    await house.say("send it")
    await house.say("send it", user="8")
    assert "at most 1 MiB" in house.seen()[0]
    assert house.seen("8") == ["<a.bin>", "done: a.bin"]


async def test_a_bot_that_takes_no_files_is_told_to_the_agent(furnish: Furnish, shelf: Shelf) -> None:
    house = await furnish(FilingBot(capabilities=replace(FILING, upload_limit_bytes=0)))
    house.stage.on("send", shelf.sends(shelf.put("a.txt")))
    await house.say("send it")
    assert house.seen() == ["refused: Files can't be sent in this chat."]


# faults on the way


async def test_a_file_that_is_gone_when_it_is_sent_keeps_no_answer_back(filing: House, shelf: Shelf) -> None:
    filing.bot.fail("7", FloodWait(30))
    filing.stage.on("send", shelf.sends(shelf.put("a.txt")))
    await filing.say("send it")
    for path in on_disk(filing):
        path.unlink()
    await filing.advance(60)
    assert filing.seen() == ["done: a.txt", "This could not be sent: a.txt."]
    assert (await filing.deliveries())[0] == ("failed", "reply")


async def test_a_file_that_is_gone_leaves_its_words(filing: House, shelf: Shelf) -> None:
    filing.bot.fail("7", FloodWait(30))
    filing.stage.on("send", shelf.sends(shelf.put("a.txt"), caption="look"))
    await filing.say("send it")
    for path in on_disk(filing):
        path.unlink()
    await filing.advance(60)
    assert any("look" in text for text in filing.seen())


@pytest.mark.parametrize("error", [Rejected("too odd"), NotSent("no route"), FloodWait(5)])
async def test_a_file_that_is_not_taken_keeps_the_answer_in_its_place(
    filing: House, shelf: Shelf, error: Exception
) -> None:
    assert isinstance(error, Rejected | NotSent)
    filing.bot.fail("7", error)
    filing.stage.on("send", shelf.sends(shelf.put("a.txt")))
    await filing.say("send it")
    await filing.advance(60)
    refused = isinstance(error, Rejected)
    came = ["done: a.txt", "This could not be sent: a.txt."] if refused else ["<a.txt>", "done: a.txt"]
    assert filing.seen() == came


async def test_a_file_that_may_have_arrived_is_told_and_comes_again(filing: House, shelf: Shelf) -> None:
    filing.bot.fail("7", Unknown("cut"))
    filing.stage.on("send", shelf.sends(shelf.put("a.txt", b"hello"), caption="look"))
    await filing.say("send it")
    await filing.advance(10)
    assert "/again" in filing.seen()[-1]
    await filing.say("/again")
    assert filing.seen()[-1] == "<a.txt> look"
    assert [got.contents for got in bot_of(filing).received] == [(b"hello",)]


async def test_a_process_that_dies_before_a_file_is_sent_sends_it_once(filing: House, shelf: Shelf) -> None:
    filing.bot.fail("7", Unreachable("nobody"))
    filing.stage.on("send", shelf.sends(shelf.put("a.txt", b"hello")))
    await filing.say("send it")
    await filing.restart()
    await filing.advance(60)
    assert [got.contents for got in bot_of(filing).received] == [(b"hello",)]
    assert filing.seen() == ["<a.txt>", "done: a.txt"]


async def test_a_turn_that_handed_something_over_is_not_tried_again(filing: House, shelf: Shelf) -> None:
    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        await turn.desk.hand_over([shelf.put("a.txt")], "", [shelf.root])
        await asyncio.Event().wait()
        yield TextDelta(text="never")

    filing.stage.on("send", script)
    await filing.say("send it")
    assert len(bot_of(filing).received) == 1
    await filing.restart()
    assert len(bot_of(filing).received) == 1
    assert len(filing.stage.asked) == 1
    assert "/retry" in filing.seen()[-1]


async def test_a_file_that_waits_for_hours_is_kept_for_it(filing: House, shelf: Shelf) -> None:
    filing.bot.fail("7", Unreachable("nobody"))
    filing.stage.on("send", shelf.sends(shelf.put("a.txt", b"hello")))
    await filing.say("send it")
    await filing.advance(3 * 3600)
    at = filing.clock.now().timestamp() - 7200
    for path in on_disk(filing):
        os.utime(path, (at, at))
    await filing.chores.files()
    await filing.say("back")
    await filing.advance(60)
    assert [got.contents for got in bot_of(filing).received] == [(b"hello",)]


async def test_a_file_without_words_that_waits_is_sound(filing: House, shelf: Shelf) -> None:
    filing.bot.fail("7", Unreachable("nobody"))
    filing.stage.on("send", shelf.sends(shelf.put("a.txt")))
    await filing.say("send it")
    findings = await filing.store.read(checks.check)
    await filing.say("back")
    await filing.advance(60)
    assert findings == []


async def test_what_was_sent_a_day_ago_is_blank(filing: House, shelf: Shelf) -> None:
    filing.stage.on("send", shelf.sends(shelf.put("a.txt"), caption="look"))
    await filing.say("send it")
    await filing.clock.leap(25 * 3600)
    await filing.chores.tidy()
    assert [files for _, files in await parcels(filing)] == [None, None]


async def test_so_is_one_that_had_to_leave_its_thread(filing: House, shelf: Shelf) -> None:
    filing.bot.fail("7", ThreadGone("gone"))
    filing.stage.on("send", shelf.sends(shelf.put("secret plan.txt")))
    await filing.say("send it", thread="5")
    assert len(bot_of(filing).received) == 1
    await filing.clock.leap(25 * 3600)
    await filing.chores.tidy()
    assert [files for _, files in await parcels(filing)] == [None] * 3


async def test_so_is_a_file_without_words(filing: House, shelf: Shelf) -> None:
    filing.stage.on("send", shelf.sends(shelf.put("secret plan.txt")))
    await filing.say("send it")
    await filing.clock.leap(25 * 3600)
    await filing.chores.tidy()
    assert [files for _, files in await parcels(filing)] == [None, None]


async def test_an_agent_that_was_stopped_hands_over_nothing(filing: House, shelf: Shelf) -> None:
    gate = asyncio.Event()

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="clinging")
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue
        await turn.desk.hand_over([shelf.put("a.txt")], "", [shelf.root])

    filing.stage.on("send", script)
    await filing.say("send it")
    await filing.offer(filing.message("/stop"))
    await filing.advance(5)
    told = filing.seen()
    gate.set()
    await filing.idle()
    assert bot_of(filing).received == []
    assert filing.seen() == told


async def test_a_full_disk_fails_the_hand_and_not_the_process(filing: House, shelf: Shelf) -> None:
    (filing.state / "files").write_text("in the way")

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        try:
            await turn.desk.hand_over([shelf.put("a.txt")], "", [shelf.root])
        except StoreError:
            yield TextDelta(text="no room")

    filing.stage.on("send", script)
    await filing.say("send it")
    assert filing.seen() == ["no room"]
    (filing.state / "files").unlink()


# what grows beside it


async def test_an_answer_that_grew_before_keeps_its_place_and_nothing_is_lost(filing: House, shelf: Shelf) -> None:
    slow = filing.stage.gate("slow")

    async def script(turn: TurnContext) -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="Let me see. ")
        await slow.wait()
        await turn.desk.hand_over([shelf.put("a.txt")], "", [shelf.root])
        yield TextDelta(text="There.")

    filing.stage.on("send", script)
    said = await filing.say("send it")
    await filing.advance(5)
    slow.set()
    await filing.ended(said)
    await filing.advance(5)
    assert sorted(filing.seen()) == ["<a.txt>", "Let me see. There."]


async def test_s03_no_agent_sends_what_belongs_to_the_desk(filing: House, tmp_path: Path) -> None:
    """Whatever folder it may send from."""
    config = filing.premises.config
    assert config is not None
    config.parent.mkdir()
    (config.parent / "token").write_bytes(b"secret")
    (config.parent / "token").chmod(0o600)
    config.write_text("")
    for path in (config, config.parent / "token", filing.state / "frontdesk.db"):
        filing.stage.on("send", Shelf(tmp_path).sends(str(path)))
        await filing.say("send it")
        assert filing.seen()[-1].startswith(f"refused: {path} may not be sent")
    assert bot_of(filing).received == []
