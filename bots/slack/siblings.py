"""Bots of one app in several workspaces.

Slack hands what happens in any of the workspaces to whichever of the app's sockets it likes, also if their tokens are
others (https://github.com/slackapi/bolt-js/issues/1263), and knows one address for all of them. So whoever gets what is
another's passes it on, to a bot of the same app that listens in this process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from bots.slack import inbound, interactions
from bots.slack.inbound import Account
from core.fields import Json

_LISTENING: Final[list[Sibling]] = []


class Sibling(Protocol):
    """`secret`: what Slack signs with, for an app that it posts to; else ""."""

    us: Account
    secret: str

    async def answer(self, payload: Json) -> Json | None:
        """As `sockets.Ear.take`, of what is its own."""


@contextmanager
def listening(one: Sibling) -> Iterator[None]:
    """It is passed what is its own, until the end of the block."""
    _LISTENING.append(one)
    try:
        yield
    finally:
        _LISTENING.remove(one)


def whose(payload: Json, got: Sibling) -> Sibling | None:
    """Whom it is for, of those that listen; None: another installation's, and not ours to acknowledge."""
    kin = [got, *(one for one in _LISTENING if one is not got and _is_kin(one, got))]
    rules = (interactions.is_about_own, inbound.is_ours)
    return next((one for is_for in rules for one in kin if is_for(payload, one.us)), None)


def _is_kin(one: Sibling, other: Sibling) -> bool:
    return one.us.app == other.us.app != "" or one.secret == other.secret != ""
