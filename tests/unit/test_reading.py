"""The text in files that anybody may have made."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from core.desk.kinds_of_files import is_pdf, is_text, kind_of, picture_type
from core.desk.pdf_text import CPU_S, MEMORY_BYTES, NICE, OOM_SCORE_ADJ
from core.desk.reading import MOST_CHARS, memory_bytes, readers, text_of
from core.vocabulary import FileKind
from tests.fakes.documents import (
    encrypted,
    inflating,
    pdf,
    same_page_often,
    tree_in_itself,
    with_half_a_character,
    working,
)

PATIENCE_S = 40.0


async def read(folder: Path, data: bytes, name: str = "", media_type: str = "") -> str | None:
    path = folder / "file"
    path.write_bytes(data)
    async with asyncio.timeout(PATIENCE_S):
        return await text_of(path, media_type, name)


# text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain", "plain"),
        ("Grüße 数 📊".encode(), "Grüße 数 📊"),
        ("Grüße 数 📊".encode("utf-8-sig"), "Grüße 数 📊"),
        ("Grüße 数 📊".encode("utf-16"), "Grüße 数 📊"),
        ("\ufeffGrüße 数 📊".encode("utf-16-be"), "Grüße 数 📊"),
        ("\ufeffGrüße 数 📊".encode("utf-16-le"), "Grüße 数 📊"),
        ("Grüße €".encode("cp1252"), "Grüße €"),
        (b"\xff\xfe\x3d\xd8", "\ufffd"),
        (b"caf\xc3", "cafÃ"),
        (b"\x81\x8d undefined", "\ufffd\ufffd undefined"),
        (b"a\0b", None),
        (b"", None),
        (b" \r\n\t", None),
        (b"\xef\xbb\xbf", None),
        (b"\x1b[31mred\x07", "\x1b[31mred\x07"),
    ],
)  # fmt: skip
async def test_text_in_any_encoding_is_text(tmp_path: Path, data: bytes, text: str | None) -> None:
    found = await read(tmp_path, data, "a.txt")
    assert found == text
    assert found is None or found.encode()


async def test_utf_32_is_text(tmp_path: Path) -> None:
    assert await read(tmp_path, "Grüße".encode("utf-32"), "a.txt") == "Grüße"


@pytest.mark.parametrize("character", ["a", "ü", "数", "📊"])
async def test_a_long_text_is_cut_at_a_whole_character(tmp_path: Path, character: str) -> None:
    found = await read(tmp_path, (character * (MOST_CHARS + 5)).encode(), "a.txt")
    assert found is not None
    assert found.startswith(character * (MOST_CHARS - 200))
    assert "\ufffd" not in found
    assert len(found) < MOST_CHARS + 200


async def test_an_agent_can_see_that_a_text_was_cut(tmp_path: Path) -> None:
    whole = await read(tmp_path, b"a" * MOST_CHARS, "a.txt")
    cut = await read(tmp_path, b"a" * (MOST_CHARS + 1), "a.txt")
    assert whole == "a" * MOST_CHARS
    assert cut != whole


async def test_a_long_text_in_an_old_encoding_keeps_its_characters(tmp_path: Path) -> None:
    found = await read(tmp_path, ("ü" * 900_000).encode("cp1252"), "a.txt")
    assert found is not None
    assert found.startswith("ü" * 1000)


@pytest.mark.parametrize(
    ("media_type", "name", "claims"),
    [
        ("text/plain", "", True),
        ("text/plain; charset=utf-8", "", True),
        ("TEXT/CSV", "", True),
        ("application/json", "", True),
        ("image/svg+xml", "", True),
        ("", "A.MD", True),
        ("", "archive.tar.py", True),
        ("", ".txt", False),
        ("", "README", False),
        ("application/octet-stream", "a.bin", False),
        ("application/pdf", "a.pdf", False),
        ("", "", False),
    ],
)
def test_what_claims_to_be_text(media_type: str, name: str, claims: bool) -> None:
    assert is_text(media_type, name) is claims


async def test_what_claims_nothing_is_not_read(tmp_path: Path) -> None:
    assert await read(tmp_path, b"plain words", "a.bin") is None


@pytest.mark.parametrize("text", ["The header is %PDF-1.4, says ISO 32000.", 'MAGIC = b"%PDF-"\n'])
async def test_a_text_about_pdfs_is_text(tmp_path: Path, text: str) -> None:
    assert await read(tmp_path, text.encode(), "notes.py") == text.strip()


# PDF


async def test_the_pages_of_a_pdf_come_in_order(tmp_path: Path) -> None:
    found = await read(tmp_path, pdf("first page\nsecond line", "last page"))
    assert found is not None
    assert found.split("\n") == ["first page", "second line", "", "last page"]


async def test_a_pdf_behind_a_few_other_bytes_is_one(tmp_path: Path) -> None:
    assert await read(tmp_path, b"\n\n\x00" + pdf("words")) == "words"


async def test_a_pdf_that_every_reader_can_open_is_read_and_one_with_a_password_is_not(tmp_path: Path) -> None:
    assert await read(tmp_path, encrypted(pdf("open"), "")) == "open"
    assert await read(tmp_path, encrypted(pdf("closed"), "secret")) is None


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-", b"%PDF-1.4\n%%EOF", pdf("cut short")[:200], b"%PDF-1.4\n" + bytes(range(256)) * 100,
        b"%PDF-1.4\nstartxref\n99999999999999999999\n%%EOF", pdf(""), tree_in_itself(),
        pdf("x").replace(b"/Count 1", b"/Count -1").replace(b"[4 0 R]", b"[9 0 R]"),
        pdf("x").replace(b"/Contents 5 0 R", b"/Contents 4 0 R"), pdf("x").replace(b"/Kids", b"/Kits"),
    ],
    ids=["head", "empty", "short", "noise", "far", "blank", "cycle", "nowhere", "itself", "no kids"],
)  # fmt: skip
async def test_a_broken_pdf_is_a_file_without_text(tmp_path: Path, data: bytes) -> None:
    assert await read(tmp_path, data, "a.pdf") is None


async def test_a_long_pdf_is_cut(tmp_path: Path) -> None:
    found = await read(tmp_path, pdf(*["word " * 1000 + "\n"] * 50))
    assert found is not None
    assert MOST_CHARS // 2 < len(found) <= MOST_CHARS


@pytest.mark.endurance
async def test_one_page_named_often_ends_in_time_with_something(tmp_path: Path) -> None:
    found = await read(tmp_path, same_page_often(5_000))
    assert found is not None
    assert found.split()[:2] == ["again", "again"]


@pytest.mark.endurance
async def test_what_inflates_is_not_held_in_memory(tmp_path: Path) -> None:
    assert await read(tmp_path, inflating(400)) is None


async def test_half_a_character_loses_only_itself(tmp_path: Path) -> None:
    found = await read(tmp_path, with_half_a_character())
    assert found is not None
    assert "plain" in found
    assert found.encode()


def children() -> set[str]:
    """Processes of ours that read PDFs."""
    found = set()
    for entry in Path("/proc/self/task").glob("*/children"):
        found |= set(entry.read_text().split())
    return found


async def test_a_reader_that_is_not_waited_for_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(working(8))
    before = children()
    task = asyncio.create_task(text_of(path, "", ""))
    async with asyncio.timeout(PATIENCE_S):
        while not children() - before:  # noqa: ASYNC110  # nobody tells when a process has begun
            await asyncio.sleep(0.005)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert children() - before == set()


async def test_s09_a_reader_steps_back_and_is_bounded(tmp_path: Path) -> None:
    """As the kernel tells it, while it works."""
    path = tmp_path / "file"
    path.write_bytes(working(8))
    before = children()
    task = asyncio.create_task(text_of(path, "", ""))
    async with asyncio.timeout(PATIENCE_S):
        while not (found := children() - before) or _adjusted(found) != OOM_SCORE_ADJ:  # noqa: ASYNC110  # the same
            await asyncio.sleep(0.005)
        [reader] = found
        while str(MEMORY_BYTES) not in _limit(reader, "Max address space"):  # noqa: ASYNC110  # the same
            await asyncio.sleep(0.005)
    assert os.getpriority(os.PRIO_PROCESS, int(reader)) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICE)
    assert str(CPU_S) in _limit(reader, "Max cpu time")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (CPU_S, MEMORY_BYTES) == (8, 384 * 1024 * 1024)


def _adjusted(found: set[str]) -> int:
    [reader] = found
    return int(Path(f"/proc/{reader}/oom_score_adj").read_text())


def _limit(reader: str, name: str) -> list[str]:
    lines = Path(f"/proc/{reader}/limits").read_text().splitlines()
    return next(line for line in lines if line.startswith(name)).split()


async def test_s09_what_takes_too_long_is_given_up_with_what_was_read(tmp_path: Path) -> None:
    assert await read(tmp_path, working(64)) is None


@pytest.mark.parametrize(("gigabytes", "count"), [(0.5, 1), (1, 1), (1.9, 1), (2, 2), (64, 2)])
def test_s09_one_file_is_read_at_a_time_where_memory_is_short(gigabytes: float, count: int) -> None:
    assert readers(int(gigabytes * 1000**3)) == count


def test_s09_this_machine_has_memory() -> None:
    assert 64 * 1024 * 1024 < memory_bytes() <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


# kinds


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n...", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
        (b"RIFF\0\0\0\0WAVE", None),
        (b"\x89PNG", None),
        (b"BM", None),
        (b"<svg", None),
        (b"", None),
    ],
)
def test_a_picture_is_known_by_how_it_begins(head: bytes, media_type: str | None) -> None:
    assert picture_type(head) == media_type


def test_what_is_sent_is_shown_as_what_it_is() -> None:
    shown = {kind: kind_of(kind) for kind in ("image/png", "IMAGE/JPEG", "image/svg+xml", "audio/ogg", "video/mp4", "")}
    assert list(shown.values()) == [
        FileKind.IMAGE, FileKind.IMAGE, FileKind.FILE, FileKind.AUDIO, FileKind.VIDEO, FileKind.FILE,
    ]  # fmt: skip
    assert not is_pdf(b"PDF-1.4")
