"""The double refuses what Slack refuses, in Slack's words."""

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import Channel, JsonObject, ManualClock, Person, SlackServer


async def refusal(web: AsyncWebClient, method: str, **body: object) -> str:
    with pytest.raises(SlackApiError) as refused:
        await web.api_call(method, json=body)
    return str(refused.value.response["error"])


async def call(http: aiohttp.ClientSession, url: str, **request: object) -> JsonObject:
    async with http.post(url, **request) as response:  # type: ignore[arg-type]
        body = await response.json()
        assert isinstance(body, dict)
        return body


# tokens and scopes


async def test_tokens(server: SlackServer, web: AsyncWebClient, http: aiohttp.ClientSession) -> None:
    url = f"{server.api_base}auth.test"
    good = {"Authorization": f"Bearer {server.bot.token}"}
    assert (await call(http, url, headers=good))["user_id"] == server.bot.user_id
    assert (await call(http, url, data={"token": server.bot.token}))["ok"] is True
    assert (await call(http, url))["error"] == "not_authed"
    assert (await call(http, url, json={"token": server.bot.token}))["error"] == "not_authed"
    assert (await call(http, f"{url}?token={server.bot.token}"))["error"] == "not_authed"
    assert (await call(http, url, headers={"Authorization": "Bearer xoxb-wrong"}))["error"] == "invalid_auth"
    for state in ("token_revoked", "account_inactive", "invalid_auth"):
        server.set_token_state(state)
        assert (await call(http, url, headers=good))["error"] == state
    server.set_token_state("active")
    fresh = server.rotate_token()
    assert (await call(http, url, headers=good))["error"] == "token_revoked"
    assert (await call(http, url, headers={"Authorization": f"Bearer {fresh.token}"}))["ok"] is True
    assert "token" not in server.calls[1].params


async def test_a_missing_scope_says_what_is_needed(
    server: SlackServer, web: AsyncWebClient, ada: Person, general: Channel
) -> None:
    server.set_scopes({"channels:read", "users:read"})
    with pytest.raises(SlackApiError) as refused:
        await web.chat_postMessage(channel=general.id, text="x")
    assert refused.value.response["error"] == "missing_scope"
    assert refused.value.response["needed"] == "chat:write"
    assert refused.value.response["provided"] == "channels:read,users:read"
    with pytest.raises(SlackApiError) as refused:
        await web.conversations_history(channel=general.id)
    assert refused.value.response["needed"] == "channels:history"


async def test_unknown_methods_parameters_and_bodies(
    server: SlackServer, web: AsyncWebClient, http: aiohttp.ClientSession, general: Channel
) -> None:
    assert await refusal(web, "chat.shout") == "unknown_method"
    await web.api_call("chat.postMessage", json={"channel": general.id, "text": "x", "tetx": "y"})
    headers = {"Authorization": f"Bearer {server.bot.token}", "Content-Type": "application/json"}
    broken = await call(http, f"{server.api_base}chat.postMessage", data=b"{", headers=headers)
    assert broken["error"] == "invalid_json"
    assert await refusal(web, "conversations.info", channel=general.id) == "channel_not_found"
    rules = [problem.rule for problem in server.problems]
    assert rules == ["unknown_method", "unknown_parameter", "invalid_json", "json_not_taken"]


# places


async def test_where_a_bot_may_write(server: SlackServer, web: AsyncWebClient, ada: Person, general: Channel) -> None:
    closed, far = server.channel("closed", private=True, with_bot=False), server.channel("far", with_bot=False)
    away = server.channel("away", team=server.add_team("Other"))
    for channel, error in (
        (closed.id, "channel_not_found"),
        (far.id, "not_in_channel"),
        (away.id, "channel_not_found"),
    ):
        assert await refusal(web, "chat.postMessage", channel=channel, text="x") == error
    assert await refusal(web, "chat.postMessage", channel="C1", text="x") == "channel_not_found"
    server.archive(general)
    assert await refusal(web, "chat.postMessage", channel=general.id, text="x") == "is_archived"
    server.archive(general, archived=False)
    server.leave(general, server.as_person(server.bot))
    assert await refusal(web, "chat.postMessage", channel=general.id, text="x") == "not_in_channel"
    await web.chat_postMessage(channel=ada.id, text="to a person's id")
    assert server.bot_texts(server.im(ada)) == ("to a person's id",)
    server.app().messages_tab = False
    assert await refusal(web, "chat.postMessage", channel=ada.id, text="x") == "messages_tab_disabled"


async def test_a_bracket_that_is_no_token_is_noticed(
    server: SlackServer, web: AsyncWebClient, ada: Person, general: Channel
) -> None:
    good = f"a &lt; b {ada} {general} <!here> <https://a.example|a> <mailto:a@b.example> > quoted"
    await web.chat_postMessage(channel=general.id, text=good)
    await web.chat_postMessage(channel=general.id, markdown_text="a < b")
    assert not server.problems_of("unescaped")
    await web.chat_postMessage(channel=general.id, text="a < b")
    block = {"type": "section", "text": text("List<String>")}
    await web.chat_postMessage(channel=general.id, text="x", blocks=[block])
    assert [problem.rule for problem in server.problems] == ["unescaped"] * 2


async def test_threads_must_exist(server: SlackServer, web: AsyncWebClient, ada: Person, general: Channel) -> None:
    root = server.say(general, ada, "root")
    reply = server.say(general, ada, "reply", thread=root)
    where = {"channel": general.id, "text": "x"}
    assert await refusal(web, "chat.postMessage", **where, thread_ts="1.000001") == "invalid_thread_ts"
    assert await refusal(web, "chat.postMessage", **where, thread_ts="1700000000.000001") == "thread_not_found"
    assert await refusal(web, "chat.postMessage", **where, thread_ts=float(root.ts)) == "invalid_thread_ts"
    await web.chat_postMessage(channel=general.id, text="into the thread", thread_ts=reply.ts)
    assert server.bot_texts(general, thread=root) == ("into the thread",)
    assert server.problems[-1].rule == "reply_as_thread"


# messages


async def test_what_a_message_may_say(server: SlackServer, web: AsyncWebClient, ada: Person, general: Channel) -> None:
    server.set_limits(None)
    for body, error in (
        ({}, "no_text"),
        ({"text": "  "}, "no_text"),
        ({"text": "x", "markdown_text": "x"}, "markdown_text_conflict"),
        ({"markdown_text": "x" * 12_001}, "msg_too_long"),
        ({"text": "x", "blocks": "nonsense"}, "invalid_blocks_format"),
        ({"text": "x", "metadata": {"event_type": "x"}}, "invalid_metadata_format"),
        ({"text": 5, "thread_ts": ["x"]}, "invalid_thread_ts"),
        ({"text": ["x"]}, "invalid_arguments"),
        ({"text": "x", "attachments": [{"text": "x"}] * 101}, "too_many_attachments"),
    ):
        assert await refusal(web, "chat.postMessage", channel=general.id, **body) == error
    await web.chat_postMessage(channel=general.id, text="x" * 40_001)
    await web.chat_postMessage(channel=general.id, text="x" * 4_001)
    await web.chat_postMessage(channel=general.id, markdown_text="x" * 12_000)
    assert [len(text) for text in server.bot_texts(general)] == [40_000, 4_001, 12_000]
    assert [problem.rule for problem in server.problems[-2:]] == ["truncated", "over_4000"]
    assert await refusal(web, "chat.postEphemeral", channel=general.id, user=ada.id, text="x" * 4_001) == "msg_too_long"


async def test_only_its_own_messages_can_be_changed(
    server: SlackServer, web: AsyncWebClient, clock: ManualClock, ada: Person, general: Channel
) -> None:
    theirs = server.say(general, ada, "mine")
    block = {"type": "section", "text": {"type": "mrkdwn", "text": "block"}}
    meta = {"event_type": "answer", "event_payload": {}}
    ts = str((await web.chat_postMessage(channel=general.id, text="one", blocks=[block], metadata=meta))["ts"])
    assert await refusal(web, "chat.update", channel=general.id, ts=theirs.ts, text="x") == "cant_update_message"
    assert await refusal(web, "chat.delete", channel=general.id, ts=theirs.ts) == "cant_delete_message"
    assert (
        await refusal(web, "chat.update", channel=general.id, ts="1700000000.000001", text="x") == "message_not_found"
    )
    assert await refusal(web, "chat.update", channel=general.id, ts=ts, text="x" * 4_001) == "msg_too_long"
    await web.chat_update(channel=general.id, ts=ts, text="two")
    message = server.message(general, ts)
    assert (message.text, message.blocks[0]["type"], message.metadata) == ("two", "rich_text", meta)
    await web.api_call("chat.update", json={"channel": general.id, "ts": ts, "text": "three", "metadata": {}})
    assert server.message(general, ts).metadata is None
    server.platform.edit_window_s = 60
    clock.advance(61)
    assert await refusal(web, "chat.update", channel=general.id, ts=ts, text="x") == "edit_window_closed"
    await web.chat_delete(channel=general.id, ts=ts)
    assert await refusal(web, "chat.update", channel=general.id, ts=ts, text="x") == "message_not_found"


async def test_reactions(server: SlackServer, web: AsyncWebClient, ada: Person, general: Channel) -> None:
    said = server.say(general, ada, "hello")
    where = {"channel": general.id, "timestamp": said.ts}
    await web.reactions_add(channel=general.id, timestamp=said.ts, name="eyes")
    assert await refusal(web, "reactions.add", **where, name="eyes") == "already_reacted"
    assert await refusal(web, "reactions.add", **where, name=":eyes:") == "invalid_name"
    assert [one.name for one in server.message(general, said).reactions] == ["eyes"]
    await web.reactions_remove(channel=general.id, timestamp=said.ts, name="eyes")
    assert await refusal(web, "reactions.remove", **where, name="eyes") == "no_reaction"


async def test_pages_and_cursors_are_checked(server: SlackServer, web: AsyncWebClient, general: Channel) -> None:
    for method, query, error in (
        ("conversations.history", {"cursor": "nonsense"}, "invalid_cursor"),
        ("conversations.history", {"limit": 1000}, "invalid_limit"),
        ("conversations.history", {"oldest": "yesterday"}, "invalid_ts_oldest"),
        ("conversations.replies", {"ts": "1700000000.000001"}, "thread_not_found"),
    ):
        with pytest.raises(SlackApiError, match=error):
            await web.api_call(method, params={"channel": general.id, **query})


# blocks


def text(value: str, kind: str = "mrkdwn") -> dict[str, object]:
    return {"type": kind, "text": value}


def button(**fields: object) -> dict[str, object]:
    return {"type": "button", "text": text("Go", "plain_text"), **fields}


def row(*elements: object) -> dict[str, object]:
    return {"type": "actions", "elements": list(elements)}


OPTION = {"text": text("One", "plain_text"), "value": "1"}

GOOD: list[dict[str, object]] = [
    {"type": "section", "text": text("x" * 3_000), "accessory": button(action_id="a")},
    {"type": "section", "fields": [text("x")] * 10},
    {"type": "header", "text": text("x" * 150, "plain_text")},
    {"type": "context", "elements": [text("x")] * 10},
    row(*[button(action_id=f"a{number}", value="x" * 2_000) for number in range(25)]),
    row({"type": "static_select", "options": [OPTION]}, {"type": "overflow", "options": [OPTION] * 5}),
    {"type": "markdown", "text": "x" * 12_000},
    {"type": "image", "image_url": "https://a.example/x.png", "alt_text": "x"},
    {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "x"}]}]},
    {"type": "divider"},
]

BAD: list[tuple[str, list[object]]] = [
    ("unsupported type: poem", [{"type": "poem"}]),
    ("missing required field: type", [{"text": text("x")}]),
    ("missing required field: type", ["x"]),
    ("must be less than 3001 characters", [{"type": "section", "text": text("x" * 3_001)}]),
    ("must be more than 0 characters", [{"type": "section", "text": text("")}]),
    ("missing required field: text or fields", [{"type": "section"}]),
    ("no more than 10 items", [{"type": "section", "fields": [text("x")] * 11}]),
    ("must be less than 151 characters", [{"type": "header", "text": text("x" * 151, "plain_text")}]),
    ("must be a plain_text object", [{"type": "header", "text": text("x")}]),
    ("no more than 10 items", [{"type": "context", "elements": [text("x")] * 11}]),
    ("unsupported type: button", [{"type": "context", "elements": [button()]}]),
    ("no more than 25 items", [row(*[button(action_id=str(number)) for number in range(26)])]),
    ("must be less than 76 characters", [row(button(text=text("x" * 76, "plain_text")))]),
    ("must be a plain_text object", [row(button(text=text("x")))]),
    ("must be less than 2001 characters", [row(button(value="x" * 2_001))]),
    ("must be less than 256 characters", [row(button(action_id="x" * 256))]),
    ("action_id already exists", [row(button(action_id="a"), button(action_id="a"))]),
    ("block_id already exists", [{"type": "divider", "block_id": "b"}] * 2),
    ("must be less than 256 characters", [{"type": "divider", "block_id": "b" * 256}]),
    ("must be one of primary, danger", [row(button(style="green"))]),
    ("invalid additional property: colour", [row(button(colour="green"))]),
    ("unsupported type: plain_text_input", [row({"type": "plain_text_input"})]),
    ("no more than 50 items", [{"type": "divider"}] * 51),
    ("must be less than 12001 characters", [{"type": "markdown", "text": "x" * 12_001}]),
    ("must be a valid URL", [{"type": "image", "image_url": "x.png", "alt_text": "x"}]),
    ("missing required field: alt_text", [{"type": "image", "image_url": "https://a.example/x.png"}]),
    ("missing required field: elements", [{"type": "actions"}]),
    ("at least 1 items", [row()]),
]


async def test_good_blocks_pass(server: SlackServer, web: AsyncWebClient, general: Channel) -> None:
    await web.chat_postMessage(channel=general.id, text="x", blocks=GOOD)
    (message,) = server.from_bot(general)
    assert [block["type"] for block in message.blocks] == [block["type"] for block in GOOD]
    assert all(block["block_id"] for block in message.blocks)
    assert server.problems == ()


@pytest.mark.parametrize(("fault", "blocks"), BAD, ids=[fault for fault, _ in BAD])
async def test_bad_blocks_are_refused_with_a_reason(
    server: SlackServer, web: AsyncWebClient, general: Channel, fault: str, blocks: list[dict[str, object]]
) -> None:
    with pytest.raises(SlackApiError) as refused:
        await web.chat_postMessage(channel=general.id, text="x", blocks=blocks)
    assert refused.value.response["error"] == "invalid_blocks"
    messages = refused.value.response["response_metadata"]["messages"]
    assert any(fault in one for one in messages), messages
    assert server.messages(general) == ()


async def test_markdown_blocks_count_together(web: AsyncWebClient, general: Channel) -> None:
    blocks = [{"type": "markdown", "text": "x" * 6_001}] * 2
    assert await refusal(web, "chat.postMessage", channel=general.id, text="x", blocks=blocks) == "msg_blocks_too_long"
