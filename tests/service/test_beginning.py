"""From nothing to an answer, to a backup and another home; and from a store of the first version to this one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.store.open import DATABASE_FILE
from tests.crash.scene import Talk
from tests.fakes.telegram import ThreadedTelegramServer
from tests.service.desk import CONFIG, OFFLINE, OPEN, SECRETS, STATE, Desk, telegram_bot
from tests.wire.daemon_world import person
from tests.wire.test_old_store import ask, put

ELSEWHERE = "/var/lib/elsewhere"
BACKUP = "/root/desk.backup"


@pytest.fixture
def talk() -> Iterator[Talk]:
    with ThreadedTelegramServer() as server:
        yield person(server)
        assert server.violations == ()


def answered(desk: Desk, talk: Talk, text: str, *, number: int) -> str:
    """The offline agent's word, which says the how manieth message of which session it answers."""
    talk.type(text)
    desk.until(lambda: bool(talk.texts) and f"Message {number} of session" in talk.texts[-1], f"{text} is answered")
    return talk.texts[-1].split("of session ")[1].split(":")[0]


def sessions(desk: Desk, *options: str) -> list[str]:
    return [str(one["id"]) for one in json.loads(desk.call(*options, "sessions", "list", "--json").stdout)]


def test_a_new_machine_answers_after_two_commands_and_its_backup_goes_on_elsewhere(newcomer: Desk, talk: Talk) -> None:
    newcomer.make("install-service")
    newcomer.machine.write("/root/token", talk.server.token, mode=0o600)
    told = newcomer.call(
        "init", "--platform", "telegram", "--token-file", "/root/token", "--api-base", talk.server.url,
        "--model", "none", "--owner", str(talk.user.id), "--zone", "Europe/Berlin", "--yes", "--start",
    )  # fmt: skip
    assert talk.server.token not in told.stdout + told.stderr
    written = newcomer.machine.path(CONFIG).read_text(encoding="utf-8")
    assert talk.server.token not in written
    assert '"credential:' in written
    secrets = newcomer.machine.run("sh", "-c", f"stat --format='%U %a' {SECRETS}/*").stdout
    assert secrets.split("\n")[0] == "root 600"
    session = answered(newcomer, talk, "hello", number=1)

    newcomer.call("db", "backup", BACKUP)
    assert newcomer.machine.run("stat", "--format=%a", BACKUP).stdout.strip() == "600"
    newcomer.call("db", "restore", BACKUP, "--state", ELSEWHERE)
    assert sessions(newcomer, "--state", ELSEWHERE) == [session]
    newcomer.call("--state", ELSEWHERE, "db", "verify")

    answered(newcomer, talk, "said after the backup", number=2)
    newcomer.stop()
    newcomer.call("db", "restore", BACKUP)
    newcomer.start()
    assert answered(newcomer, talk, "and again", number=2) == session
    assert newcomer.call("db", "verify").returncode == 0
    probed = newcomer.call("check", "--probe", "--json", check=False)
    faults = [one for one in json.loads(probed.stdout) if one["state"] == "fault"]
    assert [one for one in faults if one["what"] != "[listen]"] == []  # the port is shared with the whole machine


def test_a_store_of_the_first_version_is_brought_up_by_the_start_and_kept_beside(
    desk: Desk, talk: Talk, tmp_path: Path
) -> None:
    put(tmp_path / "state")
    desk.machine.run("mkdir", "-p", "-m", "0700", STATE)
    shutil.copy(tmp_path / "state" / DATABASE_FILE, desk.machine.path(f"{STATE}/{DATABASE_FILE}"))
    desk.configure(OPEN + OFFLINE + telegram_bot(talk.server), {"telegram": talk.server.token})
    before = ask(tmp_path / "state", "SELECT id FROM sessions")
    desk.start()
    desk.until_bot("up")
    assert {str(one) for (one,) in before} <= set(sessions(desk))
    assert desk.machine.run("ls", f"{STATE}/backups").stdout.split() == ["schema-0001-1.db"]
    assert desk.call("db", "upgrade", check=False).returncode == 1  # not beside the desk that runs
    assert desk.call("db", "verify").returncode == 0
    assert desk.restarts == 0


def test_a_state_from_when_the_user_was_one_of_the_moment_is_moved_to_its_place(desk: Desk, tmp_path: Path) -> None:
    """As systemd keeps it for `DynamicUser=`, and while the service is stopped."""
    put(tmp_path / "state")
    private = "/var/lib/private/frontdesk"
    desk.machine.run("mkdir", "-p", "-m", "0700", private)
    shutil.copy(tmp_path / "state" / DATABASE_FILE, desk.machine.path(f"{private}/{DATABASE_FILE}"))
    desk.machine.run("chown", "-R", "62000:62000", private)
    desk.machine.run("ln", "-s", "private/frontdesk", STATE)
    desk.make("install-service")
    assert not desk.machine.path(STATE).is_symlink()
    assert sessions(desk)
    owner = desk.machine.run("id", "-u", "frontdesk").stdout.strip()
    assert {str(path.stat().st_uid) for path in desk.machine.path(STATE).rglob("*")} == {owner}
