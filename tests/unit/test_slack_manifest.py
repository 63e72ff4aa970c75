"""The manifest: it asks for what the code uses, and for nothing else."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

import bots.slack
from bots.slack import words
from bots.slack.bot import SlackBot
from bots.slack.interactions import ASK
from bots.slack.manifest import COMMAND, SCOPES_OF_EVENTS, SCOPES_OF_METHODS, manifest, scopes
from bots.slack.setup import QUESTIONS
from config.bots import SlackSettings
from config.secret import Secret
from core.vocabulary import BotName
from tests.clock import ManualClock
from tests.contract.doubles import NoChance
from tests.fakes.slack.methods import METHODS
from tests.wire.slack_world import TABLE

SOURCES = {path.name: path.read_text() for path in Path(bots.slack.__file__).parent.glob("*.py")}
METHOD = re.compile(r'"((?:assistant|auth|chat|conversations|files|reactions|users|views|team|bots)\.[A-Za-z.]+)"')


def made(mode: str = "socket", url: str = "") -> dict[str, Any]:
    text = manifest("Front Desk", TABLE, mode, url)  # type: ignore[arg-type]
    read: dict[str, Any] = json.loads(text)
    return read


def test_every_method_that_is_called_is_listed_and_no_other() -> None:
    called = {name for file, text in SOURCES.items() if file != "manifest.py" for name in METHOD.findall(text)}
    assert called == SCOPES_OF_METHODS.keys()


def test_the_platform_agrees_on_what_each_method_needs() -> None:
    for name, needed in SCOPES_OF_METHODS.items():
        known = METHODS[name].scopes
        assert not known or set(needed) & set(known), name


def test_every_event_that_is_understood_is_asked_for_and_no_other() -> None:
    listened_to = re.findall(r'app\.event\((?:re\.compile\()?"([^"]*)"', SOURCES["app.py"])
    understood = {name for one in listened_to for name in re.findall("[a-z_]{3,}", one)} - {"message"}
    messages = {"message.channels", "message.groups", "message.im", "message.mpim"}
    assert understood | messages == set(SCOPES_OF_EVENTS)


def test_no_listener_sends_past_the_paced_client() -> None:
    """Bolt offers its listeners ways to send that know neither our pace nor our errors."""
    for file, text in SOURCES.items():
        asked_for = {node.arg for node in ast.walk(ast.parse(text)) if isinstance(node, ast.arg)}
        assert not asked_for & {"say", "respond", "say_stream", "set_status"}, file
        assert "context.client" not in text, file


def test_it_asks_for_exactly_those_scopes() -> None:
    asked = made()["oauth_config"]["scopes"]["bot"]
    assert asked == sorted(set(asked)) == list(scopes())
    wanted = {one for needed in SCOPES_OF_METHODS.values() for one in needed} | set(SCOPES_OF_EVENTS.values())
    assert set(asked) == (wanted | {"commands"}) - {""}


@pytest.mark.parametrize(("mode", "url"), [("socket", ""), ("http", "https://bots.example.com/slack/slack")])
def test_it_sets_up_either_mode(mode: str, url: str) -> None:
    asked = made(mode, url)
    settings, (command,) = asked["settings"], asked["features"]["slash_commands"]
    assert settings["socket_mode_enabled"] is (mode == "socket")
    assert settings["event_subscriptions"].get("request_url", "") == url
    urls = {"request_url": url, "message_menu_options_url": url} if url else {}
    assert settings["interactivity"] == {"is_enabled": True, **urls}
    assert command.get("url", "") == url


def test_its_address_is_where_a_bot_is_served() -> None:
    tokens = {"bot_token": Secret("xoxb-1"), "signing_secret": Secret("s" * 32), "mode": "http", "name": "work"}
    settings = SlackSettings.model_validate(tokens, strict=False)
    bot = SlackBot(BotName("work"), settings=settings, clock=ManualClock(), random=NoChance())
    assert QUESTIONS.paper is not None
    told = json.loads(QUESTIONS.paper("Front Desk", TABLE, "https://bots.example.com/slack/work"))
    assert [f"https://bots.example.com{path}" for path in bot.asgi] == [
        told["settings"]["event_subscriptions"]["request_url"]
    ]


def test_a_new_app_is_an_agent() -> None:
    """https://docs.slack.dev/ai/migrating-to-agent-messaging; it is told nothing of an assistant's threads."""
    asked = made()
    assert len(asked["features"]["agent_view"]["agent_description"]) <= 300
    assert "assistant_view" not in asked["features"]
    events = asked["settings"]["event_subscriptions"]["bot_events"]
    assert "app_home_opened" in events
    assert not [one for one in events if one.startswith("assistant")]


def test_it_is_made_from_the_command_table() -> None:
    asked = made()
    (command,) = asked["features"]["slash_commands"]
    assert (command["command"], command["usage_hint"]) == (COMMAND, "help, status, reset [text], stop")
    assert "/frontdesk reset [text]: begin anew" in asked["display_information"]["long_description"]
    (shortcut,) = asked["features"]["shortcuts"]
    assert (shortcut["callback_id"], shortcut["type"]) == (ASK, "message")


def test_it_keeps_to_the_lengths_that_slack_takes() -> None:
    """https://docs.slack.dev/reference/app-manifest"""
    asked = made()
    about, features = asked["display_information"], asked["features"]
    assert len(about["name"]) <= 35
    assert len(about["description"]) <= 140
    assert 174 <= len(about["long_description"]) <= 4_000
    assert len(features["slash_commands"][0]["usage_hint"]) <= 1_000
    assert len(features["shortcuts"][0]["name"]) <= 24
    assert len(features["shortcuts"][0]["description"]) <= 150
    assert len(json.loads(manifest("x" * 80, (), "socket"))["display_information"]["name"]) == 35
    assert len(json.loads(manifest("x", (), "socket"))["display_information"]["long_description"]) >= 174


def test_the_questions_ask_for_options_that_there_are() -> None:
    assert {one.option for one in QUESTIONS.secrets} <= SlackSettings.model_fields.keys()
    assert set(QUESTIONS.offer) <= SlackSettings.model_fields.keys()


def test_what_is_suggested_fits() -> None:
    assert len(words.PROMPTS) <= 4
