"""Whom of an app's bots something is for that Slack handed to one of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from bots.slack import siblings
from bots.slack.inbound import Account
from core.fields import Json
from core.vocabulary import BotName


@dataclass
class Bot:
    us: Account
    secret: str = ""

    async def answer(self, payload: Json) -> Json | None:
        raise AssertionError("nothing is passed on here")


def bot(letter: str, *, app: str = "A1", secret: str = "") -> Bot:
    """In the workspace of this letter."""
    us = Account(bot=BotName(letter), team=f"T{letter}", user=f"U{letter}", bot_id=f"B{letter}", name="x", app=app)
    return Bot(us=us, secret=secret)


HERE, THERE, STRANGE = bot("1"), bot("2"), bot("3", app="A2")


@pytest.fixture(autouse=True)
def all_listen() -> Iterator[None]:
    with ExitStack() as stack:
        for one in (HERE, THERE, STRANGE):
            stack.enter_context(siblings.listening(one))
        yield


def button(team: str, **where: Json) -> Json:
    return {"type": "block_actions", "team": {"id": team}, **where}


@pytest.mark.parametrize(
    ("payload", "owner"),
    [
        ({"team_id": "T1"}, HERE),
        ({"team_id": "T2"}, THERE),
        ({"team_id": "T9", "authorizations": [{"user_id": "U2"}]}, THERE),
        ({"team_id": "T3"}, None),
        ({}, HERE),
        ({"team_id": "T2"}, THERE),
        ({"team_id": "T9"}, None),
        ({"ssl_check": "1"}, HERE),
        (button("T2"), THERE),
        (button("T9"), None),
        ({"type": "block_actions"}, HERE),
        # in a channel that workspaces share, and in an organization's other workspace
        (button("T1", message={"user": "U2"}), THERE),
        (button("T9", message={"user": "U1"}), HERE),
        (button("T9", view={"bot_id": "B2"}), THERE),
        ({**button("T1", message={"user": "U2"}), "type": "message_action"}, HERE),
    ],
)
def test_it_is_whose_message_it_is_about_and_else_whose_workspace_it_happened_in(
    payload: Json, owner: Bot | None
) -> None:
    assert siblings.whose(payload, HERE) is owner


def test_bots_of_another_app_are_passed_nothing() -> None:
    assert siblings.whose({"team_id": "T1"}, STRANGE) is None
    unknown = bot("4", app="")
    with siblings.listening(unknown):
        assert siblings.whose({"team_id": "T4"}, bot("5", app="")) is None


def test_who_has_stopped_listening_is_passed_nothing() -> None:
    gone = bot("4")
    with siblings.listening(gone):
        assert siblings.whose({"team_id": "T4"}, HERE) is gone
    assert siblings.whose({"team_id": "T4"}, HERE) is None


def test_what_slack_signs_with_tells_the_app_too() -> None:
    one, other = bot("4", app="", secret="s"), bot("5", app="", secret="s")
    with siblings.listening(one):
        assert siblings.whose({"team_id": "T4"}, other) is one
