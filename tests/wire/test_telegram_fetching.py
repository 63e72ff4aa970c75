"""Files that people sent: the real SDK against the strict double."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from core.errors import BotError, FloodWait, NotSent, Rejected
from core.ports import CanFetch
from core.vocabulary import Attachment, FileKind
from tests.clock import PATIENCE_S
from tests.contract.doubles import running
from tests.fakes.telegram.model import JsonValue
from tests.fakes.telegram.server import TelegramServer
from tests.wire.telegram_world import World


async def fetched(world: World, attachment: Attachment) -> bytes:
    bot = world.bot
    assert isinstance(bot, CanFetch)
    async with asyncio.timeout(PATIENCE_S):
        return b"".join([piece async for piece in bot.fetch(attachment)])


async def attached(world: World, content: bytes) -> Attachment:
    world.server.share(world.chat, world.ada, "document", {"name": "a.bin", "content": content})
    await world.heard(1)
    (attachment,) = world.messages[-1].attachments
    return attachment


async def refusal(world: World, attachment: Attachment) -> BotError:
    with pytest.raises(BotError) as caught:
        await fetched(world, attachment)
    assert world.server.token not in "".join(traceback.format_exception(caught.value))
    return caught.value


async def test_what_was_sent_is_fetched_whole_and_in_pieces(world: World) -> None:
    content = bytes(range(256)) * 4096
    async with running(world.bot, world.desk):
        attachment = await attached(world, content)
        assert (attachment.name, attachment.size) == ("a.bin", len(content))
        pieces = [piece async for piece in world.bot.fetch(attachment)]
    assert b"".join(pieces) == content
    assert max(map(len, pieces)) <= 64 * 1024


async def test_files_come_from_where_the_config_says(world: World) -> None:
    async with TelegramServer(limits=None, token=world.server.token) as elsewhere:
        world.bot = world.another(file_base=f"{elsewhere.url}/file")
        async with running(world.bot, world.desk):
            attachment = await attached(world, b"from the API")
            elsewhere.put_file(attachment.ref, b"from file_base")
            assert await fetched(world, attachment) == b"from file_base"


async def test_a_file_that_is_too_large_is_refused(world: World) -> None:
    async with running(world.bot, world.desk):
        attachment = await attached(world, bytes((20 << 20) + 1))
        error = await refusal(world, attachment)
    assert isinstance(error, Rejected)
    assert "more than 20 MiB" in str(error)


async def limits(world: World, content: bytes) -> list[tuple[int, int]]:
    """What may come and go, in bytes of a file, before and after somebody sends such a one."""
    seen = []
    async with running(world.bot, world.desk):
        attachment = await attached(world, content)
        seen.append((world.bot.capabilities.download_limit_bytes, world.bot.capabilities.upload_limit_bytes))
        with suppress(Rejected):
            await fetched(world, attachment)
        seen.append((world.bot.capabilities.download_limit_bytes, world.bot.capabilities.upload_limit_bytes))
    return seen


@pytest.mark.parametrize("size", [1, (20 << 20) + 1])
async def test_a_mere_way_to_telegram_s_server_is_known_by_the_first_file(world: World, size: int) -> None:
    before, after = await limits(world, bytes(size))
    assert before == (2000 << 20, 2_000_000_000)
    assert after == (20 << 20, 50_000_000)


@pytest.mark.parametrize(
    ("status", "words", "expected"),
    [
        (400, "Bad Request: invalid file_id", Rejected),
        (400, "Bad Request: wrong file_id or the file is temporarily unavailable", NotSent),
        (429, "Too Many Requests: retry after 7", FloodWait),
        (500, "Internal Server Error", NotSent),
        (401, "Unauthorized", Rejected),
        (404, "Not Found", Rejected),
    ],
)
async def test_each_refusal_to_give_a_file_has_its_error(
    world: World, status: int, words: str, expected: type[BotError]
) -> None:
    async with running(world.bot, world.desk):
        attachment = await attached(world, b"x")
        world.server.answer_error("getFile", status, words)
        assert type(await refusal(world, attachment)) is expected
        assert await fetched(world, attachment) == b"x"


@pytest.mark.parametrize("result", [{}, {"file_path": ""}, {"file_path": 5}, [], True])
async def test_an_answer_that_names_no_file_is_refused(world: World, result: JsonValue) -> None:
    async with running(world.bot, world.desk):
        attachment = await attached(world, b"x")
        world.server.answer("getFile", 200, {"ok": True, "result": result})
        assert isinstance(await refusal(world, attachment), Rejected)


async def test_a_download_that_fails_shows_no_address(world: World) -> None:
    async with running(world.bot, world.desk):
        attachment = await attached(world, b"x")
        world.server.answer("getFile", 200, {"ok": True, "result": {"file_path": "not/there.bin"}})
        error = await refusal(world, attachment)
    assert isinstance(error, Rejected)
    assert "404" in str(error)


async def test_without_a_connection_nothing_is_fetched(world: World) -> None:
    attachment = Attachment(kind=FileKind.FILE, ref="x", name="", media_type="", size=None)
    assert isinstance(await refusal(world, attachment), NotSent)
    async with running(world.bot, world.desk):
        kept = await attached(world, b"x")
        await world.server.pause()
        assert isinstance(await refusal(world, kept), NotSent)


async def test_who_stops_reading_leaves_no_connection_behind(world: World) -> None:
    async with running(world.bot, world.desk):
        attachment = await attached(world, bytes(1 << 20))
        pieces = world.bot.fetch(attachment)
        assert await anext(pieces)
        await pieces.aclose()


# -- a server of one's own ---------------------------------------------------------------------------------------------


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[World]:
    async with TelegramServer(limits=None, local=tmp_path / "files") as server:
        yield World(server)
        assert server.violations == ()


async def test_a_file_on_the_same_machine_is_read_there(local: World) -> None:
    content = bytes(range(256)) * 100_000
    async with running(local.bot, local.desk):
        attachment = await attached(local, content)
        local.server.platform.files[attachment.ref] = b"not asked over the network"
        assert await fetched(local, attachment) == content
    assert local.bot.capabilities.download_limit_bytes >= 2_000_000_000
    assert local.bot.capabilities.upload_limit_bytes == 2_000_000_000


async def test_a_file_on_another_machine_is_asked_for_below_the_token_s_folder(local: World) -> None:
    async with running(local.bot, local.desk):
        attachment = await attached(local, b"x")
        local.server.platform.local_path(attachment.ref).unlink()
        local.server.platform.files[attachment.ref] = b"over the network"
        assert await fetched(local, attachment) == b"over the network"


async def test_only_files_are_read_from_disk(local: World, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    async with running(local.bot, local.desk):
        attachment = await attached(local, b"x")
        local.server.answer("getFile", 200, {"ok": True, "result": {"file_path": str(tmp_path / "folder")}})
        assert isinstance(await refusal(local, attachment), Rejected)
