"""Rates, faults on order, several workspaces, and a life that does not depend on the client's."""

import asyncio
import subprocess
import sys

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import Channel, ManualClock, Person, SlackServer, ThreadedSlackServer
from tests.fakes.slack.conftest import Listener

# rates


async def refused_for(web: AsyncWebClient, channel: Channel) -> int:
    """Seconds that the 429 asks to wait."""
    with pytest.raises(SlackApiError) as refused:
        await web.chat_postMessage(channel=channel.id, text="x")
    assert (refused.value.response["error"], refused.value.response.status_code) == ("ratelimited", 429)
    return int(refused.value.response.headers["Retry-After"])


async def test_a_channel_takes_a_burst_and_then_one_message_a_second(
    server: SlackServer, web: AsyncWebClient, clock: ManualClock, general: Channel
) -> None:
    other = server.channel("other")
    for _ in range(5):
        await web.chat_postMessage(channel=general.id, text="x")
    assert await refused_for(web, general) == 1
    assert await refused_for(web, general) == 1
    await web.chat_postMessage(channel=other.id, text="x")
    assert [problem.rule for problem in server.problems] == ["rate", "retry_early"]
    for _ in range(3):
        clock.advance(1)
        await web.chat_postMessage(channel=general.id, text="x")
    assert len(server.problems) == 2


async def test_each_method_has_its_tier(
    server: SlackServer, web: AsyncWebClient, clock: ManualClock, general: Channel
) -> None:
    ts = str((await web.chat_postMessage(channel=general.id, text="0"))["ts"])
    for number in range(50):
        await web.chat_update(channel=general.id, ts=ts, text=str(number + 1))
    with pytest.raises(SlackApiError, match="ratelimited") as refused:
        await web.chat_update(channel=general.id, ts=ts, text="x")
    assert refused.value.response.headers["Retry-After"] == "2"
    clock.advance(2)
    await web.chat_update(channel=general.id, ts=ts, text="y")


async def test_a_429_can_be_ordered(
    server: SlackServer, web: AsyncWebClient, clock: ManualClock, general: Channel
) -> None:
    server.rate_limit("chat.postMessage", 30, channel=general.id, after=1)
    await web.chat_postMessage(channel=general.id, text="x")
    assert await refused_for(web, general) == 30
    assert not server.problems_of("rate")
    clock.advance(29)
    assert await refused_for(web, general) == 1
    clock.advance(1)
    await web.chat_postMessage(channel=general.id, text="x")
    assert [problem.rule for problem in server.problems] == ["retry_early"]


# faults


async def test_any_answer_can_be_ordered(server: SlackServer, web: AsyncWebClient, general: Channel) -> None:
    server.error("chat.postMessage", "fatal_error")
    server.answer("chat.postMessage", 500, b"<html>oops</html>")
    server.answer("*", 503, {"ok": False, "error": "service_unavailable"}, channel=general.id)
    for _ in range(3):
        with pytest.raises(SlackApiError):
            await web.chat_postMessage(channel=general.id, text="x")
    await web.chat_postMessage(channel=general.id, text="x")
    assert [(one.status, one.applied) for one in server.calls] == [
        (200, False),
        (500, False),
        (503, False),
        (200, True),
    ]
    assert server.bot_texts(general) == ("x",)


@pytest.mark.parametrize("applied", [False, True])
async def test_a_connection_can_be_reset_before_or_after_the_call_took_effect(
    server: SlackServer, web: AsyncWebClient, general: Channel, applied: bool
) -> None:
    server.drop("chat.postMessage", applied=applied)
    with pytest.raises((aiohttp.ServerDisconnectedError, aiohttp.ClientOSError)):
        await web.chat_postMessage(channel=general.id, text="x")
    assert server.bot_texts(general) == ("x",) * applied
    assert (server.calls[0].status, server.calls[0].applied) == (None, applied)


async def test_the_sdk_as_it_comes_sends_again_what_was_lost(server: SlackServer, general: Channel) -> None:
    web = AsyncWebClient(server.bot.token, base_url=server.api_base)
    server.drop("chat.postMessage", applied=True)
    await web.chat_postMessage(channel=general.id, text="x")
    assert server.bot_texts(general) == ("x", "x")


async def test_answers_can_be_late_or_never_come(
    server: SlackServer, web: AsyncWebClient, clock: ManualClock, general: Channel
) -> None:
    server.delay("chat.postMessage", 10)
    sending = asyncio.create_task(web.chat_postMessage(channel=general.id, text="x"))
    await server.until(lambda: server.bot_texts(general) == ("x",))
    assert not sending.done()
    clock.advance(10)
    await sending
    hung = server.hang("auth.test")
    asking = asyncio.create_task(web.auth_test())
    await server.until(lambda: hung.hits == 1)
    hung.release()
    with pytest.raises(aiohttp.ClientError):
        await asking


async def test_a_paused_server_refuses_connections_and_comes_back_on_its_port(
    server: SlackServer, web: AsyncWebClient
) -> None:
    url = server.url
    await server.pause()
    with pytest.raises(aiohttp.ClientConnectorError):
        await web.auth_test()
    await server.resume()
    assert server.url == url
    await web.auth_test()


# several workspaces, and a life of its own


async def test_an_app_in_two_workspaces(server: SlackServer, ada: Person, general: Channel) -> None:
    other = server.add_team("Other", enterprise_id="E123")
    second = server.add_bot("frontdesk", team=other, app_of=server.bot)
    bob = server.person("Bob", team=other)
    far = server.channel("far", team=other, members=[bob])
    web = AsyncWebClient(second.token, base_url=server.api_base)
    identity = await web.auth_test()
    assert (identity["team_id"], identity["enterprise_id"]) == (other.id, "E123")
    said = server.say(far, bob, f"{second} hello")
    payload = server.delivery(said.event_ids[0]).payload
    assert (payload["team_id"], payload["enterprise_id"], payload["api_app_id"]) == (
        other.id,
        "E123",
        server.bot.app_id,
    )
    with pytest.raises(SlackApiError, match="channel_not_found"):
        await web.chat_postMessage(channel=general.id, text="x")


CLIENT = """
import sys, time, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
request = urllib.request.Request(f"{sys.argv[1]}auth.test", headers={"Authorization": f"Bearer {sys.argv[2]}"})
while True:
    opener.open(request, data=b"", timeout=5).read()
"""


def test_the_server_in_a_thread_outlives_a_killed_client() -> None:
    with ThreadedSlackServer() as server:
        command = [sys.executable, "-c", CLIENT, server.api_base, server.bot.token]
        with subprocess.Popen(command) as client:
            server.until(lambda: len(server.calls) >= 2)
            client.kill()
        ada = server.person()
        server.say(server.channel(members=[ada]), ada, "are you there?")
        server.until(lambda: len(server.deliveries[0].attempts) == 2)
        server.pause()
        server.resume()
        asyncio.run(AsyncWebClient(server.bot.token, base_url=server.api_base).auth_test())


async def test_the_server_in_a_thread_serves_sockets_of_another_loop() -> None:
    with ThreadedSlackServer() as server:
        web = AsyncWebClient(server.bot.token, base_url=server.api_base)
        client = SocketModeClient(server.bot.app_token, web_client=web)
        listener = Listener(client)
        client.socket_mode_request_listeners.append(listener)
        await client.connect()  # type: ignore[no-untyped-call]
        ada = server.person()
        channel = server.channel(members=[ada])
        for number in range(50):
            server.say(channel, ada, str(number))
        await asyncio.to_thread(server.until, server.acked)
        assert [event["text"] for event in listener.events] == [str(number) for number in range(50)]
        await client.close()  # type: ignore[no-untyped-call]


async def test_hooks_can_fail_too(
    server: SlackServer, http: aiohttp.ClientSession, ada: Person, general: Channel
) -> None:
    server.answer("response_url", 500, b"oops")
    server.drop("download", applied=False, count=None)  # aiohttp itself tries a GET twice
    url = server.slash(general, ada, "/ask").response_url
    async with http.post(url, json={"text": "x"}) as response:
        assert response.status == 500
    async with http.post(url, json={"text": "x"}) as response:
        assert response.status == 200
    with pytest.raises(aiohttp.ClientError):
        await http.get(f"{server.url}/files-pri/T1-F1/a")
    assert [one.text for one in server.ephemerals()] == ["x"]


async def test_any_event_can_be_sent(server: SlackServer, web: AsyncWebClient) -> None:
    sent = server.send_event({"type": "tokens_revoked", "tokens": {"bot": [server.bot.user_id]}})
    assert (sent.payload["type"], sent.event["type"]) == ("event_callback", "tokens_revoked")
    server.set_token_state("token_revoked")
    with pytest.raises(ValueError, match="told nothing"):
        server.send_event({"type": "x"})
