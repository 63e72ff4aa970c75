"""What the double remembers of teams, apps and rooms, apart from what people see. Mutable; used under the lock."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from tests.fakes.slack.model import Bot, Call, Channel, JsonObject, Message, Problem

Surface: TypeAlias = Literal["assistant", "agent", "none"]
TokenState: TypeAlias = Literal["active", "token_revoked", "account_inactive", "invalid_auth", "token_expired"]


@dataclass
class App:
    """One app of ours. Events go to its sockets, or to `request_url` once `socket_mode` is off.

    `surface` is what the manifest has: "assistant" (assistant_view: threads, the pane), "agent" (agent_view: prompts
    without threads) or "none". `home_tab` allows a Home view, `messages_tab` direct messages.
    """

    id: str
    name: str
    app_token: str
    signing_secret: str
    socket_mode: bool = True
    request_url: str | None = None
    command_url: str | None = None
    interactivity_url: str | None = None
    options_url: str | None = None
    request_url_verified: bool = False
    app_token_state: TokenState = "active"
    app_scopes: set[str] = field(default_factory=lambda: {"connections:write"})
    surface: Surface = "assistant"
    home_tab: bool = True
    messages_tab: bool = True

    def url_for(self, kind: str) -> str:
        """Where deliveries of this kind are posted; "options" is what a menu asks for."""
        special = {
            "slash_commands": self.command_url,
            "interactive": self.interactivity_url,
            "options": self.options_url,
        }.get(kind)
        return special or self.request_url or ""


@dataclass
class Installation:
    """An app in a workspace. `scopes` are the bot token's."""

    bot: Bot
    app: App
    scopes: set[str]
    state: TokenState = "active"

    @property
    def provided(self) -> str:
        return ",".join(sorted(self.scopes))

    @property
    def owner(self) -> str:
        return f"{self.app.id}/{self.bot.team_id}"


@dataclass
class Room:
    """A conversation and all that is in it. `threads` are the roots of assistant threads."""

    channel: Channel
    members: set[str]
    archived: bool = False
    messages: dict[str, Message] = field(default_factory=dict)
    threads: set[str] = field(default_factory=set)

    def replies(self, root_ts: str) -> list[Message]:
        return [one for one in self.messages.values() if one.is_reply and one.thread_ts == root_ts and not one.deleted]

    def standing(self, ts: str) -> Message | None:
        message = self.messages.get(ts)
        return None if message is None or message.deleted else message


@dataclass
class Trigger:
    """https://docs.slack.dev/interactivity/handling-user-interaction: a trigger works once, for 3 seconds."""

    app_id: str
    user_id: str
    team_id: str
    at: float
    view_id: str | None = None
    used: bool = False


@dataclass
class ResponseUrl:
    """https://docs.slack.dev/interactivity/handling-user-interaction: five uses within 30 minutes.

    `ts` and `ephemeral_ts` say which message it may replace or delete.
    """

    app_id: str
    team_id: str
    channel_id: str
    user_id: str
    at: float
    ts: str | None = None
    ephemeral_ts: str | None = None
    uses: int = 0


@dataclass
class Ticket:
    """A socket's address: https://docs.slack.dev/reference/methods/apps.connections.open, good once, for 30 s."""

    app_id: str
    at: float
    used: bool = False


class Journal:
    """The calls in the order of arrival, and the broken rules."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.calls: list[Call] = []
        self.problems: list[Problem] = []

    def arrived(self, method: str, params: JsonObject) -> int:
        number = len(self.calls)
        self.calls.append(Call(number=number, method=method, params=params, at=self._clock()))
        return number

    def known(self, number: int, app_id: str, team_id: str) -> None:
        self.calls[number] = replace(self.calls[number], app_id=app_id, team_id=team_id)

    def applied(self, number: int, result: JsonObject) -> None:
        self.calls[number] = replace(self.calls[number], applied=True, result=result)

    def answered(self, number: int, status: int, error: str | None = None) -> None:
        self.calls[number] = replace(self.calls[number], status=status, error=error)

    def unanswered(self, number: int, why: str) -> None:
        self.calls[number] = replace(self.calls[number], error=why)

    def problem(self, rule: str, method: str, detail: str) -> None:
        self.problems.append(Problem(rule=rule, method=method, detail=detail, at=self._clock()))
