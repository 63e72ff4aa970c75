"""A scene per test, on SQLite with the schema in place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

pytest.register_assert_rewrite("tests.crash.scene", "tests.crash.daemon", "tests.crash.models_scene")

from tests.crash.models_scene import Furniture, ModelScene, Open  # noqa: E402
from tests.crash.nursery import Nursery  # noqa: E402
from tests.crash.scene import Scene  # noqa: E402  # after the line above
from tests.fakes.models import ThreadedModelServer  # noqa: E402
from tests.fakes.telegram import ThreadedTelegramServer  # noqa: E402

WARM: Final = (
    "core.agents.engine", "core.agents.tool_server", "pydantic_ai.models.openai", "pydantic_ai.providers.openai",
    "openai.resources.chat.completions", "genai_prices.data", "httpcore", "anyio._backends._asyncio",
)  # fmt: skip
"""What a first request finds imported."""


@pytest.fixture
def server() -> Iterator[ThreadedTelegramServer]:
    with ThreadedTelegramServer() as made:
        yield made


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as made:
        yield made


@pytest.fixture
def scene(server: ThreadedTelegramServer, nursery: Nursery, sqlite_template: Path, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(server, tmp_path, nursery)
    made.put_store(sqlite_template)
    with made.daemon:
        yield made


@pytest.fixture(scope="session")
def warm_nursery() -> Iterator[Nursery]:
    """Its daemons have the SDKs from the start."""
    with Nursery(*WARM) as made:
        yield made


@pytest.fixture
def models() -> Iterator[ThreadedModelServer]:
    with ThreadedModelServer() as made:
        made.gate("summary").set()
        yield made


@pytest.fixture
def furnish(
    server: ThreadedTelegramServer, models: ThreadedModelServer, warm_nursery: Nursery, sqlite_template: Path,
    tmp_path: Path,
) -> Open:  # fmt: skip
    """Opens a scene; keywords are those of `Furniture`, and another nursery."""

    @contextmanager
    def opened(*, nursery: Nursery = warm_nursery, **wanted: object) -> Iterator[ModelScene]:
        made = ModelScene(server, models, tmp_path, nursery, Furniture(**wanted))  # type: ignore[arg-type]  # handed through
        made.put_store(sqlite_template)
        server.set_limits(None)  # a process that starts knows nothing of what was sent a moment ago
        with made.daemon:
            yield made
        made.audit_servers()

    return opened
