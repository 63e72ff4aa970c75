"""Files in and out of Slack: the real SDK against the strict double."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from bots.slack.line import Patience, connected
from core.errors import ChatDead, NotSent, Rejected, Unknown
from core.vocabulary import Attachment, Button, FileKind, OutFile
from tests.contract.doubles import running
from tests.drivers.slack import settings_for, shown
from tests.fakes.slack.model import Channel, JsonObject, JsonValue
from tests.wire.slack_world import World, opened

PNG = b"\x89PNG" + bytes(range(256)) * 1_000


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as made:
        yield made


def out(folder: Path, name: str = "report.txt", content: bytes = b"hello") -> OutFile:
    path = folder / f"0198-{name}"
    path.write_bytes(content)
    return OutFile(kind=FileKind.FILE, path=path, name=name, media_type="text/plain", size=len(content))


def mentioned(file: str) -> JsonObject:
    """A file of another organization: https://docs.slack.dev/apis/slack-connect."""
    return {
        "id": file, "mode": "file_access", "file_access": "check_file_info", "created": 0, "timestamp": 0, "user": "",
    }  # fmt: skip


async def fetched(world: World, attachment: Attachment) -> bytes:
    return b"".join([piece async for piece in world.bot.fetch(attachment)])


# -- in ----------------------------------------------------------------------------------------------------------------


async def test_files_are_told_of_and_fetched_with_the_token(world: World) -> None:
    files = [
        world.server.file(world.ada, "cat.png", PNG),
        world.server.file(world.ada, "memo.m4a", b"memo"),
        world.server.file(world.ada, "page.html", b"<html>own page</html>", mimetype="text/html"),
    ]
    async with running(world.bot, world.desk):
        await world.up()
        world.server.say(world.chat, world.ada, "", files=files)
        await world.heard(1)
        cat, memo, page = world.messages[0].attachments
        assert (cat.kind, cat.name, cat.media_type, cat.size) == (FileKind.IMAGE, "cat.png", "image/png", len(PNG))
        assert memo.kind is FileKind.AUDIO
        assert await fetched(world, cat) == PNG
        assert await fetched(world, page) == b"<html>own page</html>"
    assert world.messages[0].text == ""
    assert world.server.bot.token not in repr(world.messages[0])


@pytest.mark.parametrize("url", ["https://example.com/cat.png", "{api}/auth.revoke"])
@pytest.mark.parametrize("external", [True, False])
async def test_nothing_is_fetched_from_where_people_point_and_no_token_goes_there(
    world: World, url: str, external: bool
) -> None:
    """Not even to Slack, where it could do anything."""
    if not external and "{api}" in url:
        return
    file = Attachment(kind=FileKind.FILE, ref="F1", name="cat.png", media_type="image/png", size=None)
    place = url.format(api=world.server.api_base.rstrip("/"))
    told: JsonValue = {"id": "F1", "is_external": external, "url_private": place}
    async with running(world.bot, world.desk):
        await world.up()
        world.server.answer("files.info", 200, {"ok": True, "file": told})
        with pytest.raises(Rejected, match="of its own"):
            await fetched(world, file)
    assert world.sent("auth.revoke") == 0


async def test_a_file_that_another_organization_shares_has_its_name_and_kind(world: World) -> None:
    cat = world.server.file(world.ada, "cat.png", PNG)
    async with running(world.bot, world.desk):
        await world.up()
        world.server.say(world.chat, world.ada, "look", files=[cat], extra={"files": [mentioned(cat.id)]})
        await world.heard(1)
        (found,) = world.messages[0].attachments
        assert (found.kind, found.name, found.media_type, found.size) == (
            FileKind.IMAGE, "cat.png", "image/png", len(PNG),
        )  # fmt: skip
        assert await fetched(world, found) == PNG


async def test_a_file_that_another_organization_keeps_elsewhere_is_told_of(world: World) -> None:
    plan: JsonValue = {"id": "F1", "is_external": True, "title": "Plan", "url_private": "https://example.com/plan"}
    async with running(world.bot, world.desk):
        await world.up()
        world.server.answer("files.info", 200, {"ok": True, "file": plan})
        world.server.say(world.chat, world.ada, "", extra={"files": [mentioned("F1")]})
        await world.heard(1)
    (said,) = world.messages
    assert (said.text, said.attachments) == ("[File: Plan https://example.com/plan]", ())


async def test_a_file_of_which_slack_tells_nothing_stays_a_file(world: World) -> None:
    cat = world.server.file(world.ada, "cat.png", PNG)
    async with running(world.bot, world.desk):
        await world.up()
        world.server.error("files.info", "internal_error")
        world.server.say(world.chat, world.ada, "look", files=[cat], extra={"files": [mentioned(cat.id)]})
        await world.heard(1)
        assert await fetched(world, world.messages[0].attachments[0]) == PNG


async def test_of_a_stranger_s_files_slack_is_asked_nothing(world: World) -> None:
    cat = world.server.file(world.ada, "cat.png", PNG)
    world.desk.unheard = {world.ada.id}
    async with running(world.bot, world.desk):
        await world.up()
        world.server.say(world.chat, world.ada, "look", files=[cat], extra={"files": [mentioned(cat.id)]})
        await world.heard(1)
    assert world.sent("files.info") == 0


@pytest.mark.parametrize(
    ("url", "opened_by_token"),
    [
        ("https://files.slack.com/x", True),
        ("https://files.slack-gov.com/x", True),
        ("https://slack-gov.com/x", True),
        ("https://files.slack.com:443/x", True),
        ("https://Files.slack.com:443/x", False),
        ("https://proxy.example.com:8443/files/x", True),
        ("http://proxy.example.com:8443/files/x", False),
        ("https://proxy.example.com/files/x", False),
        ("https://wiki.proxy.example.com:8443/x", False),
        ("http://files.slack.com/x", False),
        ("https://files.slack.com:8443/x", False),
        ("https://files.slack.com@example.com/x", False),
        ("https://example.com\\@files.slack.com/x", False),
        ("https://evilslack.com/x", False),
        ("https://slack.com.example.com/x", False),
        ("https://example.com/x", False),
        ("https://[x", False),
        ("", False),
    ],
)
async def test_the_token_opens_what_is_slack_s_alone(world: World, url: str, opened_by_token: bool) -> None:
    settings = settings_for(world.server, api_base="https://proxy.example.com:8443/api")
    async with connected(settings, world.clock, Patience()) as line:
        assert (line.authorization(url) is not None) is opened_by_token


async def test_a_login_page_in_place_of_the_file_is_noticed(world: World) -> None:
    file = world.server.file(world.ada, "cat.png", PNG)
    async with running(world.bot, world.desk):
        await world.up()
        world.server.say(world.chat, world.ada, "look", files=[file])
        await world.heard(1)
        (attachment,) = world.messages[0].attachments
        world.server.answer("download", 200, b"<!DOCTYPE html><title>Sign in</title>")
        with pytest.raises(Rejected, match="files:read"):
            await fetched(world, attachment)
        world.server.answer("download", 302, b"")
        with pytest.raises(Rejected, match="302"):
            await fetched(world, attachment)
        world.server.drop("download", applied=False, count=2)  # once the HTTP client asks again by itself
        with pytest.raises(Unknown):
            await fetched(world, attachment)
        world.server.remove_scope("files:read")
        with pytest.raises(Rejected, match="files:read"):
            await fetched(world, attachment)


# -- out ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_thread", [True, False])
async def test_files_go_out_with_their_words(world: World, tmp_path: Path, in_thread: bool) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        root = world.say("chatter", world.general)
        address = world.address(world.general, root if in_thread else None)
        files = (out(tmp_path), out(tmp_path, "cat.png", PNG))
        message = await world.bot.send(world.delivery("**two** files", address, files=files))
    (said,) = world.shown(world.general)
    assert (said.ts, said.text, said.thread_ts) == (message, "*two* files", root.ts if in_thread else None)
    held = [world.server.platform.files[one] for one in said.file_ids]
    assert [(one.name, len(one.content)) for one in held] == [("report.txt", 5), ("cat.png", len(PNG))]


async def test_words_above_a_file_can_be_edited(world: World, tmp_path: Path) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        message = await world.bot.send(world.delivery("draft", files=(out(tmp_path),)))
        await world.bot.edit(world.delivery("final"), message)
    (said,) = world.shown()
    assert (shown(said), len(said.file_ids)) == ("final", 1)


async def test_a_file_with_buttons_comes_first_and_its_words_below(world: World, tmp_path: Path) -> None:
    yes = Button(label="Yes", data="YES")
    async with running(world.bot, world.desk):
        await world.up()
        delivery = world.delivery("may I?", files=(out(tmp_path),), buttons=(yes,))
        world.server.error("chat.postMessage", "ratelimited")
        with pytest.raises(Unknown):
            await world.bot.send(delivery)
        await world.acked()
        world.clock.advance(60)
        message = await world.bot.send(world.again(delivery))
    file, words = world.shown()
    assert (len(file.file_ids), shown(words), words.ts) == (1, "may I?", message)


async def test_words_with_a_link_stand_below_the_file_since_above_it_they_would_show_a_preview(
    world: World, tmp_path: Path
) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        delivery = world.delivery("see https://example.com", files=(out(tmp_path),))
        message = await world.bot.send(delivery)
        assert await world.bot.send(world.again(delivery)) == message
        await world.bot.edit(replace(delivery, text="see nothing"), message)
    file, words = world.shown()
    assert (len(file.file_ids), shown(file), shown(words), words.ts) == (1, "", "see nothing", message)


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("restart", [True, False])
async def test_whether_a_file_arrived_is_settled(world: World, tmp_path: Path, applied: bool, restart: bool) -> None:
    delivery = world.delivery("here", files=(out(tmp_path),))
    async with running(world.bot, world.desk):
        await world.up()
        world.server.drop("files.completeUploadExternal", applied=applied)
        with pytest.raises(Unknown):
            await world.bot.send(delivery)
    bot = world.another() if restart else world.bot
    async with running(bot, world.desk):
        await world.up()
        message = await bot.send(world.again(delivery))
    assert [one.ts for one in world.shown()] == [message]
    assert len(world.desk.notes["uploads"]) < 200


@pytest.mark.parametrize("method", ["files.getUploadURLExternal", "upload"])
async def test_a_broken_upload_leaves_nothing_and_may_be_tried_again(world: World, tmp_path: Path, method: str) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.drop(method, applied=True)
        with pytest.raises(NotSent):
            await world.bot.send(delivery := world.delivery("here", files=(out(tmp_path),)))
        assert world.shown() == ()
        await world.bot.send(delivery)
    assert len(world.shown()) == 1


async def test_a_file_that_is_gone_and_a_chat_that_is_dead_are_said_so(world: World, tmp_path: Path) -> None:
    gone = out(tmp_path, content=PNG)
    async with running(world.bot, world.desk):
        await world.up()
        elsewhere: Channel = world.server.channel("elsewhere", with_bot=False)
        with pytest.raises(ChatDead):
            await world.bot.send(world.delivery("x", world.address(elsewhere), files=(gone,)))
        gone.path.unlink()
        with pytest.raises(Rejected, match="gone"):
            await world.bot.send(world.delivery("x", files=(gone,)))


async def test_a_file_for_one_person_goes_to_our_direct_chat(world: World, tmp_path: Path) -> None:
    async with running(world.bot, world.desk):
        await world.up()
        world.server.slash(world.general, world.ada, "/frontdesk", "help")
        await world.heard(1)
        await world.bot.send(world.delivery("here", world.messages[0].address, files=(out(tmp_path),)))
    assert world.shown(world.general) == ()
    assert len(world.shown(world.chat)) == 1
