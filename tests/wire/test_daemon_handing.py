"""What the finished daemon sends of its own: nothing, whatever folder an agent of one's own names."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire.daemon_world import desk, no_secret_shown, person, telegram_bot, wait_for

AGENT = '[access]\ndirect = "open"\n[agents.default]\nbackend = "tests.wire.handing_agent:make"\n'


def test_s03_the_daemon_knows_its_own_files_also_after_a_reload(tmp_path: Path) -> None:
    with ThreadedTelegramServer() as server:
        daemon = desk(tmp_path, [("telegram", server)], AGENT + telegram_bot(server))
        (tmp_path / "later.key").write_text("a-key")
        (tmp_path / "mine.txt").write_text("mine")
        for name in ("telegram.token", "later.key", "mine.txt"):
            (tmp_path / name).chmod(0o644)
        with daemon, no_secret_shown(daemon, server):
            daemon.start()
            talk = person(server)

            def answer(path: Path) -> str:
                before = len(talk.texts)
                talk.type(str(path))
                wait_for(server, daemon, lambda: any(": " in text for text in talk.texts[before:]))
                return talk.texts[-1]

            for path in (daemon.config_file, tmp_path / "telegram.token", daemon.state / "frontdesk.db"):
                assert answer(path) == f"refused: {path} may not be sent: it belongs to the desk itself."
            assert answer(tmp_path / "mine.txt") == "sent: mine.txt"
            assert answer(tmp_path / "later.key") == "sent: later.key"
            with daemon.config_file.open("a") as config:
                config.write('[speech.transcribe]\napi_key = "file:later.key"\n')
            assert daemon.call("reload").returncode == 0
            assert answer(tmp_path / "later.key").endswith("it belongs to the desk itself.")
        assert server.violations == ()
