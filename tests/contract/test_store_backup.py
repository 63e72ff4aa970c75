"""Backups: whole, in one file, read back, on both databases."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.errors import StoreCorrupt, StoreError
from core.store import facts
from core.store.archive import MANIFEST
from core.store.files import FILES
from core.store.tables import SCHEMA
from tests.contract.backups import ORDER, Place, members, spoil, told


def test_a_backup_holds_database_files_and_manifest_and_is_private(place: Place, tmp_path: Path) -> None:
    digest = place.fill("one")
    target = tmp_path / "one.tar"
    manifest = place.back_up(target)
    assert target.stat().st_mode & 0o777 == 0o600
    assert [file.sha256 for file in manifest.files] == [digest]
    assert (manifest.schema, manifest.made_at, manifest.program) == (SCHEMA, "2026-03-02T12:00:00Z", "1.2.3")
    assert manifest.missing == ()
    assert list(members(target)) == [manifest.database.name, f"files/{digest[:2]}/{digest}", MANIFEST]
    assert told(target) == manifest
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_a_backup_is_made_while_the_desk_has_the_store_open(place: Place, tmp_path: Path) -> None:
    place.fill("one")
    store = place.open()
    try:
        asyncio.run(store.write(lambda tx: facts.put(tx, "not", "in the log file only")))
        place.back_up(tmp_path / "one.tar")
    finally:
        store.close()
    assert place.words() == ["one"]


def test_a_file_that_is_there_is_replaced_only_by_force(here: Place, tmp_path: Path) -> None:
    here.fill("one")
    target = tmp_path / "one.tar"
    target.write_text("mine")
    with pytest.raises(StoreError, match="--force"):
        here.back_up(target)
    assert target.read_text() == "mine"
    here.back_up(target, force=True)
    assert told(target).schema == SCHEMA


def test_a_file_that_appears_meanwhile_is_not_replaced(here: Place, tmp_path: Path) -> None:
    here.fill("one")
    target = tmp_path / "one.tar"

    def appear(step: str, done: int, total: int) -> None:
        target.write_text("mine")

    with pytest.raises(StoreError, match="there already"):
        here.back_up(target, order=replace(ORDER, progress=appear))
    assert target.read_text() == "mine"


def test_a_folder_that_can_not_be_written_to_is_said(here: Place, tmp_path: Path) -> None:
    here.fill("one")
    with pytest.raises(StoreError, match=r"the backup failed: .*nowhere"):
        here.back_up(tmp_path / "nowhere" / "one.tar")


def test_a_file_that_is_gone_is_named_and_one_that_is_damaged_stops_it(here: Place, tmp_path: Path) -> None:
    digest = here.fill("one")
    path = here.state / FILES / digest[:2] / digest
    path.unlink()
    assert here.back_up(tmp_path / "one.tar").missing == (digest,)
    path.write_bytes(b"something else")
    with pytest.raises(StoreError, match=r"is damaged"):
        here.back_up(tmp_path / "two.tar")
    assert not (tmp_path / "two.tar").exists()


def test_files_of_messages_that_wait_are_in_it(place: Place, tmp_path: Path) -> None:
    digest = place.bring(b"what somebody sent")
    made = place.back_up(tmp_path / "one.tar")
    assert ([file.sha256 for file in made.files], made.missing) == ([digest], ())
    (place.state / FILES / digest[:2] / digest).unlink()
    place.restore(tmp_path / "one.tar")
    assert place.brought() == [b"what somebody sent"]


def test_one_of_them_that_is_gone_is_named(place: Place, tmp_path: Path) -> None:
    digest = place.bring(b"what somebody sent")
    (place.state / FILES / digest[:2] / digest).unlink()
    assert place.back_up(tmp_path / "one.tar").missing == (digest,)


def test_a_damaged_store_makes_no_backup(here: Place, tmp_path: Path) -> None:
    here.fill("one")
    spoil(here)
    with pytest.raises(StoreCorrupt):
        here.back_up(tmp_path / "one.tar")
    assert list(tmp_path.glob("*.tar")) == []


def test_where_no_store_is_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store"):
        Place(None, tmp_path / "nowhere").back_up(tmp_path / "one.tar")
    assert not (tmp_path / "nowhere").exists()


def test_postgresql_without_its_programs_is_said(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(postgres_url, tmp_path / "state")
    place.fill("one")
    monkeypatch.setattr("core.store.backup.shutil.which", lambda _: None)
    with pytest.raises(StoreError, match=r"install PostgreSQL's client programs"):
        place.back_up(tmp_path / "one.tar")


def test_progress_is_told_to_the_end(here: Place, tmp_path: Path) -> None:
    here.fill("one", b"x" * 3_000_000)
    steps: list[tuple[str, int, int]] = []
    here.back_up(tmp_path / "one.tar", order=replace(ORDER, progress=lambda *step: steps.append(step)))
    for step in ("packing", "reading"):
        done = [(at, total) for name, at, total in steps if name == step]
        assert done == sorted(done)
        assert done[-1][0] >= 3_000_000


@pytest.mark.parametrize("kind", ["a link", "a folder", "a pipe"])
def test_what_is_no_regular_file_is_never_replaced(here: Place, tmp_path: Path, kind: str) -> None:
    here.fill("one")
    target, other = tmp_path / "copy", tmp_path / "other"
    other.write_text("kept")
    match kind:
        case "a link":
            target.symlink_to(other)
        case "a folder":
            target.mkdir()
        case _:
            os.mkfifo(target)
    with pytest.raises(StoreError, match="is no regular file"):
        here.back_up(target, force=True)
    assert other.read_text() == "kept"
    assert target.is_symlink() or not target.is_file()
