"""Whatever a platform sends, sound or spoiled: nothing raises on its way to the desk, and every row ends with a fate.

FRONTDESK_TEST_EVENTS is how many events of each platform are tried, at least.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import random
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest
import structlog
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from core.store.sql import Sql
from core.store.tables import inbox, turns
from tests.flow.bot import AdminBot
from tests.flow.house import House
from tests.properties import discord_events, slack_payloads, telegram_updates
from tests.properties.spoiling import each_text_as, spoiled
from tests.properties.ways_in import DiscordWay, SlackWay, TelegramWay, Way

pytestmark = pytest.mark.endurance

T = TypeVar("T")

EVENTS: Final = int(os.environ.get("FRONTDESK_TEST_EVENTS", "200"))
PARTS: Final = range(max(1, EVENTS // 12_500))
"""Side by side."""
SHARE: Final = EVENTS // len(PARTS)
AT_ONCE: Final = 20
"""Events that one example offers at most: a dozen on average, since each takes a while for itself, too."""
UNSTORABLE_EVERY: Final = 50
"""Of so many events one more comes again for each text in it, about twenty times."""
LIFE: Final = 2_000
"""Events after which the desk starts anew, with a new store."""
PATIENCE_S: Final = 10.0
"""Longer than the desk waits for the rest of a paste or an album."""
UNSTORABLE: Final = "\ud800\0"
many = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)
_ROWS = Sql(select(func.count()).select_from(inbox))
_OPEN_ROWS = Sql(select(func.count()).select_from(inbox).where(inbox.c.state != "done"))
_OPEN_TURNS = Sql(select(func.count()).select_from(turns).where(turns.c.state.in_(("running", "suspended"))))


class Faults(logging.Handler):
    """What the bots' own boundaries caught, and what nobody did."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(f"{record.getMessage()}: {record.exc_info and record.exc_info[1]!r}")

    def unheard(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """What a task raised that nobody waits for."""
        self.told.append(f"{context['message']}: {context.get('exception')!r}")


class World:
    """A desk for many examples."""

    def __init__(self, enter: Callable[[House], Way], main: dict[str, object]) -> None:
        """`main`: options of the bot."""
        self._enter = enter
        self._faults = Faults()
        self._options: dict[str, object] = {"bots": {"main": main}}
        self._runner = asyncio.Runner()
        self._state = tempfile.TemporaryDirectory()
        self._open: tuple[House, Way] | None = None
        self._events = 0
        self.offered = 0
        self.stored = 0
        self._lives = 0

    def __enter__(self) -> World:
        bots = logging.getLogger("bots")
        bots.addHandler(self._faults)
        bots.propagate = False
        return self

    def __exit__(self, *why: object) -> None:
        bots = logging.getLogger("bots")
        bots.propagate = True
        bots.removeHandler(self._faults)
        self._end()
        self._runner.close()
        self._state.cleanup()

    def offer(self, events: list[Any]) -> None:
        try:
            with structlog.testing.capture_logs():
                self._run(self._offered(events))
        except BaseException:  # the next try finds a new world
            self._faults.told.clear()
            self._end(sound=False)
            raise
        self._events += len(events)
        self.offered += len(events)
        if self._events >= LIFE:
            self._end()

    async def _begun(self) -> tuple[House, Way]:
        if self._open is None:
            self._lives += 1
            asyncio.get_running_loop().set_exception_handler(self._faults.unheard)
            state = Path(self._state.name) / str(self._lives)
            state.mkdir()
            house = House(state, self._options, (AdminBot(),))
            await house.open()
            way = self._enter(house)
            await way.open()
            self._open = (house, way)
        return self._open

    async def _offered(self, events: list[Any]) -> None:
        house, way = await self._begun()
        for event in events:
            way.hear(event)
        await way.taken()
        await house.idle()
        await house.advance(PATIENCE_S)
        await way.taken()
        assert self._faults.told == []
        rows, running = await house.store.read(lambda tx: (tx.number(_OPEN_ROWS), tx.number(_OPEN_TURNS)))
        assert (rows, running) == (0, 0), await _left(house)

    def _end(self, *, sound: bool = True) -> None:
        if self._open is not None:
            (house, way), self._open, self._events = self._open, None, 0
            self._run(way.close())
            self.stored += self._run(house.store.read(lambda tx: tx.number(_ROWS)))
            if sound:
                self._run(house.sound())
            self._run(house.die())
            if sound:
                gc.collect()  # tasks tell as they go
                assert self._faults.told == []

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)


async def _left(house: House) -> list[object]:
    return [row for row in await house.rows() if row.state != "done"]


def _lists(one: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Long ones as often as short ones, which a list by itself is not; what fails shrinks to the shortest."""
    sizes = st.integers(1, AT_ONCE)
    return sizes.flatmap(lambda size: st.lists(one, min_size=size, max_size=size))


def each_ends(part: int, sound: st.SearchStrategy[Any], enter: Callable[[House], Way], **main: object) -> None:
    """Events, sound and spoiled, until there were as many as are wanted; then some with a text that no database takes,
    in each place where one stands. No part tries what another does."""
    chance = random.Random(part if settings.default is not None and settings.default.derandomize else None)
    with World(enter, main) as world:

        @settings(many, max_examples=max(1, SHARE // 9))
        @given(_lists(spoiled(sound)))
        def some(events: list[Any]) -> None:
            world.offer(events)

        @settings(many, max_examples=max(1, SHARE // UNSTORABLE_EVERY))
        @given(sound)
        def unstorable(event: Any) -> None:
            world.offer(list(each_text_as(event, UNSTORABLE)))

        while world.offered < SHARE:
            seed(chance.getrandbits(64))(some)()
        seed(chance.getrandbits(64))(unstorable)()
    assert world.stored > world.offered // 20, "what comes in is stored"


@pytest.mark.parametrize("part", PARTS)
def test_every_update_of_telegram_ends_with_a_fate(part: int) -> None:
    each_ends(part, telegram_updates.updates(), TelegramWay, groups=list(telegram_updates.GROUPS))


@pytest.mark.parametrize("part", PARTS)
def test_every_event_of_discord_ends_with_a_fate(part: int) -> None:
    each_ends(part, discord_events.events(), DiscordWay, platform="discord", groups=[discord_events.GUILD["id"]])


@pytest.mark.parametrize("part", PARTS)
def test_every_payload_of_slack_ends_with_a_fate(part: int) -> None:
    groups = [slack_payloads.TEAM]
    each_ends(part, slack_payloads.payloads(), SlackWay, platform="discord", groups=groups)  # any desk will do
