"""Files beside the database: kept once, found by their hash, removed when no session has them."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from pydantic_ai.messages import BinaryContent, BinaryImage, ToolReturnPart

from core.agents.files import files_in, referring, whole
from core.errors import StoreFull
from core.store.files import Files


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
