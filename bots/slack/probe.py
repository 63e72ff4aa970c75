"""A Slack app, looked at from outside: its tokens and scopes, what keeps messages from coming here, its channels.

What is asked here changes nothing and opens no socket, so that no event goes astray.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from bots.slack import inbound
from bots.slack.faults import APPS
from bots.slack.inbound import Account
from bots.slack.line import Line, Patience, connected
from bots.slack.listening import introduce
from bots.slack.manifest import lacking
from bots.slack.people import People
from config.bots import SlackSettings
from core.errors import BotError, BotRejected, ChatDead, Rejected
from core.fields import Unreadable, records
from core.ports import Blamed, Clock, Finding, State, Writer
from core.vocabulary import BotName, Message, Sender

_PATIENCE: Final = Patience(connect_s=5.0, answer_s=5.0)
_API: Final = SlackSettings.model_fields["api_base"].default
_CHATS: Final = 20
_ROUNDS: Final = 4
_ROUND_S: Final = 1.5
_SKEW_S: Final = 60.0
"""Less is what many machines are off by, and nothing here goes by seconds."""


class SlackProbe:
    """`ports.Probe` of one bot."""

    def __init__(self, name: BotName, *, settings: SlackSettings, clock: Clock) -> None:
        self._name = name
        self._settings = settings
        self._clock = clock

    async def introduce(self) -> str:
        async with self._connected() as line:
            return f"@{(await introduce(line, self._name)).name}"

    async def writers(self) -> Sequence[Writer]:
        """Reads the direct chats; what stands there stays there."""
        async with self._connected() as line:
            us = await introduce(line, self._name)
            for _ in range(_ROUNDS):
                if found := await self._unanswered(line, us):
                    return found
                await self._clock.sleep(_ROUND_S)
        return []

    async def findings(self, *, alone: bool) -> Sequence[Finding]:
        async with self._connected() as line:
            try:
                us = await introduce(line, self._name)
            except BotError as trouble:
                return [self._about("bot_token", trouble)]
            of = f"; in the organization {us.realm}: its people are slack:{us.realm}/USER" if us.enterprise else ""
            who = f"Slack knows the app as @{us.name} (team {us.team}, id {us.user}){of}"
            token = self._finding("bot_token", "ok", who)
            hearing, *groups = await asyncio.gather(
                self._hearing(line, us), *(self._group(line, us, group) for group in self._settings.groups)
            )
            return [token, self._scopes(line), self._clock_skew(line), hearing, *groups]

    # who wrote

    async def _unanswered(self, line: Line, us: Account) -> list[Writer]:
        told = await line.call("users.conversations", {"types": "im", "limit": _CHATS}, telling=False)
        chats = [one for one in records(told.get("channels")) if isinstance(one.get("id"), str)]
        last = await asyncio.gather(*(self._last_of(line, us, str(one["id"])) for one in chats))
        said = sorted((one for one in last if one is not None), key=lambda one: one.sent_at, reverse=True)
        people = People(line)
        names = await people.names({str(one.sender.user) for one in said})
        return [
            _writer(await people.at_home(one.sender, us), names.get(str(one.sender.user), ""), one.text) for one in said
        ]

    async def _last_of(self, line: Line, us: Account, chat: str) -> Message | None:
        """What a person said there last, if we said nothing since."""
        told = await line.call("conversations.history", {"channel": chat, "limit": 1}, telling=False)
        for one in records(told.get("messages")):
            try:
                said = inbound.message({**one, "channel": chat}, us, {})
            except Unreadable:
                return None
            return said if said is not None and said.sender.user and not said.sender.is_bot else None
        return None

    # what is found

    def _scopes(self, line: Line) -> Finding:
        if not line.scopes:
            return self._finding("scopes", "warning", "Slack does not say what the token may do")
        missing = lacking(line.scopes)
        if not missing:
            return self._finding("scopes", "ok", "the token may do all that is needed")
        do = f"add them at {APPS}, OAuth & Permissions, and install the app again"
        return self._finding("scopes", "fault", f"the token lacks {', '.join(missing)}", do)

    async def _hearing(self, line: Line, us: Account) -> Finding:
        if self._settings.mode == "http":
            detail = f"Slack posts events to [listen], below /slack/{self._name}; whether it can is not to be seen here"
            return self._finding("signing_secret", "ok", detail)
        try:
            await line.socket_address()
        except BotError as trouble:
            return self._about("app_token", trouble)
        ours, theirs = await self._app_of(line, us), _app_of_token(self._settings)
        if ours and theirs and ours != theirs:
            detail = f"it is of another app, {theirs}, than bot_token, {ours}: what one hears the other answers"
            do = f"replace app_token by one of {APPS}/{ours}/general, or bot_token by that of {APPS}/{theirs}/oauth"
            return self._finding("app_token", "fault", detail, do)
        return self._finding("app_token", "ok", "Slack opens a socket for it")

    async def _app_of(self, line: Line, us: Account) -> str:
        """The id of the app that the bot token is of; "" if Slack does not tell."""
        try:
            told = (await line.call("bots.info", {"bot": us.bot_id}, telling=False)).get("bot")
        except BotError:
            return ""
        app = told.get("app_id") if isinstance(told, dict) else None
        return app if isinstance(app, str) else ""

    async def _group(self, line: Line, us: Account, group: str) -> Finding:
        what = f"group {group}"
        if group.startswith("T"):
            known = group == us.team
            detail = "every channel of the workspace" if known else f"another workspace than the token's, {us.team}"
            return self._finding(what, "ok" if known else "fault", detail, "" if known else f"write {us.team}")
        try:
            told = (await line.call("conversations.info", {"channel": group})).get("channel")
        except ChatDead:
            return self._finding(what, "fault", "the app knows no such channel", "invite it there, or take the id out")
        except BotError as trouble:
            return self._about(what, trouble)
        name = str(told.get("name") or "") if isinstance(told, dict) else ""
        if not isinstance(told, dict) or told.get("is_member") is not True:
            do = f"send /invite @{us.name} in the channel, or take the id out of `groups`"
            return self._finding(what, "fault", f"the app is not in #{name}", do)
        return self._finding(what, "ok", f"the app is in #{name}")

    def _clock_skew(self, line: Line) -> Finding:
        theirs = _date(line.date)
        if theirs is None:
            return self._finding("clock", "warning", "Slack's answer has no time to compare with")
        skew_s = (line.dated_at - theirs).total_seconds()
        if abs(skew_s) <= _SKEW_S:
            return self._finding("clock", "ok", f"within {max(1, round(abs(skew_s)))} s of Slack's")
        how = f"{timedelta(seconds=round(abs(skew_s)))} {'ahead' if skew_s > 0 else 'behind'}"
        detail = (
            f"this machine's clock is {how}: resets come at the wrong time, and waiting messages may count as stale"
        )
        return self._finding("clock", "fault", detail, "set it, as by `timedatectl set-ntp true`")

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Line]:
        async with connected(self._settings, self._clock, _PATIENCE) as line:
            yield line

    def _finding(self, what: str, state: State, detail: str, do: str = "", *, blames: Blamed = "config") -> Finding:
        return Finding(what=f"[bots.{self._name}] {what}", state=state, detail=detail, do=do, blames=blames)

    def _about(self, what: str, trouble: BotError) -> Finding:
        """What keeps us from knowing. A refusal says itself what to do."""
        if isinstance(trouble, BotRejected):
            refused, _, do = str(trouble).rpartition(": ")
            return self._finding(what, "fault", refused, do)
        if isinstance(trouble, Rejected):
            return self._finding(what, "fault", str(trouble), f"look at the app at {APPS}")
        own = self._settings.api_base != _API
        do = f"look at api_base ({self._settings.api_base}) and at the network" if own else "look at the network"
        return self._finding(what, "fault", str(trouble), f"{do}, and try again", blames="world")


def _writer(sender: Sender, name: str, text: str) -> Writer:
    return Writer(identity=f"slack:{sender.realm}/{sender.user}", name=name, text=text)


def _app_of_token(settings: SlackSettings) -> str:
    """An app-level token names its app, as in xapp-1-A0123-…; "" if this one does not."""
    token = settings.app_token.reveal() if settings.app_token is not None else ""
    named = re.match(r"xapp-\d+-(A[A-Z0-9]+)-", token, re.ASCII)
    return named[1] if named is not None else ""


def _date(told: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(told)
    except ValueError:  # none, or one that nobody can read
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
