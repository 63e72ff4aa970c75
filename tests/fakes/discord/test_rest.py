"""Where Discord is strict over REST, asked without a library."""

import json
from typing import Any

import pytest

from tests.fakes.discord import Channel, Guild, ManualClock, User
from tests.fakes.discord import permissions as may
from tests.fakes.discord.raw import Answered, Raw


def button(custom_id: str, label: str = "x") -> Any:
    return {"type": 2, "style": 1, "label": label, "custom_id": custom_id}


def rows(*buttons: Any) -> Any:
    return [{"type": 1, "components": list(buttons)}]


def fault_codes(answered: Answered, *place: str) -> list[str]:
    """The codes of an Invalid Form Body at a place."""
    assert (answered.status, answered.code) == (400, 50035)
    node = answered.body["errors"]
    for part in place:
        node = node[part]
    return [fault["code"] for fault in node["_errors"]]


@pytest.mark.parametrize("authorization", ["", "Bot wrong", "Bearer {token}", "{token}"])
async def test_only_bots_with_their_token_come_in(raw: Raw, authorization: str) -> None:
    answered = await raw.call("GET", "/users/@me", authorization=authorization.format(token=raw.server.token))
    assert (answered.status, answered.body) == (401, {"message": "401: Unauthorized", "code": 0})
    assert raw.server.problems == ()


async def test_the_bot_its_application_and_the_gateway_can_be_asked_for(raw: Raw) -> None:
    server = raw.server
    me = await raw.call("GET", "/users/@me")
    assert (me.body["id"], me.body["bot"]) == (str(server.bot.id), True)
    assert me.headers["Content-Type"] == "application/json"
    for path in ("/applications/@me", "/oauth2/applications/@me"):
        assert (await raw.call("GET", path)).body["id"] == str(server.application_id)
    gateway = (await raw.call("GET", "/gateway/bot")).body
    assert (gateway["url"], gateway["shards"]) == (server.gateway_url, 1)
    assert gateway["session_start_limit"]["max_concurrency"] == 1
    assert (await raw.call("GET", "/gateway", authorization="")).body == {"url": server.gateway_url}


async def test_what_is_not_there_is_not_found(raw: Raw) -> None:
    assert (await raw.call("GET", "/channels/1")).code == 10003
    assert (await raw.call("GET", "/guilds/1")).code == 10004
    assert (await raw.call("POST", "/users/@me/channels", {"recipient_id": "1"})).code == 10013
    assert (await raw.call("GET", "/nothing")).status == 404
    assert (await raw.call("PUT", "/users/@me/channels")).status == 405
    async with raw.session.get(f"{raw.server.url}/api/v6/users/@me") as answer:
        assert (await answer.json())["code"] == 50041
    assert [problem.rule for problem in raw.server.problems] == ["route"] * 3


@pytest.mark.parametrize(
    ("change", "place", "code"),
    [
        ({"content": "x" * 2001}, ["content"], "BASE_TYPE_MAX_LENGTH"),
        ({"content": {}}, ["content"], "STRING_TYPE_CONVERT"),
        ({"nonce": "n" * 26}, ["nonce"], "NONCE_TYPE_TOO_LONG"),
        ({"flags": 64}, ["flags"], "MESSAGE_FLAGS_INVALID"),
        ({"embeds": [{"title": "x" * 257}]}, ["embeds", "0", "title"], "BASE_TYPE_MAX_LENGTH"),
        ({"embeds": [{}] * 11}, ["embeds"], "BASE_TYPE_MAX_LENGTH"),
        ({"components": rows() * 6}, ["components"], "BASE_TYPE_MAX_LENGTH"),
        (
            {"components": rows(*(button(str(number)) for number in range(6)))},
            ["components", "0", "components"],
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            {"components": rows(button("a"), button("a"))},
            ["components", "0", "components", "1", "custom_id"],
            "COMPONENT_CUSTOM_ID_DUPLICATED",
        ),
        (
            {"components": rows(button("a" * 101))},
            ["components", "0", "components", "0", "custom_id"],
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            {"components": rows(button("a", "l" * 81))},
            ["components", "0", "components", "0", "label"],
            "BASE_TYPE_MAX_LENGTH",
        ),
        (
            {"allowed_mentions": {"parse": ["users"], "users": ["1"]}},
            ["allowed_mentions"],
            "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
        ),
        ({"allowed_mentions": {"parse": ["all"]}}, ["allowed_mentions", "parse", "0"], "BASE_TYPE_CHOICES"),
        ({"message_reference": {"message_id": "7"}}, ["message_reference"], "REPLIES_UNKNOWN_MESSAGE"),
        ({"attachments": [{"id": 0}]}, ["attachments", "0", "id"], "ATTACHMENT_NOT_FOUND"),
    ],
)
async def test_a_message_that_breaks_a_limit_is_refused(
    raw: Raw, channel: Channel, change: Any, place: list[str], code: str
) -> None:
    path = f"/channels/{channel.id}/messages"
    assert code in fault_codes(await raw.call("POST", path, {"content": "x", **change}), *place)
    assert [problem.rule for problem in raw.server.problems] == ["form"]
    assert raw.server.sent(channel) == ()


async def test_what_is_within_the_limits_is_sent(raw: Raw, channel: Channel) -> None:
    buttons = [rows(*(button(f"{row}/{number}".rjust(100)) for number in range(5)))[0] for row in range(5)]
    body: Any = {"content": "😀" * 2000, "nonce": "n" * 25, "components": buttons, "allowed_mentions": {"parse": []}}
    answered = await raw.call("POST", f"/channels/{channel.id}/messages", body)
    assert (answered.status, answered.body["content"], answered.body["nonce"]) == (200, "😀" * 2000, "n" * 25)
    assert len(raw.server.sent(channel)[0].buttons) == 25
    assert raw.server.problems == ()


async def test_several_faults_are_reported_together(raw: Raw, channel: Channel) -> None:
    body = {"content": "x" * 2001, "components": rows({**button("a"), "style": 9})}
    answered = await raw.call("POST", f"/channels/{channel.id}/messages", body)
    assert fault_codes(answered, "content") == ["BASE_TYPE_MAX_LENGTH"]
    assert fault_codes(answered, "components", "0", "components", "0", "style") == ["BASE_TYPE_CHOICES"]


@pytest.mark.parametrize("content", ["", "   ", "\n", None])
async def test_an_empty_message_is_refused(raw: Raw, channel: Channel, content: str | None) -> None:
    assert (await raw.call("POST", f"/channels/{channel.id}/messages", {"content": content})).code == 50006


async def test_outer_white_space_is_cut_off_and_strange_fields_are_noted(raw: Raw, channel: Channel) -> None:
    sent = await raw.call("POST", f"/channels/{channel.id}/messages", {"content": "  a\n", "contents": "b"})
    assert sent.body["content"] == "a"
    assert [(problem.rule, problem.detail) for problem in raw.server.problems] == [("unknown_field", "contents")]


async def test_a_nonce_sends_once_for_some_minutes(raw: Raw, clock: ManualClock, channel: Channel) -> None:
    path = f"/channels/{channel.id}/messages"
    body: Any = {"content": "x", "nonce": "n1", "enforce_nonce": True}
    first = (await raw.call("POST", path, body)).body["id"]
    assert (await raw.call("POST", path, {**body, "content": "y"})).body["id"] == first
    assert (await raw.call("POST", path, {**body, "enforce_nonce": False})).body["id"] != first
    await raw.call("DELETE", f"{path}/{raw.server.sent(channel)[1].id}")
    assert (await raw.call("POST", path, body)).code == 10008  # it was sent, and is not sent again
    clock.advance(301)
    assert (await raw.call("POST", path, body)).body["id"] != first
    assert len(raw.server.sent(channel)) == 3


async def test_replies_to_what_is_gone(raw: Raw, ada: User, channel: Channel) -> None:
    server, path = raw.server, f"/channels/{channel.id}/messages"
    said = server.say(channel, ada, "hi")
    reference: Any = {"message_id": str(said.id)}
    sent = (await raw.call("POST", path, {"content": "yes", "message_reference": reference})).body
    assert (sent["type"], sent["referenced_message"]["content"]) == (19, "hi")
    server.delete(said)
    refused = await raw.call("POST", path, {"content": "yes", "message_reference": reference})
    assert fault_codes(refused, "message_reference") == ["REPLIES_UNKNOWN_MESSAGE"]
    reference["fail_if_not_exists"] = False
    lenient = (await raw.call("POST", path, {"content": "yes", "message_reference": reference})).body
    assert (lenient["type"], "message_reference" in lenient) == (0, False)
    assert (await raw.call("GET", f"{path}/{sent['id']}")).body["referenced_message"] is None


async def test_history_comes_newest_first_within_its_bounds(raw: Raw, ada: User, channel: Channel) -> None:
    server, path = raw.server, f"/channels/{channel.id}/messages"
    ids = [server.say(channel, ada, str(number)).id for number in range(120)]

    async def numbers(query: str) -> list[int]:
        return [int(one["content"]) for one in (await raw.call("GET", f"{path}?{query}")).body]

    assert await numbers("") == list(range(119, 69, -1))
    assert await numbers("limit=100") == list(range(119, 19, -1))
    assert await numbers(f"after={ids[10]}&limit=3") == [13, 12, 11]
    assert await numbers(f"before={ids[10]}&limit=3") == [9, 8, 7]
    assert await numbers(f"around={ids[10]}&limit=3") == [11, 10, 9]
    assert await numbers(f"after={ids[119]}") == []
    for query in ("limit=0", "limit=101", "limit=x", "after=x", f"after={ids[1]}&before={ids[2]}"):
        assert (await raw.call("GET", f"{path}?{query}")).code == 50035
    server.delete(server.messages(channel)[119])
    assert (await numbers("limit=1")) == [118]
    assert (await raw.call("GET", f"{path}/{ids[119]}")).code == 10008


async def test_only_own_messages_are_edited(raw: Raw, ada: User, channel: Channel) -> None:
    server, path = raw.server, f"/channels/{channel.id}/messages"
    said = server.say(channel, ada, "hi")
    assert (await raw.call("PATCH", f"{path}/{said.id}", {"content": "x"})).code == 50005
    own = (await raw.call("POST", path, {"content": "a", "components": rows(button("b"))})).body["id"]
    assert fault_codes(await raw.call("PATCH", f"{path}/{own}", {"content": "x" * 2001}), "content")
    assert (await raw.call("PATCH", f"{path}/{own}", {"content": ""})).status == 200
    assert (await raw.call("PATCH", f"{path}/{own}", {"components": []})).code == 50006
    assert (await raw.call("PATCH", f"{path}/{own}", {"content": "z", "components": []})).body["edited_timestamp"]
    assert server.message(int(own)).texts == ("a", "", "z")
    assert (await raw.call("DELETE", f"{path}/{own}")).status == 204
    assert (await raw.call("PATCH", f"{path}/{own}", {"content": "x"})).code == 10008


async def test_permissions_are_held(raw: Raw, ada: User, guild: Guild, channel: Channel) -> None:
    server, path = raw.server, f"/channels/{channel.id}/messages"
    said = server.say(channel, ada, "hi")
    assert (await raw.call("DELETE", f"{path}/{said.id}")).code == 50013
    server.overwrite(channel, guild, deny=may.SEND_MESSAGES)
    assert (await raw.call("POST", path, {"content": "x"})).code == 50013
    assert (await raw.call("POST", f"/channels/{channel.id}/typing")).code == 50013
    server.overwrite(channel, server.bot, allow=may.SEND_MESSAGES)
    assert (await raw.call("POST", path, {"content": "x"})).status == 200
    server.overwrite(channel, server.bot, deny=may.READ_MESSAGE_HISTORY)
    assert (await raw.call("GET", path)).body == []
    reply: Any = {"content": "x", "message_reference": {"message_id": str(said.id)}}
    server.overwrite(channel, server.bot, allow=may.SEND_MESSAGES, deny=may.READ_MESSAGE_HISTORY)
    assert (await raw.call("POST", path, reply)).code == 160002
    server.overwrite(channel, server.bot, deny=may.VIEW_CHANNEL)
    refused = await raw.call("POST", path, {"content": "x"})
    assert (refused.status, refused.body) == (403, {"message": "Missing Access", "code": 50001})
    server.make_administrator(guild, server.bot)
    assert (await raw.call("DELETE", f"{path}/{said.id}")).status == 204
    server.remove_bot(guild, server.bot)
    assert (await raw.call("POST", path, {"content": "x"})).code == 50001
    assert server.problems == ()


async def test_direct_messages_need_an_open_door(raw: Raw, ada: User, guild: Guild) -> None:
    server = raw.server
    stranger = server.person("eve")
    opened = [(await raw.call("POST", "/users/@me/channels", {"recipient_id": str(ada.id)})).body for _ in range(2)]
    assert opened[0]["id"] == opened[1]["id"]
    assert [one["id"] for one in opened[0]["recipients"]] == [str(ada.id)]
    closed = (await raw.call("POST", "/users/@me/channels", {"recipient_id": str(stranger.id)})).body["id"]
    assert (await raw.call("POST", f"/channels/{closed}/messages", {"content": "x"})).code == 50278
    server.close_door(ada)
    path = f"/channels/{opened[0]['id']}/messages"
    assert (await raw.call("POST", path, {"content": "x"})).code == 50007
    server.open_door(ada)
    assert (await raw.call("POST", path, {"content": "x"})).status == 200


async def test_files_go_up_and_come_down(raw: Raw, channel: Channel) -> None:
    server, path = raw.server, f"/channels/{channel.id}/messages"
    payload = {"content": "see", "attachments": [{"id": 0, "filename": "n.txt", "description": "notes"}]}
    sent = await raw.upload(path, json.dumps(payload), {"files[0]": ("n.txt", b"hi"), "files[1]": ("p.png", b"png")})
    first, second = sent.body["attachments"]
    assert (first["filename"], first["size"], first["description"]) == ("n.txt", 2, "notes")
    assert (second["filename"], second["content_type"]) == ("p.png", "image/png")
    async with raw.session.get(first["url"]) as answer:
        assert await answer.read() == b"hi"
    for spoiled in (first["url"].replace("hm=", "hm=0"), first["url"].split("?")[0]):
        async with raw.session.get(spoiled) as answer:
            assert (answer.status, await answer.text()) == (404, "This content is no longer available.")
    kept = await raw.call("PATCH", f"{path}/{sent.body['id']}", {"attachments": [{"id": second["id"]}]})
    assert [one["id"] for one in kept.body["attachments"]] == [second["id"]]
    assert [call.ok for call in server.calls_of("download")] == [True, False, False]
    assert server.problems == ()


async def test_voice_messages_have_one_sound_and_its_shape(raw: Raw, guild: Guild, channel: Channel) -> None:
    path, sound = f"/channels/{channel.id}/messages", {"files[0]": ("v.ogg", b"OggS")}
    shape: Any = {"id": 0, "filename": "v.ogg", "duration_secs": 1.5, "waveform": "AAAA"}
    bodies: list[tuple[Any, int | None]] = [
        ({"flags": 8192, "attachments": [shape], "content": "x"}, 50159),
        ({"flags": 8192, "attachments": [{"id": 0, "filename": "v.ogg"}]}, 50161),
        ({"flags": 8192, "attachments": [shape]}, None),
    ]
    for body, code in bodies:
        assert (await raw.upload(path, json.dumps(body), sound)).body.get("code") == code
    assert (await raw.upload(path, json.dumps({"flags": 8192}), {"files[0]": ("a.txt", b"x")})).code == 50160
    (sent,) = raw.server.sent(channel)
    assert (await raw.call("PATCH", f"{path}/{sent.id}", {"content": "x"})).code == 50162
    raw.server.overwrite(channel, guild, deny=may.SEND_VOICE_MESSAGES)
    answered = await raw.upload(path, json.dumps({"flags": 8192, "attachments": [shape]}), sound)
    assert answered.code == 50173


@pytest.mark.parametrize("size", [10 * 1024 * 1024 + 1, 26 * 1024 * 1024])
async def test_large_files_are_refused(raw: Raw, channel: Channel, size: int) -> None:
    refused = await raw.upload(f"/channels/{channel.id}/messages", "{}", {"files[0]": ("big", b"x" * size)})
    assert (refused.status, refused.body) == (413, {"message": "Request entity too large", "code": 40005})
    assert [problem.rule for problem in raw.server.problems] == ["too_large"]


async def test_bodies_must_be_json(raw: Raw, channel: Channel) -> None:
    url = f"{raw.server.api_base}/channels/{channel.id}/messages"
    heads = {"Authorization": f"Bot {raw.server.token}"}
    async with raw.session.post(url, headers=heads | {"Content-Type": "application/json"}, data=b"{") as answer:
        assert (answer.status, (await answer.json())["code"]) == (400, 50109)
    async with raw.session.post(url, headers=heads | {"Content-Type": "text/plain"}, data=b"{}") as answer:
        assert (answer.status, (await answer.json())["code"]) == (400, 50035)


async def test_reactions(raw: Raw, ada: User, guild: Guild, channel: Channel) -> None:
    server = raw.server
    said = server.say(channel, ada, "hi")
    path = f"/channels/{channel.id}/messages/{said.id}/reactions"
    assert (await raw.call("PUT", f"{path}/%F0%9F%91%80/@me")).status == 204
    assert server.message(said).reactions == (("👀", server.bot.id),)
    assert (await raw.call("PUT", f"{path}/eyes/@me")).code == 10014
    assert (await raw.call("DELETE", f"{path}/%F0%9F%91%80/@me")).status == 204
    assert server.message(said).reactions == ()
    server.overwrite(channel, guild, deny=may.ADD_REACTIONS)
    assert (await raw.call("PUT", f"{path}/%F0%9F%91%80/@me")).code == 50013
    server.react(said, ada, "👀")
    assert (await raw.call("PUT", f"{path}/%F0%9F%91%80/@me")).status == 204


async def test_guilds_and_members(raw: Raw, ada: User, guild: Guild, channel: Channel) -> None:
    stranger = raw.server.person("eve")
    assert (await raw.call("GET", f"/guilds/{guild.id}")).body["name"] == "Team"
    assert (await raw.call("GET", f"/guilds/{guild.id}/members/{ada.id}")).body["user"]["username"] == "ada"
    assert (await raw.call("GET", f"/guilds/{guild.id}/members/{stranger.id}")).code == 10007
    assert [one["id"] for one in (await raw.call("GET", f"/guilds/{guild.id}/channels")).body] == [str(channel.id)]
    raw.server.rename(ada, "countess")
    assert (await raw.call("GET", f"/users/{ada.id}")).body["username"] == "countess"
