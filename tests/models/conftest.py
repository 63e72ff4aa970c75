"""Houses whose agent is a model behind a strict server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import structlog

from core.desk.turn_desk import TurnDesk
from tests.fakes.models.server import ModelServer
from tests.fakes.tools.journal import Journal
from tests.flow.house import House, opened
from tests.models.holding import Held

ModelHouse = Callable[..., Awaitable[House]]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with structlog.testing.capture_logs():
        yield


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


def agent_of(server: ModelServer, **options: object) -> dict[str, object]:
    """An agent as in the config file: OpenAI chat unless `model` says otherwise."""
    model = str(options.get("model", "openai:gpt-test"))
    url = server.anthropic_url if model.startswith("anthropic") else server.openai_url
    return {"backend": "model", "model": model, "base_url": url, "api_key": server.key, **options}


@pytest.fixture
async def furnish(sqlite_state: Path, server: ModelServer) -> AsyncIterator[ModelHouse]:
    """Makes a house with such an agent; keywords are the agent's options, `desk` more tables of the config."""
    async with AsyncExitStack() as stack:

        async def made(*, desk: dict[str, object] | None = None, **options: object) -> House:
            tables: dict[str, object] = {"agents": {"default": agent_of(server, **options)}, **(desk or {})}
            return await stack.enter_async_context(opened(sqlite_state, tables))

        yield made


@pytest.fixture
async def house(furnish: ModelHouse) -> House:
    return await furnish()


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    held = Held()
    monkeypatch.setattr(TurnDesk, "search", lambda desk, words: held.search(desk, words))
    return held
