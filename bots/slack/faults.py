"""From Slack's refusals, and the SDK's errors, to ours: the only place that judges one.

The words: https://docs.slack.dev/reference/methods/chat.postMessage and the pages beside it.
"""

from __future__ import annotations

import re
from typing import Final

import aiohttp

from core.errors import BotError, BotRejected, ChatDead, FloodWait, NotSent, Rejected, ThreadGone, Unknown

APPS: Final = "https://api.slack.com/apps"
DEFAULT_WAIT_S: Final = 10.0
_LONGEST_WAIT_S: Final = 86_400.0

_REFUSED: Final = {
    "account_inactive": "the app was removed from the workspace, or the workspace is gone: install it again",
    "invalid_auth": "Slack refuses the token: copy it again",
    "not_allowed_token_type": "the token is of the wrong kind: bot_token begins with xoxb-, app_token with xapp-",
    "not_authed": "Slack sees no token: copy it again",
    "org_login_required": "the workspace is being moved to an organization: install the app again there",
    "token_expired": "the token has expired: the app must not rotate its tokens; copy a new one",
    "token_revoked": "the token was revoked: install the app again and copy the new one",
    "team_access_not_granted": "the app may not use this workspace: install it there",
    "forbidden_team": "Socket Mode is switched off for the app: switch it on",
}
_SWITCHES: Final = {
    "not_enabled": "switch it on at App Home",
    "messages_tab_disabled": "switch the Messages tab on at App Home",
}
_FLOOD: Final = {"ratelimited": False, "rate_limited": True, "message_limit_exceeded": True}
"""Whether all that the app or its workspace sends is too much, and not one method's calls, or one channel's."""
_THREAD_GONE: Final = frozenset(
    {"cannot_reply_to_message", "restricted_action_non_threadable_channel", "thread_not_found"}
)  # fmt: skip
"""Whoever sees a thread sees its channel."""
_DEAD: Final = frozenset(
    {
        "cannot_dm_bot", "channel_is_archived", "channel_not_found", "channel_type_not_supported", "is_archived",
        "is_inactive", "messages_tab_disabled", "no_permission", "not_in_channel", "restricted_action",
        "restricted_action_read_only_channel", "restricted_action_thread_only_channel", "user_disabled",
        "user_not_found", "users_not_found",
    }
)  # fmt: skip
_SHAPE: Final = frozenset(
    {
        "invalid_arguments", "invalid_blocks", "invalid_blocks_format", "markdown_text_conflict", "msg_blocks_too_long",
        "msg_too_long", "no_text",
    }
)  # fmt: skip
"""What Slack can't take as it was rendered."""
_NOT_DONE: Final = frozenset({"request_timeout", "team_added_to_org"})
_PERHAPS: Final = frozenset({"fatal_error", "internal_error", "service_unavailable"})


class ScopeLacking(BotRejected):
    """The token may not do that."""


class Unrenderable(Rejected):
    """Slack does not take what was rendered; the same words may be sent plainer."""


class Unreached(NotSent):
    """No connection was made."""


class StillStreams(NotSent):
    """Slack edits no message that is a stream: it is to be stopped first."""


class Silence(Unknown):
    """The connection broke, or nothing came back in time."""


def refusal(method: str, answer: dict[str, object], retry_after: str | None = None) -> BotError:
    """What `{"ok": false}` means to us; `retry_after` is the header that came with it. The words hold nothing but
    Slack's own for the error."""
    word = _word(answer.get("error"))
    if word == "missing_scope":
        needed = _word(answer.get("needed")) or "(not named)"
        do = f"add it at {APPS}, OAuth & Permissions, and install the app again"
        return ScopeLacking(f"the app lacks the scope {needed} for {method}: {do}")
    if word in _REFUSED:
        return BotRejected(f"{_REFUSED[word]}, at {APPS} ({word})")
    said = f"Slack: {word or 'refused without a word'} ({method})"
    if word in _SWITCHES:
        said += f"; {_SWITCHES[word]} at {APPS}"
    if word in _FLOOD:
        return flood(retry_after, account=_FLOOD[word])
    if word in _THREAD_GONE:
        return ThreadGone(said)
    if word in _DEAD:
        return ChatDead(said)
    if word in _SHAPE:
        return Unrenderable(said)
    if word == "streaming_state_conflict":
        return StillStreams(said)
    if word in _NOT_DONE:
        return NotSent(said)
    return Unknown(said) if word in _PERHAPS or not word else Rejected(said)


def flood(retry_after: str | None, *, account: bool = False) -> FloodWait:
    """Too much, as HTTP 429 or an answer's body says it."""
    wait_s = float(retry_after) if retry_after and re.fullmatch(r"\d{1,9}(\.\d+)?", retry_after, re.ASCII) else 0.0
    return FloodWait(min(wait_s, _LONGEST_WAIT_S) or DEFAULT_WAIT_S, account=account)


def broken(error: Exception) -> BotError:
    """A connection that was not made, or broke. Only the kind of the error is told: its text may hold an address."""
    never_left = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError)
    if isinstance(error, never_left):
        return Unreached(f"Slack can't be reached ({type(error).__name__})")
    return Silence(f"no clear answer from Slack ({type(error).__name__})")


def _word(value: object) -> str:
    return value if isinstance(value, str) and re.fullmatch(r"[\w:,. -]{1,100}", value, re.ASCII) else ""
