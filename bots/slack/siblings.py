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
from bots.slack.envelopes import Envelope
from bots.slack.inbound import Account

_LISTENING: Final[list[Sibling]] = []


class Sibling(Protocol):
    """`secret`: what Slack signs with, for an app that it posts to; else ""."""

    us: Account
    secret: str

    def hear(self, envelope: Envelope) -> None:
        """Something came that Slack wants acknowledged."""


@contextmanager
def listening(one: Sibling) -> Iterator[None]:
    """It is passed what is its own, until the end of the block."""
    _LISTENING.append(one)
    try:
        yield
    finally:
        _LISTENING.remove(one)


def whose(envelope: Envelope, got: Sibling) -> Sibling | None:
    """Whom it is for, of those that listen; None: another installation's, and not ours to acknowledge."""
    kin = [got, *(one for one in _LISTENING if one is not got and _is_kin(one, got))]
    return next((one for is_for in (_is_about_own, _is_for) for one in kin if is_for(envelope, one.us)), None)


def _is_kin(one: Sibling, other: Sibling) -> bool:
    return one.us.app == other.us.app != "" or one.secret == other.secret != ""


def _is_about_own(envelope: Envelope, us: Account) -> bool:
    return envelope.kind == "interaction" and interactions.is_about_own(envelope.payload, us)


def _is_for(envelope: Envelope, us: Account) -> bool:
    payload = envelope.payload
    match envelope.kind:
        case "event":
            return inbound.is_ours(payload, us)
        case "command":
            return "ssl_check" in payload or payload.get("team_id") == us.team
        case "interaction":
            return interactions.is_ours(payload, us)
