"""A Telegram account, looked at from outside: its token, what keeps its messages from coming here, its groups.

What is asked here confirms no update and changes no setting (https://core.telegram.org/bots/api).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final

import telegram
from telegram import error as sdk
from telegram.constants import PollingLimit

from bots.telegram import inbound
from bots.telegram.addressed import Account
from bots.telegram.api import call, in_our_words
from bots.telegram.http import AiohttpRequest
from bots.telegram.webhook import host_of, webhook_address
from config.bots import TelegramSettings
from core.errors import BotError, BotRejected, PollConflict, SendError, Unknown
from core.ports import Blamed, Clock, Finding, State, Writer
from core.vocabulary import BotName, ChatKind, Message

_CALL_S: Final = 10.0
_POLL_S: Final = 6
"""Whoever else polls is cut off by our poll, comes back within seconds, and cuts off ours."""
_API: Final = TelegramSettings.model_fields["api_base"].default
_FATHER: Final = "https://t.me/BotFather"
_SKEW_S: Final = 60.0
"""Less is what many machines are off by, and nothing here goes by seconds."""
_RUNS_IT: Final = ("creator", "administrator")
_ADD_IT: Final = "add the bot to the group, or take the id out of `groups`"
_NOTHING: Final[Mapping[str, object]] = {}


class TelegramProbe:
    """`ports.Probe` of one bot."""

    def __init__(self, name: BotName, *, settings: TelegramSettings, clock: Clock, poll_s: int = _POLL_S) -> None:
        self._name = name
        self._settings = settings
        self._clock = clock
        self._poll_s = poll_s
        self._dates: list[tuple[datetime, datetime]] = []
        """What the clock of Telegram showed, and ours when that came."""

    async def introduce(self) -> str:
        async with self._connected() as api:
            return f"@{_account(await self._ask(api, 'get_Me'), self._name).username}"

    async def writers(self) -> Sequence[Writer]:
        """Polls without an offset: nothing is confirmed, so Telegram goes on holding it all."""
        async with self._connected() as api:
            us = _account(await self._ask(api, "get_Me"), self._name)
            updates = await self._ask(api, "get_Updates", {"timeout": self._poll_s, "limit": PollingLimit.MAX_LIMIT})
        return _writers(updates, us)

    async def findings(self, *, alone: bool) -> Sequence[Finding]:
        async with self._connected() as api:
            try:
                me = await self._ask(api, "get_Me")
                us = _account(me, self._name)
            except BotError as trouble:
                return [self._about("token", trouble)]
            token = self._finding("token", "ok", f"Telegram knows the bot as @{us.username} (id {us.id})")
            reception = asyncio.create_task(self._reception(api, alone=alone))
            members = await asyncio.gather(*(self._group(api, us.id, group) for group in self._settings.groups))
            received = await reception
        privacy = self._privacy(me, members)
        return [token, self._clock_skew(), *received, *privacy, *(finding for finding, _ in members)]

    # what keeps messages from coming here

    async def _reception(self, api: telegram.Bot, *, alone: bool) -> list[Finding]:
        try:
            told = await self._ask(api, "get_Webhook_Info")
        except BotError as trouble:
            return [self._about("webhook", trouble)]
        info = told if isinstance(told, dict) else {}
        waiting = info.get("pending_update_count")
        waits = f"{waiting} updates wait at Telegram" if waiting else "nothing waits at Telegram"
        url = str(info.get("url") or "")
        if self._settings.mode == "webhook":
            return [self._own_webhook(url, waits, str(info.get("last_error_message") or "") if waiting else "")]
        if url:
            detail = f"Telegram sends the messages to a web server, {host_of(url)}; {waits}"
            do = "if a program there still uses this bot, stop it or use another token; `run` removes the webhook"
            return [self._finding("webhook", "warning", detail, do)]
        webhook = self._finding("webhook", "ok", f"none is set; {waits}")
        return [webhook, *([await self._poller(api)] if alone else [])]

    def _own_webhook(self, url: str, waits: str, trouble: str) -> Finding:
        """The configuration wants one. What troubles Telegram counts while something waits for it."""
        if not url:
            return self._finding("webhook", "ok", f"none is set yet: `run` sets it; {waits}")
        if url != webhook_address(self._settings, self._name):
            do = "if a program there still uses this bot, stop it or use another token; `run` sets ours in its place"
            return self._finding("webhook", "warning", f"Telegram sends the messages to {host_of(url)}; {waits}", do)
        if trouble:
            do = "look at webhook_url, at the proxy before [listen], and whether `run` runs"
            return self._finding("webhook", "warning", f"Telegram can't deliver: {trouble[:200]}; {waits}", do)
        return self._finding("webhook", "ok", f"Telegram sends the messages to {host_of(url)}; {waits}")

    async def _poller(self, api: telegram.Bot) -> Finding:
        try:
            updates = await self._ask(api, "get_Updates", {"timeout": self._poll_s, "limit": 1})
        except PollConflict:
            detail = "another process receives this bot's messages"
            return self._finding("messages", "fault", detail, "stop it, or give this desk a token of its own")
        except BotError as trouble:
            return self._about("messages", trouble)
        seen = "they wait for `frontdesk run`" if updates else f"in {self._poll_s} s nobody else asked for them"
        return self._finding("messages", "ok", f"they can be had here; {seen}")

    # groups

    def _privacy(self, me: Mapping[str, object], groups: Sequence[tuple[Finding, bool]]) -> list[Finding]:
        if not self._settings.groups:
            return []
        if me.get("can_join_groups") is False:
            do = f"send /setjoingroups to {_FATHER} and allow it"
            return [self._finding("groups", "warning", "the bot may not be added to groups", do)]
        if me.get("can_read_all_group_messages") is not False:
            return [self._finding("groups", "ok", "privacy mode is off: the bot hears all that is said in its groups")]
        if all(sees_all for _, sees_all in groups):
            return [self._finding("groups", "ok", "privacy mode is on, and the bot is an administrator: it hears all")]
        detail = "privacy mode is on: in groups the bot hears replies to it and its commands, and not all else"
        do = f"to be heard by @name: /setprivacy at {_FATHER}, Disable; then remove the bot from the group and add it"
        return [self._finding("groups", "warning", detail, do)]

    async def _group(self, api: telegram.Bot, us: int, group: str) -> tuple[Finding, bool]:
        """And whether the bot hears everything there, as administrators do."""
        what = f"group {group}"
        try:
            chat, member = await asyncio.gather(
                self._ask(api, "get_Chat", {"chat_id": int(group)}),
                self._ask(api, "get_Chat_Member", {"chat_id": int(group), "user_id": us}),
            )
        except _GroupMoved as moved:
            detail = f"the group became a supergroup with the id {moved.to}"
            return self._finding(what, "fault", detail, f"write {moved.to} in its place"), False
        except SendError as refusal:
            if not refusal.certain or refusal.retryable:
                return self._about(what, refusal), False
            return self._finding(what, "fault", f"the bot is not in it ({refusal})", _ADD_IT), False
        except BotError as trouble:
            return self._about(what, trouble), False
        return self._membership(what, chat, member)

    def _membership(self, what: str, chat: object, member: object) -> tuple[Finding, bool]:
        title = str(chat.get("title") or "") if isinstance(chat, dict) else ""
        status = str(member.get("status") or "") if isinstance(member, dict) else ""
        inside = status == "member" or (isinstance(member, dict) and member.get("is_member") is True)
        if not inside and status not in _RUNS_IT:
            return self._finding(what, "fault", f"the bot is not in “{title}”", _ADD_IT), False
        return self._finding(what, "ok", f"the bot is in “{title}” as {status}"), status in _RUNS_IT

    # the clock

    def _clock_skew(self) -> Finding:
        if not self._dates:
            return self._finding("clock", "warning", "Telegram's answer has no time to compare with")
        theirs, ours = self._dates[0]
        skew_s = (ours - theirs).total_seconds()
        if abs(skew_s) <= _SKEW_S:
            return self._finding("clock", "ok", f"within {max(1, round(abs(skew_s)))} s of Telegram's")
        how = f"{_span(abs(skew_s))} {'ahead' if skew_s > 0 else 'behind'}"
        detail = (
            f"this machine's clock is {how}: resets come at the wrong time, and waiting messages may count as stale"
        )
        return self._finding("clock", "fault", detail, "set it, as by `timedatectl set-ntp true`")

    # asking

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[telegram.Bot]:
        settings = self._settings
        request = AiohttpRequest(settings.proxy, connections=16, heard=self._note_date)
        async with request:
            yield telegram.Bot(
                settings.token.reveal(), base_url=f"{settings.api_base}/bot", request=request,
                get_updates_request=request,
            )  # fmt: skip

    def _note_date(self, headers: Mapping[str, str]) -> None:
        try:
            told = parsedate_to_datetime(headers.get("Date", ""))
        except ValueError:  # none, or one that nobody can read
            return
        self._dates.append((told if told.tzinfo else told.replace(tzinfo=UTC), self._clock.now()))

    async def _ask(self, api: telegram.Bot, method: str, arguments: Mapping[str, object] = _NOTHING) -> Any:
        """Raises `BotError`, and `_GroupMoved`."""
        try:
            async with asyncio.timeout(_CALL_S):
                with in_our_words(api.token):
                    return await _call(api, method, arguments)
        except TimeoutError:
            raise Unknown(f"Telegram did not answer within {_CALL_S:.0f} s") from None

    def _finding(self, what: str, state: State, detail: str, do: str = "", *, blames: Blamed = "config") -> Finding:
        return Finding(what=f"[bots.{self._name}] {what}", state=state, detail=detail, do=do, blames=blames)

    def _about(self, what: str, trouble: BotError) -> Finding:
        """What keeps us from knowing."""
        if isinstance(trouble, BotRejected):
            return self._finding(what, "fault", "Telegram refuses it", f"copy it again from {_FATHER}: /mybots")
        own = self._settings.api_base != _API
        do = f"look at api_base ({self._settings.api_base}) and at the network" if own else "look at the network"
        return self._finding(what, "fault", str(trouble), f"{do}, and try again", blames="world")


class _GroupMoved(Exception):
    def __init__(self, to: int) -> None:
        super().__init__(to)
        self.to = to


async def _call(api: telegram.Bot, method: str, arguments: Mapping[str, object]) -> Any:
    try:
        return await call(api, method, arguments, _CALL_S)
    except sdk.ChatMigrated as moved:
        raise _GroupMoved(moved.new_chat_id) from None


def _account(told: object, name: BotName) -> Account:
    us = inbound.account(name, told)
    if us is None:
        raise Unknown("what answers there is not Telegram: it does not say who this bot is")
    return us


def _writers(updates: object, us: Account) -> list[Writer]:
    found: dict[str, Writer] = {}
    for update in reversed(updates if isinstance(updates, list) else []):
        said = inbound.read(update, us)
        if isinstance(said, Message) and said.kind is ChatKind.DIRECT and said.sender.user and not said.sender.is_bot:
            identity = f"telegram:{said.sender.user}"
            found.setdefault(identity, Writer(identity=identity, name=said.sender.name, text=said.text))
    return list(found.values())


def _span(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
