"""Configs that are long, odd or slow to come, and what the desk does meanwhile."""

from __future__ import annotations

import os
import time

import pytest

from tests.crash.daemon import until
from tests.fakes.models import Say, ThreadedModelServer
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire import test_daemon_reload as reloading
from tests.wire.daemon_world import crash_agent, person, telegram_bot, wait_for
from tests.wire.test_daemon_reload import Place, config
from tests.wire.test_daemon_reload_config import answers, begin, hang_up, logged_more
from tests.wire.test_daemon_watched import address, get, listener

server, second, place = reloading.server, reloading.second, reloading.place
MANY = 250_000
MOST_AROUND = 5
"""Answers there can be before and after the reading of a file, where there is none meanwhile."""


@pytest.mark.endurance
def test_c62_a_file_with_very_many_faults_leaves_status_and_desk_usable(
    place: Place, server: ThreadedTelegramServer
) -> None:
    good = begin(place, server)
    place.write("[desk]\n" + "".join(f"k{number} = 1\n" for number in range(MANY)))
    hang_up(place)
    until(logged_more(place, "config_refused", 0), "refused", timeout_s=60)
    shown = place.daemon.call("status")
    assert shown.returncode == 0, shown.stderr[-500:]
    assert len(shown.stdout) < 100_000
    answers(place, server, "Ben")
    place.write(good)
    place.reload()


def test_a_long_file_does_not_hold_the_desk_up_while_it_is_read(place: Place, server: ThreadedTelegramServer) -> None:
    begin(place, server)
    at = address(place.daemon)
    place.write(config(place, telegram_bot(server)) + "[agents.long]\nbackend = 'tests.fakes.agents_crash:make'\n"
                + "[agents.long.options]\njournal = '/dev/null'\n"
                + "".join(f"k{number} = 'value {number}'\n" for number in range(120_000)))  # fmt: skip
    hang_up(place)
    answers_meanwhile = 0
    while "config_loaded" not in place.daemon.log and "config_refused" not in place.daemon.log:
        assert get(at, "/livez").status_code == 200
        answers_meanwhile += 1
    assert answers_meanwhile > MOST_AROUND


@pytest.mark.parametrize("host", ["a\\u0000b", "..", "a" * 300, "[::1]", "1.2.3.4.5", "256.1.1.1", "%eth0"])
def test_a_host_that_can_t_be_listened_on_is_told_and_the_next_good_one_is_had(
    place: Place, server: ThreadedTelegramServer, host: str
) -> None:
    good = begin(place, server)
    address(place.daemon)
    place.write(good.replace("[listen]\nport = 0\n", f'[listen]\nport = 0\nhost = "{host}"\n'))
    hang_up(place)
    until(
        lambda: "config_refused" in place.daemon.log or listener(place.daemon).get("state") in ("waiting", "stopped"),
        "refused, or told",
    )
    place.write(good)
    place.reload()
    until(lambda: listener(place.daemon).get("state") == "up", "it is up again", timeout_s=5)


@pytest.mark.endurance
def test_a_file_that_is_written_in_pieces_while_hang_ups_come_loses_no_message_and_no_bot(
    place: Place, server: ThreadedTelegramServer
) -> None:
    """Its tables in this order: after each piece it is TOML, and no whole config."""
    good = begin(place, server)
    talk = person(server)
    marks = [talk.say("fast")]
    for _ in range(3):
        with place.daemon.config_file.open("w") as file:
            for piece in good.split("\n[")[0:1] + ["\n[" + piece for piece in good.split("\n[")[1:]]:
                file.write(piece)
                file.flush()
                hang_up(place)
                marks.append(talk.say("fast"))
                time.sleep(0.05)
            file.write("\n")
    place.reload()
    wait_for(server, place.daemon, lambda: len(talk.texts) >= len(marks))
    assert len(talk.texts) == len(marks), talk.texts
    assert [talk.answers(mark) for mark in marks] == [1] * len(marks), talk.texts
    assert len(server.calls_of("getMe")) == 1


def test_instructions_that_became_a_pipe_hold_up_no_reload_and_no_end(
    place: Place, server: ThreadedTelegramServer, second: ThreadedTelegramServer
) -> None:
    """Each turn looks at the file; nobody ever writes into it."""
    with ThreadedModelServer() as models:
        models.always(Say("Good."))
        home = place.daemon.home
        (home / "key").write_text(models.key)
        (home / "told.txt").write_text("Be kind.")
        agents = (
            f'[agents.default]\nmodel = "openai:gpt-test"\nbase_url = "{models.openai_url}"\napi_key = "file:key"\n'
            f'instructions_file = "told.txt"\n{crash_agent(home).replace("[agents.default]", "[agents.other]")}'
        )
        place.write(config(place, telegram_bot(server), telegram_bot(second, "second", agent="other"), agent=agents))
        place.daemon.start()
        place.daemon.until_bot("up")
        place.daemon.until_bot("up", "second")
        first = person(server, "Zoe")
        first.type("hello")
        wait_for(server, place.daemon, lambda: len(first.texts) == 1)
        (home / "told.txt").unlink()
        os.mkfifo(home / "told.txt")
        talks = [person(server, f"P{number}") for number in range(8)]
        for talk in talks:
            talk.type("hello")
        until(lambda: not server.unconfirmed, "taken in")
        grace = person(second, "Grace")
        mark = grace.say("long")
        wait_for(second, place.daemon, lambda: grace.count(mark) > 0)
        (home / "told.txt").unlink()
        (home / "told.txt").write_text("Be brief.")
        hang_up(place)
        until(logged_more(place, "config_loaded", 0), "it is loaded", timeout_s=6)
        wait_for(server, place.daemon, lambda: all(len(talk.texts) == 1 for talk in talks))
