"""`frontdesk init` with everything told by options: the real process, the doubles of Telegram and of a model."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from config.load import load
from tests.crash.daemon import Daemon
from tests.fakes.models import Fail, Say, ThreadedModelServer
from tests.fakes.telegram import ThreadedTelegramServer
from tests.wire.daemon_world import person, wait_for
from tests.wire.desk_to_be import WRONG_KEY, WRONG_TOKEN, Home, answers


def test_a_desk_that_was_set_up_answers(
    home: Home, telegram: ThreadedTelegramServer, model: ThreadedModelServer
) -> None:
    talk = person(telegram)
    done = home.call(*answers(home, telegram, model), "--owner", str(talk.user.id))
    assert done.returncode == 0, done.stderr
    assert "@frontdesk_test_bot" in done.stdout
    model.on("hello", Say("Good day."))
    config = home.config.read_text()
    with Daemon(home.path / "run", environ=home.environment) as daemon:
        home.config.write_text(f"{config}\n[listen]\nport = 0\n")
        daemon.start()
        daemon.until_ready()
        talk.type("hello")
        wait_for(telegram, daemon, lambda: "Good day." in talk.texts)


def test_what_is_written_is_private_and_loads(
    home: Home, telegram: ThreadedTelegramServer, model: ThreadedModelServer
) -> None:
    done = home.call(*answers(home, telegram, model))
    assert done.returncode == 0, done.stderr
    assert {path.name for path in home.secrets.iterdir()} == {"telegram_token", "model_key"}
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (home.secrets, *home.secrets.iterdir(), home.config)}
    assert set(modes.values()) == {0o600, 0o700}
    assert modes.pop(home.secrets) == 0o700
    loaded = load(config=home.config, state=home.state, environ={})
    assert {telegram.token, model.key} <= loaded.settings.secrets
    assert loaded.settings.desk.timezone == "Europe/Berlin"
    for secret in (telegram.token, model.key):
        assert secret not in done.stdout + done.stderr + home.config.read_text()
    assert home.call("check").stdout == "ok\n"
    assert not home.state.exists()


def test_the_same_again_changes_nothing_and_another_answer_is_refused(
    home: Home, telegram: ThreadedTelegramServer, model: ThreadedModelServer
) -> None:
    told = answers(home, telegram, model)
    assert home.call(*told).returncode == 0
    before = home.files
    again = home.call(*told)
    assert (again.returncode, home.files) == (0, before)
    assert "nothing was written" in again.stdout
    other = home.call(*told, "--owner", "42")
    assert (other.returncode, home.files) == (1, before)
    assert "--force" in other.stderr


def test_force_keeps_a_dated_copy(home: Home, telegram: ThreadedTelegramServer, model: ThreadedModelServer) -> None:
    home.config.parent.mkdir(parents=True)
    home.config.write_text('[desk]\nname = "Ours"\n')
    told = answers(home, telegram, model)
    assert home.call(*told).returncode == 1
    done = home.call(*told, "--force")
    assert done.returncode == 0, done.stderr
    [copy] = home.config.parent.glob("frontdesk.toml.*")
    assert copy.read_text() == '[desk]\nname = "Ours"\n'
    assert str(copy) in done.stdout


@pytest.mark.parametrize(
    ("token", "key", "words"),
    [
        (WRONG_TOKEN, "", "Telegram refuses the bot's token"),
        ("what is this", "", "--token: this is no bot token"),
        ("", WRONG_KEY, "the provider refuses the key"),
    ],
)
def test_nothing_that_is_wrong_is_kept(
    home: Home, telegram: ThreadedTelegramServer, model: ThreadedModelServer, token: str, key: str, words: str
) -> None:
    done = home.call(*answers(home, telegram, model, token=token, key=key))
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert home.files == {}
    assert not {telegram.token, WRONG_TOKEN, model.key, WRONG_KEY} & set((done.stdout + done.stderr).split())


def test_what_can_not_be_reached_keeps_it_from_being_written_unless_untried(
    home: Home, telegram: ThreadedTelegramServer, model: ThreadedModelServer
) -> None:
    telegram.pause()
    told = answers(home, telegram, model)
    done = home.call(*told)
    assert (done.returncode, home.files) == (1, {})
    assert "--no-test" in done.stderr
    untried = home.call(*told, "--no-test")
    assert untried.returncode == 0, untried.stderr
    assert home.config.exists()
    assert model.requests == ()
    telegram.resume()


def test_a_provider_that_fails_for_the_moment_is_told(
    home: Home, telegram: ThreadedTelegramServer, model: ThreadedModelServer
) -> None:
    model.always(Fail("overloaded"))
    done = home.call(*answers(home, telegram, model))
    assert (done.returncode, home.files) == (1, {})
    assert "it can't answer just now" in done.stderr
    assert "--no-test" in done.stderr


def test_all_that_is_missing_is_said_at_once(home: Home) -> None:
    done = home.call("init")
    assert (done.returncode, home.files) == (2, {})
    for option in ("--platform", "--token-file", "--model"):
        assert option in done.stderr


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("--platform fax --token x:y --model none", "there is no platform fax"),
        ("--platform fax --model gpt-6.1-terra", "there is no platform fax"),
        ("--platform telegram --model gpt-6.1-terra", "--model: this is no model with its provider"),
        ("--platform none --model none --token x:y", "--platform"),
        ("--platform none --model none --key k", "--model"),
        ("--platform none --model none --zone Europe/Berln", 'did you mean "Europe/Berlin"?'),
        ("--platform none --model none --owner 42", "platform"),
        ("--platform none --model nonsense", "--model"),
        ("--platform none --model openai:gpt-x", "--key-file"),
        ("--platform none --model none --start", "sudo make install-service"),
        ("--platform telegram --token-file nowhere --model none", "nowhere can't be read"),
        ("--platform telegram --token-env NOT_SET --model none", "NOT_SET is not set"),
        ("--platform telegram --token 1:a --token 2:b --model none", "takes 1 of"),
        (
            "--platform telegram --secret app_token=xapp-1 --model none",
            "no secret app_token; there is: token",
        ),
        ("--platform slack --secret bot_token=xoxb-1 --model none", "--secret app_token=file:PATH"),
        ("--platform slack --secret bot_token=xoxb-1 --token x --token y --model none", "takes 1 of"),
        ("--platform slack --secret bot_token --model none", "write OPTION=file:PATH"),
        ("--platform slack --secret bot_token=env:NOT_SET --model none", "--secret bot_token: the environment"),
        ("--platform slack --secret bot_token=file:nowhere --model none", "nowhere can't be read"),
        (
            "--platform slack --token xoxb-1 --token xoxb-2 --model none",
            "--secret app_token: this is no",
        ),
        ("--platform none --secret token=x --model none", "--platform"),
        ("--platform telegram --token 1:a --api-base nonsense --model none", "--api-base"),
    ],
)
def test_a_wrong_option_is_wrong_usage_and_named(home: Home, told: str, words: str) -> None:
    done = home.call("init", *told.split())
    assert (done.returncode, home.files) == (2, {}), done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_secrets_come_from_the_environment_too(telegram: ThreadedTelegramServer, tmp_path: Path) -> None:
    home = Home(tmp_path, {"BOT": telegram.token})
    done = home.call(
        "init", "--platform", "telegram", "--api-base", telegram.url, "--token-env", "BOT", "--model", "none"
    )
    assert done.returncode == 0, done.stderr
    assert (home.secrets / "telegram_token").read_text().strip() == telegram.token
    assert "people approve CODE" in done.stdout


def test_a_secret_on_the_command_line_is_taken_and_warned_of(home: Home, telegram: ThreadedTelegramServer) -> None:
    done = home.call(
        "init", "--platform", "telegram", "--api-base", telegram.url, "--token", telegram.token, "--model", "none"
    )
    assert done.returncode == 0, done.stderr
    assert "note: --token can be seen by other users" in done.stderr


def test_a_desk_for_the_terminal_needs_no_secret(home: Home) -> None:
    done = home.call("init", "--platform", "none", "--model", "none", "--config", "mine.toml", "--state", "here")
    assert done.returncode == 0, done.stderr
    assert f"frontdesk chat --config {home.path}/mine.toml --state {home.path}/here" in done.stdout
    assert home.call("check", "--config", "mine.toml").stdout == "ok\n"
