"""What is looked at on this machine: the state directory, the store, the port, the unit. Nothing is changed there."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from config.secret import Secret
from config.settings import ListenSettings, Settings
from core import errors
from core.errors import AgentError
from core.probing import models, place
from core.probing.port import holder_of, look_at_port
from core.probing.unit import Unit, look_at_unit, span_s
from core.store.lock import FileLocks
from core.store.open import DATABASE_FILE, LOCK_FILE, open_store
from core.store.tables import MIGRATIONS, SCHEMA
from tests.crash.daemon import ROOT

URL: Final = "sqlite:///{}/frontdesk.db"
KILLED: Final = """
import os, sys
from core.store.sqlite_driver import sqlite
connection = sqlite.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode=WAL")
connection.execute("INSERT INTO facts (name, value) VALUES ('a', 'b')")
os.kill(os.getpid(), 9)
"""
"""Leaves a log that was not written back."""


def contents(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.is_file()}


def store(state: Path, *, runs: bool = False) -> tuple[str, str]:
    finding = place.look_at_store(URL.format(state), state, runs=runs)
    return finding.state, finding.detail + finding.do


# the state directory


def test_a_directory_that_is_not_there_is_made_at_the_first_start(tmp_path: Path) -> None:
    [finding] = place.look_at_directory(tmp_path / "a/b", runs=False)
    assert (finding.state, "first start" in finding.detail) == ("ok", True)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_others_may_enter_is_warned_of(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    finding, _ = place.look_at_directory(tmp_path, runs=False)
    assert (finding.state, finding.do) == ("warning", f"chmod 700 {tmp_path}")


def test_a_good_directory_says_how_much_room_there_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    finding, daemon = place.look_at_directory(tmp_path, runs=False)
    assert (finding.state, daemon.state) == ("ok", "ok")
    assert "MiB free" in finding.detail
    assert daemon.detail == "none runs here"


@pytest.mark.parametrize(("free", "state"), [(place.NEEDED_BYTES - 1, "fault"), (place.ROOMY_BYTES - 1, "warning")])
def test_too_little_room_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, state: str) -> None:
    tmp_path.chmod(0o700)
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    finding, _ = place.look_at_directory(tmp_path, runs=False)
    assert finding.state == state


def test_who_holds_the_lock_is_told_without_trying_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    lock = FileLocks([tmp_path / LOCK_FILE])
    _, silent = place.look_at_directory(tmp_path, runs=False)
    _, answering = place.look_at_directory(tmp_path, runs=True)
    lock.release()
    assert (silent.state, f"process {os.getpid()}" in silent.detail) == ("warning", True)
    assert answering.state == "ok"
    assert place.holder_of(tmp_path) is None


# the store


def test_a_store_that_is_not_there_is_made_later(tmp_path: Path) -> None:
    assert store(tmp_path)[0] == "ok"
    assert list(tmp_path.iterdir()) == []


def test_a_sound_store_is_sound_and_stays_as_it_is(sqlite_state: Path) -> None:
    before = contents(sqlite_state)
    assert store(sqlite_state) == ("ok", f"is sound, with schema {SCHEMA}")
    assert contents(sqlite_state) == before


def test_a_store_that_was_killed_stays_as_it_was_left(tmp_path: Path) -> None:
    open_store(None, tmp_path).close()
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / DATABASE_FILE)], check=False)
    before = contents(tmp_path)
    assert killed.returncode == -9
    assert f"{DATABASE_FILE}-wal" in before
    assert store(tmp_path) == ("ok", f"is sound, with schema {SCHEMA}")
    assert contents(tmp_path) == before


def test_a_large_store_that_was_killed_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(None, tmp_path).close()
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / DATABASE_FILE)], check=False)
    before = contents(tmp_path)
    monkeypatch.setattr(place, "COPIED_BYTES", 1)
    assert "not looked into" in store(tmp_path)[1]
    assert contents(tmp_path) == before


def version(state: Path, number: str) -> None:
    program = (
        "import sys; from core.store.sqlite_driver import sqlite as s; c = s.connect(sys.argv[1]);"
        f"c.execute('UPDATE {MIGRATIONS} SET version_num = ?', (sys.argv[2],)); c.commit(); c.close()"
    )
    subprocess.run([sys.executable, "-c", program, str(state / DATABASE_FILE), number], check=True)


def test_a_schema_that_is_behind_is_brought_up_by_the_next_start(sqlite_state: Path) -> None:
    version(sqlite_state, "0001")
    state, words = store(sqlite_state)
    assert (state, "frontdesk db upgrade" in words) == ("warning", True)


def test_a_schema_that_is_ahead_is_a_fault(sqlite_state: Path) -> None:
    version(sqlite_state, "9999")
    state, words = store(sqlite_state)
    assert (state, "install the newer Frontdesk" in words) == ("fault", True)


def test_a_damaged_store_is_a_fault_and_stays_as_it_is(sqlite_state: Path) -> None:
    with open(sqlite_state / DATABASE_FILE, "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 65536)
    before = contents(sqlite_state)
    state, words = store(sqlite_state)
    assert (state, "damaged" in words) == ("fault", True)
    assert contents(sqlite_state) == before


def test_a_store_that_a_desk_has_open_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / DATABASE_FILE).write_bytes(b"nonsense")
    assert store(tmp_path, runs=True)[0] == "ok"


def test_a_database_server_that_is_gone_is_no_fault_of_the_config(tmp_path: Path) -> None:
    finding = place.look_at_store("postgresql://nobody@127.0.0.1:1/none", tmp_path, runs=False)
    assert (finding.state, finding.blames) == ("fault", "world")


def test_the_time_is_told_in_each_zone() -> None:
    at = datetime(2026, 1, 2, 12, 30, tzinfo=UTC)
    finding = place.look_at_zones(["Europe/Berlin", "UTC", "UTC"], at)
    assert finding.detail == "it is 13:30 in Europe/Berlin, 12:30 in UTC"


# the port


async def test_a_free_port_is_free_and_stays_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    finding = await look_at_port(ListenSettings(port=port), None)
    assert finding.state == "ok"
    with socket.create_server(("127.0.0.1", port)):
        assert holder_of(port) is not None


async def test_a_port_that_is_taken_is_told_with_who_has_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        finding = await look_at_port(ListenSettings(port=port), None)
    assert finding.state == "fault"
    assert f"(process {os.getpid()})" in finding.detail


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (b'{"ready":true,"store":{"ok":true},"loop":{},"recovery":{"ok":true},"stopping":{},"bots":[]}', "warning"),
        (b'{"status":"ok"}', "fault"),
    ],
)
async def test_a_port_that_another_desk_of_ours_serves_is_no_fault(answer: bytes, state: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n" + answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        finding = await look_at_port(ListenSettings(port=server.sockets[0].getsockname()[1]), None)
    assert finding.state == state
    assert f"(process {os.getpid()})" in finding.detail


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
async def test_a_host_that_is_not_ours_is_a_fault(host: str) -> None:
    finding = await look_at_port(ListenSettings(host=host, port=0), None)
    assert (finding.state, finding.blames) == ("fault", "config")


@pytest.mark.parametrize(
    ("listen", "state"),
    [
        ({"state": "up", "address": "127.0.0.1:8484", "detail": None}, "ok"),
        ({"state": "waiting", "address": "127.0.0.1:8484", "detail": "taken"}, "fault"),
        (None, "ok"),
    ],
)
async def test_a_desk_that_runs_tells_of_its_port(listen: dict[str, str] | None, state: str) -> None:
    assert (await look_at_port(ListenSettings(), {"listen": listen})).state == state


# the unit


def unit(root: Path, dropin: str = "") -> Unit:
    made = Unit(root=root)
    made.credentials_file.parent.mkdir(parents=True)
    made.secrets.mkdir(parents=True)
    shutil.copy(ROOT / "systemd/frontdesk.service", made.file)
    made.credentials_file.write_text(dropin)
    return made


def settings(**desk: float) -> Settings:
    bot = {"token": Secret("123:abc", "credential:telegram_token")}
    return Settings.model_validate({"desk": desk, "bots": {"telegram": bot}})


def test_no_unit_is_nothing_to_tell(tmp_path: Path) -> None:
    assert look_at_unit(Unit(root=tmp_path), settings(), None) == []


def test_a_unit_with_another_config_is_told(tmp_path: Path) -> None:
    [finding] = look_at_unit(unit(tmp_path), settings(), tmp_path / "mine.toml")
    assert (finding.state, "another config" in finding.detail) == ("ok", True)


def test_a_unit_that_fits_says_so(tmp_path: Path) -> None:
    made = unit(tmp_path, "[Service]\nLoadCredential=telegram_token:/etc/frontdesk/secrets/telegram_token\n")
    (made.secrets / "telegram_token").write_text("123:abc")
    (made.secrets / "telegram_token").chmod(0o600)
    [finding] = look_at_unit(made, settings(), made.config)
    assert (finding.state, finding.detail) == ("ok", "the installed unit fits this config")


def test_a_drain_that_is_longer_than_systemd_waits_is_warned_of(tmp_path: Path) -> None:
    made = unit(tmp_path, "[Service]\nTimeoutStopSec=1min 30s\n")
    assert not [one for one in look_at_unit(made, settings(drain_s=80), made.config) if "drain_s" in one.detail]
    [finding] = [one for one in look_at_unit(made, settings(drain_s=90), made.config) if "drain_s" in one.detail]
    assert (finding.state, "TimeoutStopSec=120" in finding.do) == ("warning", True)


def test_a_credential_that_is_not_handed_over_is_a_fault(tmp_path: Path) -> None:
    made = unit(tmp_path)
    [finding] = look_at_unit(made, settings(), made.config)
    assert finding.state == "fault"
    assert "LoadCredential=telegram_token:" in finding.do


def test_a_credential_s_file_is_there_and_for_root_only(tmp_path: Path) -> None:
    made = unit(tmp_path, "[Service]\nLoadCredential=telegram_token:/etc/frontdesk/secrets/telegram_token\n")
    [missing] = look_at_unit(made, settings(), made.config)
    (made.secrets / "telegram_token").write_text("123:abc")
    (made.secrets / "telegram_token").chmod(0o644)
    [open_to_all] = look_at_unit(made, settings(), made.config)
    assert (missing.state, open_to_all.state) == ("fault", "warning")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("60", 60.0),
        ("1min 30s", 90.0),
        ("500ms", 0.5),
        ("2h", 7200.0),
        ("infinity", float("inf")),
        ("", None),
        ("5 fortnights", None),
    ],
)
def test_spans_are_read_as_systemd_does(text: str, seconds: float | None) -> None:
    assert span_s(text) == seconds


# models


@pytest.mark.parametrize(
    ("fault", "own_server", "expected", "named"),
    [
        (errors.ModelKeyRefused("x"), False, ("fault", "config"), "OPENAI_API_KEY"),
        (errors.ModelMissing("x"), False, ("fault", "config"), "name"),
        (errors.ModelMissing("x"), True, ("fault", "config"), "base_url"),
        (errors.ModelUseless("x"), True, ("fault", "config"), "base_url"),
        (errors.ModelQuota("x"), False, ("fault", "world"), "provider"),
        (errors.ModelUnreachable("x"), False, ("fault", "world"), "network"),
        (errors.ModelUnreachable("x"), True, ("fault", "world"), "base_url"),
        (errors.ModelBusy("x"), False, ("warning", "world"), "again"),
        (errors.ModelRejected("x"), False, ("fault", "config"), "settings"),
        (errors.ModelUnfit("x"), False, ("fault", "config"), "name"),
        (AgentError("x"), False, ("fault", "config"), "settings"),
    ],
)
def test_a_model_s_failure_says_which_option_is_wrong(
    fault: AgentError, own_server: bool, expected: tuple[str, str], named: str
) -> None:
    state, blames, words, do = models.judge(fault, key="OPENAI_API_KEY", own_server=own_server)
    assert (state, blames) == expected
    assert named in do
    assert words
