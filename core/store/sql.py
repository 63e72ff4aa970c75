"""Statements written in SQLAlchemy Core, compiled once per dialect and run on the driver's own cursor.

Building a statement costs ten times what SQLite needs to run it, so statements are module constants: `Sql(select(...))`
with named bind parameters. Times are whole microseconds since 1970 in UTC on both databases, which order and compare as
integers; the aggregates turn them into aware datetimes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol, cast

from sqlalchemy import BigInteger, BindParameter, Integer, Table, Text, bindparam
from sqlalchemy.sql.elements import ClauseElement

from core.clock import EPOCH
from core.errors import ValueDamaged
from core.store.dialects import dialect as dialect_named
from core.store.dialects import insert_into

Value = str | int | float | bytes | None

_MICROSECOND = timedelta(microseconds=1)


def to_us(at: datetime) -> int:
    return (at - EPOCH) // _MICROSECOND


def from_us(us: int) -> datetime:
    return EPOCH + timedelta(microseconds=us)


def text(name: str) -> BindParameter[str]:
    return bindparam(name, type_=Text())


def integer(name: str) -> BindParameter[int]:
    return bindparam(name, type_=BigInteger())


def count(name: str) -> BindParameter[int]:
    """For LIMIT."""
    return bindparam(name, type_=Integer())


class Row:
    """One result row, read by column name with the type that the caller expects."""

    __slots__ = ("_columns", "_values")

    def __init__(self, columns: Mapping[str, int], values: Sequence[Value]) -> None:
        self._columns = columns
        self._values = values

    def text(self, name: str) -> str:
        return cast("str", self._values[self._columns[name]])

    def text_or_none(self, name: str) -> str | None:
        return cast("str | None", self._values[self._columns[name]])

    def integer(self, name: str) -> int:
        value = self._values[self._columns[name]]
        if value is None or isinstance(value, str | bytes):
            raise ValueDamaged(f"{name} is no number")
        return cast("int", value)

    def integer_or_none(self, name: str) -> int | None:
        return None if self._values[self._columns[name]] is None else self.integer(name)

    def value(self, name: str) -> Value:
        """Whatever it is."""
        return self._values[self._columns[name]]

    def time(self, name: str) -> datetime:
        try:
            return from_us(self.integer(name))
        except OverflowError:
            raise ValueDamaged(f"{name} is no time") from None

    def time_or_none(self, name: str) -> datetime | None:
        return None if self._values[self._columns[name]] is None else self.time(name)


class Sql:
    """One statement. Constants are part of its text; named bind parameters must all be given at each run."""

    __slots__ = ("_clause", "_columns", "_compiled")

    def __init__(self, clause: ClauseElement | Callable[[str], ClauseElement]) -> None:
        """`clause`: the statement, or what makes it for a dialect."""
        self._clause = clause
        self._compiled: dict[str, str] = {}
        self._columns: dict[str, int] | None = None

    def compiled(self, dialect: str) -> str:
        found = self._compiled.get(dialect)
        if found is None:
            clause = self._clause if isinstance(self._clause, ClauseElement) else self._clause(dialect)
            found = self._compiled[dialect] = str(clause.compile(dialect=dialect_named(dialect)))
        return found

    def columns(self, description: Iterable[Sequence[object]]) -> dict[str, int]:
        if self._columns is None:
            self._columns = {str(column[0]): i for i, column in enumerate(description)}
        return self._columns


def insert(table: Table, *columns: str, returning: str | None = None, once: Sequence[str] | None = None) -> Sql:
    """INSERT of these columns. With `once`, a row that exists by those columns stays as it is, and nothing returns."""

    def build(dialect: str) -> ClauseElement:
        kept = insert_into(table, dialect).values({name: bindparam(name, type_=table.c[name].type) for name in columns})
        if once is not None:
            kept = kept.on_conflict_do_nothing(index_elements=list(once))
        return kept.returning(table.c[returning]) if returning is not None else kept

    return Sql(build)


class Cursor(Protocol):
    """What we use of a DBAPI cursor (PEP 249)."""

    @property
    def rowcount(self) -> int: ...
    @property
    def description(self) -> Iterable[Sequence[object]]: ...
    def execute(self, sql: str, parameters: Mapping[str, Value], /) -> object: ...
    def executemany(self, sql: str, parameters: Sequence[Mapping[str, Value]], /) -> object: ...
    def fetchone(self) -> Sequence[Value] | None: ...
    def fetchall(self) -> Sequence[Sequence[Value]]: ...
    def close(self) -> None: ...


class Tx:
    """One transaction, as a unit of work sees it. Whoever runs the unit begins, commits and rolls back."""

    __slots__ = ("_cursor", "dialect")

    def __init__(self, cursor: Cursor, dialect: str) -> None:
        self._cursor = cursor
        self.dialect = dialect

    def run(self, sql: Sql, /, **values: Value) -> int:
        """Execute; the number of rows that it touched."""
        self._cursor.execute(sql.compiled(self.dialect), values)
        return self._cursor.rowcount

    def many(self, sql: Sql, rows: Sequence[Mapping[str, Value]], /) -> None:
        """Execute once per row."""
        if rows:
            self._cursor.executemany(sql.compiled(self.dialect), rows)

    def one(self, sql: Sql, /, **values: Value) -> Row | None:
        """The first row, or None."""
        self.run(sql, **values)
        found = self._cursor.fetchone()
        return None if found is None else Row(sql.columns(self._cursor.description), found)

    def all(self, sql: Sql, /, **values: Value) -> list[Row]:
        self.run(sql, **values)
        found = self._cursor.fetchall()
        columns = sql.columns(self._cursor.description) if found else {}
        return [Row(columns, values_) for values_ in found]

    def number(self, sql: Sql, /, **values: Value) -> int:
        """The first column of the only row, which is a whole number."""
        self.run(sql, **values)
        found = self._cursor.fetchone()
        if found is None:
            raise LookupError("the statement returned no row")
        return int(cast("int", found[0]))

    def maybe_number(self, sql: Sql, /, **values: Value) -> int | None:
        self.run(sql, **values)
        found = self._cursor.fetchone()
        return None if found is None else int(cast("int", found[0]))
