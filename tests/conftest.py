"""Stores for tests: real ones, on both databases, made by the migrations once and copied for each test. And no test
may print a secret."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import psycopg
import pytest

from core.store.engine import Store
from core.store.open import DATABASE_FILE, open_store
from tests.secrets import shown_in

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # What a shell runs in the background ignores it, and so would every process that a test starts and interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

POSTGRES = os.environ.get("FRONTDESK_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/test")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Of what was captured meanwhile, and of nothing else: a failing test's own report may show what it compares."""
    report = yield
    shown = [where for _, written in report.sections for where in shown_in(written)]
    if shown:
        report.outcome, report.longrepr = "failed", f"a secret was written out: {shown}"
    return report


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file with the present schema and nothing in it."""
    state = tmp_path_factory.mktemp("template")
    open_store(None, state).close()
    return state / DATABASE_FILE


@pytest.fixture
def sqlite_state(sqlite_template: Path, tmp_path: Path) -> Path:
    """A state directory with an empty store in it."""
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    shutil.copy(sqlite_template, state / DATABASE_FILE)
    return state


def _admin() -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(POSTGRES, autocommit=True, connect_timeout=5)


def _url(database: str) -> str:
    head, _, _ = POSTGRES.rpartition("/")
    return f"{head}/{database}"


@pytest.fixture(scope="session")
def postgres_template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a database with the present schema and nothing in it."""
    name = f"frontdesk_test_{os.getpid()}"
    try:
        admin = _admin()
    except psycopg.OperationalError as error:
        words = f"no PostgreSQL at {POSTGRES}; start one there or name another in FRONTDESK_TEST_POSTGRES ({error})"
        if os.environ.get("CI") == "true":
            pytest.fail(words)
        pytest.skip(words)
    with admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
        admin.execute(f"CREATE DATABASE {name}".encode())
        try:
            open_store(_url(name), tmp_path_factory.mktemp("postgres")).close()
            yield name
        finally:
            admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())


@pytest.fixture
def postgres_url(postgres_template: str) -> Iterator[str]:
    """The URL of a PostgreSQL database with an empty store in it."""
    name = f"{postgres_template}_one"
    with _admin() as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE {postgres_template}".encode())
        try:
            yield _url(name)
        finally:
            admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())


@pytest.fixture
def sqlite_store(sqlite_state: Path) -> Iterator[Store]:
    """An open, empty store on SQLite."""
    opened = open_store(None, sqlite_state)
    yield opened
    opened.close()


@pytest.fixture
def postgres_store(postgres_url: str, tmp_path: Path) -> Iterator[Store]:
    """An open, empty store on PostgreSQL."""
    opened = open_store(postgres_url, tmp_path / "state")
    yield opened
    opened.close()


@pytest.fixture(params=["sqlite_store", "postgres_store"])
def store(request: pytest.FixtureRequest) -> Store:
    """An open, empty store; a test that asks for it runs on both databases."""
    opened: Store = request.getfixturevalue(request.param)
    return opened
