"""What is told from outside of a desk that works: its health, and what bots serve beside it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from core.vocabulary import BotName
from tests.flow.bot import AdminBot, FakeBot
from tests.flow.conftest import Furnish
from tests.flow.house import House
from tests.flow.watcher import Watcher, watching


@pytest.fixture
async def watch(house: House) -> AsyncIterator[Watcher]:
    async with watching(house) as watcher:
        yield watcher


# pages


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
async def test_a_page_answers_get_and_head_and_nothing_else(watch: Watcher, path: str) -> None:
    got, head = await watch.client.get(path), await watch.client.head(path)
    assert (got.status_code, head.status_code, head.text) == (200, 200, "")
    assert got.headers["content-type"] == head.headers["content-type"]
    assert got.headers["cache-control"] == "no-store"
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        refused = await watch.client.request(method, path)
        assert refused.status_code == 405
        assert set(refused.headers["allow"].split(", ")) == {"GET", "HEAD"}
        assert "GET or HEAD" in refused.json()["error"]


@pytest.mark.parametrize("path", ["/", "/livez/", "/live", "//livez", "/metrics/x", "/..%2flivez", "/docs"])
async def test_elsewhere_is_nothing(watch: Watcher, path: str) -> None:
    answer = await watch.client.get(path)
    assert answer.status_code == 404
    assert answer.json() == {"error": "nothing is served here; there are /livez, /readyz and /metrics"}
    assert "server" not in answer.headers


async def test_bots_are_served_below_their_prefix_from_when_they_are_mounted_on(watch: Watcher) -> None:
    def page(name: str) -> object:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            request = Request(scope)
            await PlainTextResponse(f"{name} {request.url.path} {scope['root_path']}")(scope, receive, send)

        return app

    async def text(path: str) -> str:
        return (await watch.client.get(path)).text

    watch.listener.mount("/v1", page("api"))  # type: ignore[arg-type]  # ASGI's types are as many as its libraries
    watch.listener.mount("/v1/files", page("files"))  # type: ignore[arg-type]
    watch.listener.mount("/livez", page("thief"))  # type: ignore[arg-type]
    assert await text("/v1") == "api /v1 /v1"
    assert await text("/v1/chat/completions") == "api /v1/chat/completions /v1"
    assert await text("/v1/files/7") == "files /v1/files/7 /v1/files"
    assert (await watch.client.get("/v10")).status_code == 404
    assert await text("/livez") == '{"alive":true}'
    watch.listener.mount("", page("web"))  # type: ignore[arg-type]
    assert await text("/any/thing") == "web /any/thing "
    watch.listener.unmount("/v1/files")
    assert await text("/v1/files/7") == "api /v1/files/7 /v1"


# readiness


async def test_bots_that_do_not_work_are_told_and_leave_it_ready(furnish: Furnish) -> None:
    house = await furnish(AdminBot(), FakeBot("second"), FakeBot("third"))
    async with watching(house) as watch:
        house.desk.health.degraded(BotName("second"), "no answer from the platform; it is tried again")
        house.desk.health.failed(BotName("third"), "the token is refused; make a new one")  # type: ignore[attr-defined]
        status, told = await watch.ready()
        assert status == 200
        assert told["ready"] is True
        assert told["bots"] == [
            {"name": "main", "state": "up", "detail": ""},
            {"name": "second", "state": "degraded", "detail": "no answer from the platform; it is tried again"},
            {"name": "third", "state": "failed", "detail": "the token is refused; make a new one"},
        ]
        await watch.scrape()
        assert (watch["frontdesk_bot_state third failed"], watch["frontdesk_bot_state third up"]) == (1, 0)


async def test_it_is_not_ready_while_it_stops(watch: Watcher) -> None:
    assert (await watch.ready())[0] == 200
    watch.house.desk.stop_intake()
    status, told = await watch.ready()
    assert status == 503
    assert told["stopping"] == {"ok": False, "detail": "the daemon is stopping"}
    assert (await watch.client.head("/readyz")).status_code == 503
    assert (await watch.client.get("/livez")).status_code == 200


async def test_it_is_not_ready_before_recovery_is_over(watch: Watcher) -> None:
    watch.house.desk.recovered = False
    status, told = await watch.ready()
    assert status == 503
    assert told["recovery"] == {"ok": False, "detail": "what the last process left is still being settled; wait"}
    await watch.scrape()
    assert (watch["frontdesk_ready"], watch["frontdesk_ready_part recovery"]) == (0, 0)


async def test_it_is_not_ready_after_its_loop_was_held_up(watch: Watcher) -> None:
    await watch.house.clock.leap(60.0)
    status, told = await watch.ready()
    assert status == 503
    loop = told["loop"]
    assert isinstance(loop, dict)
    assert "held up for" in loop["detail"]


async def test_figures_are_told_also_where_the_store_tells_none(
    watch: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hangs(unit: object) -> None:
        await asyncio.Event().wait()

    for module in ("metrics", "readiness"):
        monkeypatch.setattr(f"core.service.{module}.STORE_S", 0.05)
    monkeypatch.setattr(watch.house.store, "read", hangs)
    assert (await watch.ready())[0] == 503
    await watch.scrape()
    assert (watch["frontdesk_ready_part store"], watch["frontdesk_ready_part loop"]) == (0, 1)
    assert "frontdesk_inbox_pending" not in watch.samples
    assert "frontdesk_turns_open running" in watch.samples
