"""An agent sends files with the desk's own tool."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.models.replies import Call, Say, Steps
from tests.fakes.models.server import ModelServer
from tests.flow.files import bot_of, on_disk, png
from tests.flow.house import House
from tests.models.filing import filed
from tests.models.test_prefix import MODELS, all_grow


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "shelf"
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"hello")
    (folder / "b.png").write_bytes(png())
    return folder


@pytest.fixture
async def house(sqlite_state: Path, server: ModelServer, root: Path) -> AsyncIterator[House]:
    async with filed(sqlite_state, server, files=[str(root)]) as made:
        yield made


async def send(house: House, server: ModelServer, *paths: str, **more: object) -> str:
    """Let the model send these; what the tool told it."""
    arguments = {"paths": list(paths), **more}
    server.on("send", Steps(Call("send_files", arguments), Say("There you are.")))  # type: ignore[arg-type]  # JSON
    await house.ask("send it")
    return server.requests[-1].tool_results[-1]


async def test_a_file_is_sent_and_the_model_is_told(house: House, server: ModelServer) -> None:
    assert await send(house, server, "a.txt", caption="for you") == "Sent: a.txt"
    assert house.seen() == ["<a.txt> for you", "There you are."]
    assert [got.contents for got in bot_of(house).received] == [(b"hello",)]
    call, result = (await house.log())[1:3]
    assert (call.text, call.data["read_only"], result.data["failed"]) == ("send_files", False, False)


@pytest.mark.parametrize("model", MODELS)
async def test_every_provider_is_offered_it(sqlite_state: Path, server: ModelServer, root: Path, model: str) -> None:
    async with filed(sqlite_state, server, files=[str(root)], model=model) as house:
        assert await send(house, server, "a.txt", "b.png") == "Sent: a.txt, b.png"
        assert [got.names for got in bot_of(house).received] == [("a.txt", "b.png")]
        await house.ask("thanks")
        all_grow(server)


async def test_without_folders_there_is_no_such_tool(sqlite_state: Path, server: ModelServer) -> None:
    async with filed(sqlite_state, server) as house:
        await house.ask("hello")
        assert "send_files" not in server.requests[-1].tools
        await send(house, server, "/etc/passwd")
        assert bot_of(house).received == []


@pytest.mark.parametrize("path", ["/etc/passwd", "../secret.txt", "link", "nowhere", "", "pipe", "/proc/self/environ"])
async def test_what_may_not_be_sent_is_told_and_the_turn_goes_on(
    house: House, server: ModelServer, root: Path, path: str
) -> None:
    (root.parent / "secret.txt").write_text("secret")
    (root / "link").symlink_to("/etc/passwd")
    os.mkfifo(root / "pipe")
    told = await send(house, server, path)
    assert "Sent" not in told
    assert house.seen() == ["There you are."]
    assert bot_of(house).received == []
    assert on_disk(house) == []
    result = (await house.log())[2]
    assert result.data["failed"] is True


@pytest.mark.parametrize("path", [".", "/", "folder"])
async def test_so_is_a_folder(house: House, server: ModelServer, root: Path, path: str) -> None:
    (root / "folder").mkdir()
    told = await send(house, server, path)
    assert "Sent" not in told
    assert house.seen() == ["There you are."]


async def test_eleven_are_refused(house: House, server: ModelServer) -> None:
    assert "1 to 10" in await send(house, server, *["a.txt"] * 11)


@pytest.mark.parametrize("arguments", [{}, {"paths": "a.txt"}, {"paths": [1]}, {"paths": ["a.txt"], "caption": 1}])
async def test_arguments_that_do_not_fit_are_told_and_it_may_try_again(
    house: House, server: ModelServer, arguments: dict[str, object]
) -> None:
    bad = Call("send_files", arguments)  # type: ignore[arg-type]  # JSON
    server.on("send", Steps(bad, Call("send_files", {"paths": ["a.txt"]}), Say("There you are.")))
    await house.ask("send it")
    assert house.seen() == ["<a.txt>", "There you are."]


async def test_two_calls_in_one_response_send_two_messages_in_order(house: House, server: ModelServer) -> None:
    both = (Call("send_files", {"paths": ["a.txt"]}), Call("send_files", {"paths": ["b.png"]}))
    server.on("send", Steps(both, Say("There you are.")))
    await house.ask("send them")
    assert sorted(house.seen()[:2]) == ["<a.txt>", "<b.png>"]
    assert house.seen()[-1] == "There you are."


async def test_a_full_disk_is_told_to_the_model(house: House, server: ModelServer) -> None:
    (house.state / "files").write_text("in the way")
    try:
        told = await send(house, server, "a.txt")
        assert "Sent" not in told
        assert house.seen() == ["There you are."]
    finally:
        (house.state / "files").unlink()


async def test_a_chat_that_takes_no_files_is_told(house: House, server: ModelServer) -> None:
    bot = bot_of(house)
    bot.capabilities = type(bot).__mro__[1]().capabilities  # a bot without files
    assert "can't be sent" in await send(house, server, "a.txt")


async def test_nothing_that_may_not_be_sent_is_sent_whatever_becomes_of_the_turn(
    house: House, server: ModelServer, root: Path
) -> None:
    (root / "link").symlink_to("/etc/passwd")
    for path in ("/etc/passwd", "link", "../../etc/passwd"):
        server.on("send", Steps(Call("send_files", {"paths": [path]}), Say("There you are.")))
        await house.ask("send it")
    assert bot_of(house).received == []
    assert on_disk(house) == []


async def test_retry_sends_it_again(house: House, server: ModelServer) -> None:
    server.on("send", Steps(Call("send_files", {"paths": ["a.txt"]}), Say("There you are.")))
    await house.ask("send it")
    await house.ended(await house.say("/retry"))
    assert house.seen() == ["<a.txt>", "There you are."] * 2
