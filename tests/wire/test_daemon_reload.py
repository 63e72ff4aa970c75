"""SIGHUP: another configuration takes the place of the one that holds, and nothing of what goes on is disturbed."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from core.service.socket import Json
from core.store.open import DATABASE_FILE
from tests.crash.daemon import FRONTDESK, Daemon, until
from tests.crash.scene import Talk
from tests.fakes.models import Say, ThreadedModelServer
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire.daemon_world import CALM, OFFLINE, crash_agent, desk, no_secret_shown, person, telegram_bot, wait_for

OPEN = '[access]\ndirect = "open"\n'
SECOND_TOKEN = "7987654321:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"
NOWHERE = "[listen]\nport = 0\n"


@pytest.fixture
def server() -> Iterator[ThreadedTelegramServer]:
    with ThreadedTelegramServer() as made:
        yield made
        assert made.violations == ()


@pytest.fixture
def second() -> Iterator[ThreadedTelegramServer]:
    with ThreadedTelegramServer(token=SECOND_TOKEN) as made:
        yield made
        assert made.violations == ()


class Place:
    """A daemon whose config is written anew while it runs."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon

    def write(self, config: str) -> None:
        self.daemon.config_file.write_text(config, encoding="utf-8")

    def reload(self, outcome: str = "config_loaded") -> Mapping[str, Json]:
        """SIGHUP, until the log says what became of it; what `status` says of the config then."""
        assert self.daemon.process is not None
        before = self.daemon.log.count(outcome)
        os.kill(self.daemon.process.pid, signal.SIGHUP)
        until(lambda: self.daemon.log.count(outcome) > before, f"another {outcome} in {self.daemon.log[-1500:]}")
        return self.config

    @property
    def config(self) -> Mapping[str, Json]:
        found = self.daemon.status()["config"]
        assert isinstance(found, Mapping)
        return found

    @property
    def cache(self) -> Mapping[str, Json]:
        found = self.daemon.status()["cache"]
        assert isinstance(found, Mapping)
        return found


@pytest.fixture
def place(
    server: ThreadedTelegramServer, second: ThreadedTelegramServer, sqlite_template: Path, tmp_path: Path
) -> Iterator[Place]:
    """Not started. Tokens of both servers lie beside the config; every test writes the config itself."""
    made = desk(tmp_path, [("telegram", server), ("second", second)], NOWHERE + OPEN)
    made.state.mkdir(mode=0o700)
    shutil.copy(sqlite_template, made.state / DATABASE_FILE)
    with made, no_secret_shown(made, server, second):
        yield Place(made)


def config(place: Place, *bots: str, agent: str | None = None) -> str:
    return NOWHERE + CALM + OPEN + (agent or crash_agent(place.daemon.home)) + "".join(bots)


def ask(place: Place, talk: Talk, text: str, *, answers: int) -> None:
    """Say something, and wait until there are so many answers."""
    talk.type(text)
    wait_for(talk.server, place.daemon, lambda: len(talk.texts) == answers)


# -- what changes


def test_c08_a_changed_agent_answers_the_next_message_and_no_other_agent_is_made_anew(
    place: Place, server: ThreadedTelegramServer, second: ThreadedTelegramServer
) -> None:
    """The same process, the same session, the whole history; who is not concerned keeps the agent that is cached."""
    with ThreadedModelServer() as models, ExitStack() as stack:
        models.always(Say("Good."))
        (place.daemon.home / "key").write_text(models.key)
        stack.enter_context(no_secret_shown(place.daemon, server, second))

        def agents(temperature: float) -> str:
            told = f'model = "openai:gpt-test"\nbase_url = "{models.openai_url}"\napi_key = "file:key"\n'
            other = f"[agents.other]\n{told}[agents.other.settings]\ntemperature = {temperature}\n"
            return f"[agents.default]\n{told}{other}"

        def written(temperature: float) -> str:
            bots = (telegram_bot(server), telegram_bot(second, "second", agent="other"))
            return config(place, *bots, agent=agents(temperature))

        place.write(written(0.25))
        pid = place.daemon.start().pid
        here, there = person(server), person(second)
        ask(place, here, "hello", answers=1)
        ask(place, there, "hello", answers=1)
        assert (place.cache["hits"], place.cache["misses"]) == (0, 2)
        place.write(written(0.75))
        place.reload()
        ask(place, here, "again", answers=2)
        ask(place, there, "again", answers=2)
        assert (place.cache["hits"], place.cache["misses"]) == (1, 3)
        assert [one.body.get("temperature") for one in models.requests] == [None, 0.25, None, 0.75]
        assert [len(one.messages) for one in models.requests] == [1, 1, 3, 3]
        assert place.daemon.process is not None
        assert place.daemon.process.pid == pid
        assert place.daemon.lives


def test_bots_come_and_go_one_by_one(
    place: Place, server: ThreadedTelegramServer, second: ThreadedTelegramServer
) -> None:
    place.write(config(place, telegram_bot(server)))
    place.daemon.start()
    first, other = person(server), person(second, "Grace")
    mark = first.say("fast")
    wait_for(server, place.daemon, lambda: first.answers(mark) == 1)
    place.write(config(place, telegram_bot(server), telegram_bot(second, "second")))
    place.reload()
    place.daemon.until_bot("up", "second")
    mark = other.say("fast")
    wait_for(second, place.daemon, lambda: other.answers(mark) == 1)
    place.write(config(place, telegram_bot(second, "second")))
    place.reload()
    assert place.daemon.bot("telegram") == {}
    until(lambda: not server.polling, "the bot that left polls no more")
    unheard = first.say("fast")
    mark = other.say("fast")
    wait_for(second, place.daemon, lambda: other.answers(mark) == 1)
    assert first.answers(unheard) == 0
    place.write(config(place, telegram_bot(server), telegram_bot(second, "second")))
    place.reload()
    wait_for(server, place.daemon, lambda: first.answers(unheard) == 1)
    assert len(server.calls_of("getMe")) == 2
    assert len(second.calls_of("getMe")) == 1


def test_what_only_the_desk_goes_by_changes_without_a_new_connection(
    place: Place, server: ThreadedTelegramServer
) -> None:
    place.write(config(place, telegram_bot(server)))
    place.daemon.start()
    talk = person(server)
    mark = talk.say("fast")
    wait_for(server, place.daemon, lambda: talk.answers(mark) == 1)
    brief = "[agents.brief]\nbackend = 'offline'\n"
    place.write(config(place, telegram_bot(server, agent="brief", direct="open"), brief))
    place.reload()
    talk.type("who is there?")
    wait_for(server, place.daemon, lambda: len(talk.texts) == 2)
    assert "Message 2 of session" in talk.texts[1]
    assert len(server.calls_of("getMe")) == 1


def test_a_turn_that_runs_ends_as_it_began_and_its_answer_comes_once_though_its_bot_was_changed(
    place: Place, server: ThreadedTelegramServer
) -> None:
    place.write(config(place, telegram_bot(server)))
    place.daemon.start()
    talk = person(server)
    mark = talk.say("crawl")
    wait_for(server, place.daemon, lambda: talk.begun(mark) == 1)
    (place.daemon.home / "telegram.token").write_text(server.revoke())
    place.write(config(place, telegram_bot(server, stream=False), agent=OFFLINE))
    place.reload()
    wait_for(server, place.daemon, lambda: talk.answers(mark) == 1)
    talk.type("and you?")
    wait_for(server, place.daemon, lambda: len(talk.texts) == 2)
    assert talk.answers(mark) == 1
    assert "Message 2 of session" in talk.texts[1]


def test_what_a_bot_that_left_had_still_to_send_goes_out_when_it_is_back(
    place: Place, server: ThreadedTelegramServer
) -> None:
    place.write(config(place, telegram_bot(server)))
    place.daemon.start()
    talk = person(server)
    mark = talk.say("crawl")
    wait_for(server, place.daemon, lambda: talk.begun(mark) == 1)
    place.write(config(place))
    place.reload()
    until(lambda: place.daemon.status()["turns"] == {"running": 0, "waiting": 0, "suspended": 0}, "the turn is over")
    assert talk.answers(mark) == 0
    place.write(config(place, telegram_bot(server)))
    place.reload()
    wait_for(server, place.daemon, lambda: talk.answers(mark) == 1)
    assert len(talk.texts) == 1


def test_a_refused_token_is_tried_again_at_a_reload(place: Place, server: ThreadedTelegramServer) -> None:
    (place.daemon.home / "telegram.token").write_text("123456:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc")
    place.write(config(place, telegram_bot(server)))
    place.daemon.start()
    place.daemon.until_bot("failed")
    (place.daemon.home / "telegram.token").write_text(server.token)
    place.reload()
    place.daemon.until_bot("up")


@pytest.mark.endurance
def test_a_storm_of_reloads_loses_and_doubles_nothing(
    place: Place, server: ThreadedTelegramServer, second: ThreadedTelegramServer
) -> None:
    place.write(config(place, telegram_bot(server)))
    place.daemon.start()
    place.daemon.until_bot("up")
    talk = person(server)
    marks = []
    for number in range(8):
        marks += [talk.say("fast"), talk.say("slow")]
        bots = [telegram_bot(server, stream=number % 2 == 0)]
        bots += [telegram_bot(second, "second")] if number % 3 else []
        place.write(config(place, *bots))
        place.reload()
    wait_for(server, place.daemon, lambda: all(talk.answers(mark) == 1 for mark in marks))
    assert len(talk.texts) == len(marks)
    assert [mark for text in talk.texts for mark in marks if f"end({mark})" in text] == marks


# -- what is refused


@pytest.mark.parametrize(
    ("broken", "line", "words"),
    [
        pytest.param("[desk]\n\tname == 3\n", 2, "", id="no TOML"),
        pytest.param('[desk]\nmax_turns = "many"\n', 2, "must be a whole number", id="a wrong value"),
        pytest.param('[bots.telegram]\ntoken = "file:gone.token"\n', 2, "gone.token", id="a secret that is gone"),
        pytest.param('[bots.telegram]\ntoken = "file:telegram.tok', 2, "", id="half written"),
        pytest.param('[session.reset]\nannounce = "false"\n', 2, "write announce = false", id="C63"),
        pytest.param('[agents.default]\nbackend = "no.such:thing"\n', None, "no.such", id="a module that is not there"),
        pytest.param("", None, "", id="the file is gone"),
    ],
)
def test_c62_a_bad_config_changes_nothing_and_says_why(
    place: Place, server: ThreadedTelegramServer, broken: str, line: int | None, words: str
) -> None:
    good = config(place, telegram_bot(server))
    place.write(good)
    place.daemon.start()
    place.daemon.until_bot("up")
    loaded_at = place.config["loaded_at"]
    if broken:
        place.write(broken)
    else:
        place.daemon.config_file.unlink()
    told = place.reload("config_refused")
    assert told["loaded_at"] == loaded_at
    assert told["refused_at"] is not None
    faults = str(told["faults"])
    assert words in faults
    assert f"frontdesk.toml:{line}" in faults if line else True
    shown = place.daemon.call("status").stdout
    assert "The config was refused" in shown
    assert all(str(fault)[:60] in shown for fault in told["faults"] or ())  # type: ignore[union-attr]
    talk = person(server)
    mark = talk.say("fast")
    wait_for(server, place.daemon, lambda: talk.answers(mark) == 1)
    assert len(server.calls_of("getMe")) == 1
    place.write(good)
    told = place.reload()
    assert (told["refused_at"], told["faults"]) == (None, [])
    assert "The config was refused" not in place.daemon.call("status").stdout


def test_what_needs_a_new_process_is_said(place: Place, server: ThreadedTelegramServer) -> None:
    place.write(config(place, telegram_bot(server)))
    place.daemon.start()
    place.daemon.until_bot("up")
    place.write(config(place, telegram_bot(server), '[store]\nurl = "sqlite:///other.db"\n'))
    assert place.reload()["next_start"] == ["[store] url"]
    assert "in force from the next start on: [store] url" in place.daemon.call("status").stdout
    assert not (place.daemon.state / "other.db").exists()


def test_the_command_says_what_became_of_it(place: Place, server: ThreadedTelegramServer) -> None:
    place.write(config(place, telegram_bot(server)))
    nobody = place.daemon.call("reload")
    assert (nobody.returncode, nobody.stdout) == (1, "")
    assert "no daemon runs" in nobody.stderr
    place.daemon.start()
    place.daemon.until_bot("up")
    assert place.daemon.call("reload").stdout == "The new config holds.\n"
    place.write("[desk]\nmax_turns = 0\n")
    refused = place.daemon.call("reload")
    assert refused.returncode == 78
    assert "frontdesk.toml:2: [desk] max_turns" in refused.stderr
    assert "holds." in refused.stderr


def test_status_needs_no_good_config_while_the_daemon_runs(place: Place, server: ThreadedTelegramServer) -> None:
    place.write(config(place, telegram_bot(server)))
    place.daemon.start()
    place.daemon.until_bot("up")
    place.write("[desk\n")
    shown = place.daemon.call("status")
    assert shown.returncode == 0
    assert "telegram" in shown.stdout


# -- the terminal


def test_a_terminal_that_is_closed_ends_a_desk_that_runs_in_it(tmp_path: Path) -> None:
    """There the signal means that nobody is there any more, not that the config is to be read again."""
    near, far = pty.openpty()
    environ = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "TERM": "dumb"}
    process = subprocess.Popen(
        ["setsid", "--ctty", "--wait", *FRONTDESK, "run", "--state", str(tmp_path / "state")],
        stdin=far, stdout=far, stderr=subprocess.DEVNULL, env=environ, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    os.close(far)
    daemon = Daemon(tmp_path)
    try:
        until(lambda: daemon.status().get("ready") is True, "ready")
        os.close(near)
        process.wait(20)
    finally:
        process.kill()
    assert daemon.status() == {}
