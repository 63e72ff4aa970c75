"""`[bots.NAME]`: the accounts that people talk to. Every default and every unit of one stands here."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from config.part import Part
from config.secret import Secret
from config.sources import Misplaced, Sources, misplaced, shown, wrong
from config.values import (
    BotToken,
    Channels,
    Emoji,
    Groups,
    Minutes,
    Proxy,
    PublicRoot,
    SlackAppToken,
    SlackBotToken,
    Snowflakes,
    SocketRoot,
    TimeOfDay,
    WebRoot,
    ZoneName,
    listed,
)

DirectAccess = Literal["pairing", "allow", "open", "off"]
ResetMode = Literal["none", "idle", "daily", "both"]


class ResetOverride(Part):
    """A reset table that changes only what it sets."""

    mode: ResetMode | None = None
    idle_minutes: Minutes | None = None
    at: TimeOfDay | None = None
    timezone: ZoneName | None = None
    announce: bool | None = None


def _agent(name: str, info: ValidationInfo) -> str:
    known = info.context.agents if isinstance(info.context, Sources) else None
    if known is None or name in known:
        return name
    near = get_close_matches(name.lower(), sorted(known), n=1)
    hint = f"did you mean {shown(near[0])}?" if near else f"there is: {', '.join(sorted(known))}"
    raise wrong(f"there is no agent {shown(name)}", hint)


AgentName = Annotated[str, AfterValidator(_agent)]


class BotPart(Part):
    """What every bot has."""

    name: str
    """NAME of `[bots.NAME]`; no option of its own."""
    agent: AgentName = "default"
    agents: Annotated[tuple[AgentName, ...], BeforeValidator(listed)] = ()
    """What whoever is no owner may choose with /agent besides `agent`; owners may choose any."""
    reset: ResetOverride = ResetOverride()

    DESK_ONLY: ClassVar = frozenset(
        {"agent", "agents", "allow_bots", "direct", "groups", "reaction", "reset", "stop_button"}
    )
    """What the desk goes by and the bot itself does not know."""

    def serves_as(self, other: BotPart) -> bool:
        """Whether a bot made from these settings would do as one made from the other."""
        names = type(self).model_fields.keys() - self.DESK_ONLY
        return type(self) is type(other) and all(getattr(self, name) == getattr(other, name) for name in names)


class PlatformPart(BotPart):
    """What every bot has that people reach over a network."""

    direct: DirectAccess | None = None
    """None: as `[access]` says."""
    stream: bool = True
    """Whether an answer grows while it is written."""
    stop_button: bool = False
    """Whether a growing answer has a button that stops it."""
    reaction: Emoji | None = None
    """Put on each message in a group that is being answered; None: nothing."""
    allow_bots: bool = False
    """Whether other bots are answered that mention this one, until they seem to go round in circles."""
    proxy: Proxy | None = None
    """None: the network's."""

    @property
    def secret_of_account(self) -> Secret:
        """What tells the platform which account it is."""
        raise NotImplementedError


class TelegramSettings(PlatformPart):
    """A bot on Telegram, made by https://t.me/BotFather."""

    platform: Literal["telegram"] = "telegram"
    token: BotToken
    api_base: WebRoot = "https://api.telegram.org"
    """The Bot API server, without `/bot`."""
    file_base: WebRoot | None = None
    """Where its files are; None: `api_base` + `/file`."""
    mode: Literal["polling", "webhook"] = "polling"
    webhook_url: PublicRoot | None = None
    """Where Telegram reaches `[listen]`, for the mode "webhook"; the bot's own path is put behind it."""
    groups: Groups = ()
    """Ids of the groups where the bot may answer."""
    drafts: bool = True
    """Whether a growing answer in a private chat is a draft, where the Bot API server has them; else it is edited."""

    @property
    def secret_of_account(self) -> Secret:
        return self.token

    @property
    def file_root(self) -> str:
        """Where this bot's files are, without `/bot`."""
        return self.file_base or f"{self.api_base}/file"

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.mode == "webhook" and self.webhook_url is None:
            hint = 'write the address at which Telegram reaches [listen], as in "https://bots.example.com"'
            raise misplaced([Misplaced(("webhook_url",), "is missing", hint)])
        return self


class DiscordSettings(PlatformPart):
    """A bot on Discord, made at https://discord.com/developers/applications."""

    platform: Literal["discord"] = "discord"
    token: Secret
    api_base: WebRoot = "https://discord.com/api/v10"
    gateway_url: SocketRoot | None = None
    """None: what `api_base` + `/gateway/bot` says."""
    groups: Snowflakes = ()
    """Ids of the channels, and of whole servers, where the bot may answer."""
    auto_thread: bool = False
    """Whether each question in a channel opens a thread."""
    catch_up: Annotated[int, Field(ge=0, le=10_000)] = 200
    """Messages that were missed while the bot was away, in each conversation; older ones are left."""

    @property
    def secret_of_account(self) -> Secret:
        return self.token


class SlackSettings(PlatformPart):
    """An app in one Slack workspace, made at https://api.slack.com/apps."""

    platform: Literal["slack"] = "slack"
    bot_token: SlackBotToken
    app_token: SlackAppToken | None = None
    """For the mode "socket"."""
    signing_secret: Secret | None = None
    """For the mode "http"."""
    api_base: WebRoot = "https://slack.com/api"
    mode: Literal["socket", "http"] = "socket"
    connections: Annotated[int, Field(ge=1, le=10)] = 2
    """Sockets at once: while Slack renews one, the others hear (https://docs.slack.dev/apis/events-api/using-socket-mode
    allows 10)."""
    groups: Channels = ()
    """Ids of the channels where the bot may answer; a team's id for all of them."""
    catch_up: Annotated[int, Field(ge=0, le=10_000)] = 200
    """Messages that were missed while the bot was away, in each conversation; older ones are left."""

    @property
    def secret_of_account(self) -> Secret:
        return self.bot_token

    @model_validator(mode="after")
    def _heard_somehow(self) -> Self:
        missing: list[Misplaced] = []
        if self.mode == "socket" and self.app_token is None:
            hint = "make one with the scope connections:write at https://api.slack.com/apps, Basic Information"
            missing.append(Misplaced(("app_token",), "is missing", hint))
        if self.mode == "http" and self.signing_secret is None:
            hint = "copy it from https://api.slack.com/apps, Basic Information"
            missing.append(Misplaced(("signing_secret",), "is missing", hint))
        if missing:
            raise misplaced(missing)
        return self


class TerminalSettings(BotPart):
    """Chat in the terminal. Whoever sits at the machine needs no pairing."""

    direct: ClassVar[DirectAccess] = "open"
    proxy: ClassVar[None] = None
    allow_bots: ClassVar[bool] = False
    reaction: ClassVar[None] = None
    stop_button: ClassVar[bool] = False

    platform: Literal["terminal"] = "terminal"


BotSettings = Annotated[
    TelegramSettings | DiscordSettings | SlackSettings | TerminalSettings, Field(discriminator="platform")
]
PLATFORMS: Final[Mapping[str, type[BotPart]]] = {
    "telegram": TelegramSettings,
    "discord": DiscordSettings,
    "slack": SlackSettings,
    "terminal": TerminalSettings,
}
