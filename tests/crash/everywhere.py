"""A stage on any platform, where people press buttons and share files, with an agent that pays and sends files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import text as verbatim

from core.store.checks import check
from core.store.sql import Sql
from tests.crash.daemon import until
from tests.crash.nursery import Nursery
from tests.crash.rooms import Room
from tests.crash.scene import Stage
from tests.drivers.driver import Driver
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


class World(Stage):
    """A stage on one platform, with an agent that does more than talk."""

    backend = "tests.fakes.agents_everywhere:make"

    def __init__(self, platform: Driver, home: Path, nursery: Nursery, more: str = "") -> None:
        """`more`: further tables of the configuration. In the hall Ada is 0 and Bob is 1."""
        both = [platform.person(name) for name in ("Ada", "Bob")]
        self.ada, self.bob = (Room(platform, platform.direct(one), [one]) for one in both)
        self.hall = Room(platform, platform.group(both), both)
        super().__init__([platform], home, nursery)
        with self.daemon.config_file.open("a", encoding="utf-8") as config:
            config.write(more)
        self.platform = platform
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
        until(self.platform.gone, "the platform knows")

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
        assert self.platform.violations == ()
        with self.daemon.reading() as tx:
            assert check(tx) == []


def digests(files: Mapping[str, bytes]) -> list[str]:
    return [hashlib.sha256(content).hexdigest() for content in files.values()]
