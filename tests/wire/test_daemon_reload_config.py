"""What a config file may turn into while the desk runs: SIGHUP meets files that nobody would write on purpose."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.daemon import until
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire import test_daemon_reload as reloading
from tests.wire.daemon_world import person, telegram_bot, wait_for
from tests.wire.test_daemon_reload import Place, config

server, second, place = reloading.server, reloading.second, reloading.place
CODE = 8
"""Characters of a code."""
SOON_S = 6.0
"""For a reload of a small file, on a busy machine."""


def begin(place: Place, server: ThreadedTelegramServer) -> str:
    """The config that holds; the bot is up."""
    good = config(place, telegram_bot(server))
    place.write(good)
    place.daemon.start()
    place.daemon.until_bot("up")
    return good


def hang_up(place: Place) -> None:
    assert place.daemon.process is not None
    os.kill(place.daemon.process.pid, signal.SIGHUP)


def logged_more(place: Place, words: str, before: int) -> Callable[[], bool]:
    return lambda: place.daemon.log.count(words) > before


def answers(place: Place, server: ThreadedTelegramServer, name: str) -> None:
    talk = person(server, name)
    mark = talk.say("fast")
    wait_for(server, place.daemon, lambda: talk.answers(mark) == 1)


def put(path: Path, kind: str) -> None:
    path.unlink()
    match kind:
        case "a directory":
            path.mkdir()
        case "a symlink loop":
            path.symlink_to(path)
        case "invalid UTF-8":
            path.write_bytes(b"[desk]\nname = '\xff\xfe'\n")
        case "a NUL":
            path.write_bytes(b"[desk]\nname = 'x'\0\n")
        case "10 MB":
            path.write_bytes(b"# x\n" * 2_500_000)
        case "a number of 5,000 digits":
            path.write_text(f"[desk]\nmax_turns = {'9' * 5000}\n")
        case "nested deeply":
            path.write_text("x = " + "[" * 100_000 + "]" * 100_000)
        case "a device without end":
            path.symlink_to("/dev/zero")
        case _:
            raise AssertionError(kind)


@pytest.mark.parametrize(
    "kind",
    [
        "a directory", "a symlink loop", "invalid UTF-8", "a NUL", "10 MB", "a number of 5,000 digits",
        "nested deeply", "a device without end",
    ],
)  # fmt: skip
def test_c62_whatever_the_file_turns_into_is_refused_and_the_next_good_one_is_taken(
    place: Place, server: ThreadedTelegramServer, kind: str
) -> None:
    good = begin(place, server)
    put(place.daemon.config_file, kind)
    hang_up(place)
    until(logged_more(place, "config_refused", 0), f"{kind} is refused", timeout_s=SOON_S)
    assert place.config["faults"]
    answers(place, server, "Ben")
    file = place.daemon.config_file
    if file.is_dir():
        file.rmdir()
    else:
        file.unlink()
    place.write(good)
    hang_up(place)
    until(logged_more(place, "config_loaded", 0), "the good one is taken", timeout_s=SOON_S)
    place.daemon.terminate()
    assert place.daemon.wait_exit() == 0


@pytest.mark.parametrize("which", ["frontdesk.toml", "telegram.token"])
def test_c62_a_pipe_in_place_of_a_file_holds_up_neither_the_next_reload_nor_the_end(
    place: Place, server: ThreadedTelegramServer, which: str
) -> None:
    begin(place, server)
    file = place.daemon.home / which
    held = file.read_text()
    file.unlink()
    os.mkfifo(file)
    hang_up(place)
    answers(place, server, "Ben")
    file.unlink()
    file.write_text(held)
    hang_up(place)
    until(logged_more(place, "config_loaded", 0), "the good one is taken", timeout_s=SOON_S)


def test_c62_a_pipe_in_place_of_the_config_does_not_keep_the_daemon_from_ending(
    place: Place, server: ThreadedTelegramServer
) -> None:
    begin(place, server)
    place.daemon.config_file.unlink()
    os.mkfifo(place.daemon.config_file)
    hang_up(place)
    answers(place, server, "Ben")
    place.daemon.terminate()
    assert place.daemon.wait_exit(SOON_S) == 0


def test_c62_a_file_that_is_empty_since_it_is_being_written_takes_no_bot_away(
    place: Place, server: ThreadedTelegramServer
) -> None:
    """What most editors and `>` do first is to cut the file to nothing."""
    good = begin(place, server)
    place.write("")
    hang_up(place)
    until(lambda: any(word in place.daemon.log for word in ("config_refused", "config_loaded")), "it was read")
    assert "config_refused" in place.daemon.log
    place.write(good)
    place.reload()
    answers(place, server, "Ben")
    assert len(server.calls_of("getMe")) == 1


def test_a_file_that_is_replaced_by_rename_is_taken(place: Place, server: ThreadedTelegramServer) -> None:
    good = begin(place, server)
    other = place.daemon.home / "new.toml"
    for turns in range(1, 6):
        other.write_text(good + f"[desk]\nmax_turns = {turns}\n")
        other.rename(place.daemon.config_file)
        assert place.reload()["faults"] == []
    answers(place, server, "Ben")


@pytest.mark.endurance
def test_200_hang_ups_in_a_second_end_with_the_last_file(place: Place, server: ThreadedTelegramServer) -> None:
    good = begin(place, server)
    talk = person(server)
    marks = [talk.say("fast")]
    other = place.daemon.home / "new.toml"
    for number in range(200):
        other.write_text(
            good.replace("[bots.telegram]", f"[bots.telegram]\nstream = {'true' if number % 2 else 'false'}")
        )
        other.rename(place.daemon.config_file)  # never half written
        hang_up(place)
        if number % 20 == 0:
            marks.append(talk.say("fast"))
        time.sleep(0.005)
    place.write("[lissen]\n")
    place.reload("config_refused")
    place.write(good)
    place.reload()
    wait_for(server, place.daemon, lambda: all(talk.answers(mark) == 1 for mark in marks))
    assert [mark for text in talk.texts for mark in marks if f"end({mark})" in text] == marks
    assert len(talk.texts) == len(marks)
    place.daemon.terminate()
    assert place.daemon.wait_exit() == 0
    assert "Traceback" not in place.daemon.log


def test_the_command_tells_of_a_file_that_can_t_be_read_as_a_number(
    place: Place, server: ThreadedTelegramServer
) -> None:
    begin(place, server)
    put(place.daemon.config_file, "a number of 5,000 digits")
    refused = place.daemon.call("reload")
    assert refused.returncode == 78, (refused.returncode, refused.stderr[-300:])


def test_an_option_that_is_put_back_waits_for_no_start(place: Place, server: ThreadedTelegramServer) -> None:
    good = begin(place, server)
    place.write(good + '[store]\nurl = "sqlite:///other.db"\n')
    assert place.reload()["next_start"] == ["[store] url"]
    place.write(good)
    assert place.reload()["next_start"] == []


def test_who_is_approved_first_is_no_owner_once_the_config_names_one(
    place: Place, server: ThreadedTelegramServer
) -> None:
    paired = config(place, telegram_bot(server)).replace('direct = "open"', 'direct = "pairing"')
    place.write(paired)
    place.daemon.start()
    place.daemon.until_bot("up")
    place.write(paired.replace('direct = "pairing"', 'direct = "pairing"\nowners = ["telegram:1"]'))
    place.reload()
    talk = person(server)
    talk.type("hello")
    wait_for(server, place.daemon, lambda: len(talk.texts) == 1)
    code = next(one for word in talk.texts[0].split() if len(one := word.strip(".,:`")) == CODE and one.isupper())
    done = place.daemon.call("people", "approve", code)
    assert done.returncode == 0, done.stderr
    listed = place.daemon.json("people", "list")
    assert isinstance(listed, dict)
    assert [one["role"] for one in listed["people"] if one["id"] is not None] == ["user"], listed
