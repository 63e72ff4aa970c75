"""Socket Mode: tickets, acknowledgements, redelivery, several sockets, goodbyes, silence."""

import asyncio
import json
from dataclasses import dataclass
from functools import partial

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import Channel, JsonObject, ManualClock, Person, SlackServer
from tests.fakes.slack.conftest import Listener


@dataclass(frozen=True)
class Raw:
    """Sockets without the SDK."""

    server: SlackServer
    web: AsyncWebClient
    http: aiohttp.ClientSession

    async def address(self) -> str:
        url = (await self.web.apps_connections_open(app_token=self.server.bot.app_token))["url"]
        assert isinstance(url, str)
        return url

    async def open(self) -> aiohttp.ClientWebSocketResponse:
        return await self.http.ws_connect(await self.address())


@pytest.fixture
def raw(server: SlackServer, web: AsyncWebClient, http: aiohttp.ClientSession) -> Raw:
    return Raw(server, web, http)


async def received(socket: aiohttp.ClientWebSocketResponse) -> JsonObject:
    body = await socket.receive_json(timeout=5)
    assert isinstance(body, dict)
    return body


async def test_a_ticket_opens_one_socket_and_only_for_a_while(
    server: SlackServer, raw: Raw, clock: ManualClock
) -> None:
    url = await raw.address()
    async with raw.http.ws_connect(url) as socket:
        hello = await received(socket)
        assert (hello["type"], hello["num_connections"]) == ("hello", 1)
        assert hello["connection_info"] == {"app_id": server.bot.app_id}
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await raw.http.ws_connect(url)
    late = await raw.address()
    clock.advance(31)
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await raw.http.ws_connect(late)
    assert [problem.rule for problem in server.problems] == ["ticket", "ticket"]


async def test_only_an_app_token_opens_a_connection(server: SlackServer, web: AsyncWebClient) -> None:
    with pytest.raises(SlackApiError, match="not_allowed_token_type"):
        await web.apps_connections_open(app_token=server.bot.token)
    with pytest.raises(SlackApiError, match="invalid_auth"):
        await web.apps_connections_open(app_token="xapp-1-unknown")
    with pytest.raises(SlackApiError, match="not_allowed_token_type"):
        await AsyncWebClient(server.bot.app_token, base_url=server.api_base).auth_test()
    server.set_app_token_state("token_revoked")
    with pytest.raises(SlackApiError, match="token_revoked"):
        await web.apps_connections_open(app_token=server.bot.app_token)


async def test_an_event_without_an_answer_comes_again_three_times_and_is_lost(
    server: SlackServer, listener: Listener, clock: ManualClock, ada: Person, general: Channel
) -> None:
    listener.deaf = True
    said = server.say(general, ada, "hello")
    delivery = server.deliveries[0]
    for number, wait in enumerate((0, 0, 60, 300)):
        clock.advance(wait)
        await server.until(partial(lambda count: len(listener.requests) > count, number))
        clock.advance(3)
        await server.until(partial(lambda count: delivery.attempts[count].outcome == "timeout", number))
    await server.until(lambda: server.settled(said))
    assert delivery.state == "lost"
    assert [one.outcome for one in delivery.attempts] == ["timeout"] * 4
    assert [(one.retry_attempt, one.retry_reason) for one in listener.requests] == [
        (0, ""),
        (1, "timeout"),
        (2, "timeout"),
        (3, "timeout"),
    ]
    assert len({one.envelope_id for one in listener.requests}) == 4
    assert {one.payload["event_id"] for one in listener.requests} == set(said.event_ids)


async def test_a_late_acknowledgement_does_not_count(
    server: SlackServer,
    raw: Raw,
    clock: ManualClock,
    ada: Person,
    general: Channel,
) -> None:
    async with await raw.open() as socket:
        await received(socket)
        server.say(general, ada, "hello")
        first = await received(socket)
        clock.advance(3.5)
        again = await received(socket)
        await socket.send_json({"envelope_id": first["envelope_id"]})
        await server.until(lambda: len(server.problems) == 1)
        assert server.deliveries[0].state == "open"
        await socket.send_json({"envelope_id": again["envelope_id"]})
        await server.until(server.acked)
    assert [problem.rule for problem in server.problems] == ["late_ack"]
    assert server.deliveries[0].attempts[0].delay_s == pytest.approx(3.5)


async def test_what_comes_in_is_checked(server: SlackServer, raw: Raw, ada: Person, general: Channel) -> None:
    async with await raw.open() as socket:
        await received(socket)
        server.say(general, ada, "hello")
        envelope_id = (await received(socket))["envelope_id"]
        await socket.send_str("no json")
        await socket.send_json({"ok": True})
        await socket.send_json({"envelope_id": "unknown"})
        await socket.send_json({"envelope_id": envelope_id, "payload": {"text": "not here"}})
        await socket.send_json({"envelope_id": envelope_id})
        await server.until(lambda: len(server.problems) == 5)
    rules = [problem.rule for problem in server.problems]
    assert rules == ["frame", "frame", "unknown_envelope", "payload_not_accepted", "acked_twice"]


async def test_each_envelope_goes_to_one_of_the_sockets_and_a_retry_to_any(
    server: SlackServer,
    raw: Raw,
    clock: ManualClock,
    ada: Person,
    general: Channel,
) -> None:
    sockets = [await raw.open() for _ in range(2)]
    assert [(await received(socket))["num_connections"] for socket in sockets] == [1, 2]
    for number in range(4):
        server.say(general, ada, str(number))
    seen = [[text(await received(socket)) for _ in range(2)] for socket in sockets]
    assert sorted(seen[0] + seen[1]) == ["0", "1", "2", "3"]
    await sockets[0].close()
    await server.until(server.connected)
    clock.advance(3)
    again = [text(await received(sockets[1])) for _ in range(4)]
    assert sorted(again) == ["0", "1", "2", "3"]
    await sockets[1].close()


def text(envelope: JsonObject) -> str:
    payload = envelope["payload"]
    assert isinstance(payload, dict)
    event = payload["event"]
    assert isinstance(event, dict)
    return str(event["text"])


async def test_one_socket_of_several_can_be_told_to_go(
    server: SlackServer, raw: Raw, ada: Person, general: Channel
) -> None:
    first, second = await raw.open(), await raw.open()
    await received(first)
    await received(second)
    server.disconnect("refresh_requested", only=server.sockets()[0])
    assert (await received(first))["reason"] == "refresh_requested"
    assert server.connected(1)
    for number in range(3):
        server.say(general, ada, str(number))
        assert text(await received(second)) == str(number)
    await first.close()
    await second.close()


async def test_an_acknowledgement_on_another_socket_is_not_heard(
    server: SlackServer,
    raw: Raw,
    clock: ManualClock,
    ada: Person,
    general: Channel,
) -> None:
    first = await raw.open()
    await received(first)
    server.say(general, ada, "hello")
    envelope = await received(first)
    await first.close()
    second = await raw.open()
    await received(second)
    await second.send_json({"envelope_id": envelope["envelope_id"]})
    await second.ping(b"a barrier")
    await server.until(lambda: server.sockets()[0].pings == 1)
    assert server.deliveries[0].state == "open"
    clock.advance(3)
    again = await received(second)
    await second.send_json({"envelope_id": again["envelope_id"]})
    await server.until(server.acked)
    await second.close()


async def test_events_without_a_socket_are_tried_again_and_then_lost(
    server: SlackServer,
    raw: Raw,
    clock: ManualClock,
    ada: Person,
    general: Channel,
) -> None:
    lost = server.say(general, ada, "lost")
    await server.until(lambda: len(server.deliveries[0].attempts) == 2)
    clock.advance(60)
    await server.until(lambda: len(server.deliveries[0].attempts) == 3)
    kept = server.say(general, ada, "kept")
    await server.until(lambda: len(server.deliveries[1].attempts) == 2)
    socket = await raw.open()
    await received(socket)
    clock.advance(60)
    envelope = await received(socket)
    assert (text(envelope), envelope["retry_attempt"]) == ("kept", 2)
    await socket.send_json({"envelope_id": envelope["envelope_id"]})
    await server.until(lambda: server.acked(kept))
    await socket.close()
    await server.until(lambda: server.connected(0))
    clock.advance(300)
    await server.until(lambda: server.settled(lost))
    assert server.deliveries[0].state == "lost"


async def test_a_command_is_tried_once(server: SlackServer, ada: Person, general: Channel) -> None:
    command = server.slash(general, ada, "/ask")
    await server.until(lambda: server.settled(command))
    assert (server.delivery(command).state, len(server.delivery(command).attempts)) == ("lost", 1)


async def test_more_than_ten_sockets_are_too_many(server: SlackServer, raw: Raw) -> None:
    sockets = [await raw.open() for _ in range(11)]
    assert [(await received(socket))["type"] for socket in sockets] == ["hello"] * 10 + ["disconnect"]
    assert (await sockets[10].receive(timeout=5)).type is aiohttp.WSMsgType.CLOSE
    assert [problem.rule for problem in server.problems] == ["too_many_websockets"]
    for socket in sockets:
        await socket.close()


@pytest.mark.parametrize("way", ["refresh", "warning", "cut"])
async def test_the_real_client_comes_back(
    server: SlackServer, listener: Listener, ada: Person, general: Channel, way: str
) -> None:
    (old,) = server.sockets()
    if way == "refresh":
        server.disconnect("refresh_requested")
    elif way == "warning":
        server.disconnect("warning", close=True)
    else:
        server.cut_sockets()
    await server.until(lambda: [one.id for one in server.sockets()] not in ([], [old.id]))
    said = server.say(general, ada, "still there?")
    await server.until(lambda: server.acked(said))
    assert listener.events[-1]["text"] == "still there?"


async def test_a_half_dead_socket_is_given_up_by_the_client(
    server: SlackServer, listener: Listener, clock: ManualClock, ada: Person, general: Channel
) -> None:
    (old,) = server.silence()
    said = server.say(general, ada, "anybody?")
    await server.until(lambda: [one.id for one in server.sockets()] not in ([], [old.id]), timeout_s=10)
    assert listener.requests == []
    clock.advance(3)
    await server.until(lambda: server.acked(said))
    assert listener.requests[0].retry_attempt == 1


async def test_pings_go_both_ways(server: SlackServer, listener: Listener, clock: ManualClock) -> None:
    server.ping()
    await server.until(lambda: server.sockets()[0].pongs == 1 and server.sockets()[0].pings >= 1)
    clock.advance(10)
    await server.until(lambda: server.sockets()[0].pongs == 2)
    assert await listener.client.is_connected()


async def test_a_disabled_link_stays_down(server: SlackServer, raw: Raw) -> None:
    async with await raw.open() as socket:
        await received(socket)
        server.disconnect("link_disabled")
        assert (await received(socket))["reason"] == "link_disabled"
    with pytest.raises(SlackApiError, match="forbidden_team"):
        await raw.address()


async def test_an_acknowledged_event_can_come_twice(
    server: SlackServer, listener: Listener, ada: Person, general: Channel
) -> None:
    said = server.say(general, ada, "hello")
    await server.until(server.acked)
    server.redeliver(said)
    await server.until(lambda: len(listener.requests) == 2 and server.acked())
    assert len({one.payload["event_id"] for one in listener.requests}) == 1
    assert listener.requests[1].retry_attempt == 1


async def test_a_handshake_can_be_refused(server: SlackServer, web: AsyncWebClient) -> None:
    fault = server.answer("socket", 500, b"oops")
    client = SocketModeClient(server.bot.app_token, web_client=web, ping_interval=0.01)
    connecting = asyncio.create_task(client.connect())  # type: ignore[no-untyped-call]
    await server.until(lambda: fault.hits == 1)
    await server.until(server.connected)
    await connecting
    await client.close()  # type: ignore[no-untyped-call]


async def test_frames_are_json_objects(server: SlackServer, raw: Raw) -> None:
    async with await raw.open() as socket:
        await received(socket)
        await socket.send_bytes(json.dumps({"envelope_id": "x"}).encode())
        await server.until(lambda: len(server.problems) == 1)
    assert server.problems[0].rule == "frame"
