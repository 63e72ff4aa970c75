"""What discord.py says in the log: our words, once in a while. The records are the library's own."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import cast

import pytest

from bots.discord import overheard
from bots.discord.sdk import DiscordWebSocket, KeepAliveHandler
from core.errors import FloodWait
from tests.wire.discord_world import serving, world

AGAIN_AFTER_S = 600.0


class Told(logging.Handler):
    """What gets through, as text and facts."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[str, dict[str, object]]] = []

    def emit(self, record: logging.LogRecord) -> None:
        facts: dict[str, object] = {
            name: record.__dict__[name] for name in ("shard", "late_s", "for_s", "wait_s") if name in record.__dict__
        }
        self.lines.append((record.getMessage(), facts))
        assert record.exc_info is None


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """Of a process whose first bot begins in the test."""
    found = Told()
    monkeypatch.setattr(overheard, "_OVERHEARD", overheard.Overheard())
    for name in ("discord.gateway", "discord.http"):
        monkeypatch.setattr(logging.getLogger(name), "filters", [])
        monkeypatch.setattr(logging.getLogger(name), "handlers", [found])
    return found


@pytest.fixture
def translated(told: Told) -> Told:
    """More than one bot may see to it."""
    overheard.translate()
    overheard.translate()
    return told


class Socket:
    """As much of a connection as its heartbeats ask for."""

    HEARTBEAT = 1
    thread_id = threading.get_ident()
    sequence = 1

    def __init__(self, silence_s: float = 60.0) -> None:
        self._max_heartbeat_timeout = silence_s
        self.loop = cast(asyncio.AbstractEventLoop, None)

    async def close(self, code: int) -> None:
        """Nothing is open."""


def beats(socket: Socket) -> KeepAliveHandler:
    return KeepAliveHandler(ws=cast(DiscordWebSocket, socket), interval=0.0, shard_id=3)


def test_heartbeats_that_come_back_late_are_told_once(translated: Told) -> None:
    late = beats(Socket())
    for _ in range(5):
        late._last_send -= 20.04
        late.ack()
    [(line, facts)] = translated.lines
    assert line == "discord is heard late: its heartbeats come back slowly"
    assert facts == {"shard": 3, "late_s": 20.0}


def test_after_a_while_it_is_told_again(translated: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    late, logger = beats(Socket()), logging.getLogger("discord.gateway")
    at, make = [0.0], logger.makeRecord

    def then(*args: object, **kwargs: object) -> logging.LogRecord:
        record = cast(Callable[..., logging.LogRecord], make)(*args, **kwargs)
        record.created = at[0]
        return record

    monkeypatch.setattr(logger, "makeRecord", then)
    for at[0] in (0.0, AGAIN_AFTER_S - 1, AGAIN_AFTER_S, AGAIN_AFTER_S + 1):
        late._last_send -= 20.0
        late.ack()
    assert len(translated.lines) == 2


def test_a_heartbeat_that_is_held_up_is_told_without_the_stack(
    translated: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = beats(Socket())

    def sent(coroutine: object, loop: object) -> Future[None]:
        waiting = SimpleNamespace(tries=0)

        def result(timeout: float) -> None:
            waiting.tries += 1
            if waiting.tries < 4:
                raise TimeoutError
            held.stop()

        return cast("Future[None]", SimpleNamespace(result=result))

    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", sent)
    monkeypatch.setattr(Socket, "send_heartbeat", lambda socket, data: None, raising=False)
    held.run()
    assert translated.lines == [
        ("no heartbeat goes out to discord: the daemon or its network is held up", {"shard": 3, "for_s": 10})
    ]


def test_a_silent_connection_is_told_by_who_keeps_it(translated: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", _closed)
    beats(Socket(silence_s=-1.0)).run()
    assert translated.lines == []


def _closed(coroutine: object, loop: object) -> Future[None]:
    cast(SimpleNamespace, coroutine).close()
    done: Future[None] = Future()
    done.set_result(None)
    return done


def test_what_nobody_foresaw_is_told_as_it_is(translated: Told) -> None:
    logging.getLogger("discord.gateway").warning("Unknown OP code %s.", 99)
    assert translated.lines == [("Unknown OP code 99.", {})]


async def test_refused_calls_are_told_once_and_name_no_address(told: Told) -> None:
    async with world() as discord, serving(discord) as (bot, desk):
        discord.server.say(discord.dm, discord.ada, "hello")
        await desk.until(lambda: bool(desk.messages))
        for route in ("create_message", "typing"):
            discord.server.limit(route, 30.0)
        with pytest.raises(FloodWait):
            await bot.send(discord.delivery(desk.messages[0], "hello"))
        with pytest.raises(FloodWait):
            await bot.typing(desk.messages[0].address)
    assert told.lines == [("discord asks to wait", {"wait_s": 30.0})]
