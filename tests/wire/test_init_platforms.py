"""`frontdesk init` for the platforms whose accounts need more than a token: the real process, the strict doubles."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bots.slack.manifest import scopes
from config.bots import DiscordSettings, SlackSettings
from config.load import load
from config.settings import Settings
from core.cli.platforms import known_platforms
from tests.fakes.discord import ThreadedDiscordServer
from tests.fakes.slack import ThreadedSlackServer
from tests.wire.desk_to_be import Home, telling_scopes
from tests.wire.seated import MODEL, OWNER, WRITE, ZONE, sitting

BOT_TOKEN, APP_TOKEN = "Bot token of the app (not shown):", "App-level token of the app (not shown):"
NO_INTENTS = 0


@pytest.fixture
def discord() -> Iterator[ThreadedDiscordServer]:
    with ThreadedDiscordServer(limits=None) as server:
        yield server
        assert server.problems == ()


@pytest.fixture
def slack() -> Iterator[ThreadedSlackServer]:
    with ThreadedSlackServer() as server:
        yield server
        assert server.problems == ()


def settings(home: Home) -> Settings:
    return load(config=home.config, state=home.state, environ={}).settings


def init_discord(home: Home, server: ThreadedDiscordServer, *more: str) -> subprocess.CompletedProcess[str]:
    token = home.keep("token.txt", server.token)
    told = ["init", "--platform", "discord", "--api-base", server.api_base, "--model", "none", *more]
    return home.call(*told, "--token-file", str(token))


def init_slack(
    home: Home, server: ThreadedSlackServer, bot: str = "", app: str = "", *more: str
) -> subprocess.CompletedProcess[str]:
    bot_token, app_token = bot or server.bot.token, app or server.bot.app_token
    secrets = [f"bot_token=file:{home.keep('bot.txt', bot_token)}", f"app_token=file:{home.keep('app.txt', app_token)}"]
    told = ["init", "--platform", "slack", "--api-base", server.api_base.rstrip("/"), "--model", "none", *more]
    return home.call(*told, "--secret", secrets[0], "--secret", secrets[1])


# nobody is asked


def test_discord_is_set_up_by_options(home: Home, discord: ThreadedDiscordServer) -> None:
    done = init_discord(home, discord, "--owner", "42")
    assert done.returncode == 0, done.stderr
    assert "this is @frontdesk" in done.stdout
    bot = settings(home).bots["discord"]
    assert isinstance(bot, DiscordSettings)
    assert (bot.token.reveal(), bot.token.origin) == (discord.token, "file:secrets/discord_token")
    assert [str(owner) for owner in settings(home).access.owners] == ["discord:42"]
    assert discord.token not in done.stdout + done.stderr
    assert not discord.command_writes
    assert not discord.notes_of("connected")


def test_slack_is_set_up_by_options_with_both_tokens(home: Home, slack: ThreadedSlackServer) -> None:
    done = init_slack(home, slack, "", "", "--owner", "T0123/U0456")
    assert done.returncode == 0, done.stderr
    bot = settings(home).bots["slack"]
    assert isinstance(bot, SlackSettings)
    assert bot.app_token is not None
    assert (bot.bot_token.origin, bot.app_token.origin) == (
        "file:secrets/slack_bot_token", "file:secrets/slack_app_token",
    )  # fmt: skip
    assert [str(owner) for owner in settings(home).access.owners] == ["slack:T0123/U0456"]
    for secret in (slack.bot.token, slack.bot.app_token):
        assert secret not in done.stdout + done.stderr + home.config.read_text()
    assert not slack.sockets()


def test_secrets_in_their_order_serve_several_too(home: Home, slack: ThreadedSlackServer, tmp_path: Path) -> None:
    environment = Home(tmp_path, {"BOT": slack.bot.token, "APP": slack.bot.app_token})
    done = environment.call(
        "init", "--platform", "slack", "--api-base", slack.api_base.rstrip("/"), "--model", "none",
        "--token-env", "BOT", "--token-env", "APP",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {slack.bot.token, slack.bot.app_token} <= settings(home).secrets


def test_a_secret_behind_secret_is_warned_of(home: Home, slack: ThreadedSlackServer) -> None:
    told = ["--secret", f"bot_token={slack.bot.token}", "--secret", f"app_token={slack.bot.app_token}"]
    base = slack.api_base.rstrip("/")
    done = home.call("init", "--platform", "slack", "--api-base", base, "--model", "none", *told)
    assert done.returncode == 0, done.stderr
    assert "note: what stands behind --secret can be seen by other users" in done.stderr


def test_a_bot_that_may_not_read_is_not_kept_and_what_to_switch_on_is_said(
    home: Home, discord: ThreadedDiscordServer
) -> None:
    discord.enable(discord.bot, NO_INTENTS)
    done = init_discord(home, discord)
    assert (done.returncode, home.files) == (1, {})
    assert "Message Content Intent" in done.stderr
    assert "--no-test" in done.stderr
    assert init_discord(home, discord, "--no-test").returncode == 0


def test_a_revoked_token_is_not_kept(home: Home, discord: ThreadedDiscordServer) -> None:
    old = discord.token
    discord.revoke(discord.bot)
    told = ["init", "--platform", "discord", "--api-base", discord.api_base, "--model", "none"]
    done = home.call(*told, "--token-file", str(home.keep("token.txt", old)))
    assert (done.returncode, home.files) == (1, {})
    assert "token" in done.stderr
    assert old not in done.stdout + done.stderr


def test_an_app_token_that_opens_nothing_is_not_kept(home: Home, slack: ThreadedSlackServer) -> None:
    done = init_slack(home, slack, "", "xapp-1-A0-wrong")
    assert (done.returncode, home.files) == (1, {})
    assert "[bots.slack] app_token: " in done.stderr
    assert "xapp-1-A0-wrong" not in done.stdout + done.stderr


def test_a_scope_that_is_missing_is_named(home: Home, slack: ThreadedSlackServer) -> None:
    telling_scopes(slack, set(scopes()) - {"files:read"})
    done = init_slack(home, slack)
    assert (done.returncode, home.files) == (1, {})
    assert "lacks files:read" in done.stderr


# somebody is


def test_somebody_is_led_through_slack(home: Home, slack: ThreadedSlackServer) -> None:
    ada = slack.person("Ada")
    with sitting(home, "--platform", "slack", "--api-base", slack.api_base.rstrip("/")) as asked:
        asked.until("https://api.slack.com/apps, Create New App, From a manifest")
        asked.answer("Print it here? [Y/n]:", "y")
        asked.until('"socket_mode_enabled": true')
        asked.answer(BOT_TOKEN, slack.bot.token)
        asked.answer(APP_TOKEN, "not one")
        asked.until("App-level token of the app: this is no app-level token")
        asked.answer(APP_TOKEN, "xapp-1-A0-wrong")
        asked.until("this is @frontdesk")
        asked.until("[bots.slack] app_token: ")
        asked.answer(APP_TOKEN, slack.bot.app_token)
        asked.answer(MODEL, "none")
        asked.until(OWNER)
        slack.say(slack.im(ada), ada, "it is me")
        asked.type("\r")
        asked.until("it is me")
        asked.answer("Is that you? [y/N]:", "y")
        asked.answer(ZONE)
        asked.answer(WRITE)
        asked.leave(0)
    assert [str(owner) for owner in settings(home).access.owners] == [f"slack:{slack.team.id}/{ada.id}"]
    assert {slack.bot.token, slack.bot.app_token} <= settings(home).secrets
    assert not {slack.bot.token, slack.bot.app_token} & set(asked.written.split())
    assert asked.written.count(BOT_TOKEN) == 1  # it was never wrong


def test_somebody_switches_on_what_was_missing_and_is_heard_while_they_write(
    home: Home, discord: ThreadedDiscordServer
) -> None:
    ada = discord.person("ada")
    discord.guild("Team", [ada])
    discord.enable(discord.bot, NO_INTENTS)
    with sitting(home, "--platform", "discord", "--api-base", discord.api_base) as asked:
        asked.answer("Token of the bot (not shown):", discord.token)
        asked.until("Message Content Intent")
        asked.until("Look again? (No keeps it so) [Y/n]:")
        discord.enable(discord.bot, 1 << 15)
        asked.type("\r")
        asked.answer(MODEL, "none")
        asked.answer(OWNER)
        discord.until(discord.connected, timeout_s=20.0)
        discord.say(discord.dm(ada), ada, "it is me")
        asked.until(f"(discord:{ada.id}) wrote: it is me")
        asked.answer("Is that you? [y/N]:", "y")
        asked.answer(ZONE)
        asked.answer(WRITE)
        asked.leave(0)
    assert [str(owner) for owner in settings(home).access.owners] == [f"discord:{ada.id}"]


# the manifest


def test_the_manifest_is_printed_without_config_and_daemon(home: Home) -> None:
    done = home.call("manifest", "slack", "--name", "Bakery")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["display_information"]["name"] == "Bakery"
    assert told["settings"]["socket_mode_enabled"] is True
    assert "reset" in told["features"]["slash_commands"][0]["usage_hint"]
    assert not home.state.exists()


def test_the_manifest_names_the_address_where_the_platform_calls_the_bot(home: Home) -> None:
    home.config.parent.mkdir(parents=True)
    for secret in ("token", "secret"):
        (home.config.parent / secret).write_text("xoxb-1-2-abc" if secret == "token" else "s" * 32)
        (home.config.parent / secret).chmod(0o600)
    served = f"""[bots.work]
platform = "slack"
bot_token = "file:{home.config.parent / "token"}"
signing_secret = "file:{home.config.parent / "secret"}"
mode = "http"
"""
    for config, bot in (("", "slack"), (served, "work")):
        home.config.write_text(config)
        told = json.loads(home.call("manifest", "slack", "--url", "https://bots.example.com/").stdout)
        settings, (command,) = told["settings"], told["features"]["slash_commands"]
        address = f"https://bots.example.com/slack/{bot}"
        named = (settings["event_subscriptions"]["request_url"], settings["interactivity"]["request_url"])
        assert (*named, command["url"]) == (address,) * 3
        assert settings["socket_mode_enabled"] is False
    for wrong in ("http://bots.example.com", "bots.example.com", "https://bots.example.com/?x"):
        assert home.call("manifest", "slack", "--url", wrong).returncode == 2


def test_the_app_is_called_as_the_desk_unless_its_config_can_not_be_read(home: Home) -> None:
    home.config.parent.mkdir(parents=True)
    for text, name in (('[desk]\nname = "Bakery"\n', "Bakery"), ('[desk]\nnaem = "x"\n', "Frontdesk")):
        home.config.write_text(text)
        told = json.loads(home.call("manifest", "slack").stdout)
        assert told["display_information"]["name"] == name


def test_whoever_needs_none_is_told_and_an_unknown_platform_is_wrong_usage(home: Home) -> None:
    for platform, asked in known_platforms().items():
        done = home.call("manifest", platform)
        assert (done.returncode, bool(done.stdout)) == ((1, False) if asked.paper is None else (0, True))
        assert asked.paper is not None or f"nothing is pasted on {asked.title}" in done.stderr
    unknown = home.call("manifest", "fax")
    assert unknown.returncode == 2
    assert all(name in unknown.stderr for name in known_platforms())
