"""The daemon's socket: who gets in, what it answers, and that no client harms another."""

from __future__ import annotations

import asyncio
import json
import os
import select
import socket
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from core.errors import ConfigError, NotRunning, Refused, VerbFailed
from core.service import socket as service
from core.service.socket import SOCKET_NAME, Json, Verb, address_of, serve
from core.service.socket_client import ask, connect

DEADLINE_S = 10.0


async def echo(args: Mapping[str, Json]) -> Json:
    return args


async def fail(args: Mapping[str, Json]) -> Json:
    raise VerbFailed("there is no session x", code=1)


async def refuse(args: Mapping[str, Json]) -> Json:
    raise Refused("not_allowed")


async def hang(args: Mapping[str, Json]) -> Json:
    await asyncio.Event().wait()
    return None


VERBS: Mapping[str, Verb] = {"echo": echo, "fail": fail, "refuse": refuse, "hang": hang}


def deep(folder: Path) -> Path:
    """A folder whose paths don't fit in a socket address."""
    for _ in range(3):
        folder = folder / ("d" * 60)
    folder.mkdir(parents=True)
    return folder


async def test_a_verb_is_asked_and_answers(tmp_path: Path) -> None:
    async with serve(tmp_path / SOCKET_NAME, VERBS, None):
        assert await ask(tmp_path / SOCKET_NAME, "echo", {"a": [1, None, "é"]}) == {"a": [1, None, "é"]}


async def test_a_state_directory_may_have_any_length(tmp_path: Path) -> None:
    path = deep(tmp_path) / SOCKET_NAME
    assert len(os.fsencode(path)) > 200
    async with serve(path, VERBS, None):
        assert await ask(path, "echo", {}) == {}
        assert stat.S_ISSOCK(path.stat().st_mode)
    assert not path.exists()


async def test_only_its_owner_may_use_it(tmp_path: Path) -> None:
    path = tmp_path / SOCKET_NAME
    before = os.umask(0)
    try:
        async with serve(path, VERBS, None):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(before)


async def test_what_a_dead_daemon_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / SOCKET_NAME
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with pytest.raises(NotRunning):
        await ask(path, "echo", {})
    async with serve(path, VERBS, None):
        assert await ask(path, "echo", {}) == {}


async def test_a_file_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / SOCKET_NAME
    path.write_text("mine")
    with pytest.raises(ConfigError, match="can't listen"):
        async with serve(path, VERBS, None):
            pass
    assert path.read_text() == "mine"


async def test_the_socket_of_a_successor_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / SOCKET_NAME
    async with serve(path, VERBS, None):
        path.unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
    assert path.exists()


async def test_nobody_listens_is_said_plainly(tmp_path: Path) -> None:
    for path in (tmp_path / SOCKET_NAME, tmp_path / "nowhere" / SOCKET_NAME, deep(tmp_path) / "no" / SOCKET_NAME):
        with pytest.raises(NotRunning, match="frontdesk run"):
            await ask(path, "echo", {})


@pytest.mark.parametrize(
    ("verb", "words", "code"), [("fail", "no session x", 1), ("refuse", "not_allowed", 1), ("fly", "know", 2)]
)
async def test_a_refusal_comes_with_words_and_exit_code(tmp_path: Path, verb: str, words: str, code: int) -> None:
    async with serve(tmp_path / SOCKET_NAME, VERBS, None):
        with pytest.raises(VerbFailed, match=words) as raised:
            await ask(tmp_path / SOCKET_NAME, verb, {})
    assert raised.value.code == code


@pytest.mark.parametrize("request_", [b"nonsense\n", b"[]\n", b'{"verb": 1}\n', b'{"verb": "echo", "args": [1]}\n'])
async def test_nonsense_is_refused_and_the_connection_goes_on(tmp_path: Path, request_: bytes) -> None:
    async with serve(tmp_path / SOCKET_NAME, VERBS, None):
        reader, writer, _ = await connect(tmp_path / SOCKET_NAME, "echo", {})
        writer.write(request_)
        answer = json.loads(await reader.readline())
        assert (answer["ok"], answer["code"]) == (False, 2)
        writer.write(b'{"verb": "echo"}\n')
        assert json.loads(await reader.readline()) == {"ok": True, "result": {}}
        writer.close()


async def test_an_endless_line_ends_its_connection_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "LINE_LIMIT", 1000)
    async with serve(tmp_path / SOCKET_NAME, VERBS, None):
        reader, writer, _ = await connect(tmp_path / SOCKET_NAME, "echo", {})
        writer.write(b"x" * 10_000)
        async with asyncio.timeout(DEADLINE_S):
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
        writer.close()
        assert await ask(tmp_path / SOCKET_NAME, "echo", {}) == {}


async def test_clients_that_wait_or_vanish_keep_nobody_waiting(tmp_path: Path) -> None:
    async with serve(tmp_path / SOCKET_NAME, VERBS, None):
        waiting = asyncio.create_task(ask(tmp_path / SOCKET_NAME, "hang", {}))
        _, vanishing, _ = await connect(tmp_path / SOCKET_NAME, "echo", {})
        vanishing.transport.abort()
        assert await ask(tmp_path / SOCKET_NAME, "echo", {"n": 1}) == {"n": 1}
    with pytest.raises(VerbFailed, match="left without an answer"):
        await waiting


async def test_a_client_that_takes_nothing_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "PATIENCE_S", 0.01)

    async def flood(args: Mapping[str, Json]) -> Json:
        return "x" * 4_000_000

    async with serve(tmp_path / SOCKET_NAME, {"flood": flood}, None):
        with socket.socket(socket.AF_UNIX) as client:
            client.setblocking(False)
            client.connect(str(tmp_path / SOCKET_NAME))
            client.send(b'{"verb": "flood"}\n')
            async with asyncio.timeout(DEADLINE_S):
                assert await _taken(client) < 4_000_000


async def test_an_answer_may_be_longer_than_any_request(tmp_path: Path) -> None:
    async def whole(args: Mapping[str, Json]) -> Json:
        return "é" * 6_000_000

    async with serve(tmp_path / SOCKET_NAME, {"whole": whole}, None):
        assert await ask(tmp_path / SOCKET_NAME, "whole", {}) == "é" * 6_000_000


async def test_attach_hands_the_stream_over(tmp_path: Path) -> None:
    seen: list[Json] = []

    async def attach(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, args: Mapping[str, Json]) -> None:
        seen.append(args)
        writer.write((await reader.readline()).upper())

    async with serve(tmp_path / SOCKET_NAME, VERBS, attach):
        reader, writer, _ = await connect(tmp_path / SOCKET_NAME, "attach", {"interactive": True})
        writer.write(b"hello\n")
        assert await reader.read() == b"HELLO\n"
        writer.close()
    assert seen == [{"interactive": True}]


def test_a_short_path_is_its_own_address(tmp_path: Path) -> None:
    with address_of(Path("/run/x.sock")) as address:
        assert address == "/run/x.sock"


async def _taken(client: socket.socket) -> int:
    """Read nothing until the other end gave up; then, all that got through."""
    gave_up = select.poll()
    gave_up.register(client, 0)
    assert await asyncio.to_thread(gave_up.poll, DEADLINE_S * 1000)
    total = 0
    with suppress(ConnectionResetError):
        while taken := client.recv(65_536):
            total += len(taken)
    return total
