"""A stage on any platform, where people press buttons and share files, with an agent that pays and sends files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from sqlalchemy import text as verbatim

from core.store.checks import check
from core.store.sql import Sql
from tests.crash.daemon import until
from tests.crash.dialogue import Platform
from tests.crash.nursery import Nursery
from tests.crash.platforms import Discord, Slack
from tests.crash.rooms import DiscordRoom, Room, SlackRoom, TelegramRoom
from tests.crash.scene import Stage, Telegram
from tests.fakes.agents_everywhere import SHELF

EVERYWHERE: Final = ("telegram", "discord", "slack")
_FATES: Final = Sql(verbatim("SELECT fate, detail FROM inbox ORDER BY id"))
_OPEN: Final = Sql(
    verbatim("""
        SELECT (SELECT count(*) FROM inbox WHERE state = 'pending')
            + (SELECT count(*) FROM turns WHERE state = 'running')
            + (SELECT count(*) FROM deliveries WHERE state IN ('queued', 'sending')) AS n
    """)
)

P = TypeVar("P")
D = TypeVar("D", covariant=True)


class Peopled(Protocol[P, D]):
    """What the three platforms' leaders have in common."""

    def person(self, name: str) -> P: ...
    def private(self, person: P) -> D: ...
    def group(self, people: Sequence[P]) -> D: ...


@dataclass(frozen=True, kw_only=True)
class Rooms:
    """Ada's and Bob's own chats, and a group of both: there Ada is 0 and Bob is 1."""

    ada: Room
    bob: Room
    hall: Room


def _rooms_on(platform: Platform) -> Rooms:
    match platform:
        case Telegram():
            return _rooms(platform, lambda talk, people: TelegramRoom(platform, talk, people))
        case Discord():
            return _rooms(platform, lambda talk, people: DiscordRoom(platform, talk, people))
        case Slack():
            return _rooms(platform, lambda talk, people: SlackRoom(platform, talk, people))
        case _:
            raise LookupError(platform)


def _rooms(platform: Peopled[P, D], room: Callable[[D, Sequence[P]], Room]) -> Rooms:
    ada, bob = platform.person("Ada"), platform.person("Bob")
    return Rooms(
        ada=room(platform.private(ada), [ada]),
        bob=room(platform.private(bob), [bob]),
        hall=room(platform.group([ada, bob]), [ada, bob]),
    )


class World(Stage):
    """A stage on one platform, with an agent that does more than talk."""

    backend = "tests.fakes.agents_everywhere:make"

    def __init__(self, platform: Platform, home: Path, nursery: Nursery, more: str = "") -> None:
        """`more`: further tables of the configuration."""
        rooms = _rooms_on(platform)
        super().__init__([platform], home, nursery)
        with self.daemon.config_file.open("a", encoding="utf-8") as config:
            config.write(more)
        self.platform, self.ada, self.bob, self.hall = platform, rooms.ada, rooms.bob, rooms.hall
        self.shelf = home / SHELF
        self.shelf.mkdir()

    def begin(self, point: str = "nowhere") -> None:
        """A daemon that can be spoken to and whose buttons can be pressed."""
        self.start(point)
        self.daemon.until_ready()
        self.daemon.until_bot("up", self.platform.name)

    def kill(self) -> None:
        """kill -9; returns when the platform knows."""
        self.daemon.kill()
        match self.platform:
            case Slack(server=server):
                until(lambda: server.connected(0), "Slack knows")
            case _:
                pass

    def _nothing_open(self, but: str) -> bool:
        """A turn that waits for a person is not open."""
        with self.daemon.reading() as tx:
            return tx.number(_OPEN) == 0

    @property
    def heard(self) -> list[str]:
        """The messages that were turns, in order."""
        return [str(line["heard"]) for line in self._noted("heard")]

    @property
    def files(self) -> list[list[str]]:
        """What came with each, by content: see `digests`."""
        return [line["files"] for line in self._noted("heard")]

    @property
    def paid(self) -> list[str]:
        """The effects of calls, in order."""
        return [str(line["paid"]) for line in self._noted("paid")]

    def _noted(self, what: str) -> list[dict[str, Any]]:
        path = self.daemon.home / "journal"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [noted for line in lines if what in (noted := json.loads(line))]

    @property
    def fates(self) -> list[tuple[str, str]]:
        """Of all that was said and pressed, with the reason."""
        with self.daemon.reading() as tx:
            return [(row.text_or_none("fate") or "", row.text_or_none("detail") or "") for row in tx.all(_FATES)]

    @contextmanager
    def telling(self) -> Iterator[None]:
        """What does not happen in time is told with the daemon's own words."""
        try:
            yield
        except TimeoutError as late:
            raise TimeoutError(f"{late}; the daemon says: {self.daemon.log[-3000:]}") from late

    def well(self) -> None:
        """Every rule of the platform was kept, and the store is sound."""
        self.settle()
        assert self.platform.problems == ()
        with self.daemon.reading() as tx:
            assert check(tx) == []


def digests(files: Mapping[str, bytes]) -> list[str]:
    return [hashlib.sha256(content).hexdigest() for content in files.values()]
