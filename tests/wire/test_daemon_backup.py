"""Backups as whoever runs the desk makes them: by the command, beside a daemon that runs, and restored elsewhere."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.store import attachments, files, search
from core.store.files import Digest, Files
from core.store.open import DATABASE_FILE
from tests.crash.daemon import Daemon, until
from tests.crash.scene import Talk, open_work
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire.daemon_world import crash_agent, desk, person, telegram_bot, wait_for

OPEN = '[access]\ndirect = "open"\n'


@pytest.fixture
def server() -> Iterator[ThreadedTelegramServer]:
    with ThreadedTelegramServer() as made:
        yield made


def a_desk(home: Path, server: ThreadedTelegramServer) -> Daemon:
    home.mkdir(parents=True, exist_ok=True)
    return desk(home, [("telegram", server)], telegram_bot(server) + OPEN + crash_agent(home))


def at_rest(daemon: Daemon, but: str = "") -> None:
    """Nothing is open, one chat left aside."""

    def nothing() -> bool:
        with daemon.reading() as tx:
            return open_work(tx, but) == 0

    until(nothing, "all has its fate and is out")


def answered(server: ThreadedTelegramServer, daemon: Daemon, talk: Talk, *, but: Talk | None = None) -> str:
    mark = talk.say("fast")
    wait_for(server, daemon, lambda: talk.answers(mark) == 1)
    at_rest(daemon, str(but.chat.id) if but is not None else "")
    return mark


def asked(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_desk_moves_with_all_it_knows_and_says_nothing_twice(server: ThreadedTelegramServer, tmp_path: Path) -> None:
    ada, bea = person(server), person(server, "Bea")
    old, new = a_desk(tmp_path / "old", server), a_desk(tmp_path / "new", server)
    with old:
        old.start()
        old.until_ready()
        first = answered(server, old, ada)
        keep_file(old, b"a picture")
        until(lambda: found_by_search(old, first), "indexed")
        held, behind = bea.say("hold"), bea.say("fast")
        wait_for(server, old, lambda: bea.begun(held) == 1 and not server.unconfirmed)
        backup = tmp_path / "desk.tar"
        made = asked(old.call("db", "backup", str(backup), "--json"))
        assert (made["files"], made["missing"]) == (1, [])
        since = answered(server, old, ada, but=bea)
        refused = new.call("db", "restore", str(tmp_path / "nothing.tar"))
        assert (refused.returncode, refused.stdout) == (1, "")
        running = old.call("db", "restore", str(backup))
        assert "has to be stopped" in running.stderr
    before = (ada.texts, bea.texts)
    restored = asked(new.call("db", "restore", str(backup), "--json"))
    assert restored["held_back"] == {"messages": 2, "turns": 1, "deliveries": 0}
    assert restored["replaced"] is None
    with new:
        new.start()
        new.until_ready()
        assert found_by_search(new, first)
        assert Files(new.state / files.FILES).get(made_digest(new)) == b"a picture"
        assert asked(new.call("db", "verify", "--json"))["sound"] is True
        listed = new.json("sessions", "list")
        assert isinstance(listed, list)
        assert {session["title"] for session in listed} == {f"fast {first}", f"hold {held}"}
        third = answered(server, new, ada)
        explained = new.call("explain", f"telegram/dm/{bea.chat.id}")
        assert explained.stdout.count("waited when the backup was made") == 2
    assert ada.texts[: len(before[0])] == before[0]
    assert bea.texts == before[1]
    assert (ada.answers(first), ada.answers(since), ada.answers(third)) == (1, 1, 1)
    assert bea.answers(behind) == 0


def test_a_desk_that_moved_does_what_waited(server: ThreadedTelegramServer, tmp_path: Path) -> None:
    ada = person(server)
    old, new = a_desk(tmp_path / "old", server), a_desk(tmp_path / "new", server)
    with old:
        old.start()
        old.until_ready()
        crawl = ada.say("crawl")
        wait_for(server, old, lambda: ada.begun(crawl) == 1)
    asked(old.call("db", "backup", str(tmp_path / "desk.tar"), "--json"))
    restored = asked(new.call("db", "restore", str(tmp_path / "desk.tar"), "--moved", "--json"))
    assert restored["held_back"]["messages"] == 0
    told = new.call("db", "restore", str(tmp_path / "desk.tar"), "--moved").stdout
    assert f"start it with: frontdesk run --config {new.config_file} --state {new.state}\n" in told
    with new:
        new.start()
        new.until_ready()
        wait_for(server, new, lambda: ada.answers(crawl) == 1)


def test_a_restored_store_takes_the_place_of_a_damaged_one(server: ThreadedTelegramServer, tmp_path: Path) -> None:
    ada = person(server)
    daemon = a_desk(tmp_path / "home", server)
    with daemon:
        daemon.start()
        daemon.until_ready()
        answered(server, daemon, ada)
        asked(daemon.call("db", "backup", str(tmp_path / "desk.tar"), "--json"))
        daemon.terminate()
        assert daemon.wait_exit() == 0
        with (daemon.state / DATABASE_FILE).open("r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * 4096)
        daemon.start()
        assert daemon.wait_exit() != 0
        done = daemon.call("db", "restore", str(tmp_path / "desk.tar"))
        assert (done.returncode, done.stderr) == (0, "")
        assert str(daemon.state / "backups" / "replaced-") in done.stdout
        daemon.start()
        daemon.until_ready()
        answered(server, daemon, ada)


def test_a_backup_needs_no_config_that_still_fits(server: ThreadedTelegramServer, tmp_path: Path) -> None:
    daemon = a_desk(tmp_path / "home", server)
    with daemon:
        daemon.start()
        daemon.until_ready()
        daemon.config_file.write_text("[store]\nurl = 7\n")
        made = asked(daemon.call("db", "backup", str(tmp_path / "desk.tar"), "--json"))
        assert made["dialect"] == "sqlite"


def test_every_verb_works_beside_the_daemon_and_says_one_where_there_is_one(
    server: ThreadedTelegramServer, tmp_path: Path
) -> None:
    ada = person(server)
    key = f"telegram/dm/{ada.chat.id}"
    daemon = a_desk(tmp_path / "home", server)
    with daemon:
        daemon.start()
        daemon.until_ready()
        answered(server, daemon, ada)
        assert daemon.call("send", key, "Maintenance *soon*").stdout.startswith(f"queued for {key}: 1 part to telegram")
        wait_for(server, daemon, lambda: ada.texts[-1] == "Maintenance soon")
        upgrade = daemon.call("db", "upgrade")
        assert (upgrade.returncode, upgrade.stdout) == (1, "")
        assert "has to be stopped" in upgrade.stderr
        verified = daemon.call("db", "verify")
        assert (verified.returncode, verified.stderr) == (0, "")
        assert verified.stdout.startswith("sound: looked at 1 conversation, 1 session, ")
        hold = ada.say("hold")
        wait_for(server, daemon, lambda: ada.begun(hold) == 1)
        ended = daemon.call("sessions", "end", key)
        assert (ended.returncode, ended.stderr) == (0, "")
        wait_for(server, daemon, lambda: ada.texts[-1].startswith("Whoever runs me ended this conversation"))
        session = str(daemon.json("explain", key)["findings"][0]["id"])  # type: ignore[index]
        unsaid = daemon.call("sessions", "delete", session)
        assert (unsaid.returncode, unsaid.stdout) == (2, "")
        assert "that deletes 2 messages for good: say --yes" in unsaid.stderr
        deleted = daemon.call("sessions", "delete", session, "--yes")
        assert (deleted.returncode, deleted.stdout) == (0, f"{session}: deleted, with 2 messages\n")
        assert '"event": "session_deleted"' in daemon.log
        answered(server, daemon, ada)
        linked = daemon.call("people", "link", "nobody", "telegram:7")
        assert (linked.returncode, "no person 'nobody'" in linked.stderr) == (1, True)
        daemon.terminate()
        assert daemon.wait_exit() == 0
    sent = daemon.call("send", key, "When you are back")
    assert sent.stdout.splitlines()[-1] == "no desk runs: it waits in the outbox, and goes out when one starts"
    assert daemon.call("db", "upgrade").stdout.endswith(": up to date\n")
    ended = daemon.call("sessions", "end", key)
    assert (ended.returncode, ended.stderr) == (0, "")
    with daemon:
        daemon.start()
        daemon.until_ready()
        wait_for(server, daemon, lambda: ada.count("When you are back") == 1)
        answered(server, daemon, ada)
        assert ada.count("whoever runs me ended the last one") == 1
    gone = daemon.call("sessions", "delete", key, "--yes")
    assert (gone.returncode, gone.stderr) == (0, "")
    assert daemon.call("db", "verify").returncode == 0


def test_what_is_not_sound_is_said_with_what_to_do_and_exit_code_1(
    server: ThreadedTelegramServer, tmp_path: Path
) -> None:
    ada = person(server)
    daemon = a_desk(tmp_path / "home", server)
    with daemon:
        daemon.start()
        daemon.until_ready()
        answered(server, daemon, ada)
        keep_file(daemon, b"a picture")
        shutil.rmtree(daemon.state / files.FILES)
        found = daemon.call("db", "verify")
        assert found.returncode == 1
        line, last = found.stdout.splitlines()
        assert line.startswith("files ")
        assert "Copy it back from a backup" in line
        assert last.startswith("NOT SOUND: looked at ")


def keep_file(daemon: Daemon, data: bytes) -> None:
    """A file of the first session, as a tool would have left it."""
    from core.store.sqlite_driver import sqlite

    digest = Files(daemon.state / files.FILES).put(data)
    connection = sqlite.connect(str(daemon.state / DATABASE_FILE))
    connection.execute(
        "INSERT INTO attachments (session_id, digest, name, media_type, size, created_at) "
        "SELECT id, ?, '', 'image/png', ?, 0 FROM sessions ORDER BY id LIMIT 1",
        (digest, len(data)),
    )
    connection.commit()
    connection.close()


def made_digest(daemon: Daemon) -> Digest:
    with daemon.reading() as tx:
        sessions = {hit.session for hit in search.search(tx, "fast").found}
        return next(digest for one in sessions for digest in attachments.of_session(tx, one))


def found_by_search(daemon: Daemon, mark: str) -> bool:
    with daemon.reading() as tx:
        return any(mark in hit.text for hit in search.search(tx, mark).found)
