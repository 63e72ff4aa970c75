"""S18: a backup that unpacks to far more than it should is refused before it fills the disk or the memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from core.errors import StoreError
from core.store import archive
from core.store.archive import MANIFEST
from core.store.open import DATABASE_FILE
from tests.contract.backups import Place

COMPRESSIONS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}
MIB: Final = 1 << 20
SMALL: Final = MIB
"""In place of what any compressed backup may unpack to, so that the bombs of a test stay small."""


class Zeros(io.RawIOBase):
    """So many, without having them."""

    def __init__(self, size: int) -> None:
        self._left = size

    def read(self, size: int = -1) -> bytes:
        piece = bytes(min(size, self._left))
        self._left -= len(piece)
        return piece


def packed(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """A tar file of one member that is all zeros."""
    out = io.BytesIO()
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    with tarfile.open(fileobj=out, mode="w:") as tar:
        tar.addfile(info, Zeros(size))
    return out.getvalue()


def sparse() -> bytes:
    """A tar file whose one member says to be a TiB, in GNU's old form, of which it brings nothing."""
    info = tarfile.TarInfo(DATABASE_FILE)
    info.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"\x80" + (1 << 40).to_bytes(11, "big")
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + bytes(1024)


@pytest.fixture
def filled(here: Place) -> Place:
    here.fill("one")
    return here


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_SMALL", SMALL)


def refused(place: Place, path: Path) -> str:
    """What is said; nothing has changed, and nothing is left."""
    with pytest.raises(StoreError) as refusal:
        place.restore(path)
    assert place.words() == ["one"]
    assert [one.name for one in place.state.iterdir() if one.name.startswith("restoring")] == []
    said = str(refusal.value)
    assert "\n" not in said
    return said


@pytest.mark.parametrize("name", [DATABASE_FILE, f"files/aa/{'a' * 64}"])
@pytest.mark.parametrize("how", COMPRESSIONS)
def test_s18_a_compressed_bomb_is_refused_early(filled: Place, tmp_path: Path, how: str, name: str) -> None:
    bomb = tmp_path / "bomb"
    bomb.write_bytes(COMPRESSIONS[how](packed(name, 64 * MIB)))
    assert "it unpacks to far more than a backup of its size would" in refused(filled, bomb)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XGLTYPE], ids=repr)
def test_s18_a_header_of_hundreds_of_mib_is_not_read(filled: Place, tmp_path: Path, kind: bytes) -> None:
    bomb = tmp_path / "bomb"
    bomb.write_bytes(gzip.compress(packed("x", 200 * MIB, kind), 1))
    assert "nothing was changed" in refused(filled, bomb)


def test_s18_a_manifest_of_more_than_64_mib_is_not_read(
    filled: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "_MOST_MANIFEST", MIB)
    plain = tmp_path / "plain.tar"
    plain.write_bytes(packed(MANIFEST, MIB + 1))
    assert "its manifest has more than 1 MiB" in refused(filled, plain)


def test_s18_a_member_that_only_says_to_be_large_is_refused(filled: Place, tmp_path: Path) -> None:
    plain = tmp_path / "sparse.tar"
    plain.write_bytes(sparse())
    with tarfile.open(plain) as tar:
        assert [(one.size, one.issparse()) for one in tar] == [(1 << 40, True)]
    assert "nothing was changed" in refused(filled, plain)


def test_s18_what_would_fill_the_disk_is_refused_before_it_does(
    filled: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled.back_up(tmp_path / "one.tar")
    free = shutil.disk_usage(tmp_path)._replace(free=10_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: free)
    said = refused(filled, tmp_path / "one.tar")
    assert "there is no room to unpack it" in said


@pytest.mark.parametrize("how", COMPRESSIONS)
def test_s18_a_real_backup_is_read_in_each_compression(filled: Place, tmp_path: Path, how: str) -> None:
    """Also a database that is mostly empty pages, as after `/forget` of much."""
    filled.back_up(tmp_path / "one.tar")
    small = tmp_path / "one.packed"
    small.write_bytes(COMPRESSIONS[how]((tmp_path / "one.tar").read_bytes()))
    other = Place(None, tmp_path / "elsewhere")
    other.restore(small)
    assert other.words() == ["one"]


@pytest.mark.parametrize("how", [*COMPRESSIONS, "plain"])
def test_s18_what_is_no_backup_or_was_cut_is_said_in_one_sentence(filled: Place, tmp_path: Path, how: str) -> None:
    pack = COMPRESSIONS.get(how, bytes)
    filled.back_up(tmp_path / "one.tar")
    whole = pack((tmp_path / "one.tar").read_bytes())
    for number, data in enumerate([pack(b"no backup at all"), whole[: len(whole) // 2], whole[:40], b""]):
        path = tmp_path / f"{number}.bad"
        path.write_bytes(data)
        assert refused(filled, path).startswith(f"{path} is no backup of Frontdesk, or it is damaged (")
