"""`frontdesk check --probe`: the real process, the doubles of Telegram, of a model, and of a tool server."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.crash.daemon import Daemon
from tests.fakes.models import PLANTED_KEY, PLANTED_PATH, Fail, Garbage, Hang, ThreadedModelServer
from tests.fakes.telegram import ThreadedTelegramServer
from tests.fakes.tools.journal import Exited, Journal, command_line
from tests.wire.daemon_world import person
from tests.wire.desk_to_be import WRONG_KEY, WRONG_TOKEN, Home, findings_of

SPILLED: Final = "tool-secret-0123456789"
SPILLS: Final = f"import sys; sys.stderr.write('{SPILLED}'); sys.stdout.write('{SPILLED}\\n'); sys.exit(3)"
TOKEN, MESSAGES = "[bots.telegram] token", "[bots.telegram] messages"
MODEL = "[agents.default] model: openai:gpt-test"
BEFORE: Final = ["config", "state directory", "daemon", "store", "[listen]", "time zone"]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, {"TOOL_SECRET": SPILLED, "TOOL_URL": f"http://127.0.0.1:1/{SPILLED}"})


@pytest.fixture
def telegram() -> Iterator[ThreadedTelegramServer]:
    with ThreadedTelegramServer() as server:
        ada = server.user("Ada")
        server.say(server.private(ada), ada, "waits, so that the probe need not")
        yield server
        assert server.violations == ()


@pytest.fixture
def model() -> Iterator[ThreadedModelServer]:
    with ThreadedModelServer(models=("gpt-test", "gpt-two")) as server:
        yield server


def bot(home: Home, server: ThreadedTelegramServer, token: str = "", **more: object) -> str:
    home.keep("token.txt", token or server.token)
    options = {"token": f"file:{home.path}/token.txt", "api_base": server.url, **more}
    return "[bots.telegram]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in options.items())


def agent(home: Home, server: ThreadedModelServer, key: str = "", **more: object) -> str:
    home.keep("key.txt", key or server.key)
    options = {
        "model": "openai:gpt-test", "base_url": server.openai_url, "api_key": f"file:{home.path}/key.txt", **more,
    }  # fmt: skip
    return "[agents.default]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in options.items())


def tools(name: str, command: list[str], **more: object) -> str:
    options = {"name": name, "command": command, **more}
    return "[[agents.default.mcp]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in options.items())


def configure(home: Home, *parts: str) -> None:
    home.config.parent.mkdir(parents=True, exist_ok=True)
    home.config.write_text("\n".join([*parts, "[listen]\nport = 0\n"]))


def test_all_is_well(home: Home, telegram: ThreadedTelegramServer, model: ThreadedModelServer, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    group = telegram.group("Team")
    configure(
        home, agent(home, model, fallbacks=["openai:gpt-two"], models=["openai:gpt-two", "openai:gpt-test"]),
        tools("files", command_line(journal.path)), bot(home, telegram, groups=[group.id]),
    )  # fmt: skip
    done = home.call("check", "--probe", "--json")
    found = findings_of(done)
    assert done.returncode == 0, done.stdout
    assert done.stderr == ""
    assert {one["state"] for one in found.values()} == {"ok"}
    assert list(found) == [
        *(what for what in BEFORE if what != "daemon"), TOKEN, "[bots.telegram] clock", "[bots.telegram] webhook",
        MESSAGES, "[bots.telegram] groups", f"[bots.telegram] group {group.id}", MODEL,
        "[agents.default] fallbacks: openai:gpt-two", "[[agents.default.mcp]] files",
    ]  # fmt: skip
    assert [request.model for request in model.requests] in (["gpt-test", "gpt-two"], ["gpt-two", "gpt-test"])
    assert journal.of(Exited)
    assert not home.state.exists()


def test_people_get_a_line_for_each(home: Home, telegram: ThreadedTelegramServer) -> None:
    configure(home, bot(home, telegram, WRONG_TOKEN))
    done = home.call("check", "--probe")
    assert done.returncode == 78
    lines = done.stdout.splitlines()
    assert {line.split()[0] for line in lines} == {"ok", "fault"}
    [fault] = [line for line in lines if line.startswith("fault")]
    assert fault.startswith(f"fault    {TOKEN}: Telegram refuses it. Do: ")
    assert WRONG_TOKEN not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("key", "reply", "code", "state", "named"),
    [
        (WRONG_KEY, None, 78, "fault", "api_key"),
        ("", Fail("quota"), 1, "fault", "provider"),
        ("", Fail("overloaded"), 0, "warning", "again"),
        ("", Fail("bad_request", planted=True), 78, "fault", "settings"),
        ("", Garbage(), 78, "fault", "base_url"),
        ("", Hang("headers"), 0, "warning", "again"),
    ],
)
def test_a_model_s_failure_says_what_to_do(
    home: Home, model: ThreadedModelServer, key: str, reply: Fail | Garbage | Hang | None, code: int, state: str,
    named: str,
) -> None:  # fmt: skip
    configure(home, agent(home, model, key))
    if reply is not None:
        model.always(reply)
    done = home.call("check", "--probe", "--json")
    finding = findings_of(done)[MODEL]
    assert (done.returncode, finding["state"]) == (code, state)
    assert named in finding["do"]
    for secret in (PLANTED_KEY, PLANTED_PATH, WRONG_KEY, model.key):
        assert secret not in done.stdout + done.stderr


def test_what_only_can_not_be_reached_ends_with_1(
    home: Home, telegram: ThreadedTelegramServer, model: ThreadedModelServer
) -> None:
    configure(home, agent(home, model), bot(home, telegram))
    telegram.pause()
    model.pause()
    done = home.call("check", "--probe", "--json")
    found = findings_of(done)
    assert done.returncode == 1
    assert {what for what, one in found.items() if one["state"] == "fault"} == {TOKEN, MODEL}
    telegram.resume()


def test_a_tool_server_that_fails_is_a_fault_and_spills_nothing(
    home: Home, model: ThreadedModelServer, tmp_path: Path
) -> None:
    journal = Journal(tmp_path / "journal")
    configure(
        home, agent(home, model), tools("spills", [sys.executable, "-c", SPILLS]) + 'env = {S = "env:TOOL_SECRET"}\n',
        tools("none", command_line(journal.path), allow=["no_such_*"]),
        '[[agents.default.mcp]]\nname = "away"\nurl = "env:TOOL_URL"\n',
    )  # fmt: skip
    done = home.call("check", "--probe", "--json")
    found = findings_of(done)
    assert done.returncode == 78
    assert found["[[agents.default.mcp]] spills"]["state"] == "fault"
    assert found["[[agents.default.mcp]] away"]["state"] == "fault"
    assert found["[[agents.default.mcp]] none"]["state"] == "warning"
    assert SPILLED not in done.stdout + done.stderr


def test_a_desk_that_runs_is_asked_and_not_disturbed(
    home: Home, telegram: ThreadedTelegramServer, tmp_path: Path
) -> None:
    config = f'[agents.default]\nbackend = "offline"\n{bot(home, telegram)}'
    with Daemon(tmp_path / "run", config=config) as daemon:
        daemon.start()
        daemon.until_ready()
        daemon.until_bot("up")
        telegram.until(lambda: telegram.polling)
        polls = len(telegram.calls_of("getUpdates"))
        done = daemon.call("check", "--probe", "--json")
        found = findings_of(done)
        talk = person(telegram, "Bob")
        talk.type("hello")
        telegram.until(lambda: bool(talk.texts))
    assert done.returncode == 0, done.stdout
    assert found[MESSAGES]["detail"] == "the desk that runs receives them: up"
    assert found["[listen]"]["detail"].startswith("the desk that runs serves 127.0.0.1:")
    assert found["daemon"]["detail"].startswith("runs here (process ")
    assert found["store"]["detail"] == "the desk that runs has it open"
    assert not [call for call in telegram.calls_of("getUpdates")[:polls] if call.status == 409]
    assert not [call for call in telegram.calls_of("getUpdates") if call.status == 409]


def test_a_faulty_config_is_told_as_findings_too(home: Home) -> None:
    configure(home, '[desk]\nnaem = "x"\n')
    done = home.call("check", "--probe", "--json")
    [finding] = findings_of(done).values()
    assert (done.returncode, finding["state"]) == (78, "fault")
    assert finding["what"] == f"{home.config}:2"
    spoken = home.call("check", "--probe")
    assert (spoken.returncode, spoken.stdout) == (78, "")
    assert f"{home.config}:2" in spoken.stderr


def test_without_probe_nobody_is_asked(home: Home, telegram: ThreadedTelegramServer) -> None:
    configure(home, bot(home, telegram))
    done = home.call("check", "--json")
    assert (done.returncode, list(findings_of(done))) == (0, ["config"])
    assert telegram.calls == ()
