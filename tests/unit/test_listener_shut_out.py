"""S17: clients that mean no good shut nobody else out, and a refused one has to connect anew."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import httpx
import pytest

from core.ports import AsgiApp, AsgiMessage, AsgiReceive, AsgiSend
from core.service import web
from tests.unit.test_listener import PATIENCE_S, Echo, connect, cut, up

SLOW_BODY = b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx"
STATUSES = "/status/"


class Patient(Echo):
    """Reads a body at /slow to its end, answers with a status, or hangs until it is let go; `asked` is set when as many
    as `most` hang."""

    def __init__(self, most: int = 1) -> None:
        super().__init__()
        self.hanging, self.most = 0, most

    async def __call__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        path = str(scope["path"])
        status = int(path.removeprefix(STATUSES)) if path.startswith(STATUSES) else 200
        if path == "/slow":
            while (await receive()).get("more_body"):
                pass
        if path == "/hang":
            self.hanging += 1
            if self.hanging == self.most:
                self.asked.set()
            await self.gate.wait()
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def crowd(address: str, count: int, said: bytes) -> AsyncIterator[Sequence[asyncio.StreamReader]]:
    made = [await connect(address) for _ in range(count)]
    for _, writer in made:
        writer.write(said)
        with contextlib.suppress(ConnectionError):
            await writer.drain()
    try:
        yield [reader for reader, _ in made]
    finally:
        for _, writer in made:
            writer.close()


@pytest.mark.parametrize("settings", [{}, {"behind_proxy": True}], ids=["open", "behind a proxy"])
@pytest.mark.parametrize("said", [b"", b"GET /hea", SLOW_BODY], ids=["silent", "slow head", "slow body"])
async def test_s17_more_slow_clients_than_there_is_room_for_shut_nobody_out(
    said: bytes, settings: Mapping[str, object]
) -> None:
    """As many as a real attack takes, all of one address, which behind a proxy is that of everybody."""
    async with (
        up(Patient(), **settings) as (_, address),
        crowd(address, web.MOST_CONNECTIONS + 8, said),
        httpx.AsyncClient(timeout=PATIENCE_S, trust_env=False, headers={"connection": "close"}) as client,
    ):
        for _ in range(20):
            assert (await client.get(f"http://{address}/livez")).status_code == 200


async def test_s17_a_request_that_is_being_answered_is_not_cut_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "MOST_CONNECTIONS", 4)
    site = Patient()
    site.gate.clear()
    async with up(site) as (_, address), httpx.AsyncClient(timeout=PATIENCE_S, trust_env=False) as client:
        asking = asyncio.create_task(client.get(f"http://{address}/hang"))
        await site.asked.wait()
        async with crowd(address, 40, b"GET /sl"):
            site.gate.set()
            assert (await asking).status_code == 200


async def test_s17_where_nobody_can_be_cut_the_new_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "MOST_CONNECTIONS", 3)
    site = Patient(most=3)
    site.gate.clear()
    async with up(site) as (_, address), httpx.AsyncClient(timeout=PATIENCE_S, trust_env=False) as client:
        asking = [asyncio.create_task(client.get(f"http://{address}/hang")) for _ in range(3)]
        await site.asked.wait()
        reader, writer = await connect(address)
        await cut(reader)
        writer.close()
        site.gate.set()
        assert {(await one).status_code for one in asking} == {200}


async def test_s17_the_address_with_the_most_connections_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """127.0.0.1 has waited longer, and has fewer."""
    monkeypatch.setattr(web, "MOST_CONNECTIONS", 8)
    async with up(Echo()) as (_, address):
        host, _, port = address.rpartition(":")
        other = await connect(address)
        crowded = [
            await asyncio.open_connection(host, int(port), local_addr=("127.0.0.2", 0)) for _ in range(30)
        ]  # fmt: skip
        await cut(crowded[0][0])
        other[1].write(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert (await other[0].readline()).startswith(b"HTTP/1.1 200")
        for _, writer in (other, *crowded):
            writer.close()


@pytest.mark.parametrize("status", sorted(web.REFUSALS))
async def test_s17_who_is_refused_has_to_connect_anew(status: int) -> None:
    async with up(Patient()) as (_, address):
        reader, writer = await connect(address)
        writer.write(f"GET {STATUSES}{status} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 2)
        async with asyncio.timeout(PATIENCE_S):
            told = (await reader.read()).lower()
        assert told.startswith(f"http/1.1 {status} ".encode())
        assert told.count(b"http/1.1") == 1
        assert b"connection: close" in told
        writer.close()


@pytest.mark.parametrize("status", [200, 404, 503])
async def test_s17_who_is_not_refused_may_ask_again(status: int) -> None:
    async with up(Patient()) as (_, address):
        reader, writer = await connect(address)
        for _ in range(3):
            writer.write(f"GET {STATUSES}{status} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(f"HTTP/1.1 {status} ".encode())
        writer.close()


async def test_s17_an_answer_before_the_request_is_whole_ends_its_connection() -> None:
    async with up(Patient()) as (_, address):
        reader, writer = await connect(address)
        writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\nx")
        assert b"connection: close" in (await reader.readuntil(b"\r\n\r\n")).lower()
        await cut(reader)
        writer.close()


async def test_s17_an_answer_that_nobody_takes_ends_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server has closed it, and the client never reads."""
    monkeypatch.setattr(web, "REQUEST_S", 0.3)
    big = 64 << 20

    class Much(Echo):
        def app(self, mounted: Mapping[str, AsgiApp]) -> AsgiApp:
            return self

        async def __call__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
            await send({"type": "http.response.start", "status": 413, "headers": []})
            await send({"type": "http.response.body", "body": bytes(big)})
            self.asked.set()

    site = Much()
    async with up(site) as (listener, address):
        _, writer = await connect(address)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await site.asked.wait()
        assert listener._server is not None
        async with asyncio.timeout(PATIENCE_S):
            while listener._server.server_state.connections:  # noqa: ASYNC110  # nobody tells of it
                await asyncio.sleep(0.01)
        writer.close()
