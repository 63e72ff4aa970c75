"""The transport of models' SDKs against servers that behave badly: what came is kept, and errors have their names."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest

from core.agents.tls import context
from core.agents.transport import LARGE_BYTES, AiohttpTransport

Handler = Callable[[bytes, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def delta(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": {"content": text}}]}).encode() + b"\n\n"


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def said(stream: bytes) -> str:
    events = [json.loads(event.removeprefix(b"data: ")) for event in stream.split(b"\n\n")[:-1]]
    return "".join(event["choices"][0]["delta"]["content"] for event in events)


@asynccontextmanager
async def serving(handle: Handler) -> AsyncIterator[str]:
    """A server that reads one request's head and leaves the rest to `handle`."""

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next((line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0")
        await handle(head + await reader.readexactly(int(length.partition(b":")[2])), reader, writer)
        writer.close()

    async with await asyncio.start_server(meet, "127.0.0.1", limit=4 * LARGE_BYTES) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def client(*, proxy: str | None = None, read_s: float = 30.0) -> AsyncIterator[httpx2.AsyncClient]:
    transport = AiohttpTransport(context(), proxy)
    async with httpx2.AsyncClient(transport=transport, timeout=httpx2.Timeout(read_s, connect=5.0)) as made:
        yield made


async def _read(url: str, *, read_s: float = 30.0) -> tuple[bytes, Exception | None]:
    """All that a stream gave, and how it broke off."""
    got = bytearray()
    try:
        async with client(read_s=read_s) as http, http.stream("POST", url, json={}) as response:
            async for piece in response.aiter_bytes():
                got += piece
    except httpx2.RequestError as error:
        return bytes(got), error
    return bytes(got), None


async def test_what_came_before_a_cut_is_given_before_the_error() -> None:
    async def cut(_: bytes, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM + chunk(delta("a")))
        await writer.drain()
        writer.write(chunk(delta("b") + delta("c")))

    async with serving(cut) as url:
        got, error = await _read(url)
    assert said(got) == "abc"
    assert isinstance(error, httpx2.RemoteProtocolError)


async def test_a_silent_stream_times_out_with_what_came() -> None:
    gone = asyncio.Event()

    async def silent(_: bytes, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM + chunk(delta("a") + delta("b")))
        await gone.wait()

    async with serving(silent) as url:
        got, error = await _read(url, read_s=0.2)
        gone.set()
    assert said(got) == "ab"
    assert isinstance(error, httpx2.ReadTimeout)


async def test_nobody_there_is_a_connect_error() -> None:
    async with serving(lambda *_: asyncio.sleep(0)) as url:
        pass
    _, error = await _read(url)
    assert isinstance(error, httpx2.ConnectError)


@pytest.mark.parametrize("answer", [b"", b"no HTTP at all\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Le"])
async def test_no_answer_or_none_that_is_one_is_a_protocol_error(answer: bytes) -> None:
    async def odd(_: bytes, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)

    async with serving(odd) as url:
        _, error = await _read(url)
    assert isinstance(error, httpx2.RemoteProtocolError)


async def test_a_compressed_stream_is_given_as_it_came() -> None:
    packed = gzip.compress(delta("a") + delta("b"))

    async def compressed(_: bytes, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n"
        writer.write(head + f"Content-Length: {len(packed)}\r\n\r\n".encode() + packed)

    async with serving(compressed) as url:
        got, error = await _read(url)
    assert (got, error) == (delta("a") + delta("b"), None)


async def test_leaving_a_stream_closes_its_connection() -> None:
    closed = asyncio.Event()

    async def endless(_: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM + chunk(delta("a")))
        await reader.read()
        closed.set()

    async with serving(endless) as url, client() as http:
        async with http.stream("POST", url, json={}) as response:
            async for _ in response.aiter_bytes():
                break
        async with asyncio.timeout(30):
            await closed.wait()


async def test_the_request_is_the_one_that_was_made() -> None:
    seen: list[bytes] = []

    async def note(request: bytes, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(request)
        writer.write(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

    body = b"x" * (2 * LARGE_BYTES)
    async with serving(note) as url, client() as http:
        headers = {"User-Agent": "desk", "X-Twice": "1"}
        await http.post(f"{url}/v1/a%2Fb?c=%20d", content=body, headers=headers)
    head, _, sent = seen[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/a%2Fb?c=%20d HTTP/1.1\r\n")
    assert sent == body
    lines = [line.lower() for line in head.split(b"\r\n")]
    assert lines.count(b"user-agent: desk") == 1
    assert lines.count(f"content-length: {len(body)}".encode()) == 1
    assert not [line for line in lines if line.startswith((b"transfer-encoding", b"content-type"))]


async def test_a_proxy_gets_its_password_and_the_server_does_not() -> None:
    seen: list[bytes] = []

    async def refuse(request: bytes, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(request)
        writer.write(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")

    async with serving(refuse) as url, client(proxy=url.replace("http://", "http://me:secret@")) as http:
        with pytest.raises(httpx2.ProxyError):
            await http.post("https://models.invalid/v1", json={})
    assert seen[0].startswith(b"CONNECT models.invalid:443 ")
    assert b"proxy-authorization: basic bwu6c2vjcmv0" in seen[0].lower()
