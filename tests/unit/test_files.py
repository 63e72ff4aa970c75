"""Files beside the database: kept once, found by their hash, removed when no session has them."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from pydantic_ai.messages import BinaryContent, BinaryImage, ToolReturnPart

from core.agents.files import files_in, referring, whole
from core.errors import StoreFull
from core.store.files import PARTIAL, Digest, Files, Incoming


def test_what_was_kept_is_found_by_its_hash(tmp_path: Path) -> None:
    files = Files(tmp_path / "files")
    digest = files.put(b"a picture")
    assert digest == hashlib.sha256(b"a picture").hexdigest()
    assert files.get(digest) == b"a picture"
    assert files.put(b"a picture") == digest
    assert len([path for path in (tmp_path / "files").rglob("*") if path.is_file()]) == 1


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "a" * 63, "A" * 64, "0" * 64])
def test_what_is_no_hash_or_was_not_kept_is_not_there(tmp_path: Path, digest: str) -> None:
    assert Files(tmp_path).get(digest) is None


def test_only_what_rested_is_offered_for_removal(tmp_path: Path) -> None:
    files = Files(tmp_path)
    old, new = files.put(b"old"), files.put(b"new")
    now = datetime.now(UTC)
    long_ago = (now - timedelta(days=1)).timestamp()
    os.utime(tmp_path / old[:2] / old, (long_ago, long_ago))
    assert list(files.older_than(now - timedelta(hours=1))) == [old]
    files.put(b"old")
    assert list(files.older_than(now - timedelta(hours=1))) == []
    files.remove(old)
    assert files.get(old) is None
    assert files.get(new) == b"new"


def test_a_file_that_can_not_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "files").write_text("in the way")
    with pytest.raises(StoreFull):
        Files(tmp_path / "files").put(b"x")


def test_what_a_process_leaves_that_dies_while_it_keeps_a_file_is_forgotten(tmp_path: Path) -> None:
    files, left = Files(tmp_path / "files"), tmp_path / "left"

    class Dying(Files):
        def adopt(self, path: Path, digest: Digest) -> None:
            path.rename(left)  # as a kill would leave it; who lives on takes it away
            place.append(path)
            super().adopt(left, digest)

    place: list[Path] = []
    Dying(tmp_path / "files").put(b"a picture")
    place[0].write_bytes(b"a picture")
    files.forget_partial(datetime.now(UTC) + timedelta(hours=1))
    assert not place[0].exists()
    assert len(kept_in(tmp_path / "files")) == 1


@settings(deadline=None)  # it waits for the disk, or for whoever else works on the machine
@given(st.lists(st.binary(max_size=50), max_size=4), st.text(max_size=20))
def test_a_result_with_files_comes_back_as_it_was(blobs: list[bytes], said: str) -> None:
    adapter = TypeAdapter(ToolReturnPart)
    content = [said, *(BinaryContent(blob, media_type="image/png") for blob in blobs), {"kind": "binary"}]
    part = ToolReturnPart("look", content, "c1")
    dumped = adapter.dump_python(part, mode="json", exclude_none=True)
    kept = {file.data: hashlib.sha256(file.data).hexdigest() for file in files_in(dumped)}
    assert set(kept) == set(blobs)
    stored = referring(dumped, kept)
    assert not list(files_in(stored))
    back = adapter.validate_python(whole(stored, {digest: data for data, digest in kept.items()}))
    assert back == adapter.validate_python(dumped)


def test_a_file_that_is_gone_leaves_a_word() -> None:
    adapter = TypeAdapter(ToolReturnPart)
    part = ToolReturnPart("look", [BinaryImage(b"x", media_type="image/png")], "c1")
    stored = referring(adapter.dump_python(part, mode="json"), {b"x": "0" * 64})
    assert adapter.validate_python(whole(stored, {})).content == ["[This file is not kept any more.]"]


# pieces


def kept_in(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


@settings(deadline=None)  # it waits for the disk, or for whoever else works on the machine
@given(st.lists(st.binary(max_size=300), max_size=8))
def test_pieces_are_kept_as_the_whole_is(pieces: list[bytes]) -> None:
    with TemporaryDirectory() as folder:
        files = Files(Path(folder))
        incoming = files.receive()
        for piece in pieces:
            incoming.write(piece)
        digest = incoming.keep()
        incoming.drop()
        whole = b"".join(pieces)
        assert digest == files.put(whole) == hashlib.sha256(whole).hexdigest()
        assert (files.get(digest), files.size(digest), incoming.size) == (whole, len(whole), len(whole))
        assert [path.name for path in kept_in(Path(folder))] == [digest]


@pytest.mark.parametrize("pieces", [(b"\x89", b"PNG\r\n\x1a\n"), (b"\x89PNG", b"\r\n\x1a\n")])
def test_the_head_is_that_of_the_file(tmp_path: Path, pieces: tuple[bytes, ...]) -> None:
    incoming = Files(tmp_path).receive()
    for piece in pieces:
        incoming.write(piece)
    incoming.drop()
    assert incoming.head == b"\x89PNG\r\n\x1a\n"


def test_what_is_dropped_leaves_nothing(tmp_path: Path) -> None:
    incoming = Files(tmp_path).receive()
    incoming.write(b"x" * 100_000)
    incoming.drop()
    incoming.drop()
    assert kept_in(tmp_path) == []


def test_the_same_kept_twice_at_the_same_time_is_kept_once(tmp_path: Path) -> None:
    files = Files(tmp_path)
    first, second = files.receive(), files.receive()
    for incoming in (first, second):
        incoming.write(b"the same")
    assert first.keep() == second.keep()
    first.drop()
    second.drop()
    assert len(kept_in(tmp_path)) == 1
    assert oct(kept_in(tmp_path)[0].stat().st_mode & 0o777) in ("0o600", "0o644")


def cramped(tmp_path: Path) -> Incoming:
    """A file on a device on which there is never any room."""
    incoming = Files(tmp_path).receive()
    incoming._stream.close()
    incoming._stream = open("/dev/full", "wb")  # noqa: SIM115  # `drop` closes it
    return incoming


@pytest.mark.parametrize("size", [10, 100_000, 1 << 20])
def test_what_finds_no_room_is_dropped_without_a_fault_and_leaves_nothing(tmp_path: Path, size: int) -> None:
    incoming = cramped(tmp_path)
    with pytest.raises(StoreFull):
        _whole(incoming, bytes(size))
    incoming.drop()
    assert kept_in(tmp_path) == []


def _whole(incoming: Incoming, data: bytes) -> None:
    incoming.write(data)
    incoming.keep()


def test_only_what_is_old_is_forgotten_half_received(tmp_path: Path) -> None:
    files = Files(tmp_path)
    old, new = files.receive(), files.receive()
    now = datetime.now(UTC)
    long_ago = (now - timedelta(days=1)).timestamp()
    os.utime(old._path, (long_ago, long_ago))
    files.forget_partial(now - timedelta(hours=1))
    assert kept_in(tmp_path) == [new._path]
    for incoming in (old, new):
        incoming.drop()


def test_what_goes_while_it_is_looked_at_is_no_fault(tmp_path: Path) -> None:
    files = Files(tmp_path)
    incoming = files.receive()
    (tmp_path / PARTIAL / "gone").symlink_to(tmp_path / "nowhere")  # as `stat` sees one that was taken away
    try:
        files.forget_partial(datetime.now(UTC) - timedelta(hours=1))
    finally:
        incoming.drop()


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "a" * 63, "A" * 64, "0" * 64, "0" * 64 + "\n"])
def test_nothing_is_known_of_what_is_no_hash(tmp_path: Path, digest: str) -> None:
    files = Files(tmp_path)
    assert (files.path(digest), files.size(digest), files.kept_at(digest)) == (None, None, None)
