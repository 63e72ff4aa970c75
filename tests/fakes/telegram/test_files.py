"""The double is strict about files, captions and albums, and about how it delivers to a webhook."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from telegram import (
    Bot,
    InputMediaAudio,
    InputMediaDocument,
    InputMediaPhoto,
    InputMediaVideo,
    MessageEntity,
)
from telegram.error import BadRequest

from tests.fakes.telegram import Chat, TelegramServer, User
from tests.fakes.telegram.courier import Courier
from tests.fakes.telegram.images import dimensions, png

OGG = b"OggS and so on"


async def test_a_file_is_kept_and_shown_with_its_caption(server: TelegramServer, bot: Bot, private: Chat) -> None:
    bold = [MessageEntity("bold", 0, 4)]
    sent = await bot.send_photo(private.id, png(90, 60), caption="look", caption_entities=bold, filename="a.png")
    assert (sent.caption, [entity.type for entity in sent.caption_entities]) == ("look", ["bold"])
    assert [(size.width, size.height) for size in sent.photo] == [(30, 20), (90, 60)]
    assert server.platform.files[sent.photo[-1].file_id] == png(90, 60)
    assert server.chat(private).bot_texts == ("look",)
    (call,) = server.calls_of("sendPhoto")
    assert call.params["photo"] == {"file_name": "a.png", "content_type": "image/png", "size": len(png(90, 60))}
    assert server.violations == ()


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (png(9000, 1001), "(?i)photo_invalid_dimensions"),
        (png(10, 201), "(?i)photo_invalid_dimensions"),
        (b"nothing", "(?i)image_process_failed"),
        (png(9, 9, padding=10 << 20), "too big for a photo"),
        (b"", "non-empty"),
    ],
)
async def test_not_every_picture_is_a_photo(
    server: TelegramServer, bot: Bot, private: Chat, content: bytes, refusal: str
) -> None:
    with pytest.raises(BadRequest, match=refusal):
        await bot.send_photo(private.id, content, filename="a.png")
    assert server.chat(private).from_bot == ()


async def test_pictures_at_the_limits_are_photos(server: TelegramServer, bot: Bot, private: Chat) -> None:
    for content in (png(9000, 1000), png(10, 200), png(9, 9, padding=(10 << 20) - len(png(9, 9)))):
        await bot.send_photo(private.id, content, filename="a.png")
    assert server.violations == ()


def test_the_size_of_a_jpeg_is_found() -> None:
    app0 = b"\xff\xe0\x00\x10" + bytes(14)
    frame = b"\xff\xc2\x00\x11\x08" + (60).to_bytes(2, "big") + (90).to_bytes(2, "big") + bytes(10)
    assert dimensions(b"\xff\xd8" + app0 + frame) == (90, 60)
    assert dimensions(b"\xff\xd8" + app0) is None
    assert dimensions(b"GIF89a") is None


async def test_a_file_of_another_kind_is_refused_where_telegram_would_change_it(
    server: TelegramServer, bot: Bot, private: Chat
) -> None:
    await bot.send_voice(private.id, OGG, filename="a.ogg")
    await bot.send_audio(private.id, b"ID3", filename="a.mp3")
    await bot.send_video(private.id, b"....ftyp", filename="a.mp4")
    await bot.send_document(private.id, b"x", filename="a.xyz")
    assert len(server.chat(private).from_bot) == 4
    with pytest.raises(BadRequest):
        await bot.send_voice(private.id, b"RIFF", filename="a.wav")
    with pytest.raises(BadRequest):
        await bot.send_audio(private.id, OGG, filename="a.ogg")
    with pytest.raises(BadRequest):
        await bot.send_video(private.id, b"x", filename="a.mkv")
    assert [violation.rule for violation in server.violations] == ["upload", "upload", "upload"]


async def test_captions_have_a_limit_of_their_own(server: TelegramServer, bot: Bot, private: Chat) -> None:
    await bot.send_document(private.id, b"x", filename="a", caption="🦊" * 512)
    with pytest.raises(BadRequest, match="caption is too long"):
        await bot.send_document(private.id, b"x", filename="a", caption="🦊" * 512 + "x")
    assert [violation.rule for violation in server.violations] == ["too_long"]


async def test_only_a_caption_is_edited_as_one(server: TelegramServer, bot: Bot, private: Chat) -> None:
    text = await bot.send_message(private.id, "text")
    file = await bot.send_document(private.id, b"x", filename="a", caption="one")
    await bot.edit_message_caption(private.id, file.message_id, caption="two")
    assert server.chat(private).bot_texts == ("text", "two")
    with pytest.raises(BadRequest, match="not modified"):
        await bot.edit_message_caption(private.id, file.message_id, caption="two")
    with pytest.raises(BadRequest, match=r"(?i)there is no caption"):
        await bot.edit_message_caption(private.id, text.message_id, caption="x")
    with pytest.raises(BadRequest, match=r"(?i)there is no text"):
        await bot.edit_message_text("x", private.id, file.message_id)


async def test_an_album_is_of_what_may_be_mixed(server: TelegramServer, bot: Bot, private: Chat) -> None:
    photo, video = InputMediaPhoto(png(9, 9), caption="both"), InputMediaVideo(b"ftyp", filename="a.mp4")
    sent = await bot.send_media_group(private.id, [photo, video])
    assert len({message.media_group_id for message in sent}) == 1
    assert [message.caption for message in sent] == ["both", None]
    document, audio = InputMediaDocument(b"x", filename="a"), InputMediaAudio(b"ID3", filename="a.mp3")
    albums: list[list[Any]] = [[photo, document], [document, audio], [photo]]
    for album in albums:
        with pytest.raises(BadRequest):
            await bot.send_media_group(private.id, album)
    with pytest.raises(BadRequest):
        await bot.send_media_group(private.id, [photo] * 11)
    assert {violation.rule for violation in server.violations} == {"album"}
    assert len(server.chat(private).from_bot) == 2


async def test_who_may_not_send_files_is_told_which(server: TelegramServer, bot: Bot, ada: User) -> None:
    group = server.group()
    server.set_status(group, ada, "restricted")
    with pytest.raises(BadRequest, match=r"(?i)not enough rights to send photos"):
        await bot.send_photo(group.id, png(9, 9), filename="a.png")


async def test_what_people_share_can_be_fetched(server: TelegramServer, bot: Bot, ada: User, private: Chat) -> None:
    server.share(private, ada, "voice", {"content": OGG, "media_type": "audio/ogg"})
    server.album(private, ada, [("photo", {"caption": "@somebody look"}), ("photo", {})])
    voice, first, second = (update.message for update in await bot.get_updates())
    assert voice is not None
    assert voice.voice is not None
    assert (voice.voice.mime_type, voice.voice.file_size) == ("audio/ogg", len(OGG))
    assert first is not None
    assert second is not None
    assert first.media_group_id == second.media_group_id is not None
    assert [entity.type for entity in first.caption_entities] == ["mention"]


async def test_large_files_are_not_given_but_by_a_server_in_local_mode(ada: User, tmp_path: Path) -> None:
    for local, allowed in ((None, False), (tmp_path, True)):
        async with TelegramServer(local=local) as server, httpx.AsyncClient(trust_env=False) as client:
            chat = server.private(server.user())
            server.share(chat, ada, "document", {"name": "a.bin", "content": bytes((20 << 20) + 1)})
            (file_id,) = server.platform.files
            answer = await client.get(f"{server.url}/bot{server.token}/getFile", params={"file_id": file_id})
            assert answer.json()["ok"] is allowed
            if allowed:
                assert answer.json()["result"]["file_path"] == str(server.platform.local_path(file_id))
                assert len(await asyncio.to_thread(server.platform.local_path(file_id).read_bytes)) == (20 << 20) + 1


async def test_button_styles_are_those_that_there_are(server: TelegramServer, bot: Bot, private: Chat) -> None:
    def keyboard(**look: str) -> dict[str, object]:
        return {"inline_keyboard": [[{"text": "x", "callback_data": "x", **look}]]}

    for look in ({}, {"style": "success"}, {"style": "danger"}, {"style": "primary"}):
        await bot.send_message(private.id, "x", api_kwargs={"reply_markup": keyboard(**look)})
    for look in ({"style": "good"}, {"colour": "red"}):
        with pytest.raises(BadRequest):
            await bot.send_message(private.id, "x", api_kwargs={"reply_markup": keyboard(**look)})


async def test_the_general_topic_is_named_by_chat_actions_alone(server: TelegramServer, bot: Bot) -> None:
    forum = server.group(forum=True)
    await bot.send_chat_action(forum.id, "typing", message_thread_id=1)
    with pytest.raises(BadRequest, match="Message thread not found"):
        await bot.send_message(forum.id, "x", message_thread_id=1)
    assert [action.thread_id for action in server.chat(forum).actions] == [1]


async def test_what_replies_to_nothing_in_a_topic_replies_to_its_beginning(
    server: TelegramServer, bot: Bot, ada: User
) -> None:
    forum = server.group(forum=True)
    topic = server.topic(forum, ada)
    server.say(forum, ada, "hi", message_thread_id=topic)
    *_, update = await bot.get_updates()
    assert update.message is not None
    assert update.message.reply_to_message is not None
    assert update.message.reply_to_message.message_id == topic
    assert update.message.reply_to_message.forum_topic_created is not None


# --- webhooks


class Receiver:
    """Whoever is posted to."""

    def __init__(self) -> None:
        self.status = 200
        self.bodies: list[bytes] = []

    async def __call__(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        assert url == "https://example.org/hook"
        assert headers["X-Telegram-Bot-Api-Secret-Token"] == "s3"
        if not self.status:
            raise ConnectionRefusedError
        self.bodies.append(body)
        return self.status


async def test_updates_are_posted_in_order_until_they_are_taken(
    server: TelegramServer, bot: Bot, ada: User, private: Chat
) -> None:
    receiver = Receiver()
    courier = Courier(server, receiver)
    other = server.private(bob := server.user("Bob"))
    async with courier.working():
        server.say(private, ada, "early")
        await bot.set_webhook("https://example.org/hook", secret_token="s3")
        await server.until(lambda: not server.unconfirmed)
        for receiver.status in (0, 503):
            server.say(private, ada, "one")
            server.say(private, ada, "two")
            failed = len(courier.answers)
            courier.again()
            await server.until(lambda failed=failed: len(courier.answers) > failed)  # type: ignore[misc]
            assert (await bot.get_webhook_info()).last_error_message is not None
        receiver.status, receiver.bodies = 200, []
        server.say(other, bob, "at once")
        await server.until(lambda: len(receiver.bodies) == 1)
        assert b"at once" in receiver.bodies[0]
        assert len(server.unconfirmed) == 4
        courier.again()
        await server.until(lambda: not server.unconfirmed)
    assert [b'"one"' in body for body in receiver.bodies[1:]] == [True, False, True, False]


async def test_a_webhook_has_a_port_that_telegram_reaches(server: TelegramServer, bot: Bot) -> None:
    await bot.set_webhook("https://example.org:8443/hook")
    with pytest.raises(BadRequest, match="ports 80, 88, 443 or 8443"):
        await bot.set_webhook("https://example.org:8484/hook")
