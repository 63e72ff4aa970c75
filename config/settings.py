"""The settings: one frozen model per part. Every default and every unit stands here.

A value is what the config file may hold; what it only refers to (secrets, "local") is resolved by validation, from the
`Sources` given as its context. `config.load` does that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import time
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import Field, field_validator, model_validator

from config.agents import AgentSettings, OfflineAgentSettings
from config.bots import (
    PLATFORMS,
    BotSettings,
    DirectAccess,
    PlatformPart,
    ResetMode,
    ResetOverride,
    TerminalSettings,
)
from config.lines import KeyPath
from config.part import Part
from config.secret import Secret, secrets_in
from config.sources import wrong
from config.speech import SpeechSettings
from config.values import (
    Addresses,
    Count,
    HostNames,
    Hours,
    Identities,
    Minutes,
    Name,
    Proxy,
    Seconds,
    ShownName,
    StoreUrl,
    TimeOfDay,
    Tokens,
    ZoneName,
)
from config.zones import LOCAL

ChatKind = Literal["direct", "group", "thread"]
ConsentBy = Literal["owner", "let_in", "asker"]
BusyMode = Literal["queue", "steer", "interrupt"]

_T = TypeVar("_T")


class DeskSettings(Part):
    """`[desk]`: the whole daemon."""

    name: ShownName = "Frontdesk"
    timezone: ZoneName = LOCAL
    """IANA name; "local" is the machine's zone, resolved at load."""
    language: Literal["en"] = "en"
    max_turns: Annotated[int, Field(ge=1, le=100_000)] = 64
    """Turns that run at once."""
    turn_timeout_s: Seconds = 600
    drain_s: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)] = 30
    """How long running turns may go on after SIGTERM."""
    attachment_mib: Annotated[int, Field(ge=1, le=2000)] = 20
    """The most that one file which people send may have; platforms may allow less."""
    stale_hours: Hours = 24
    """Messages that waited longer are closed with a notice instead of being answered."""


class StoreSettings(Part):
    """`[store]`: the database."""

    url: StoreUrl | None = None
    """None: `sqlite:///STATE/frontdesk.db`. A relative path starts at the state directory."""

    def url_in(self, state: Path) -> str:
        """The address to open, passwords included, for the state directory `state`."""
        written = self.url.reveal() if self.url else "sqlite:///frontdesk.db"
        scheme, slashes, path = written.partition(":///")
        return f"sqlite:///{state.absolute() / path}" if scheme == "sqlite" and slashes else written


class ListenSettings(Part):
    """`[listen]`: the one HTTP listener. A desk in a terminal or on a pipe listens only if a file has this table."""

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    """An address or a name of this machine; 0.0.0.0 is every one."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8484
    """0: any that is free."""
    behind_proxy: bool = False
    """Whether the client's address and scheme are those that a trusted proxy names (X-Forwarded-For and -Proto)."""
    trusted_proxies: Addresses = ()
    """Addresses, networks or "*" for whoever connects; none: a proxy on this machine."""
    hosts: HostNames = ()
    """Names besides this machine's own under which the pages may be asked for; addresses always may."""


class NetworkSettings(Part):
    """`[network]`: the way out."""

    proxy: Proxy | None = None
    """An HTTP proxy for every bot that names none."""


class GuestSettings(Part):
    """`[access.guests]`: how much one person may use whom nobody let in, in listed groups or where `direct` is open."""

    conversations_per_hour: Count = 30
    """That are begun: direct chats, groups, threads."""
    tokens_per_day: Tokens = 500_000
    """Of models, in and out."""
    file_mib_per_day: Annotated[int, Field(ge=1, le=1_048_576)] = 200
    """MiB of files that are fetched within 24 hours."""
    file_days: Annotated[int, Field(ge=1, le=36_500)] = 30
    """Days that files are kept of sessions in which nobody took part who was let in."""


class AccessSettings(Part):
    """`[access]`: who may talk to the desk."""

    direct: DirectAccess = "pairing"
    """Direct messages of strangers: a code for an owner to approve, only listed people, everybody, nobody."""
    owners: Identities = ()
    allow: Identities = ()
    consent_by: ConsentBy = "let_in"
    """Who may allow a call that waits for consent: only owners, whoever was let in, or whoever asked for it."""
    guests: GuestSettings = GuestSettings()


class ResetSettings(Part):
    """`[session.reset]`: when a conversation starts anew."""

    mode: ResetMode = "both"
    idle_minutes: Minutes = 1440
    """Since the last message of a human; fractions allowed."""
    at: TimeOfDay = time(4, 0)
    """The daily hour, HH:MM in `timezone`."""
    timezone: ZoneName | None = None
    """None: the desk's."""
    announce: bool = True
    """Whether the first answer of a new session says why it is new."""
    group: ResetOverride = ResetOverride()
    thread: ResetOverride = ResetOverride()
    direct: ResetOverride = ResetOverride()

    def override(self, kind: ChatKind) -> ResetOverride:
        """What the table of this kind of chat changes."""
        match kind:
            case "group":
                return self.group
            case "thread":
                return self.thread
            case "direct":
                return self.direct


@dataclass(frozen=True, kw_only=True)
class ResolvedReset:
    """The reset rules of one kind of chat on one bot, with nothing left open."""

    mode: ResetMode
    idle_minutes: float
    at: time
    zone: str
    """IANA name."""
    announce: bool


class SessionSettings(Part):
    """`[session]`: where a conversation takes place and how long."""

    dm_scope: Literal["chat", "person"] = "chat"
    group_scope: Literal["chat", "user"] = "chat"
    sweep_s: Seconds = 30
    """How often ended sessions are looked for."""
    reset: ResetSettings = ResetSettings()


class CacheSettings(Part):
    """`[cache]`: agents kept ready."""

    agents: Count = 256
    idle_minutes: Minutes = 60
    history_mib: Annotated[int, Field(ge=1, le=1_048_576)] = 256
    """Histories of all cached agents together."""


class MailboxSettings(Part):
    """`[mailbox]`: messages that wait for their turn."""

    busy: BusyMode = "queue"
    """What a message does that arrives while a turn runs."""
    debounce_ms: Annotated[int, Field(ge=0, le=60_000)] = 0
    """How long to wait for more lines of the same sender."""
    limit: Count = 10_000
    """Messages waiting in one conversation; more are refused with a notice."""
    turn_chars: Annotated[int, Field(ge=1000, le=100_000_000)] = 400_000
    """Characters of messages and of the files that come with them which one turn takes; the rest is cut."""


class RetentionSettings(Part):
    """`[retention]`: when old sessions are deleted."""

    days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    """Since a session's last message; None: never."""


class Settings(Part):
    """The whole config file. `Settings()` is what serves without one, with "local" taken as UTC."""

    desk: DeskSettings = DeskSettings()
    store: StoreSettings = StoreSettings()
    listen: ListenSettings = ListenSettings()
    network: NetworkSettings = NetworkSettings()
    access: AccessSettings = AccessSettings()
    session: SessionSettings = SessionSettings()
    cache: CacheSettings = CacheSettings()
    mailbox: MailboxSettings = MailboxSettings()
    agents: Mapping[Name, AgentSettings] = {"default": OfflineAgentSettings()}
    speech: SpeechSettings = SpeechSettings()
    retention: RetentionSettings = RetentionSettings()
    bots: Mapping[Name, BotSettings] = {}

    def reset_for(self, bot: str, kind: ChatKind) -> ResolvedReset:
        """The reset rules for chats of this kind on the bot of this name; field by field the most specific wins.

        A bot that the settings do not name (the terminal of an empty config) has the general rules.
        """
        own = self.bots[bot].reset if bot in self.bots else ResetOverride()
        general = self.session.reset
        kinds = general.override(kind)
        return ResolvedReset(
            mode=_first(own.mode, kinds.mode, general.mode),
            idle_minutes=_first(own.idle_minutes, kinds.idle_minutes, general.idle_minutes),
            at=_first(own.at, kinds.at, general.at),
            zone=_first(own.timezone, kinds.timezone, general.timezone, self.desk.timezone),
            announce=_first(own.announce, kinds.announce, general.announce),
        )

    def direct_for(self, bot: str) -> DirectAccess:
        """How the bot of this name treats strangers in direct messages."""
        own = self.bots[bot].direct if bot in self.bots else None
        return own or self.access.direct

    @property
    def spoken_to(self) -> Mapping[str, BotSettings]:
        """The bots of other platforms than the terminal, each with the proxy that holds for it."""
        return {
            name: bot.model_copy(update={"proxy": bot.proxy or self.network.proxy})
            for name, bot in self.bots.items()
            if not isinstance(bot, TerminalSettings)
        }

    @property
    def terminal(self) -> str | None:
        """The name of the terminal bot, if the file names one."""
        return next((name for name, bot in self.bots.items() if isinstance(bot, TerminalSettings)), None)

    @property
    def secrets(self) -> frozenset[str]:
        """Every text that must not reach a log, chat, error or status page."""
        return frozenset().union(*(secret.forms() for _, secret in self.walk_secrets()))

    @property
    def secret_files(self) -> frozenset[Path]:
        """Every file that holds such a text."""
        return frozenset(secret.file for _, secret in self.walk_secrets() if secret.file is not None)

    def walk_secrets(self) -> Iterator[tuple[KeyPath, Secret]]:
        """Each secret with the path of its option."""
        return secrets_in(self)

    @field_validator("agents")
    @classmethod
    def _one_is_the_default(cls, agents: Mapping[str, AgentSettings]) -> Mapping[str, AgentSettings]:
        if "default" not in agents:
            raise wrong('none is named "default"', "name one [agents.default]")
        return agents

    @field_validator("bots", mode="before")
    @classmethod
    def _name_the_bots(cls, bots: object) -> object:
        if not isinstance(bots, dict):
            return bots
        return {name: _named(str(name), table) for name, table in bots.items()}

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        for bot in self.bots.values():
            for agent in (bot.agent, *bot.agents):
                if agent not in self.agents:
                    raise wrong(f'[bots.{bot.name}]: there is no agent "{agent}"')
        tokens = [bot.secret_of_account for bot in self.bots.values() if isinstance(bot, PlatformPart)]
        if len(set(tokens)) < len(tokens):
            raise wrong("two bots have one token, and each message would be answered twice", "keep one of the two")
        if sum(bot.platform == "terminal" for bot in self.bots.values()) > 1:
            raise wrong("there are two terminal bots, and one terminal", "keep one")
        return self


def _named(name: str, table: object) -> object:
    if not isinstance(table, dict):
        return table
    platform = {"platform": name} if name in PLATFORMS else {}
    return {**platform, **table, "name": name}


def _first(*values: _T | None) -> _T:
    return next(value for value in values if value is not None)
