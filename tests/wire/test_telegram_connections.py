"""The HTTP client below the SDK, phase by phase: what has certainly not left, and what may have arrived."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import telegram

from bots.telegram.api import Lost, NotLeft, call
from bots.telegram.http import AiohttpRequest, Timeouts
from config.secret import Secret
from tests.clock import PATIENCE_S
from tests.fakes.telegram.server import TelegramServer

TOKEN = "7123456789:AAa_token_that_is_long_enough_to_be_one"
ANSWER = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 25\r\n\r\n{"ok":true,"result":true}'
SOON = Timeouts(connect_s=1.0, pool_s=0.0, read_s=0.2, write_s=0.2)
AT_ONCE = Timeouts(connect_s=0.1, pool_s=0.1)
ENDLESS = Timeouts(connect_s=60, pool_s=60, read_s=60, write_s=60)

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(serve: Serve, *, receives: int | None = None) -> AsyncIterator[str]:
    """A server of bytes on loopback; `receives` bounds what the kernel takes for it."""
    tasks: set[asyncio.Task[None]] = set()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    listener = socket.create_server(("127.0.0.1", 0))
    if receives is not None:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
    server = await asyncio.start_server(meet, sock=listener)
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def bot_at(
    root: str, timeouts: Timeouts = SOON, *, proxy: str | None = None, connections: int = 4
) -> AsyncIterator[telegram.Bot]:
    async with AiohttpRequest(Secret(proxy) if proxy else None, timeouts, connections=connections) as request:
        yield telegram.Bot(TOKEN, base_url=f"{root}/bot", request=request, get_updates_request=request)


async def says(api: telegram.Bot, text: str = "hello", read_s: float = 0.2) -> object:
    return await call(api, "send_Message", {"chat_id": 1, "text": text}, read_s, PATIENCE_S)


async def trouble(api: telegram.Bot) -> telegram.error.TelegramError:
    with pytest.raises(telegram.error.TelegramError) as caught:
        await says(api)
    shown = "".join(traceback.format_exception(caught.value))
    assert TOKEN not in shown
    assert "hunter2" not in shown
    return caught.value


async def head_of(reader: asyncio.StreamReader) -> str:
    return (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")


async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    """Takes everything, says nothing."""
    while await reader.read(65_536):
        pass


class Hearing:
    """Tells when a request has come, and answers it only if there is an answer."""

    def __init__(self) -> None:
        self.heard = asyncio.Event()
        self.answer = b""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        self.heard.set()
        if not self.answer:
            await silent(reader, writer)
        writer.write(self.answer)


def answering(answer: bytes) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        writer.write(answer)
        await writer.drain()

    return serve


def free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


# -- certainly not sent ------------------------------------------------------------------------------------------------


async def test_a_connection_that_is_refused_has_carried_nothing() -> None:
    async with bot_at(f"http://127.0.0.1:{free_port()}") as api:
        assert isinstance(await trouble(api), NotLeft)


async def test_where_no_tls_can_be_had_nothing_is_said() -> None:
    async with listening(answering(ANSWER)) as here, bot_at(f"https://{here}") as api:
        assert isinstance(await trouble(api), NotLeft)


async def test_a_server_that_is_silent_before_tls_has_heard_nothing() -> None:
    async with listening(silent) as here, bot_at(f"https://{here}", AT_ONCE) as api:
        assert isinstance(await trouble(api), NotLeft)


async def test_an_address_that_no_client_takes_is_asked_nothing() -> None:
    async with bot_at("http://127.1:80") as api:
        assert isinstance(await trouble(api), NotLeft)


async def test_who_waits_in_vain_for_a_free_connection_has_said_nothing() -> None:
    hearing = Hearing()
    async with listening(hearing) as here, bot_at(f"http://{here}", connections=1) as api:
        first = asyncio.create_task(says(api, read_s=PATIENCE_S))
        await hearing.heard.wait()
        assert isinstance(await trouble(api), NotLeft)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)


async def test_a_client_that_closes_ends_who_waits_for_a_connection_and_who_has_one_differently() -> None:
    """To be cancelled would end the task that sends, not the call."""
    hearing = Hearing()
    async with listening(hearing) as here, bot_at(f"http://{here}", ENDLESS, connections=1) as api:
        tasks = [asyncio.create_task(says(api, text, PATIENCE_S)) for text in ("in flight", "waiting")]
        await hearing.heard.wait()
        await api.request.shutdown()
        in_flight, waiting = await asyncio.gather(*tasks, return_exceptions=True)
        assert type(in_flight) is Lost
        assert type(waiting) is NotLeft
        assert not any(task.cancelled() for task in tasks)
        assert isinstance(await trouble(api), NotLeft)


async def test_who_is_cancelled_is_cancelled_and_leaves_no_connection_in_use() -> None:
    hearing = Hearing()
    async with listening(hearing) as here, bot_at(f"http://{here}", connections=1) as api:
        task = asyncio.create_task(says(api, read_s=PATIENCE_S))
        await hearing.heard.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        hearing.answer = ANSWER
        assert await says(api, read_s=PATIENCE_S) is True


# -- perhaps sent ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nxxx",
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
    ],
    ids=["none", "short", "half a chunk", "not gzip", "not HTTP", "endless header"],
)
async def test_an_answer_that_is_broken_off_or_none_leaves_it_open(answer: bytes) -> None:
    async with listening(answering(answer)) as here, bot_at(f"http://{here}") as api:
        assert type(await trouble(api)) is Lost


async def test_a_connection_that_is_reset_leaves_it_open() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        writer.transport.abort()

    async with listening(serve) as here, bot_at(f"http://{here}") as api:
        assert type(await trouble(api)) is Lost


async def test_an_answer_that_does_not_come_leaves_it_open() -> None:
    async with listening(silent) as here, bot_at(f"http://{here}") as api:
        fault = await trouble(api)
    assert (type(fault), str(fault)) == (Lost, "SocketTimeoutError")


async def test_nothing_is_tried_twice_on_a_connection_that_was_closed_meanwhile() -> None:
    """A server may close an idle connection just when it is used again."""
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await head_of(reader))
        writer.write(ANSWER)
        await reader.readexactly(int(heads[0].lower().partition("content-length:")[2].split()[0]))
        heads.append(await head_of(reader))

    async with listening(serve) as here, bot_at(f"http://{here}") as api:
        assert await says(api) is True
        assert type(await trouble(api)) is Lost
    assert len(heads) == 2


async def test_a_file_that_is_not_taken_is_given_up_when_one_piece_has_waited_long_enough(tmp_path: Path) -> None:
    file = tmp_path / "large.bin"
    file.write_bytes(bytes(32 << 20))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        await asyncio.Event().wait()

    async with listening(serve, receives=65_536) as here, bot_at(f"http://{here}") as api:
        with file.open("rb") as opened, pytest.raises(Lost, match="TimeoutError"):
            sent = telegram.InputFile(opened, filename="large.bin", read_file_handle=False)
            await call(api, "send_Document", {"chat_id": 1, "document": sent}, PATIENCE_S, PATIENCE_S)


async def test_a_refusal_that_comes_before_the_file_is_read_is_heard(tmp_path: Path) -> None:
    file = tmp_path / "large.bin"
    file.write_bytes(bytes(32 << 20))
    words = b'{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}'
    head = b"HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(words)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        writer.write(head + words)
        await asyncio.Event().wait()

    async with listening(serve) as here, bot_at(f"http://{here}", ENDLESS) as api:
        with file.open("rb") as opened, pytest.raises(telegram.error.Forbidden):
            sent = telegram.InputFile(opened, filename="large.bin", read_file_handle=False)
            await call(api, "send_Document", {"chat_id": 1, "document": sent}, PATIENCE_S, PATIENCE_S)


async def test_a_redirect_is_not_followed() -> None:
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await head_of(reader))
        writer.write(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
        await silent(reader, writer)

    async with listening(serve) as here, bot_at(f"http://{here}") as api:
        await trouble(api)
    assert len(heads) == 1


# -- proxies -----------------------------------------------------------------------------------------------------------

CREDENTIALS = "Proxy-Authorization: Basic " + base64.b64encode(b"ada:hunter2").decode()


async def test_a_proxy_is_told_the_whole_address_and_who_asks() -> None:
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await head_of(reader))
        writer.write(ANSWER)

    async with listening(serve) as here, bot_at("http://telegram.invalid", proxy=f"http://ada:hunter2@{here}") as api:
        assert await says(api, read_s=PATIENCE_S) is True
    assert heads[0].startswith(f"POST http://telegram.invalid/bot{TOKEN}/sendMessage HTTP/1.1\r\n")
    assert CREDENTIALS in heads[0]


async def test_a_proxy_only_learns_the_host_where_there_is_tls() -> None:
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await head_of(reader))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        heads.append((await reader.readexactly(1)).hex())

    async with listening(serve) as here, bot_at("https://telegram.invalid", proxy=f"http://ada:hunter2@{here}") as api:
        assert isinstance(await trouble(api), NotLeft)
    assert heads[0].startswith("CONNECT telegram.invalid:443 HTTP/1.1\r\n")
    assert CREDENTIALS in heads[0]
    assert TOKEN not in heads[0]
    assert heads[1] == "16"  # a TLS handshake (RFC 8446, section 5.1)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", None], ids=["407", "silent"])
async def test_what_a_proxy_does_not_let_through_has_not_left(answer: bytes | None) -> None:
    serve = silent if answer is None else answering(answer)
    proxy = "http://ada:hunter2@"
    async with listening(serve) as here, bot_at("https://telegram.invalid", AT_ONCE, proxy=f"{proxy}{here}") as api:
        assert isinstance(await trouble(api), NotLeft)


async def test_a_proxy_that_is_not_there_has_been_told_nothing() -> None:
    proxy = f"http://ada:hunter2@127.0.0.1:{free_port()}"
    for root in ("http://telegram.invalid", "https://telegram.invalid"):
        async with bot_at(root, proxy=proxy) as api:
            assert isinstance(await trouble(api), NotLeft)


# -- what it costs -----------------------------------------------------------------------------------------------------


async def test_connections_are_used_again_and_tls_is_set_up_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = 0
    monkeypatch.setattr(ssl, "SSLContext", None)  # nobody makes another

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while True:
            head = await head_of(reader)
            await reader.readexactly(int(head.lower().partition("content-length:")[2].split()[0]))
            writer.write(ANSWER)

    async with listening(serve) as here, bot_at(f"http://{here}") as api:
        for _ in range(5):
            assert await says(api, read_s=PATIENCE_S) is True
    assert connections == 1


async def test_the_name_of_a_file_arrives_as_it_is(tmp_path: Path) -> None:
    """As browsers write it: quotes and line ends are escaped, all else is UTF-8."""
    file = tmp_path / "a.bin"
    file.write_bytes(b"content")
    async with TelegramServer(limits=None, token=TOKEN) as server, bot_at(server.url) as api:
        chat = server.private(server.user("Ada"))
        for name in ("Übersicht 表.pdf", 'a"b\r\nX-Y: z.pdf'):
            with file.open("rb") as opened:
                sent = telegram.InputFile(opened, filename=name, read_file_handle=False)
                await call(api, "send_Document", {"chat_id": chat.id, "document": sent}, PATIENCE_S)
        names = [one.media.name for one in server.chat(chat).from_bot if one.media is not None]
    assert names == ["Übersicht 表.pdf", "a%22b%0D%0AX-Y: z.pdf"]
