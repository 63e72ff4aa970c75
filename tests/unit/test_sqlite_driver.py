"""Which SQLite serves, and which is refused."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import StoreError
from core.store.open import open_store
from core.store.sqlite_driver import is_sound, refusal, sqlite

STANDARD = """
import asyncio, sqlite3, sys
from pathlib import Path
sys.modules["pysqlite3"] = None  # as where no wheel of it is published
from core.errors import StoreError
from core.store import facts, sqlite_driver
from core.store.open import open_store

async def use():
    store = open_store(None, Path(sys.argv[1]))
    await store.write(lambda tx: facts.put(tx, "a", "b"))
    assert await store.read(lambda tx: facts.get(tx, "a")) == "b"
    await asyncio.to_thread(store.close)

assert sqlite_driver.sqlite is sqlite3.dbapi2
try:
    asyncio.run(use())
except StoreError as fault:
    assert not sqlite_driver.is_sound(sqlite3.sqlite_version_info), fault
    assert f"SQLite {sqlite3.sqlite_version} can corrupt its log" in str(fault)
else:
    assert sqlite_driver.is_sound(sqlite3.sqlite_version_info)
"""

ROOT = Path(__file__).parents[2]
DESK = """
import sqlite3
from core.store import sqlite_driver
assert sqlite_driver.sqlite is sqlite3.dbapi2
from core.cli.app import main
main()
"""
"""`frontdesk`, over the standard library's."""


@pytest.mark.parametrize(
    ("version", "sound"),
    [
        ((3, 51, 3), True),
        ((3, 53, 4), True),
        ((4, 0, 0), True),
        ((3, 51, 2), False),
        ((3, 50, 7), True),
        ((3, 50, 6), False),
        ((3, 49, 9), False),
        ((3, 44, 6), True),
        ((3, 44, 5), False),
        ((3, 40, 1), False),
    ],
)
def test_a_version_that_corrupts_its_log_is_known(version: tuple[int, ...], sound: bool) -> None:
    assert is_sound(version) is sound


def test_where_there_is_a_wheel_it_serves() -> None:
    assert sqlite.__name__ == "pysqlite3.dbapi2"
    assert refusal() is None


def test_an_affected_version_opens_no_store_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sqlite, "sqlite_version", "3.40.1")
    monkeypatch.setattr(sqlite, "sqlite_version_info", (3, 40, 1))
    with pytest.raises(StoreError, match=r"SQLite 3\.40\.1 can corrupt its log: install pysqlite3 0\.6\.1 or newer"):
        open_store(None, tmp_path)


def test_where_there_is_none_the_standard_librarys_serves(tmp_path: Path) -> None:
    """On a machine where its version is too old it is refused."""
    words = [sys.executable, "-c", STANDARD, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


needs_a_sound_one = pytest.mark.skipif(
    sys.platform != "linux" and not is_sound(sqlite3.sqlite_version_info),
    reason="run the tests with a Python that has SQLite 3.51.3 or newer",
)


@needs_a_sound_one
def test_conversations_go_on_over_the_standard_librarys(tmp_path: Path) -> None:
    config = tmp_path / "frontdesk.toml"
    config.write_text('[agents.default]\nbackend = "offline"\n[listen]\nport = 0\n')
    words = [sys.executable, "-c", f"import tests.standard_sqlite{DESK}"]
    for number in (1, 2):
        done = subprocess.run(
            [*words, "run", f"--config={config}", f"--state={tmp_path / 'state'}"],
            input="hello\n", capture_output=True, text=True, cwd=ROOT, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert f"Message {number} of session" in done.stdout


@needs_a_sound_one
@pytest.mark.endurance
def test_the_standard_librarys_keeps_the_contract_of_the_store() -> None:
    tests = sorted(str(one) for one in (ROOT / "tests/contract").glob("test_store_*.py"))
    words = [sys.executable, "-m", "pytest", "-q", "-p", "tests.standard_sqlite", "-k", "not postgres", *tests]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
