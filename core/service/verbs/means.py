"""What the verbs of the command line work with, and how they speak: the JSON shapes are a contract (DESIGN 13)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from core.clock import rfc3339
from core.desk.ending import EndOrder
from core.errors import VerbFailed
from core.ports import Clock, Random
from core.service.notices import Notices
from core.service.socket import Json
from core.store.deliveries import Posted
from core.store.engine import Store
from core.vocabulary import Address, BotName


class Status(Protocol):
    """How the desk is doing."""

    async def status(self) -> dict[str, Json]: ...

    def push(self, posted: Posted) -> None:
        """A part was committed for somebody."""


class Running(Status, Protocol):
    """What the verbs ask of the daemon; without one they are answered from the store alone."""

    @property
    def runs(self) -> bool:
        """Does a daemon run?"""

    @property
    def owners(self) -> frozenset[str]:
        """The identities that the configuration names. Where it names none, the first approval makes an owner."""

    def parts(self, bot: BotName, text: str) -> tuple[str, ...]:
        """How this bot splits a text."""

    async def end(self, order: EndOrder) -> None:
        """End a session by its owner, and wait until that is done and its chat is quiet. Raises `VerbFailed`."""

    def entitle(self, address: Address, title: str | None) -> None:
        """Show what is talked about there by now, where the platform shows such a name."""

    def tell_log(self, event: str, **facts: str | int | None) -> None:
        """An audit line, if anybody keeps a log."""


class Means(Struct, frozen=True, kw_only=True):
    store: Store
    clock: Clock
    random: Random
    notices: Notices
    running: Running

    @property
    def has_owners(self) -> bool:
        return bool(self.running.owners)


def stamp(at: datetime | None) -> str | None:
    """RFC 3339 in UTC."""
    return None if at is None else rfc3339(at)


def argument(args: Mapping[str, Json], name: str) -> str:
    """Raises `VerbFailed` where it is missing."""
    value = args.get(name)
    if not isinstance(value, str) or not value:
        raise VerbFailed(f"{name} is missing", code=2)
    return value
