"""A scene per test, on SQLite with the schema in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

pytest.register_assert_rewrite(
    "tests.crash.scene", "tests.crash.daemon", "tests.crash.models_scene", "tests.crash.everywhere"
)

from tests.clock import ShiftedClock  # noqa: E402
from tests.crash.dialogue import Dialogue  # noqa: E402
from tests.crash.everywhere import World  # noqa: E402
from tests.crash.models_scene import Furniture, ModelScene, Open  # noqa: E402
from tests.crash.nursery import Nursery, shared  # noqa: E402
from tests.crash.posted import SLACK_RETRIES_S, PostedSlack, posted_telegram  # noqa: E402
from tests.crash.scene import Scene, Stage  # noqa: E402  # after the line above
from tests.drivers.discord import DiscordDriver, discord_server  # noqa: E402
from tests.drivers.driver import Driver  # noqa: E402
from tests.drivers.slack import ANSWER_S, SlackDriver, SlackThreads  # noqa: E402
from tests.drivers.telegram import TelegramDriver  # noqa: E402
from tests.fakes.models import ThreadedModelServer  # noqa: E402
from tests.fakes.slack import ThreadedSlackServer  # noqa: E402
from tests.fakes.telegram import ThreadedTelegramServer  # noqa: E402

StageOn = Callable[..., AbstractContextManager[Stage]]
WorldOn = Callable[..., AbstractContextManager[World]]


@pytest.fixture
def server() -> Iterator[ThreadedTelegramServer]:
    with ThreadedTelegramServer() as made:
        yield made


@pytest.fixture(scope="session")
def nursery() -> Nursery:
    """Its daemons find all SDKs imported."""
    return shared()


@pytest.fixture
def scene(server: ThreadedTelegramServer, nursery: Nursery, sqlite_template: Path, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(server, tmp_path, nursery)
    made.put_store(sqlite_template)
    with made.daemon:
        yield made


@contextmanager
def platform_called(name: str, more: str = "") -> Iterator[Driver]:
    """A double with its account. `more`: further lines of the bot's table."""
    shifted = ShiftedClock()
    match name:
        case "telegram":
            with ThreadedTelegramServer(limits=None) as telegram:
                yield TelegramDriver(telegram, more)
        case "discord":
            with discord_server(shifted) as discord:
                yield DiscordDriver(discord, more, shifted)
        case "telegram posts":
            with posted_telegram(more or "drafts = false") as posts:
                yield posts
        case "slack posts":
            with ThreadedSlackServer(clock=shifted, answer_s=ANSWER_S, retries_s=SLACK_RETRIES_S) as slack:
                yield PostedSlack(slack, more, shifted)
        case _:
            with ThreadedSlackServer(clock=shifted, answer_s=ANSWER_S) as slack:
                yield (SlackThreads if name == "slack threads" else SlackDriver)(slack, more, shifted)


@pytest.fixture
def stage_on(nursery: Nursery, sqlite_template: Path, tmp_path: Path) -> StageOn:
    """Opens a stage on one platform, without its limits; further arguments are lines of the bot's table. `enter` makes
    a place to talk that the configuration has to name; `kind`: a stage with another agent."""

    @contextmanager
    def opened(
        name: str, *more: str, enter: Callable[[Driver], Dialogue] | None = None, kind: type[Stage] = Stage
    ) -> Iterator[Stage]:
        with platform_called(name, "\n".join(more)) as platform:
            platform.without_limits()
            talks = [enter(platform)] if enter is not None else []
            made = kind([platform], tmp_path, nursery)
            made.dialogues += talks
            made.put_store(sqlite_template)
            with made.daemon:
                yield made

    return opened


@pytest.fixture
def world_on(nursery: Nursery, sqlite_template: Path, tmp_path: Path) -> WorldOn:
    """Opens a world on one platform, whose daemon does not run yet, and looks whether all is well there at the end."""

    @contextmanager
    def opened(name: str, table: str = "", more: str = "") -> Iterator[World]:
        """`table`: lines of the bot's table; `more`: further tables."""
        with platform_called(name, table or ("drafts = false" if name == "telegram" else "")) as platform:
            platform.without_limits()
            made = World(platform, tmp_path, nursery, more)
            made.put_store(sqlite_template)
            with made.daemon, made.telling():
                yield made
                made.well()

    return opened


@pytest.fixture
def cold_nursery() -> Iterator[Nursery]:
    """Its daemons have no SDK yet."""
    with Nursery() as made:
        yield made


@pytest.fixture
def models() -> Iterator[ThreadedModelServer]:
    with ThreadedModelServer() as made:
        made.gate("summary").set()
        yield made


@pytest.fixture
def furnish(
    server: ThreadedTelegramServer, models: ThreadedModelServer, nursery: Nursery, sqlite_template: Path,
    tmp_path: Path,
) -> Open:  # fmt: skip
    """Opens a scene; keywords are those of `Furniture`, and another nursery."""

    @contextmanager
    def opened(*, born_in: Nursery = nursery, **wanted: object) -> Iterator[ModelScene]:
        made = ModelScene(server, models, tmp_path, born_in, Furniture(**wanted))  # type: ignore[arg-type]  # handed through
        made.put_store(sqlite_template)
        server.set_limits(None)  # a process that starts knows nothing of what was sent a moment ago
        with made.daemon:
            yield made
        made.audit_servers()

    return opened
