"""The server over HTTP, request by request."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.fakes.tools.front import HttpToolServer
from tests.fakes.tools.journal import Answered, Journal, Opened

ACCEPT = {"Accept": "application/json, text/event-stream"}
INITIALIZE: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "1"},
}


class Browser:
    def __init__(self, server: HttpToolServer) -> None:
        self.client = httpx.Client(trust_env=False, headers=ACCEPT)
        self._server = server

    def post(self, method: str, number: int | None = 1, **params: Any) -> httpx.Response:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        return self.client.post(self._server.url, json=message if number is None else {**message, "id": number})

    def initialize(self) -> str:
        answer = self.post("initialize", **INITIALIZE)
        session = answer.headers["Mcp-Session-Id"]
        self.client.headers["Mcp-Session-Id"] = session
        assert self.post("notifications/initialized", None).status_code == 202
        return str(session)

    def text(self, tool: str, **arguments: object) -> str:
        answer = self.post("tools/call", name=tool, arguments=arguments)
        assert answer.status_code == 200
        return str(_message(answer)["result"]["content"][0]["text"])


def _message(answer: httpx.Response) -> dict[str, Any]:
    text = answer.text
    if answer.headers["Content-Type"] == "text/event-stream":
        text = text.removeprefix("event: message\ndata: ").removesuffix("\n\n")
    message: dict[str, Any] = json.loads(text)
    return message


@pytest.fixture
def browser(server: HttpToolServer) -> Iterator[Browser]:
    opened = Browser(server)
    yield opened
    opened.client.close()


def test_each_session_has_its_own_count(server: HttpToolServer, browser: Browser, journal: Journal) -> None:
    first = browser.initialize()
    assert (browser.text("count"), browser.text("count")) == ("1", "2")
    del browser.client.headers["Mcp-Session-Id"]
    second = browser.initialize()
    assert browser.text("count") == "1"
    assert list(server.sessions) == [first, second]
    assert [record.session for record in journal.of(Opened)] == [first, second]
    assert browser.client.delete(server.url).status_code == 204
    assert list(server.sessions) == [first]
    assert browser.post("ping").status_code == 404


def test_what_the_specification_refuses_is_refused(server: HttpToolServer, browser: Browser) -> None:
    assert browser.post("ping").status_code == 400
    browser.initialize()
    assert browser.client.get(server.url).status_code == 405
    assert browser.client.post(server.url, headers={"Accept": "text/html"}).status_code == 406
    assert browser.client.post(f"{server.url}/other", json={}).status_code == 404
    assert browser.client.post(server.url, headers={"MCP-Protocol-Version": "2026-07-28"}).status_code == 400
    assert browser.client.post(server.url, headers={"Mcp-Session-Id": "other"}).status_code == 404
    assert [request.status for request in server.requests] == [400, 200, 202, 405, 406, 404, 400, 404]


def test_requests_are_recorded_with_their_headers(server: HttpToolServer, browser: Browser) -> None:
    browser.client.headers["X-Tenant"] = "blue"
    browser.initialize()
    request = server.requests[0]
    assert (request.verb, request.headers["x-tenant"], request.message["method"]) == ("POST", "blue", "initialize")


def test_it_can_fail_and_ask_for_authorization(server: HttpToolServer, browser: Browser) -> None:
    browser.initialize()
    server.status = 500
    assert browser.post("ping").status_code == 500
    server.status, server.authorization = None, "Bearer sesame"
    assert browser.post("ping").status_code == 401
    browser.client.headers["Authorization"] = "Bearer sesame"
    assert browser.text("echo", text="x") == "x"


def test_it_can_be_paused_and_killed_and_resumed_on_its_port(server: HttpToolServer, browser: Browser) -> None:
    browser.initialize()
    url = server.url
    server.pause()
    with pytest.raises(httpx.ConnectError):
        browser.post("ping")
    server.resume()
    assert server.url == url
    assert browser.text("echo", text="x") == "x"
    server.kill()
    with pytest.raises(httpx.ConnectError):
        browser.post("ping")
    server.resume()
    assert server.sessions == ()
    assert browser.post("ping").status_code == 404


def test_crash_gives_no_answer_and_forgets_the_sessions(
    server: HttpToolServer, browser: Browser, journal: Journal
) -> None:
    browser.initialize()
    with pytest.raises(httpx.RemoteProtocolError):
        browser.post("tools/call", name="crash", arguments={})
    assert server.sessions == ()
    assert browser.post("ping").status_code == 404
    assert [call.tool for call in journal.calls()] == ["crash"]
    assert not journal.of(Answered)
