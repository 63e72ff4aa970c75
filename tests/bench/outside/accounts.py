"""The three platforms as the people of a benchmark use them: accounts for bots, people in private, what bots call."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, Protocol, Self, TypeVar

from tests.fakes.discord import Call as DiscordCall
from tests.fakes.discord import GatewayRules, ThreadedDiscordServer
from tests.fakes.slack import Call as SlackCall
from tests.fakes.slack import ThreadedSlackServer
from tests.fakes.telegram import ThreadedTelegramServer
from tests.fakes.telegram.model import Call as TelegramCall

FIRST_USER: Final = 6_000_000_000
ACKNOWLEDGED_S: Final = 60.0
"""Slack waits 3 s for an acknowledgement; a busy machine is given longer."""


class Kind(StrEnum):
    """What a call does in a turn. `OTHER` calls belong to no turn."""

    TYPING = "typing"
    PREVIEW = "preview"
    SEND = "send"
    OTHER = "other"


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """`table`: the lines of `[bots.NAME]`. `bare`: the same for a client of `tests.bench.outside.clients`."""

    table: str
    bare: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Person:
    """Somebody who talks with one account in private. `key`: of the chat. `clock`: the platform's, in seconds."""

    key: str
    say: Callable[[str], object]
    clock: Callable[[], float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Called:
    """A call that took effect. `key`: of the chat, empty without one. `at`: of its arrival, by the platform's clock."""

    name: str
    kind: Kind
    key: str
    text: str
    at: float


Told = Callable[[Called], None]


class Platform(ABC):
    """`with NAME(accounts) as platform`: a test server without limits of pace. All of it is threadsafe."""

    accounts: list[Account]
    answers: frozenset[Kind]
    """The kinds of calls that show an answer for good."""

    def __init__(self) -> None:
        self._servers = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._servers.close()

    @abstractmethod
    def person(self, account: int) -> Person: ...

    @abstractmethod
    def watch(self, told: Told) -> None:
        """`told` of every call from now on, on the thread of a server."""

    @property
    @abstractmethod
    def problems(self) -> list[str]:
        """The rules that bots broke."""


class _Call(Protocol):
    @property
    def applied(self) -> bool: ...
    @property
    def status(self) -> int | None: ...


C = TypeVar("C", bound=_Call)


class _Watcher(Generic[C]):
    """Tells of each call once it took effect. `look` is called after every change, under the platform's lock."""

    def __init__(self, calls: list[C], told: Callable[[C], None]) -> None:
        self._calls = calls
        self._told = told
        self._seen = len(calls)
        self._open: list[int] = []

    def look(self) -> None:
        self._open += range(self._seen, len(self._calls))
        self._seen = len(self._calls)
        still_open = []
        for number in self._open:
            call = self._calls[number]
            if call.applied:
                self._told(call)
            elif call.status is None:
                still_open.append(number)
        self._open = still_open


class Telegram(Platform):
    """Each account has a server of its own."""

    kinds: Final = {
        "sendChatAction": Kind.TYPING,
        "sendMessageDraft": Kind.PREVIEW,
        "editMessageText": Kind.PREVIEW,
        "sendMessage": Kind.SEND,
    }
    answers = frozenset({Kind.SEND})

    def __init__(self, accounts: int) -> None:
        super().__init__()
        self._all = [
            self._servers.enter_context(ThreadedTelegramServer(token=_token(number), limits=None))
            for number in range(accounts)
        ]
        self.accounts = [
            Account(
                table=f'platform = "telegram"\ntoken = "{one.token}"\napi_base = "{one.url}"\n',
                bare={"token": one.token, "url": one.url},
            )
            for one in self._all
        ]
        self._people = 0

    def person(self, account: int) -> Person:
        server = self._all[account]
        self._people += 1
        user = server.user(f"Person{self._people}", id=FIRST_USER + self._people)
        chat = server.private(user)
        return Person(key=str(chat.id), say=lambda text: server.say(chat, user, text), clock=server.platform.clock)

    def watch(self, told: Told) -> None:
        def called(call: TelegramCall) -> None:
            kind = self.kinds.get(call.method, Kind.OTHER)
            key, text = str(call.chat_id), str(call.params.get("text", ""))
            told(Called(name=call.method, kind=kind, key=key, text=text, at=call.at))

        for server in self._all:
            server.platform.listen(_Watcher(server.platform.journal.calls, called).look)

    @property
    def problems(self) -> list[str]:
        return [f"{one.rule}: {one.detail}" for server in self._all for one in server.violations]


def _token(number: int) -> str:
    return f"{7_123_456_000 + number}:AAFrontdesk-loopback_test-token-{number:06}"


class Discord(Platform):
    """Everybody shares a guild with every bot, so that they may write to one another."""

    kinds: Final = {"typing": Kind.TYPING, "edit_message": Kind.PREVIEW, "create_message": Kind.SEND}
    answers = frozenset({Kind.PREVIEW, Kind.SEND})

    def __init__(self, accounts: int) -> None:
        super().__init__()
        rules = GatewayRules(identify_every_s=0.0)
        self._server = self._servers.enter_context(ThreadedDiscordServer(limits=None, gateway=rules))
        more = [self._server.account(f"desk{number}") for number in range(1, accounts)]
        self._bots = [self._server.bot, *more]
        self._guild = self._server.guild("Team")
        self.accounts = [self._account(self._server.token_of(bot)) for bot in self._bots]
        self._people = 0

    def _account(self, token: str) -> Account:
        api, gateway = self._server.api_base, self._server.gateway_url
        return Account(
            table=f'platform = "discord"\ntoken = "{token}"\napi_base = "{api}"\ngateway_url = "{gateway}"\n',
            bare={"token": token, "api": api, "gateway": gateway},
        )

    def person(self, account: int) -> Person:
        server = self._server
        self._people += 1
        user = server.person(f"person{self._people}")
        server.join(self._guild, user)
        channel = server.dm(user, self._bots[account])
        return Person(key=str(channel.id), say=lambda text: server.say(channel, user, text), clock=time.monotonic)

    def watch(self, told: Told) -> None:
        def called(call: DiscordCall) -> None:
            kind = self.kinds.get(call.route, Kind.OTHER)
            key, text = str(call.channel_id), str(call.body.get("content", ""))
            told(Called(name=call.route, kind=kind, key=key, text=text, at=call.at))

        self._server.platform.listen(_Watcher(self._server.platform.journal.calls, called).look)

    @property
    def problems(self) -> list[str]:
        return [f"{one.rule}: {one.detail}" for one in self._server.problems]


class Slack(Platform):
    """All in one workspace; each account is an app of its own."""

    kinds: Final = {
        "assistant.threads.setStatus": Kind.TYPING,
        "chat.update": Kind.PREVIEW,
        "chat.postMessage": Kind.SEND,
    }
    answers = frozenset({Kind.PREVIEW, Kind.SEND})

    def __init__(self, accounts: int) -> None:
        super().__init__()
        self._server = self._servers.enter_context(ThreadedSlackServer(limits=None, answer_s=ACKNOWLEDGED_S))
        more = [self._server.add_bot(f"desk{number}") for number in range(1, accounts)]
        self._bots = [self._server.bot, *more]
        api = self._server.api_base.rstrip("/")
        self.accounts = [
            Account(
                table=f'platform = "slack"\nbot_token = "{bot.token}"\napp_token = "{bot.app_token}"\n'
                f'api_base = "{api}"\n',
                bare={"token": bot.token, "app_token": bot.app_token, "api": api},
            )
            for bot in self._bots
        ]
        self._people = 0

    def person(self, account: int) -> Person:
        server = self._server
        self._people += 1
        who = server.person(f"Person{self._people}")
        channel = server.im(who, self._bots[account])
        return Person(key=channel.id, say=lambda text: server.say(channel, who, text), clock=server.platform.clock)

    def watch(self, told: Told) -> None:
        def called(call: SlackCall) -> None:
            kind = self.kinds.get(call.method, Kind.OTHER)
            key = call.text("channel") or call.text("channel_id")
            told(Called(name=call.method, kind=kind, key=key, text=call.text("text"), at=call.at))

        self._server.platform.listen(_Watcher(self._server.platform.journal.calls, called).look)

    @property
    def problems(self) -> list[str]:
        return [f"{one.rule}: {one.detail}" for one in self._server.problems]


PLATFORMS: Final[Mapping[str, Callable[[int], Platform]]] = {
    "telegram": Telegram,
    "discord": Discord,
    "slack": Slack,
}
