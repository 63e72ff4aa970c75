"""The listener over real sockets: where it listens, what it serves, and whom it does not wait for."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx
import pytest
import structlog
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from config.settings import ListenSettings
from core.chance import SystemRandom
from core.clock import SystemClock
from core.ports import AsgiApp, AsgiMessage, AsgiReceive, AsgiSend, Clock
from core.service import listener as listening
from core.service import web
from core.service.listener import Listener, bind
from tests.clock import LeapingLoop, ManualClock

PATIENCE_S = 10.0


class Echo:
    """Tells who asks, and can be held."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = asyncio.Event()
        self.loads = 0

    def load(self) -> None:
        self.loads += 1

    def app(self, mounted: Mapping[str, AsgiApp]) -> AsgiApp:
        return self

    async def __call__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        assert scope["type"] == "http"
        self.asked.set()
        await self.gate.wait()
        client, words = scope["client"], scope["scheme"]
        assert isinstance(client, tuple)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"64")]})
        await send({"type": "http.response.body", "body": f"{words} {client[0]}".ljust(64).encode()})


def made(site: Echo, clock: Clock | None = None, /, **settings: object) -> Listener:
    clock = clock or SystemClock()
    values = ListenSettings.model_validate({"port": 0, **settings})
    return Listener(values, site, clock=clock, random=SystemRandom(clock))


async def until_up(listener: Listener) -> str:
    """Its address."""
    await until(listener, "up")
    return listener.status.address


async def until(listener: Listener, state: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while listener.status.state != state:  # noqa: ASYNC110  # nobody tells of it
            await asyncio.sleep(0.005)


@asynccontextmanager
async def up(site: Echo, **settings: object) -> AsyncIterator[tuple[Listener, str]]:
    listener = made(site, **settings)
    async with listener.listening():
        listener.begin()
        yield listener, await until_up(listener)


async def connect(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = address.rpartition(":")
    return await asyncio.open_connection(host.strip("[]"), int(port))


async def cut(reader: asyncio.StreamReader) -> None:
    """Return once the server has ended the connection."""
    async with asyncio.timeout(PATIENCE_S):
        with contextlib.suppress(ConnectionError):
            while await reader.read(65536):
                pass


def taken_port() -> tuple[socket.socket, int]:
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    holder.listen()
    return holder, int(holder.getsockname()[1])


async def is_served(address: str) -> bool:
    try:
        async with httpx.AsyncClient() as client:
            return (await client.get(f"http://{address}/")).status_code == 200
    except httpx.TransportError:
        return False


# where it listens


async def test_port_0_is_any_that_is_free_and_is_told() -> None:
    async with up(Echo()) as (listener, address):
        assert not address.endswith(":0")
        async with httpx.AsyncClient() as client:
            assert (await client.get(f"http://{address}/")).text.split() == ["http", "127.0.0.1"]
    assert listener.status.state == "stopped"


async def test_a_host_with_several_addresses_is_served_at_all_of_them() -> None:
    sockets = await bind("localhost", 0)
    try:
        assert len({one.getsockname()[1] for one in sockets}) == 1
        assert {one.family for one in sockets} <= {socket.AF_INET, socket.AF_INET6}
    finally:
        for one in sockets:
            one.close()


async def test_nothing_is_loaded_or_listens_before_it_begins() -> None:
    site = Echo()
    listener = made(site)
    async with listener.listening():
        await asyncio.sleep(0)
        assert (site.loads, listener.status.state) == (0, "starting")
        listener.begin()
        await until_up(listener)
        assert site.loads == 1


async def test_a_start_that_takes_long_can_be_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "READY_S", 0.01)
    listener = made(Echo())
    async with listener.listening():
        await until_up(listener)


async def test_a_port_that_is_taken_is_told_once_and_had_when_it_is_free() -> None:
    holder, port = taken_port()
    clock = ManualClock()
    listener = made(Echo(), clock, port=port)
    with structlog.testing.capture_logs() as logs:
        async with listener.listening():
            listener.begin()
            await until(listener, "waiting")
            assert listener.status.address == f"127.0.0.1:{port}"
            assert "another program listens" in listener.status.detail
            assert "choose another [listen] port" in listener.status.detail
            for tries in range(1, 6):
                await clock.asleep(tries)
                clock.advance(listening.AGAIN_S[1])
            await clock.asleep(6)
            holder.close()
            clock.advance(listening.AGAIN_S[1])
            address = await until_up(listener)
            assert listener.status.detail == ""
            async with httpx.AsyncClient() as client:
                assert (await client.get(f"http://{address}/")).status_code == 200
    assert [log["event"] for log in logs] == ["not_listening", "listening"]


@pytest.mark.parametrize(
    ("host", "words"), [("192.0.2.1", "no address of this machine"), ("a..b", "is not known here")]
)
async def test_a_host_that_is_not_this_machine_s_is_told(host: str, words: str) -> None:
    listener = made(Echo(), host=host)
    async with listener.listening():
        listener.begin()
        await until(listener, "waiting")
        assert words in listener.status.detail


async def test_it_moves_to_another_address_while_the_daemon_runs() -> None:
    async with up(Echo()) as (listener, before):
        await listener.move(ListenSettings(port=0, host="localhost"))
        async with asyncio.timeout(PATIENCE_S):
            while listener.status.address == before or listener.status.state != "up":  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        async with httpx.AsyncClient() as client:
            assert (await client.get(f"http://{listener.status.address}/")).status_code == 200
            with pytest.raises(httpx.ConnectError):
                await client.get(f"http://{before}/")


async def test_it_leaves_an_address_that_can_not_be_had_at_once_for_another() -> None:
    holder, port = taken_port()
    listener = made(Echo(), port=port)
    with contextlib.closing(holder):
        async with listener.listening():
            listener.begin()
            await until(listener, "waiting")
            await listener.move(ListenSettings(port=0))
            await until_up(listener)


async def test_it_may_be_moved_while_it_looks_for_its_address() -> None:
    """Many times in a row; the last one holds."""
    listener = made(Echo())
    async with listener.listening():
        listener.begin()
        for number in range(1, 8):
            await listener.move(ListenSettings(port=0, host=f"127.0.0.{number}"))
            for _ in range(number):
                await asyncio.sleep(0)
        async with asyncio.timeout(PATIENCE_S):
            while not listener.status.address.startswith("127.0.0.7:") or listener.status.state != "up":  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        async with httpx.AsyncClient() as client:
            assert (await client.get(f"http://{listener.status.address}/")).status_code == 200


async def test_the_same_settings_again_cut_nobody() -> None:
    async with up(Echo()) as (listener, address):
        reader, writer = await connect(address)
        await listener.move(ListenSettings(port=0))
        writer.write(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
        writer.close()


# whom it does not wait for


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nhost:"])
async def test_a_client_that_does_not_send_its_request_is_cut(monkeypatch: pytest.MonkeyPatch, said: bytes) -> None:
    monkeypatch.setattr(web, "REQUEST_S", 0.2)
    async with up(Echo()) as (_, address):
        reader, writer = await connect(address)
        writer.write(said)
        await cut(reader)
        writer.close()


async def test_a_client_that_sends_byte_by_byte_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "REQUEST_S", 0.2)
    async with up(Echo()) as (_, address):
        reader, writer = await connect(address)

        async def drip() -> None:
            for byte in b"GET / HTTP/1.1\r\nx: " + b"y" * 1000:
                writer.write(bytes([byte]))
                await asyncio.sleep(0.02)

        dripping = asyncio.create_task(drip())
        await cut(reader)
        dripping.cancel()
        await asyncio.gather(dripping, return_exceptions=True)
        writer.close()


async def test_a_second_request_that_does_not_come_whole_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "REQUEST_S", 0.3)
    async with up(Echo()) as (_, address):
        reader, writer = await connect(address)
        writer.write(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(64)
        writer.write(b"GET / HT")
        await cut(reader)
        writer.close()


async def test_an_answer_may_take_longer_than_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "REQUEST_S", 0.1)
    site, loop = Echo(), LeapingLoop(monkeypatch)
    site.gate.clear()
    async with up(site) as (_, address), httpx.AsyncClient(timeout=PATIENCE_S) as client:
        asking = asyncio.create_task(client.get(f"http://{address}/"))
        await site.asked.wait()
        loop.leap(0.3)
        for _ in range(3):
            await asyncio.sleep(0)
        site.gate.set()
        assert (await asking).status_code == 200


async def test_a_connection_beyond_those_that_it_may_hold_takes_the_place_of_an_idle_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(web, "MOST_CONNECTIONS", 3)
    async with up(Echo()) as (_, address):
        kept = [await connect(address) for _ in range(3)]
        async with httpx.AsyncClient() as client:
            assert (await client.get(f"http://{address}/")).status_code == 200
        await cut(kept[0][0])
        for _, one in kept:
            one.close()


async def test_the_end_waits_neither_for_idle_clients_nor_long_for_busy_ones() -> None:
    site = Echo()
    with structlog.testing.capture_logs() as logs:
        async with up(site) as (_, address):
            idle = [await connect(address) for _ in range(3)]
            async with httpx.AsyncClient(timeout=PATIENCE_S) as client:
                await client.get(f"http://{address}/")
                site.gate.clear()
                site.asked.clear()
                hanging = asyncio.create_task(client.get(f"http://{address}/"))
                await site.asked.wait()
    (ended,) = await asyncio.gather(hanging, return_exceptions=True)
    assert isinstance(ended, httpx.HTTPError | asyncio.CancelledError)
    for reader, writer in idle:
        await cut(reader)
        writer.close()
    assert [log["event"] for log in logs] == ["listening"]


async def test_the_end_lets_a_request_that_runs_be_answered(caplog: pytest.LogCaptureFixture) -> None:
    site = Echo()
    site.gate.clear()
    async with httpx.AsyncClient(timeout=PATIENCE_S) as client:
        async with up(site) as (_, address):
            asking = asyncio.create_task(client.get(f"http://{address}/"))
            await site.asked.wait()
            asyncio.get_running_loop().call_later(web.END_S / 3, site.gate.set)
        assert (await asking).status_code == 200
    assert caplog.text == ""


async def test_signals_stay_the_daemon_s() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    async with up(Echo()):
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


# who asks


@pytest.mark.parametrize(
    ("settings", "seen"),
    [
        ({}, ["http", "127.0.0.1"]),
        ({"behind_proxy": True}, ["https", "203.0.113.9"]),
        ({"behind_proxy": True, "trusted_proxies": ["127.0.0.0/8"]}, ["https", "203.0.113.9"]),
        ({"behind_proxy": True, "trusted_proxies": ["*"]}, ["https", "203.0.113.9"]),
        ({"behind_proxy": True, "trusted_proxies": ["10.0.0.0/8"]}, ["http", "127.0.0.1"]),
    ],
)
async def test_a_proxy_is_believed_if_it_is_trusted(settings: dict[str, object], seen: list[str]) -> None:
    forwarded = {"x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https"}
    async with up(Echo(), **settings) as (_, address), httpx.AsyncClient() as client:
        assert (await client.get(f"http://{address}/", headers=forwarded)).text.split() == seen


# what is mounted


async def told(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse(f"{scope['root_path']} {Request(scope).url.path}")(scope, receive, send)


@pytest.mark.parametrize("prefix", ["v1", "/v1/", "/"])
def test_a_prefix_begins_with_a_slash_and_does_not_end_with_one(prefix: str) -> None:
    with pytest.raises(ValueError, match="is no prefix"):
        made(Echo()).mount(prefix, Echo())


def test_a_place_is_mounted_once() -> None:
    listener = made(Echo())
    listener.mount("/v1", Echo())
    with pytest.raises(ValueError, match="served already"):
        listener.mount("/v1", Echo())
    listener.unmount("/v1")
    listener.mount("/v1", Echo())
