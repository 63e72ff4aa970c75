"""A file of instructions, as an agent reads it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.agents.instructions import LIMIT_BYTES, Instructions
from core.errors import ConfigError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "soul.md"
    path.write_text("Be kind.", encoding="utf-8-sig")
    return path


def write(file: Path, content: bytes) -> None:
    file.write_bytes(content)


def replace_unseen(file: Path, text: str) -> None:
    """Another file of the same time."""
    other = file.with_name("other.md")
    other.write_text(text, encoding="utf-8-sig")
    moment = file.stat().st_mtime_ns
    os.utime(other, ns=(moment, moment))
    other.replace(file)


@pytest.mark.parametrize(
    ("content", "why"), [(None, "No such file"), (b"\xff", "not UTF-8"), (b" \n", "empty"), (b"a" * 2**21, "1 MiB")]
)
def test_a_start_without_instructions_says_what_is_wrong(file: Path, content: bytes | None, why: str) -> None:
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"\[agents.a\] instructions_file = .*" + why):
        Instructions("a", file)


async def test_a_changed_file_is_read_again(file: Path) -> None:
    instructions = Instructions("a", file)
    assert instructions.text == "Be kind."
    write(file, b"Be brief.")
    await instructions.look()
    assert instructions.text == "Be brief."


async def test_another_file_in_its_place_is_noticed_though_time_and_size_are_the_same(file: Path) -> None:
    instructions = Instructions("a", file)
    replace_unseen(file, "Be cold.")
    await instructions.look()
    assert instructions.text == "Be cold."


async def test_what_is_too_large_is_not_taken(file: Path) -> None:
    instructions = Instructions("a", file)
    write(file, b"a" * (LIMIT_BYTES + 1))
    await instructions.look()
    assert instructions.text == "Be kind."
    write(file, b"a" * LIMIT_BYTES)
    await instructions.look()
    assert len(instructions.text) == LIMIT_BYTES
