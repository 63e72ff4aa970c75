"""What every part of the desk works with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from core.agents.cache import AgentCache
from core.agents.registry import Agents
from core.delivery.outbox import Outbox
from core.desk.answering import Offer
from core.desk.handing import Withheld
from core.desk.offering import TOKEN_CHARS, Tokens
from core.desk.resets import Policy
from core.people.access import AccessRules, ConsentBy
from core.ports import Bot, Clock, HasTitles, Random
from core.service.notices import Notices
from core.store.engine import Store
from core.tally import Tally
from core.vocabulary import Address, BotName, ChatId, ChatKind, TurnId, UserId

if TYPE_CHECKING:
    from core.desk.breaker import Breaker
    from core.desk.crash_retries import CrashRetries
    from core.desk.full import FullDisk
    from core.desk.hands import Hands
    from core.desk.live import Live
    from core.desk.manners import Gestures
    from core.desk.porter import Bounds, Porter
    from core.desk.pulse import Pulse
    from core.desk.quota import IntakeQuotas
    from core.desk.voices import Voices

Busy = Literal["queue", "steer", "interrupt"]


class Manners(Struct, frozen=True, kw_only=True):
    """How a bot behaves. `reaction`: put on messages in groups that are being answered, "" for nothing."""

    reaction: str = ""
    stop_button: bool = False


class Policies(Protocol):
    def policy(self, bot: BotName, kind: ChatKind) -> Policy:
        """The reset policy that holds there; the most specific setting wins."""

    def agents(self, bot: BotName) -> Offer:
        """Who answers there, and who may be chosen in place."""

    def manners(self, bot: BotName) -> Manners:
        """How this bot behaves."""

    @property
    def digest(self) -> str:
        """Changes when any policy does."""


class Admins(Protocol):
    async def is_admin(self, bot: BotName, chat: ChatId, user: UserId) -> bool:
        """Does this person run the chat? The answer is kept for minutes; no answer counts as no."""


class GuestLimits(Struct, frozen=True, kw_only=True):
    """How much one may use whom nobody let in."""

    conversations_per_hour: int = 30
    tokens_per_day: int = 500_000
    files_kept: timedelta = timedelta(days=30)


class DeskRules(Struct, frozen=True, kw_only=True):
    """Times and bounds from the configuration."""

    busy: Busy = "queue"
    debounce: timedelta = timedelta(0)
    limit: int = 10_000
    stale: timedelta = timedelta(hours=24)
    turn_timeout_s: float = 600.0
    person_scope: bool = False
    user_scope: bool = False
    zone_name: str = "UTC"
    retention: timedelta | None = None
    turn_chars: int = 400_000
    guests: GuestLimits = GuestLimits()
    approve_command: str = "frontdesk people approve"
    """What lets a stranger in, to be followed by the code."""
    consent_by: ConsentBy = "let_in"
    withheld: Withheld = Withheld()
    """Files that no agent sends."""


class Expected(Struct, frozen=True, kw_only=True):
    """What a turn that runs will have used after its next request."""

    id: TurnId
    author: str
    tokens: int


@dataclass(kw_only=True)
class House:
    """`bots` grows and shrinks with the configuration, and `adopt` replaces what else a reload may change: whoever
    needs one of these for longer than a moment keeps it."""

    store: Store
    clock: Clock
    random: Random
    notices: Notices
    bots: Mapping[BotName, Bot]
    outbox: Outbox
    agents: Agents
    cache: AgentCache
    live: Live
    full: FullDisk
    slots: Hands
    retries: CrashRetries
    pulse: Pulse
    access: AccessRules
    policies: Policies
    admins: Admins
    porter: Porter
    voices: Voices
    breaker: Breaker
    gestures: Gestures
    rules: DeskRules
    tally: Tally
    quotas: IntakeQuotas
    expected: dict[TurnId, Expected] = field(default_factory=dict)

    def adopt(
        self, *, agents: Agents, access: AccessRules, policies: Policies, rules: DeskRules, porter: Bounds
    ) -> None:
        """Another configuration holds from now on."""
        self.agents, self.access, self.policies, self.rules = agents, access, policies, rules
        self.porter.bounds = porter

    def button_ids(self, bot: BotName) -> Tokens | None:
        """What makes ids of buttons for this bot; None where it has none."""
        known = self.bots.get(bot)
        if known is None or not known.capabilities.buttons:
            return None
        return lambda: self.random.token(TOKEN_CHARS)

    def entitle(self, address: Address, title: str | None) -> None:
        """Show what is talked about there, where the platform shows such a name; nobody misses it if it fails."""
        bot = self.bots.get(address.bot)
        if title and bot is not None and isinstance(bot, HasTitles):
            self.gestures.show(bot.entitle(replace(address, reply_to=None), title))

    def policy(self, bot: BotName, kind: ChatKind) -> Policy:
        return self.policies.policy(bot, kind)

    def stale_before(self, now: datetime) -> datetime:
        """Rows that were received before then are not acted on any more."""
        return now - self.rules.stale
