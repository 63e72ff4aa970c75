"""The Telegram double is as strict as the platform, and stricter where the platform repairs in silence."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeAlias

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from telegram import Bot, MessageEntity, Update
from telegram.error import (
    Conflict,
    InvalidToken,
)
from telegram.ext import ExtBot
from telegram.request import HTTPXRequest

from tests.fakes.telegram import Chat, Entity, ManualClock, TelegramServer, User
from tests.fakes.telegram.entities import check_entities
from tests.fakes.telegram.errors import ApiError
from tests.fakes.telegram.text import finished_text

Reply: TypeAlias = dict[str, Any]
Caller: TypeAlias = Callable[..., Coroutine[None, None, Reply]]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def server(clock: ManualClock) -> AsyncIterator[TelegramServer]:
    async with TelegramServer(clock=clock) as running:
        yield running


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False, timeout=5.0) as opened:
        yield opened


@pytest.fixture
def call(server: TelegramServer, client: httpx.AsyncClient) -> Caller:
    """One raw call with a JSON body."""

    async def post(method: str, **params: object) -> Reply:
        headers = {"Content-Type": "application/json"}
        url = f"{server.url}/bot{server.token}/{method}"
        answer = await client.post(url, content=json.dumps(params), headers=headers)
        body: Reply = answer.json()
        assert body["ok"] is (answer.status_code == 200)
        assert body["ok"] or body["error_code"] == answer.status_code
        return body

    return post


@pytest.fixture
async def bot(server: TelegramServer) -> AsyncIterator[ExtBot[None]]:
    requests = [HTTPXRequest(httpx_kwargs={"trust_env": False}) for _ in range(2)]
    extended: ExtBot[None] = ExtBot(
        server.token, base_url=f"{server.url}/bot", request=requests[0], get_updates_request=requests[1]
    )
    yield extended
    for request in requests:
        await request.shutdown()


@pytest.fixture
def ada(server: TelegramServer) -> User:
    return server.user("Ada", username="ada_l")


@pytest.fixture
def private(server: TelegramServer, ada: User) -> Chat:
    return server.private(ada)


async def ids(call: Caller, **params: object) -> list[int]:
    return [update["update_id"] for update in (await call("getUpdates", **params))["result"]]


# --- the door


async def test_a_wrong_token_is_401_and_a_malformed_one_or_an_unknown_method_404(
    server: TelegramServer, client: httpx.AsyncClient, call: Caller
) -> None:
    wrong = await client.get(f"{server.url}/bot999:AAAAAAAAAAAAAAAA/getMe")
    assert (wrong.status_code, wrong.json()["description"]) == (401, "Unauthorized")
    malformed = await client.get(f"{server.url}/botabc/getMe")
    assert (malformed.status_code, malformed.json()["description"]) == (404, "Not Found")
    assert (await call("sendNothing"))["error_code"] == 404
    assert (await call("GETME"))["result"]["username"] == "frontdesk_test_bot"


async def test_a_revoked_token_ends_the_waiting_poll(server: TelegramServer, bot: Bot) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=30))
    await server.until(lambda: len(server.calls) == 1)
    server.revoke()
    with pytest.raises(InvalidToken):
        await poll
    with pytest.raises(InvalidToken):
        await bot.get_me()


async def test_forms_json_multipart_and_query_strings_mean_the_same(
    server: TelegramServer, client: httpx.AsyncClient, private: Chat
) -> None:
    url = f"{server.url}/bot{server.token}/sendMessage"
    entities = [{"type": "bold", "offset": 0, "length": 2}]
    form = {"chat_id": str(private.id), "text": "hi", "entities": json.dumps(entities)}
    await client.post(url, json={"chat_id": private.id, "text": "hi", "entities": entities})
    await client.post(url, data=form)
    await client.post(url, data=form, files={"unused": b""})
    await client.get(url, params=form)
    assert [call.params for call in server.calls] == [server.calls[0].params] * 4
    assert [message.entities for message in server.chat(private).messages] == [(Entity("bold", 0, 2),)] * 4


# --- updates


async def test_updates_are_delivered_until_an_offset_confirms_them(
    server: TelegramServer, call: Caller, ada: User, private: Chat
) -> None:
    first, second, third = (server.say(private, ada, text).update_id or 0 for text in ("a", "b", "c"))
    assert [second, third] == [first + 1, first + 2]
    assert await ids(call) == await ids(call, offset=first) == [first, second, third]
    assert await ids(call, limit=1) == [first]
    assert await ids(call, offset=second) == [second, third]
    assert await ids(call, offset=first) == [second, third]
    assert await ids(call, offset=-1) == [third]
    assert server.unconfirmed == (third,)
    server.redeliver(first)
    assert await ids(call, offset=third + 1) == [first]
    assert await ids(call, offset=third + 1) == []


async def test_the_backlog_waits_for_24_hours(
    server: TelegramServer, call: Caller, clock: ManualClock, ada: User, private: Chat
) -> None:
    server.say(private, ada, "old")
    clock.advance(23 * 3600)
    later = server.say(private, ada, "new").update_id
    assert len(await ids(call)) == 2
    clock.advance(2 * 3600)
    assert await ids(call) == [later]


async def test_a_long_poll_waits_for_an_update_or_its_timeout(
    server: TelegramServer, bot: Bot, clock: ManualClock, ada: User, private: Chat
) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=30))
    await server.until(lambda: len(server.calls) == 1)
    server.say(private, ada, "wake up")
    (update,) = await poll
    assert update.message is not None
    assert update.message.text == "wake up"
    poll = asyncio.create_task(bot.get_updates(offset=update.update_id + 1, timeout=30))
    await server.until(lambda: len(server.calls) == 2)
    clock.advance(31)
    assert await poll == ()


async def test_a_second_poller_ends_the_first_with_409(server: TelegramServer, bot: Bot, call: Caller) -> None:
    first = asyncio.create_task(bot.get_updates(timeout=30))
    await server.until(lambda: len(server.calls) == 1)
    second = asyncio.create_task(call("getUpdates", timeout=30))
    with pytest.raises(Conflict, match="make sure that only one bot instance is running"):
        await first
    await call("setWebhook", url="https://example.org/hook", secret_token="s-3_c")
    assert (await second)["error_code"] == 409
    assert "webhook is active" in (await call("getUpdates"))["description"]
    assert (await call("getWebhookInfo"))["result"]["url"] == "https://example.org/hook"
    await call("deleteWebhook", drop_pending_updates=True)
    assert await ids(call) == []
    assert "HTTPS" in (await call("setWebhook", url="http://example.org"))["description"]


async def test_allowed_updates_are_remembered_and_filter_what_comes_later(
    server: TelegramServer, call: Caller, ada: User, private: Chat
) -> None:
    said = server.say(private, ada, "one")
    await ids(call, allowed_updates=["edited_message"])
    assert server.say(private, ada, "two").update_id is None
    edited = server.edit(private, said.message_id, "uno").update_id
    assert await ids(call) == [said.update_id, edited]
    await ids(call, allowed_updates=[])
    assert server.react(private, ada, said.message_id, "👍").update_id is None
    await ids(call, allowed_updates=["message_reaction", "mesage"])
    assert server.react(private, ada, said.message_id, "👍").update_id is not None
    assert [violation.rule for violation in server.violations] == ["allowed_updates"]


async def test_people_act_in_every_way_that_the_sdk_can_read(
    server: TelegramServer, bot: ExtBot[None], call: Caller, ada: User
) -> None:
    forum, channel, robot = server.group(forum=True), server.channel(), server.user("Robo", is_bot=True)
    thread = server.topic(forum, ada, "Plans")
    command = server.say(forum, ada, "😀 /ask@frontdesk_test_bot hi @frontdesk_test_bot", message_thread_id=thread)
    server.say(forum, robot, "beep", reply_to=command.message_id, date=1_700_000_000)
    server.say_anonymously(forum, "boss")
    server.say_as_channel(forum, channel, "as channel")
    server.say_without_from(forum, channel, "no from")
    server.auto_forward(forum, channel, "post")
    server.join(forum, robot)
    server.pin(forum, ada, command.message_id)
    server.leave(forum, robot)
    server.channel_post(channel, "news")
    server.edit(channel, 1, "old news")
    server.migrate(server.group(supergroup=False), ada)
    server.raw({"brand_new_kind": {"x": 1}})
    raw = (await call("getUpdates"))["result"]
    updates = [Update.de_json(update, bot) for update in raw]
    messages = [update.effective_message for update in updates]
    topic, asked, beep, boss, as_channel, no_from, forwarded, joined, pinned, left = messages[:10]
    assert topic and asked and beep and boss and as_channel and no_from and forwarded and joined and pinned and left
    assert asked.parse_entity(asked.entities[0]) == "/ask@frontdesk_test_bot"
    assert asked.parse_entity(asked.entities[1]) == "@frontdesk_test_bot"
    assert (asked.is_topic_message, asked.message_thread_id) == (True, topic.message_id)
    assert beep.from_user and beep.from_user.is_bot and beep.reply_to_message
    assert (beep.date.timestamp(), beep.reply_to_message.message_id) == (1_700_000_000, command.message_id)
    assert boss.from_user and boss.sender_chat
    assert (boss.from_user.id, boss.sender_chat.id) == (1087968824, forum.id)
    assert as_channel.sender_chat and as_channel.sender_chat.id == channel.id
    assert no_from.from_user is None and no_from.sender_chat
    assert forwarded.is_automatic_forward and forwarded.from_user and forwarded.from_user.id == 777000
    assert joined.new_chat_members and pinned.pinned_message and left.left_chat_member
    assert updates[10].channel_post and updates[11].edited_channel_post
    assert messages[12] and messages[12].migrate_to_chat_id and messages[13] and messages[13].migrate_from_chat_id
    assert [message.message_id for message in messages[:10] if message] == list(range(2, 12))  # 1 is General
    assert messages[14] is None


async def test_the_double_tells_when_the_bot_has_nothing_left_to_fetch(
    server: TelegramServer, bot: Bot, ada: User, private: Chat
) -> None:
    assert not server.polling
    poll = asyncio.create_task(bot.get_updates(timeout=30))
    await server.until(lambda: server.polling)
    server.say(private, ada, "x")
    await poll
    assert not server.polling


# --- texts


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "message text is empty"),
        (" \n\t ", "text must be non-empty"),
        ("\u200b\u2060\ufeff", "message text is empty"),
        ("x" * 4097, "message is too long"),
        ("😀" * 2049, "message is too long"),
        ("half \ud83d pair", "strings must be encoded in UTF-8"),
    ],
)
async def test_texts_that_telegram_refuses(
    server: TelegramServer, call: Caller, private: Chat, text: str, reason: str
) -> None:
    answer = await call("sendMessage", chat_id=private.id, text=text)
    assert answer["description"] == f"Bad Request: {reason}"
    assert len(server.violations) == 1
    assert server.chat(private).messages == ()


async def test_the_longest_text_passes_and_blanks_around_it_are_trimmed(
    server: TelegramServer, call: Caller, private: Chat
) -> None:
    bold = [{"type": "bold", "offset": 4, "length": 5}]
    assert (await call("sendMessage", chat_id=private.id, text="  \n" + "😀" * 2048 + "\n "))["ok"]
    answer = await call("sendMessage", chat_id=private.id, text="\r\n  bold \n", entities=bold)
    assert (answer["result"]["text"], answer["result"]["entities"]) == ("bold", [bold[0] | {"offset": 0, "length": 4}])
    assert server.violations == ()


def span(kind: str, offset: int, length: int, **more: object) -> dict[str, object]:
    return {"type": kind, "offset": offset, "length": length, **more}


@pytest.mark.parametrize(
    ("entities", "reason"),
    [
        ([span("bold", -1, 2)], "incorrect offset"),
        ([span("bold", 0, 99)], "ends after the end of the text at UTF-16 offset 99"),
        ([span("bold", 50, 1)], "begins after the end of the text at UTF-16 offset 50"),
        ([span("bold", 1, 2)], "begins in a middle of a UTF-16 symbol"),
        ([span("bold", 0, 1)], "ends in a middle of a UTF-16 symbol"),
        ([span("blink", 0, 2)], "Unsupported type specified"),
        ([span("text_link", 2, 3)], "Can't find field"),
        ([span("text_link", 2, 3, url="not-a-url")], "Wrong HTTP URL"),
        ([span("text_link", 2, 3, url="javascript:alert(1)")], "Wrong HTTP URL"),
        ([span("bold", 0, 6), span("italic", 4, 6)], "cross"),
        ([span("bold", 0, 6), span("code", 2, 2)], "code stands alone"),
        ([span("pre", 0, 6), span("italic", 2, 2)], "code stands alone"),
        ([span("bold", 0, 6), span("bold", 2, 2)], "can't be nested"),
        ([span("blockquote", 0, 6), span("expandable_blockquote", 2, 2)], "can't be nested"),
        ([span("text_link", 0, 6, url="https://a.org"), span("mention", 2, 2)], "can't contain"),
        ([span("bold", 3, 1)] * 101, "too many entities"),
    ],
)
async def test_entities_that_the_double_refuses(
    server: TelegramServer, call: Caller, private: Chat, entities: list[object], reason: str
) -> None:
    answer = await call("sendMessage", chat_id=private.id, text="😀 abcdefghij", entities=entities)
    assert answer["error_code"] == 400
    assert reason in answer["description"]
    assert [violation.rule for violation in server.violations] in (["entities"], ["too_many_entities"])


async def test_well_nested_entities_pass_through_the_sdk(server: TelegramServer, bot: Bot, private: Chat) -> None:
    kinds = [("blockquote", 0, 12), ("bold", 0, 6), ("italic", 2, 4), ("pre", 8, 4)]
    entities = [MessageEntity(kind, offset, length) for kind, offset, length in kinds]
    entities.append(MessageEntity("text_link", 2, 4, url="example.org/x"))
    sent = await bot.send_message(private.id, "😀 abcd\nxyzw", entities=[*entities[:4]])
    assert [(entity.type, entity.offset, entity.length) for entity in sent.entities] == kinds
    await bot.send_message(private.id, "😀 abcd", entities=entities[4:])
    assert server.violations == ()


KINDS = st.sampled_from(["bold", "italic", "code", "pre", "blockquote", "text_link"])
SPANS = st.builds(Entity, KINDS, st.integers(0, 9), st.integers(0, 9))


@given(text=st.text(alphabet=" \n\r\tab😀\u200b\u2028", max_size=12), entities=st.lists(SPANS, max_size=3))
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_what_is_kept_of_a_text_is_valid_again(text: str, entities: list[Entity]) -> None:
    try:
        kept_text, kept = finished_text(text, entities)
    except ApiError:
        return
    check_entities(kept_text, kept)
    assert finished_text(kept_text, ())[0] == kept_text.lstrip(" \n")


@pytest.mark.parametrize(
    ("mode", "source", "text", "entities"),
    [
        ("HTML", '<b>a <i>b</i></b> &lt;<a href="https://a.org">l</a>', "a b <l", ["bold", "italic", "text_link"]),
        ("html", '<pre><code class="language-py">x</code></pre>', "x", ["pre"]),
        (
            "HTML",
            "<tg-spoiler>s</tg-spoiler><blockquote expandable>q</blockquote>",
            "sq",
            ["spoiler", "expandable_blockquote"],
        ),
        (
            "MarkdownV2",
            r"*a _b_* ||c|| __d__ ~e~ 1\.",
            "a b c d e 1.",
            ["bold", "italic", "spoiler", "underline", "strikethrough"],
        ),
        ("MarkdownV2", "```py\nx*y\n``` [l](https://a.org)", "x*y\n l", ["pre", "text_link"]),
        ("MarkdownV2", ">q\n>r||\nend", "q\nr\nend", ["expandable_blockquote"]),
        ("Markdown", "*a* _b_ `c`", "a b c", ["bold", "italic", "code"]),
    ],
)
async def test_parse_modes(call: Caller, private: Chat, mode: str, source: str, text: str, entities: list[str]) -> None:
    answer = await call("sendMessage", chat_id=private.id, text=source, parse_mode=mode)
    assert answer["result"]["text"] == text
    assert [entity["type"] for entity in answer["result"]["entities"]] == entities


@pytest.mark.parametrize(
    ("mode", "source", "reason"),
    [
        ("HTML", "<b>x", 'Can\'t find end tag corresponding to start tag "b"'),
        ("HTML", "é<script>", 'Unsupported start tag "script" at byte offset 2'),
        ("HTML", "<b><i>test</b></i>", 'Unmatched end tag at byte offset 10, expected "</i>", found "</b>"'),
        ("HTML", "a < b", 'Unsupported start tag "" at byte offset 2'),
        ("MarkdownV2", "*unclosed", "Can't find end of Bold entity at byte offset 0"),
        ("MarkdownV2", "a.b", "Character '.' is reserved and must be escaped with the preceding '\\'"),
        ("MarkdownV2", "a|b", "Character '|' is reserved and must be escaped with the preceding '\\'"),
        ("Markdown", "*unclosed", "Can't find end of the entity starting at byte offset 0"),
    ],
)
async def test_unparsable_texts(call: Caller, private: Chat, mode: str, source: str, reason: str) -> None:
    answer = await call("sendMessage", chat_id=private.id, text=source, parse_mode=mode)
    assert answer["description"] == f"Bad Request: can't parse entities: {reason}"
