"""The installed service when something is wrong: what stops it, what does not, and what is said."""

from __future__ import annotations

import re
from contextlib import ExitStack

from tests.fakes.telegram import ThreadedTelegramServer
from tests.fakes.telegram.model import JsonObject
from tests.service.desk import CONFIG, OFFLINE, OPEN, STATE, Desk, telegram_bot
from tests.wire.daemon_world import person

STARTS = 10


def start_fails(desk: Desk) -> None:
    """One failing start, and no more of systemd's own."""
    assert desk.systemctl("start", "frontdesk", check=False).returncode != 0
    desk.stop()
    desk.systemctl("reset-failed", "frontdesk", check=False)


def test_a_faulty_config_is_told_with_its_line_and_not_tried_again(desk: Desk) -> None:
    desk.configure("[desk]\nmax_turns = 0\n")
    assert desk.systemctl("start", "frontdesk", check=False).returncode != 0
    assert (desk.show("ExecMainStatus"), desk.show("ActiveState"), desk.restarts) == ("78", "failed", 0)
    assert re.search(rf"{re.escape(CONFIG)}:2: .*max_turns", desk.log)


def test_five_failing_starts_are_left_for_somebody_to_look_at(desk: Desk) -> None:
    desk.configure(OFFLINE)
    desk.add_dropin("broken", "[Service]\nExecStart=\nExecStart=/bin/false\n")
    assert desk.systemctl("start", "frontdesk", check=False).returncode != 0
    desk.until(lambda: desk.show("ActiveState") == "failed", "it gives up")
    assert "Start request repeated too quickly" in desk.log
    assert desk.log.count("Main process exited") == 5


def test_c37_a_wrong_token_fails_its_bot_and_no_other_and_status_says_so(desk: Desk) -> None:
    with ExitStack() as stack:
        wrong = stack.enter_context(ThreadedTelegramServer(token="7123456780:AA-wrong-token"))
        good = stack.enter_context(ThreadedTelegramServer(token="7123456781:AA-good-token"))
        wrong.revoke()
        bots = telegram_bot(wrong, "wrong") + telegram_bot(good, "good")
        desk.configure(OPEN + OFFLINE + bots, {"wrong": "7123456780:AA-wrong-token", "good": good.token})
        desk.start()
        talk = person(good)
        talk.type("hello")
        desk.until(lambda: talk.count("hello") == 1, "the good one answers")
        desk.until_bot("failed", "wrong")
        shown = desk.call("status").stdout
        assert "Telegram refuses the bot's token: set a valid one" in shown
        assert desk.state_of("good") == "up"
        assert desk.systemctl("is-active", "frontdesk").stdout.strip() == "active"
        assert "AA-wrong-token" not in shown + desk.log
        desk.stop()


def test_c57_a_full_disk_is_told_and_lived_through(desk: Desk) -> None:
    with ThreadedTelegramServer() as server:
        desk.configure(OPEN + OFFLINE + telegram_bot(server), {"telegram": server.token})
        desk.machine.run("mkdir", "-p", "-m", "700", STATE)
        desk.machine.run("mount", "-t", "tmpfs", "-o", "size=96m,mode=0700", "tmpfs", STATE)
        desk.start()
        process, ada = desk.pid, person(server)
        ada.type("before")
        desk.until(lambda: ada.count("before") == 1, "answered")
        desk.machine.run("sh", "-c", f"dd if=/dev/zero of={STATE}/ballast bs=4k status=none || true")
        # More than the database's log has room for already, and than Telegram lets a message be.
        said: JsonObject = {"message_id": 900, "date": 1, "chat": ada.chat.json(), "from": ada.user.json()}
        server.raw({"message": {**said, "text": "while full " + "x" * 5_000_000}})
        desk.until(lambda: ada.count("the disk is full") == 1, "told that the disk is full")
        desk.machine.run("rm", f"{STATE}/ballast")
        ada.type("after")
        desk.until(lambda: ada.count("after") == 1, "answered")
        desk.until(lambda: ada.count("while full xxx") >= 1, "what came while it was full is answered too")
        assert (desk.pid, desk.restarts, ada.count("the disk is full")) == (process, 0, 1)
        assert server.violations == ()
        desk.stop()


def test_c58_a_damaged_database_is_copied_once_and_named_plainly_at_every_start(desk: Desk) -> None:
    desk.configure(OFFLINE)
    desk.start()
    desk.stop()
    database = desk.machine.path(f"{STATE}/frontdesk.db")
    sound = database.read_bytes()
    page = int.from_bytes(sound[16:18], "big")
    database.write_bytes(sound[:page] + b"junk" * (page // 4) + sound[2 * page :])
    damaged = database.read_bytes()
    desk.mark = desk.machine.journal_end()
    for _ in range(STARTS):
        start_fails(desk)
    assert database.read_bytes() == damaged
    assert [path.read_bytes() for path in desk.machine.path(f"{STATE}/quarantine").iterdir()] == [damaged]
    told = [line for line in desk.lines if "is damaged" in line]
    assert len(told) == STARTS
    assert all("quarantine" in line and "backup" in line for line in told)
    assert "Traceback" not in desk.log


def test_a_disk_that_fills_up_during_the_first_start_leaves_nothing_half_made(desk: Desk) -> None:
    desk.configure(OFFLINE)
    desk.machine.run("mkdir", "-p", "-m", "700", STATE)
    desk.machine.run("mount", "-t", "tmpfs", "-o", "size=200k,mode=0700", "tmpfs", STATE)
    start_fails(desk)
    assert "full" in desk.log
    desk.machine.run("mount", "-o", "remount,size=64m", STATE)
    desk.start()
    assert desk.call("status").stdout.startswith("ready")
    desk.stop()
