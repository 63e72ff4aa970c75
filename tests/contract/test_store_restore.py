"""Backups on their way back into a store's place, on both databases."""

from __future__ import annotations

import asyncio
import gzip
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from core.errors import StoreError, StoreLocked, StoreTooNew
from core.store import facts
from core.store.archive import MANIFEST
from core.store.files import FILES
from core.store.open import DATABASE_FILE
from core.store.sql import Tx
from core.store.sqlite_driver import sqlite
from core.store.tables import SCHEMA
from tests.contract.backups import Place, rewritten, spoil


def test_a_backup_comes_back_into_its_place_and_what_was_there_is_kept(place: Place, tmp_path: Path) -> None:
    first = place.fill("one", b"first")
    place.back_up(tmp_path / "one.tar")
    place.fill("two", b"second")
    (place.state / FILES / first[:2] / first).unlink()
    done = place.restore(tmp_path / "one.tar")
    assert place.words() == ["one"]
    store = place.open()
    assert store.files.get(first) == b"first"
    assert asyncio.run(store.read(lambda tx: facts.get(tx, "restored"))) == "yes"
    store.close()
    assert done.replaced == place.state / "backups" / "replaced.tar"
    assert done.replaced.stat().st_mode & 0o777 == 0o600
    again = place.restore(done.replaced)
    assert place.words() == ["one", "two"]
    assert again.replaced is not None


def test_a_backup_comes_into_an_empty_place(here: Place, tmp_path: Path) -> None:
    digest = here.fill("one")
    here.back_up(tmp_path / "one.tar")
    other = Place(None, tmp_path / "elsewhere" / "state")
    done = other.restore(tmp_path / "one.tar")
    assert done.replaced is None
    assert other.words() == ["one"]
    assert other.state.stat().st_mode & 0o777 == 0o700
    assert (other.state / DATABASE_FILE).stat().st_mode & 0o777 == 0o600
    assert (other.state / FILES / digest[:2] / digest).read_bytes() == b"picture"
    assert sorted(path.name for path in other.state.iterdir()) == ["files", DATABASE_FILE, "frontdesk.lock"]


def test_a_compressed_backup_is_read_as_well(here: Place, tmp_path: Path) -> None:
    here.fill("one")
    here.back_up(tmp_path / "one.tar")
    packed = tmp_path / "one.tar.gz"
    packed.write_bytes(gzip.compress((tmp_path / "one.tar").read_bytes()))
    assert Place(None, tmp_path / "elsewhere").restore(packed).manifest.schema == SCHEMA


def test_while_a_desk_runs_nothing_is_restored(place: Place, tmp_path: Path) -> None:
    place.fill("one")
    place.back_up(tmp_path / "one.tar")
    store = place.open()
    try:
        with pytest.raises(StoreLocked, match="has to be stopped"):
            place.restore(tmp_path / "one.tar")
    finally:
        store.close()


def _cut(path: Path) -> Path:
    target = path.with_suffix(".cut")
    target.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    return target


def _flipped(path: Path) -> Path:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0xFF
    target = path.with_suffix(".flipped")
    target.write_bytes(data)
    return target


def _told(path: Path, **other: object) -> Path:
    def change(kept: dict[str, bytes]) -> Mapping[str, bytes]:
        return {**kept, MANIFEST: json.dumps({**json.loads(kept[MANIFEST]), **other}).encode()}

    return rewritten(path, change)


BROKEN: Mapping[str, Callable[[Path], Path]] = {
    "cut": _cut,
    "flipped": _flipped,
    "no tar": lambda path: Path(__file__),
    "no manifest": lambda path: rewritten(path, lambda kept: {n: d for n, d in kept.items() if n != MANIFEST}),
    "a file less": lambda path: rewritten(path, lambda kept: {n: d for n, d in kept.items() if "files" not in n}),
    "a file more": lambda path: rewritten(path, lambda kept: {"files/aa/" + "a" * 64: b"x", **kept}),
    "a way out": lambda path: rewritten(path, lambda kept: {"../../etc/passwd": b"x", **kept}),
    "behind the manifest": lambda path: rewritten(path, lambda kept: {**kept, "files/aa/" + "a" * 64: b"x"}),
    "another form": lambda path: _told(path, format=2),
    "nonsense": lambda path: _told(path, files="none"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_what_is_damaged_or_no_backup_changes_nothing(here: Place, tmp_path: Path, how: str) -> None:
    here.fill("one")
    here.back_up(tmp_path / "one.tar")
    here.fill("two")
    with pytest.raises(StoreError, match="nothing was changed"):
        here.restore(BROKEN[how](tmp_path / "one.tar"))
    assert here.words() == ["one", "two"]
    assert not (here.state / "backups").exists()
    assert [path.name for path in here.state.iterdir() if path.name.startswith("restoring")] == []


@pytest.mark.parametrize("how", ["restored", "opened"])
def test_what_a_killed_restore_left_is_taken_away(here: Place, tmp_path: Path, how: str) -> None:
    here.fill("one")
    here.back_up(tmp_path / "one.tar")
    left = here.state / "restoring-k7x2" / FILES
    left.mkdir(parents=True)
    (left / "frontdesk.db").write_bytes(b"half of it")
    if how == "restored":
        here.restore(tmp_path / "one.tar")
    assert here.words() == ["one"]
    assert not left.parent.exists()


def test_a_newer_schema_and_another_kind_of_database_are_refused(here: Place, tmp_path: Path) -> None:
    here.fill("one")
    here.back_up(tmp_path / "one.tar")
    with pytest.raises(StoreTooNew, match="install the Frontdesk that made it"):
        here.restore(_told(tmp_path / "one.tar", schema="9999"))
    other = _told(tmp_path / "one.tar", dialect="postgresql")
    with pytest.raises(StoreError, match="a backup of PostgreSQL"):
        here.restore(other)
    assert here.words() == ["one"]


def test_a_damaged_store_is_set_aside_as_it_is(here: Place, tmp_path: Path) -> None:
    digest = here.fill("one")
    here.back_up(tmp_path / "one.tar")
    spoil(here)
    spoiled = (here.state / DATABASE_FILE).read_bytes()
    done = here.restore(tmp_path / "one.tar")
    assert done.replaced == here.state / "backups" / "replaced"
    assert (done.replaced / DATABASE_FILE).read_bytes() == spoiled
    assert (done.replaced / FILES / digest[:2] / digest).read_bytes() == b"picture"
    assert here.words() == ["one"]


def test_the_log_of_the_old_store_is_never_taken_for_the_new_ones(here: Place, tmp_path: Path) -> None:
    """A process that was killed leaves a log; a database with somebody else's log would be damaged."""
    here.fill("one")
    here.back_up(tmp_path / "one.tar")
    store = here.open()
    asyncio.run(store.write(lambda tx: facts.put(tx, "later", "x" * 100_000)))
    killed = tmp_path / "killed"
    shutil.copytree(here.state, killed)
    store.close()
    left = Place(None, killed)
    assert (killed / f"{DATABASE_FILE}-wal").stat().st_size > 0
    left.restore(tmp_path / "one.tar")
    assert not (killed / f"{DATABASE_FILE}-wal").exists()
    assert left.words() == ["one"]


def test_a_store_that_another_program_has_open_is_not_replaced(here: Place, tmp_path: Path) -> None:
    here.fill("one")
    here.back_up(tmp_path / "one.tar")
    other = sqlite.connect(str(here.state / DATABASE_FILE))
    try:
        other.execute("SELECT count(*) FROM facts").fetchone()
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another program keeps"):
            here.restore(tmp_path / "one.tar")
    finally:
        other.close()
    assert here.words() == ["one"]


def test_a_database_somewhere_else_is_restored_there(tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.mkdir()
    place = Place(f"sqlite:///{away / 'desk.db'}", tmp_path / "state")
    place.fill("one")
    place.back_up(tmp_path / "one.tar")
    place.fill("two")
    place.restore(tmp_path / "one.tar")
    assert place.words() == ["one"]
    assert (away / "desk.db").stat().st_mode & 0o777 == 0o600


def test_where_the_restored_store_can_not_be_made_ready_nothing_has_changed(here: Place, tmp_path: Path) -> None:
    here.fill("one")
    here.back_up(tmp_path / "one.tar")
    here.fill("two")

    def breaks(tx: Tx) -> None:
        raise StoreError("it can't be made ready")

    with pytest.raises(StoreError, match="can't be made ready"):
        here.restore_with(tmp_path / "one.tar", breaks)
    assert here.words() == ["one", "two"]
