"""Is the store sound? The rules are in `rules`; here they are asked, in pieces, so that nobody waits for it.

A piece is one read of its own: a row that changes while the survey runs is judged as it is in one moment.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from msgspec import Struct
from sqlalchemy import text as verbatim
from sqlalchemy.sql.elements import ClauseElement

from core.errors import StoreCorrupt, StoreError
from core.store.engine import Database, Store
from core.store.files import Files
from core.store.rules import (
    CONVERSATIONS,
    DELIVERIES,
    FILE_THERE,
    INBOX,
    INDEX,
    INTACT,
    MEANS,
    REFERENCES,
    RULES,
    SESSIONS,
    TO_DO,
    TURNS,
    WHOLE,
    Rule,
)
from core.store.sql import Row, Sql, Tx, Value

MOST = 20
"""Findings of one rule that are told."""
ROWS = 2_000
"""Rows of a table in one piece, or entries of the sessions in it: a few milliseconds."""


class Finding(Struct, frozen=True, kw_only=True):
    """A broken rule, and the row that breaks it: a table's name and the row's id there."""

    rule: str
    subject: str

    @property
    def means(self) -> str:
        """What it is to the owner."""
        return MEANS[self.rule]

    @property
    def advice(self) -> str:
        """What to do about it."""
        return TO_DO[self.rule]


class Report(Struct, frozen=True, kw_only=True):
    """`checked`: how many rows of each table were looked at, and files."""

    findings: tuple[Finding, ...]
    checked: Mapping[str, int]


_WORDS = {
    "sqlite": {
        "CALL(r)": "r.data ->> 'call'",
        "CALL(c)": "c.data ->> 'call'",
        "LAST_ID": "coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'entries'",
    },
    "postgresql": {
        "CALL(r)": "CAST(r.data AS json) ->> 'call'",
        "CALL(c)": "CAST(c.data AS json) ->> 'call'",
        "LAST_ID": "last_value FROM entries_id_seq",
    },
}
"""Where the databases say the same thing differently."""
_PIECED = (
    "x.id",
    "session_id",
    "e.session_id",
    "c.session_id",
    "s.id",
    "c.id",
    "t.id",
    "i.id",
    "d.id",
    "id",
    "x.rowid",
)


def _rule(words: str) -> Sql:
    def build(dialect: str) -> ClauseElement:
        written = words
        for ours, theirs in _WORDS[dialect].items():
            written = written.replace(ours, theirs)
        for column in _PIECED:
            written = written.replace(f"PIECE({column})", f"{column} > :after AND {column} <= :upto")
        return verbatim(f"SELECT subject FROM ({written}) AS broken ORDER BY subject LIMIT {MOST}")  # noqa: S608  # constants of ours

    return Sql(build)


_ASKED = {rule.name: _rule(rule.words) for rule in RULES}
_FIRST: Mapping[str, Value] = {SESSIONS: "", TURNS: "", CONVERSATIONS: 0, INBOX: 0, DELIVERIES: 0, INDEX: 0}


def _key(table: str) -> str:
    return "rowid" if table == INDEX else "id"


def _next(table: str) -> Sql:
    """A piece's rows: of sessions, with how many entries each has."""
    weight = "head" if table == SESSIONS else "0"
    key = _key(table)
    words = f"SELECT {key} AS id, {weight} AS weight FROM {table} WHERE {key} > :after ORDER BY {key} LIMIT {ROWS}"  # noqa: S608  # constants of ours
    return Sql(verbatim(words))


_NEXT = {table: _next(table) for table in _FIRST}
_LAST = {table: Sql(verbatim(f"SELECT max({_key(table)}) AS id FROM {table}")) for table in _FIRST}  # noqa: S608  # the same
_TABLES = Sql(verbatim("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'entries_search_%'"))
_ORPHANS = Sql(verbatim("SELECT \"table\" || ' ' || coalesce(rowid, 0) AS subject FROM pragma_foreign_key_check"))
_REFERRED = Sql(
    verbatim(f"SELECT id, digest, size FROM attachments WHERE id > :after ORDER BY id LIMIT {ROWS}")  # noqa: S608  # the same
)


def _rules(dialect: str) -> list[Rule]:
    return [rule for rule in RULES if rule.dialect in (None, dialect)]


def check(tx: Tx) -> list[Finding]:
    """Every broken rule but those about files on the disk, in one transaction, with at most `MOST` of the rows that
    break it; empty if all is well. For stores of a test's size."""
    findings = [
        Finding(rule=rule.name, subject=row.text("subject"))
        for rule in _rules(tx.dialect)
        for row in _broken(tx, rule, _FIRST.get(rule.over), _last(tx, rule.over))
    ]
    if tx.dialect == "sqlite":
        findings += [Finding(rule=REFERENCES, subject=row.text("subject")) for row in tx.all(_ORPHANS)]
    return findings


def _last(tx: Tx, table: str) -> Value:
    row = tx.one(_LAST[table]) if table != WHOLE else None
    return None if row is None else row.value("id")


def _broken(tx: Tx, rule: Rule, after: Value, upto: Value) -> list[Row]:
    if rule.over == WHOLE:
        return tx.all(_ASKED[rule.name])
    return tx.all(_ASKED[rule.name], after=after, upto=upto) if upto is not None else []


async def survey(store: Store) -> Report:
    """Ask every rule of the whole store, in short reads beside whatever runs; then the database itself, on a
    connection of its own. Raises `StoreError` where the store can't be read."""
    work = _Survey(store)
    try:
        await work.rows()
        await work.files()
        work.take(await asyncio.to_thread(_intact, store.database))
    except StoreCorrupt as fault:
        work.take([Finding(rule=INTACT, subject=str(fault))])
    return Report(findings=tuple(work.findings), checked=dict(sorted(work.checked.items())))


@dataclass(slots=True)
class _Piece:
    findings: list[Finding]
    upto: Value
    rows: int
    entries: int


@dataclass(slots=True)
class _Survey:
    store: Store
    findings: list[Finding] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)

    def take(self, found: Sequence[Finding]) -> None:
        for finding in found:
            if sum(known.rule == finding.rule for known in self.findings) < MOST:
                self.findings.append(finding)

    async def rows(self) -> None:
        dialect = self.store.database.dialect
        in_order = sorted(_rules(dialect), key=lambda rule: rule.over)
        for table, some in groupby(in_order, key=lambda rule: rule.over):
            await self._table(table, list(some))

    async def _table(self, table: str, rules: Sequence[Rule]) -> None:
        after = _FIRST.get(table)
        while True:
            piece = await self.store.read(lambda tx: _look(tx, table, rules, after))  # noqa: B023  # run at once
            self.take(piece.findings)
            if table != WHOLE:
                self.checked[table] += piece.rows
            if table == SESSIONS:
                self.checked["entries"] += piece.entries
            if piece.upto is None:
                return
            after = piece.upto

    async def files(self) -> None:
        after, self.checked["files"] = 0, 0
        while page := await self.store.read(lambda tx: tx.all(_REFERRED, after=after)):  # noqa: B023  # run at once
            after = page[-1].integer("id")
            self.checked["files"] += len(page)
            self.take(await asyncio.to_thread(lambda: list(_missing(self.store.files, page))))  # the same


def _look(tx: Tx, table: str, rules: Sequence[Rule], after: Value) -> _Piece:
    """The next piece of a table. `upto` is None behind the last one."""
    if table == WHOLE:
        found = [(rule, row) for rule in rules for row in _broken(tx, rule, None, None)]
        return _Piece([Finding(rule=rule.name, subject=row.text("subject")) for rule, row in found], None, 0, 0)
    rows, weight, upto = 0, 0, None
    for row in tx.all(_NEXT[table], after=after):
        rows, weight, upto = rows + 1, weight + _weight(row), row.value("id")
        if weight > ROWS:
            break
    broken = [(rule, row) for rule in rules for row in _broken(tx, rule, after, upto)]
    findings = [Finding(rule=rule.name, subject=row.text("subject")) for rule, row in broken]
    return _Piece(findings, upto, rows, weight)


def _weight(row: Row) -> int:
    """0 for one that is damaged, which a rule finds."""
    weight = row.value("weight")
    return weight if isinstance(weight, int) else 0


def _missing(files: Files, page: Sequence[Row]) -> Iterator[Finding]:
    for row in page:
        size = files.size(row.text("digest"))
        if size != row.integer("size"):
            yield Finding(rule=FILE_THERE, subject=f"files {row.text('digest')}")


def _intact(database: Database) -> list[Finding]:
    """What SQLite says of each table, its indexes and its references, one at a time: no statement keeps the log from
    being written back for longer than one table takes."""
    if database.dialect != "sqlite":
        return []
    found: list[Finding] = []
    try:
        with contextlib.closing(database.connect(readonly=True)) as connection:
            cursor = connection.cursor()
            tables = [row.text("name") for row in Tx(cursor, database.dialect).all(_TABLES)]
            for table in tables:
                cursor.execute(f'PRAGMA integrity_check("{table}")', {})
                said = [str(row[0]) for row in cursor.fetchall()]
                found += [Finding(rule=INTACT, subject=f"{table}: {words}") for words in said if words != "ok"]
                cursor.execute(f'PRAGMA foreign_key_check("{table}")', {})
                found += [Finding(rule=REFERENCES, subject=f"{table} {row[1] or 0!s}") for row in cursor.fetchall()]
    except Exception as error:
        ours = database.translate(error)
        if isinstance(ours, StoreCorrupt):
            return [*found, Finding(rule=INTACT, subject=str(ours))]
        raise (ours if isinstance(ours, StoreError) else error) from error
    return found
