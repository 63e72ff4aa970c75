"""T10: the listener's pages are served under names of ours alone."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from typing import ClassVar

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.settings import ListenSettings
from core.ports import AsgiMessage, AsgiReceive, AsgiSend
from core.service.hosts import OwnNames
from core.service.listener import Listener
from tests.unit.test_listener import Echo, connect, up

PLATFORM = "/telegram/telegram"


class Bot:
    """What platforms call: it knows by itself who asks."""

    asgi: ClassVar = {PLATFORM: Echo()}


async def asked(address: str, host: str | None, path: str = "/") -> int:
    """The status for this Host header, or for HTTP/1.0 without one."""
    reader, writer = await connect(address)
    version, line = ("1.0", "") if host is None else ("1.1", f"Host: {host}\r\n")
    writer.write(f"GET {path} HTTP/{version}\r\n{line}Connection: close\r\n\r\n".encode("latin-1"))
    answer = await reader.read()
    writer.close()
    return int(answer.split(b" ", 2)[1])


@pytest.fixture
async def listening() -> AsyncIterator[tuple[Listener, str]]:
    async with up(Echo(), hosts=["Desk.Example.com"]) as found:
        yield found


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "LOCALHOST:8484", "localhost.", "desk.localhost", socket.gethostname(), "desk.example.com",
        "desk.example.com:443", "127.0.0.1", "127.0.0.1:8484", "10.1.2.3", "[::1]", "[::1]:8484", "[2001:db8::7]:80",
        "", None,
    ],
)  # fmt: skip
async def test_t10_names_of_ours_and_addresses_are_served(listening: tuple[Listener, str], host: str | None) -> None:
    """Probes of load balancers and of Kubernetes ask by address, those of HTTP/1.0 without a host."""
    assert await asked(listening[1], host) == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 421), ("evil.example:8484", 421), ("localhost.evil.example", 421),
        ("evil-localhost", 421), ("127.0.0.1.evil.example", 421), ("1.evil.example", 421),
        ("www.desk.example.com", 421), ("127.1", 421), ("0x7f000001", 421), ("evil.example@localhost", 400),
        ("localhost, evil.example", 400), ("http://localhost", 400), ("[::1", 400), ("localhost:x", 400),
        ("\xe9vil.example", 421),
    ],
)  # fmt: skip
async def test_t10_other_names_are_refused(listening: tuple[Listener, str], host: str, status: int) -> None:
    assert await asked(listening[1], host) == status


async def test_t10_the_refusal_says_what_to_do(listening: tuple[Listener, str]) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        refused = await client.get(f"http://{listening[1]}/", headers={"host": "evil.example"})
    assert (refused.status_code, refused.headers["connection"]) == (421, "close")
    assert "[listen] hosts" in refused.json()["error"]


async def test_t10_what_platforms_call_is_served_under_any_name(listening: tuple[Listener, str]) -> None:
    """A proxy hands the public name on, and each call is verified by its secret or signature."""
    listener, address = listening
    listener.open_to(Bot())  # type: ignore[arg-type]
    assert await asked(address, "bots.example.com", PLATFORM) == 200
    assert await asked(address, "bots.example.com", f"{PLATFORM}/more") == 200
    assert await asked(address, "bots.example.com", f"{PLATFORM}s") == 421
    listener.close_to(Bot())  # type: ignore[arg-type]
    assert await asked(address, "bots.example.com", PLATFORM) == 421


async def test_t10_what_is_mounted_otherwise_is_ours_to_guard(listening: tuple[Listener, str]) -> None:
    listener, address = listening
    listener.mount("/v1", Echo())
    assert await asked(address, "evil.example", "/v1/models") == 421
    assert await asked(address, "localhost", "/v1/models") == 200


async def test_t10_another_list_holds_after_a_reload(listening: tuple[Listener, str]) -> None:
    listener, _ = listening
    await listener.move(ListenSettings(port=0, host="localhost", hosts=("other.example",)))
    while not (listener.status.address.startswith("localhost") and listener.status.state == "up"):
        await listener._clock.sleep(0.005)
    assert await asked(listener.status.address, "other.example") == 200
    assert await asked(listener.status.address, "desk.example.com") == 421


@given(name=st.from_regex(r"[a-z0-9.-]{1,40}\.(com|example|org)", fullmatch=True), port=st.sampled_from(["", ":80"]))
async def test_t10_no_name_of_the_internet_is_ours_unless_it_is_listed(name: str, port: str) -> None:
    served: list[AsgiMessage] = []
    answered: list[AsgiMessage] = []

    async def app(scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        served.append(scope)

    async def hear() -> AsgiMessage:
        raise AssertionError("nobody reads the request")

    async def say(message: AsgiMessage) -> None:
        answered.append(message)

    scope: AsgiMessage = {"type": "http", "path": "/metrics", "headers": [(b"host", f"{name}{port}".encode())]}
    await OwnNames(app, ListenSettings(), lambda path: False)(scope, hear, say)
    assert (served, answered[0]["status"]) == ([], 421)
