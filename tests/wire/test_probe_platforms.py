"""`frontdesk check --probe` over several platforms and voices: the real process, the strict doubles."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping

import pytest

from bots.slack.manifest import scopes
from tests.fakes.discord import ThreadedDiscordServer
from tests.fakes.models import ThreadedModelServer
from tests.fakes.slack import ThreadedSlackServer
from tests.wire.desk_to_be import WRONG_KEY, Home, findings_of, telling_scopes

OFFLINE = '[agents.default]\nbackend = "offline"\n'
NO_INTENTS = 0
HEARS, SPEAKS = "[speech.transcribe]", "[speech.speak]"


@pytest.fixture
def discord() -> Iterator[ThreadedDiscordServer]:
    with ThreadedDiscordServer(limits=None) as server:
        yield server
        assert server.problems == ()


@pytest.fixture
def slack() -> Iterator[ThreadedSlackServer]:
    with ThreadedSlackServer() as server:
        telling_scopes(server, scopes())
        yield server
        assert server.problems == ()


@pytest.fixture
def voices() -> Iterator[ThreadedModelServer]:
    """Tells its models, as endpoints for voices do."""
    with ThreadedModelServer(models=("hears", "speaks")) as server:
        yield server


def table(name: str, options: Mapping[str, object]) -> str:
    return f"[{name}]\n" + "".join(f"{option} = {json.dumps(value)}\n" for option, value in options.items())


def on_discord(home: Home, server: ThreadedDiscordServer, token: str = "", **more: object) -> str:
    path = home.keep("discord.txt", token or server.token)
    return table("bots.discord", {"token": f"file:{path}", "api_base": server.api_base, **more})


def on_slack(home: Home, server: ThreadedSlackServer, bot: str = "", app: str = "", **more: object) -> str:
    bot_token, app_token = home.keep("bot.txt", bot or server.bot.token), home.keep("app.txt", app)
    told: dict[str, object] = {"bot_token": f"file:{bot_token}", "api_base": server.api_base.rstrip("/"), **more}
    return table("bots.slack", told | ({"app_token": f"file:{app_token}"} if app else {}))


def speech(home: Home, server: ThreadedModelServer, key: str = "", base: str = "", model: str = "hears") -> str:
    path = home.keep("speech.txt", key or server.key)
    told = {"base_url": base or server.openai_url, "api_key": f"file:{path}"}
    return table("speech.transcribe", {**told, "model": model}) + table("speech.speak", {**told, "model": "speaks"})


def probed(home: Home, *parts: str, listen: str = "port = 0\n") -> tuple[int, Mapping[str, Mapping[str, str]]]:
    home.config.parent.mkdir(parents=True, exist_ok=True)
    home.config.write_text("\n".join([OFFLINE, *parts, f"[listen]\n{listen}"]))
    done = home.call("check", "--probe", "--json")
    assert done.stderr == ""
    return done.returncode, findings_of(done)


def faults(found: Mapping[str, Mapping[str, str]]) -> set[str]:
    return {what for what, one in found.items() if one["state"] == "fault"}


def test_all_is_well_everywhere(
    home: Home, discord: ThreadedDiscordServer, slack: ThreadedSlackServer, voices: ThreadedModelServer
) -> None:
    ada = discord.person("ada")
    channel = discord.channel(discord.guild("Team", [ada]), "general")
    general = slack.channel("general", members=[slack.person("Ada")])
    code, found = probed(
        home, speech(home, voices), on_discord(home, discord, groups=[str(channel.id)]),
        on_slack(home, slack, app=slack.bot.app_token, groups=[general.id]),
    )  # fmt: skip
    assert (code, {one["state"] for one in found.values()}) == (0, {"ok"}), found
    assert [what for what in found if what.startswith(("[bots", "[speech"))] == [
        "[bots.discord] token", "[bots.discord] clock", "[bots.discord] intent", "[bots.discord] gateway",
        f"[bots.discord] group {channel.id}", "[bots.slack] bot_token", "[bots.slack] scopes", "[bots.slack] clock",
        "[bots.slack] app_token", f"[bots.slack] group {general.id}", HEARS, SPEAKS,
    ]  # fmt: skip
    assert not slack.sockets()
    assert not discord.notes_of("connected")
    assert {call.method for call in discord.calls} == {"GET"}


def test_each_platform_s_faults_are_its_own_and_name_no_secret(
    home: Home, discord: ThreadedDiscordServer, slack: ThreadedSlackServer
) -> None:
    old = discord.token
    discord.revoke(discord.bot)
    code, found = probed(
        home, on_discord(home, discord, old), on_slack(home, slack, app="xapp-1-A0-wrong"),
    )  # fmt: skip
    assert (code, faults(found)) == (78, {"[bots.discord] token", "[bots.slack] app_token"})
    assert all(found[what]["do"] for what in faults(found))
    assert found["[bots.slack] bot_token"]["state"] == "ok"
    assert not [secret for secret in (old, "xapp-1-A0-wrong", slack.bot.token) if secret in str(found)]


def test_a_missing_intent_and_a_missing_scope_say_which(
    home: Home, discord: ThreadedDiscordServer, slack: ThreadedSlackServer
) -> None:
    discord.enable(discord.bot, NO_INTENTS)
    slack.clear_faults()
    telling_scopes(slack, set(scopes()) - {"im:history", "files:write"})
    code, found = probed(home, on_discord(home, discord), on_slack(home, slack, app=slack.bot.app_token))
    assert (code, faults(found)) == (78, {"[bots.discord] intent", "[bots.slack] scopes"})
    assert "Message Content Intent" in found["[bots.discord] intent"]["do"]
    assert "files:write, im:history" in found["[bots.slack] scopes"]["detail"]


def test_platforms_that_can_not_be_reached_are_no_fault_of_the_config(
    home: Home, discord: ThreadedDiscordServer, slack: ThreadedSlackServer
) -> None:
    discord.pause()
    slack.pause()
    code, found = probed(home, on_discord(home, discord), on_slack(home, slack, app=slack.bot.app_token))
    assert (code, faults(found)) == (1, {"[bots.discord] token", "[bots.slack] bot_token"})
    assert discord.api_base in found["[bots.discord] token"]["do"]
    discord.resume()
    slack.resume()


def test_by_http_it_is_said_what_can_not_be_known_and_the_port_is_looked_at(
    home: Home, slack: ThreadedSlackServer
) -> None:
    secret = home.keep("signing.txt", "0123456789abcdef0123456789abcdef")
    told = on_slack(home, slack, mode="http", signing_secret=f"file:{secret}")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, found = probed(home, told, listen=f"port = {taken.getsockname()[1]}\n")
    assert (code, faults(found)) == (78, {"[listen]"})
    assert "is taken by" in found["[listen]"]["detail"]
    assert "not to be seen here" in found["[bots.slack] signing_secret"]["detail"]
    assert not slack.calls_of("apps.connections.open")


# voices


def test_where_no_voices_are_configured_nobody_is_asked(home: Home) -> None:
    _, found = probed(home)
    assert not [what for what in found if what.startswith("[speech")]


def test_a_refused_key_and_a_model_that_is_not_listed(home: Home, voices: ThreadedModelServer) -> None:
    code, found = probed(home, speech(home, voices, WRONG_KEY))
    assert (code, faults(found)) == (78, {HEARS, SPEAKS})
    assert "refuses the key" in found[HEARS]["detail"]
    assert f"file:{home.path}/speech.txt" in found[HEARS]["do"]
    assert WRONG_KEY not in str(found)
    code, found = probed(home, speech(home, voices, model="whisper-9"))
    assert (code, found[HEARS]["state"], found[SPEAKS]["state"]) == (0, "warning", "ok")
    assert "whisper-9" in found[HEARS]["detail"]


def test_an_endpoint_that_is_away_or_is_none(home: Home, voices: ThreadedModelServer) -> None:
    elsewhere = voices.openai_url.removesuffix("/v1")
    code, found = probed(home, speech(home, voices, base=elsewhere))
    assert (code, found[HEARS]["state"]) == (0, "warning")  # it may hear all the same
    assert "voice message" in found[HEARS]["do"]
    voices.pause()
    code, found = probed(home, speech(home, voices))
    assert (code, faults(found)) == (1, {HEARS, SPEAKS})
    assert voices.openai_url in found[HEARS]["do"]
    voices.resume()


def test_people_get_a_line_for_each_of_several_bots(home: Home, discord: ThreadedDiscordServer) -> None:
    home.config.parent.mkdir(parents=True, exist_ok=True)
    token = home.keep("support.txt", discord.token_of(discord.account("support")))
    options = {"platform": "discord", "token": f"file:{token}", "api_base": discord.api_base}
    both = [on_discord(home, discord), table("bots.support", options)]
    home.config.write_text("\n".join([OFFLINE, *both, "[listen]\nport = 0\n"]))
    done = home.call("check", "--probe")
    assert done.returncode == 0, done.stdout
    assert "ok       [bots.discord] token: Discord knows the bot as frontdesk" in done.stdout
    assert "ok       [bots.support] token: Discord knows the bot as support" in done.stdout
