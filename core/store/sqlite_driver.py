"""Which SQLite serves: pysqlite3's, which is new, or the standard library's where no wheel of that is published."""

from __future__ import annotations

from typing import Final

try:
    from pysqlite3 import dbapi2 as sqlite
except ImportError:  # pyproject.toml says where
    from sqlite3 import dbapi2 as sqlite

__all__ = ["LEAST_VERSION", "is_sound", "refusal", "sqlite"]

LEAST_VERSION: Final = (3, 51, 3)
_MENDED: Final = ((3, 50, 7), (3, 44, 6))
"""Older lines, each from the version on that has the same fix."""


def is_sound(version: tuple[int, ...]) -> bool:
    """Whether two connections can't corrupt a log that both write back (sqlite.org/wal.html, "WAL-reset bug")."""
    return version >= LEAST_VERSION or any(first <= version < (*first[:2], 1000) for first in _MENDED)


def refusal() -> str | None:
    """What is wrong with the SQLite that serves, and what to do; None: it is sound."""
    if is_sound(sqlite.sqlite_version_info):
        return None
    return (
        f"SQLite {sqlite.sqlite_version} can corrupt its log: install pysqlite3 0.6.1 or newer. Where that has no "
        "wheel (ARM64 Linux), run Frontdesk with a Python that has SQLite 3.51.3 or newer "
        "(python3 -c 'import sqlite3; print(sqlite3.sqlite_version)' tells), or with PostgreSQL ([store] url)"
    )
