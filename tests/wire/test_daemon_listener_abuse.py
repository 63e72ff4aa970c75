"""The listener of the finished daemon under clients that mean no good."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import httpx
import pytest

from tests.crash.daemon import Daemon, until
from tests.wire.daemon_world import CALM, OFFLINE
from tests.wire.test_daemon_reload import Place
from tests.wire.test_daemon_reload_bots import Usage
from tests.wire.test_daemon_reload_config import hang_up
from tests.wire.test_daemon_watched import address, get, is_ready, listener


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path, config=CALM + OFFLINE) as made:
        made.start()
        made.until_ready()
        yield made


def connect(at: str) -> socket.socket:
    host, _, port = at.removeprefix("http://").rpartition(":")
    made = socket.create_connection((host, int(port)), timeout=20)
    return made


def answer(client: socket.socket) -> bytes:
    """All that comes until the server closes."""
    got = b""
    with suppress(ConnectionError):
        while piece := client.recv(65536):
            got += piece
    return got


def exchange(at: str, request: bytes) -> bytes:
    with closing(connect(at)) as client:
        client.sendall(request)
        return answer(client)


def status_of(answered: bytes) -> bytes:
    return answered.partition(b"\r\n")[0][9:12]


CLOSE = b"Host: localhost\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        pytest.param(b"GET /livez HTTP/1.0\r\n\r\n", {b"200"}, id="HTTP/1.0 without a host"),
        pytest.param(b"GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n", {b"400"}, id="no host"),
        pytest.param(
            b"GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n", {b"400"}, id="two hosts"
        ),
        pytest.param(
            b"GET /livez HTTP/1.1\r\nHost: \xff\xfe\r\nConnection: close\r\n\r\n", {b"421", b"400"}, id="bad host"
        ),
        pytest.param(b"HEAD /livez HTTP/1.1\r\n" + CLOSE, {b"200"}, id="HEAD"),
        pytest.param(b"OPTIONS /livez HTTP/1.1\r\n" + CLOSE, {b"405"}, id="OPTIONS"),
        pytest.param(b"OPTIONS * HTTP/1.1\r\n" + CLOSE, {b"404", b"400"}, id="OPTIONS *"),
        pytest.param(b"GET /../../etc/passwd HTTP/1.1\r\n" + CLOSE, {b"404"}, id="dots"),
        pytest.param(b"GET /%2e%2e/%00 HTTP/1.1\r\n" + CLOSE, {b"404"}, id="encoded dots"),
        pytest.param(b"GET /%ff%fe HTTP/1.1\r\n" + CLOSE, {b"404", b"400"}, id="no UTF-8"),
        pytest.param(b"GET http://localhost/livez HTTP/1.1\r\n" + CLOSE, {b"200", b"404"}, id="whole URL"),
        pytest.param(b"GET http://[/livez HTTP/1.1\r\n" + CLOSE, {b"404", b"400"}, id="bad URL"),
        pytest.param(b"CONNECT x:1 HTTP/1.1\r\n" + CLOSE, {b"404", b"400", b"405"}, id="CONNECT"),
        pytest.param(
            b"GET /livez HTTP/1.1\r\nX: " + b"y" * 1_000_000 + b"\r\n" + CLOSE, {b"400", b"431"}, id="huge header"
        ),
        pytest.param(
            b"GET /livez HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + CLOSE, {b"200", b"400", b"431"}, id="many headers"
        ),
        pytest.param(b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n" + CLOSE, {b"400", b"414"}, id="long path"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", {b"400"}, id="TLS"),
        pytest.param(b"POST /livez HTTP/1.1\r\nContent-Length: -1\r\n" + CLOSE, {b"400"}, id="negative length"),
        pytest.param(
            b"POST /livez HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n" + CLOSE + b"0\r\n\r\n",
            {b"400", b"405"}, id="two lengths",
        ),
        pytest.param(
            b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n",
            {b"200", b"400"}, id="upgrade",
        ),
    ],
)  # fmt: skip
def test_strange_requests_are_answered_and_hurt_nobody(daemon: Daemon, request_: bytes, status: set[bytes]) -> None:
    at = address(daemon)
    told = exchange(at, request_)
    assert status_of(told) in status, told[:300]
    assert b"Traceback" not in told
    assert get(at, "/livez").status_code == 200
    assert "Traceback" not in daemon.log


def test_a_hundred_requests_at_once_on_one_connection_are_answered_in_order(daemon: Daemon) -> None:
    at = address(daemon)
    one = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    other = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = b"GET /livez HTTP/1.1\r\n" + CLOSE
    told = exchange(at, (one + other) * 50 + last)
    kinds = [line[9:12] for line in told.split(b"\r\n") if line.startswith(b"HTTP/1.1")]
    if len(kinds) < 101:  # a last line without its own end stands behind a body
        kinds = [piece[:3] for piece in told.split(b"HTTP/1.1 ")[1:]]
    assert kinds == [b"200", b"404"] * 50 + [b"200"]


@pytest.mark.endurance
def test_slow_and_silent_clients_are_cut_and_a_scraper_is_served_meanwhile(daemon: Daemon) -> None:
    at = address(daemon)
    with ExitStack() as stack:
        slow = [stack.enter_context(closing(connect(at))) for _ in range(300)]
        assert get(at, "/readyz").status_code == 200
        until(lambda: are_cut(at, slow), "all are cut")
    usage = Usage(daemon)
    until(lambda: usage.files < 100, "its files are closed")


def are_cut(at: str, clients: list[socket.socket]) -> bool:
    """Half of them go on sending."""
    trickle(clients[:150])
    assert get(at, "/livez").status_code == 200
    return all(not_open(client) for client in clients)


def trickle(clients: list[socket.socket]) -> None:
    """One byte of each, as far as it is still heard."""
    for client in clients:
        with suppress(OSError):
            client.send(b"X")


def not_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@pytest.mark.endurance
def test_a_body_that_never_ends_is_cut(daemon: Daemon) -> None:
    at = address(daemon)
    with closing(connect(at)) as client:
        client.sendall(b"POST /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n")
        until(lambda: is_refused(client), "it is cut")


def is_refused(client: socket.socket) -> bool:
    """Nobody takes one byte more."""
    try:
        client.sendall(b"x")
    except OSError:
        return True
    return False


@pytest.mark.endurance
def test_1000_idle_connections_keep_neither_a_probe_nor_the_end(daemon: Daemon) -> None:
    at = address(daemon)
    with ExitStack() as stack:
        for _ in range(1000):
            stack.enter_context(closing(connect(at)))
        assert daemon.status()["ready"] is True
        until(lambda: works(at), "a probe is answered", timeout_s=20)
        daemon.terminate()
        assert daemon.wait_exit() == 0
    assert "Traceback" not in daemon.log


def works(at: str) -> bool:
    try:
        return get(at, "/livez").status_code == 200
    except httpx.HTTPError:
        return False


@pytest.mark.endurance
def test_a_stop_with_200_kept_connections_waits_for_nobody(daemon: Daemon) -> None:
    at = address(daemon)
    with ExitStack() as stack:
        clients = [stack.enter_context(closing(connect(at))) for _ in range(200)]
        for client in clients:
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for client in clients:
            assert b"200" in client.recv(1000)
        daemon.terminate()
        assert daemon.wait_exit() == 0
    assert "Traceback" not in daemon.log


@pytest.mark.endurance
def test_a_stop_with_200_unread_answers_waits_for_nobody(daemon: Daemon) -> None:
    """Clients that ask for much and take nothing."""
    at = address(daemon)
    with ExitStack() as stack:
        for _ in range(200):
            client = stack.enter_context(closing(connect(at)))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        daemon.terminate()
        assert daemon.wait_exit() == 0
    assert "Traceback" not in daemon.log


def test_a_reload_to_a_taken_port_waits_and_one_back_is_served_at_once(tmp_path: Path) -> None:
    with closing(socket.socket()) as holder, Daemon(tmp_path, config=CALM + OFFLINE) as daemon:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = holder.getsockname()[1]
        daemon.start()
        daemon.until_ready()
        address(daemon)
        place = Place(daemon)
        good = daemon.config_file.read_text()
        for _ in range(3):
            place.write(good.replace("port = 0", f"port = {taken}"))
            hang_up(place)
            until(lambda: listener(daemon).get("state") == "waiting", "it waits")
            assert "another program listens" in str(listener(daemon)["detail"])
            place.write(good)
            hang_up(place)
            until(lambda: listener(daemon).get("state") == "up", "it is up", timeout_s=3)
            assert get(address(daemon), "/livez").status_code == 200
        place.write(good.replace("port = 0", f"port = {taken}"))
        hang_up(place)
        until(lambda: listener(daemon).get("state") == "waiting", "it waits")
        holder.close()
        until(lambda: listener(daemon).get("address") == f"127.0.0.1:{taken}" and is_ready(address(daemon))(), "had")
        daemon.terminate()
        assert daemon.wait_exit() == 0
        assert "Traceback" not in daemon.log


@pytest.mark.endurance
def test_20_moves_at_once_end_at_the_last_address(daemon: Daemon) -> None:
    address(daemon)
    place = Place(daemon)
    good = daemon.config_file.read_text()
    for number in range(20):
        place.write(good.replace("port = 0", f'port = 0\nhost = "{"localhost" if number % 2 else "127.0.0.1"}"'))
        hang_up(place)
        daemon.status()  # signals that come at once would be one
    place.reload()
    until(lambda: str(listener(daemon).get("address")).startswith("localhost:"), "the last address")
    assert get(address(daemon), "/readyz").status_code == 200
    usage = Usage(daemon)
    assert usage.files < 60
    daemon.terminate()
    assert daemon.wait_exit() == 0
