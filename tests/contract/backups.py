"""Stores with something in them, their backups, and backups that are not what they should be."""

from __future__ import annotations

import asyncio
import io
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from core.store import attachments, checks, conversations, entries, facts, inbox
from core.store.archive import Manifest, opened, read
from core.store.backup import Order, back_up, silent, written
from core.store.enclosures import Enclosed, Enclosure
from core.store.engine import Store
from core.store.files import Digest
from core.store.open import DATABASE_FILE, database_at, open_store
from core.store.restore import Aside, Restored, restore
from core.store.sql import Tx
from core.store.sqlite_driver import sqlite
from core.vocabulary import Attachment, FileKind
from tests.contract.scenes import NOW, arrive, begin, converse, say

ORDER = Order(made_at=datetime(2026, 3, 2, 12, tzinfo=UTC), program="1.2.3")

T = TypeVar("T")


@dataclass
class Place:
    """A store and where it is."""

    url: str | None
    state: Path

    def open(self) -> Store:
        return open_store(self.url, self.state)

    def back_up(self, target: Path, *, force: bool = False, order: Order = ORDER) -> Manifest:
        with written(target, force=force) as out:
            return back_up(database_at(self.url, self.state), self.state, out, order)

    def restore(self, source: Path) -> Restored:
        done, said = self.restore_with(source, _ready)
        assert said == "ready"
        return done

    def restore_with(self, source: Path, ready: Callable[[Tx], T]) -> tuple[Restored, T]:
        database = database_at(self.url, self.state)
        with opened(source) as file:
            return restore(database, self.state, file, source, Aside(name="replaced", order=ORDER), ready)

    def fill(self, word: str, data: bytes = b"picture") -> Digest:
        """One conversation in which a word was said and a file is referred to."""
        store = self.open()
        digest = store.files.put(data)

        def unit(tx: Tx) -> None:
            session = begin(tx, converse(tx, word), f"session-{word}")
            say(tx, session.id, word)
            attachments.add(
                tx, session.id, attachments.File(digest=digest, name="", media_type="image/png", size=len(data)), NOW
            )

        asyncio.run(store.write(unit))
        store.close()
        return digest

    def bring(self, data: bytes) -> Digest:
        """A message waits, with a file that has been fetched."""
        store = self.open()
        digest = store.files.put(data)
        file = Attachment(kind=FileKind.FILE, ref="r", name="a.txt", media_type="text/plain", size=len(data))
        brought = Enclosed(files=(Enclosure(attachment=file, digest=digest, size=len(data), settled=True),))

        def unit(tx: Tx) -> None:
            row = arrive(tx, converse(tx), "waits")
            assert row is not None
            inbox.enclose(tx, row, brought)

        asyncio.run(store.write(unit))
        store.close()
        return digest

    def brought(self) -> list[bytes | None]:
        """What the files of messages that wait hold."""
        store = self.open()
        try:
            waiting = asyncio.run(store.read(lambda tx: inbox.pending_after(tx, 0, 100)))
            return [store.files.get(file.digest or "") for row in waiting for file in row.enclosed.files]
        finally:
            store.close()

    def words(self) -> list[str]:
        """What was said in all sessions; the store is sound."""
        store = self.open()
        try:
            assert asyncio.run(store.read(checks.check)) == []
            return sorted(asyncio.run(store.read(_words)))
        finally:
            store.close()


def _ready(tx: Tx) -> str:
    facts.put(tx, "restored", "yes")
    return "ready"


def _words(tx: Tx) -> list[str]:
    found = [conversations.find(tx, f"telegram/dm/{word}") for word in ("one", "two")]
    sessions = [conversations.get(tx, one).session for one in found if one is not None]
    return [entry.text for one in sessions if one is not None for entry in entries.of_session(tx, one)]


def told(path: Path) -> Manifest:
    """What a backup says is in it."""
    with opened(path) as file:
        return read(file, path, silent)


def members(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        return {info.name: file.read() for info in tar if (file := tar.extractfile(info)) is not None}


def rewritten(path: Path, change: Callable[[dict[str, bytes]], Mapping[str, bytes]]) -> Path:
    """The backup with other members, in the order given."""
    target = path.with_suffix(".changed")
    with tarfile.open(target, "w") as tar:
        for name, data in change(members(path)).items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return target


def spoil(place: Place) -> None:
    """Something overwrites a page of the database."""
    connection = sqlite.connect(str(place.state / DATABASE_FILE))
    [[page]] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'entries'")
    [[size]] = connection.execute("PRAGMA page_size")
    connection.close()
    with (place.state / DATABASE_FILE).open("r+b") as file:
        file.seek((int(page) - 1) * int(size))
        file.write(b"\xff" * 128)
