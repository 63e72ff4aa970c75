"""Settings become a house: each part gets what it needs of them, and nothing else."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from msgspec import Struct

from config.agents import AgentSettings, ModelAgentSettings, ModuleAgentSettings
from config.bots import TerminalSettings
from config.secret import Secret, secrets_in
from config.settings import Settings
from core.agents.agent import AgentSpec
from core.agents.backend import ModelBackend
from core.agents.cache import AgentCache
from core.agents.configured import Configured
from core.agents.registry import DEFAULT, Agents
from core.agents.speech import Speech
from core.delivery.outbox import Outbox
from core.desk.answering import Offer
from core.desk.breaker import Breaker
from core.desk.crash_retries import CrashRetries
from core.desk.full import FullDisk
from core.desk.handing import Withheld
from core.desk.hands import Hands
from core.desk.house import DeskRules, GuestLimits, House, Manners
from core.desk.live import Live
from core.desk.manners import Gestures
from core.desk.porter import Bounds, Porter, Reach
from core.desk.pulse import Pulse
from core.desk.quota import IntakeQuotas
from core.desk.resets import Mode, Policy
from core.desk.voices import Voices
from core.people.access import Access, AccessRules
from core.people.admins import KnownAdmins
from core.ports import Bot, Clock, Random
from core.service.notices import Notices
from core.store.engine import Store
from core.vocabulary import BotName, ChatId, ChatKind

MIB = 1024 * 1024
PERSON_SHARE = 4
"""One person has at most a quarter of the turns that run at once."""


class SettingsPolicies:
    """`house.Policies` from the configuration."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[tuple[BotName, ChatKind], Policy] = {}
        told = {"session": settings.session.model_dump(mode="json"), "zone": settings.desk.timezone}
        told["bots"] = {name: bot.reset.model_dump(mode="json") for name, bot in settings.bots.items()}
        self.digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    def policy(self, bot: BotName, kind: ChatKind) -> Policy:
        known = self._known.get((bot, kind))
        if known is None:
            reset = self._settings.reset_for(bot, kind.value)
            known = self._known[bot, kind] = Policy(
                mode=Mode(reset.mode),
                idle=timedelta(minutes=reset.idle_minutes),
                at=reset.at,
                zone=ZoneInfo(reset.zone),
                announce=reset.announce,
            )
        return known

    def manners(self, bot: BotName) -> Manners:
        configured = self._settings.bots.get(bot)
        if configured is None:
            return Manners()
        return Manners(reaction=configured.reaction or "", stop_button=configured.stop_button)

    def agents(self, bot: BotName) -> Offer:
        configured = self._settings.bots.get(bot)
        return Offer(usual=DEFAULT) if configured is None else Offer(usual=configured.agent, more=configured.agents)


def agents_of(settings: Settings, pepper: str = "", before: Agents | None = None) -> Agents:
    """`pepper` is secret, and new in every process. `before`: those of the configuration before this one, in the same
    process; what serves them will serve these.

    Blocks: it reads files and imports modules. Raises `ConfigError` for a backend that can't be loaded, and for
    instructions that can't be read.
    """
    pepper = pepper if before is None else before.pepper
    models = None if before is None else before.models
    specs = {name: _spec(name, agent, settings, pepper) for name, agent in settings.agents.items()}
    modelled = [
        Configured(name=name, digest=specs[name].digest, settings=agent, proxy=settings.network.proxy)
        for name, agent in settings.agents.items()
        if isinstance(agent, ModelAgentSettings)
    ]
    if models is None and modelled:
        models = ModelBackend(modelled)
    files = {one.name: file for one in modelled if (file := one.settings.instructions_file) is not None}
    return Agents(specs, models, modelled, files, pepper)


def _spec(name: str, agent: AgentSettings, settings: Settings, pepper: str) -> AgentSpec:
    match agent:
        case ModelAgentSettings():
            secrets = [*(secret for _, secret in secrets_in(agent)), *filter(None, [settings.network.proxy])]
            told: object = [name, agent.model_dump(mode="json"), [_secret_digest(secret, pepper) for secret in secrets]]
            return AgentSpec(
                name=name, backend=agent.backend, model=agent.model, models=agent.choices,
                instructions=agent.instructions or "", digest=_digest(told),
            )  # fmt: skip
        case ModuleAgentSettings():
            options = dict(agent.options)
            return AgentSpec(
                name=name, backend=agent.backend, options=options, digest=_digest([agent.backend, options])
            )  # fmt: skip
        case _:
            return AgentSpec(name=name, backend=agent.backend, digest=_digest([agent.backend, {}]))


def _digest(told: object) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()


def _secret_digest(secret: Secret, pepper: str) -> str:
    """Changes with the secret, and tells nothing of it to anybody who sees it outside of this process."""
    return hmac.digest(pepper.encode(), secret.reveal().encode(), "sha256").hex()


def access_of(settings: Settings, bots: Iterable[BotName]) -> AccessRules:
    """Who may speak on each bot. A bot that only this machine's user reaches has that user for its owner."""
    owners = frozenset(str(identity) for identity in settings.access.owners)
    allowed = frozenset(str(identity) for identity in settings.access.allow)
    return AccessRules(
        bots={
            name: Access(
                direct=settings.direct_for(name),
                groups=frozenset(ChatId(group) for group in getattr(settings.bots.get(name), "groups", ())),
                owners=owners,
                allowed=allowed,
                allow_bots=name in settings.bots and settings.bots[name].allow_bots,
                local=name not in settings.bots or isinstance(settings.bots[name], TerminalSettings),
            )
            for name in bots
        }
    )


class Premises(Struct, frozen=True, kw_only=True):
    """What no configuration says, and no reload changes. `approve_command` lets a stranger in, followed by the code;
    `state` is the state directory, `config` the config file."""

    approve_command: str = "frontdesk people approve"
    state: Path | None = None
    config: Path | None = None


PREMISES: Final = Premises()


def rules_of(settings: Settings, premises: Premises) -> DeskRules:
    guests = settings.access.guests
    return DeskRules(
        busy=settings.mailbox.busy,
        debounce=timedelta(milliseconds=settings.mailbox.debounce_ms),
        limit=settings.mailbox.limit,
        stale=timedelta(hours=settings.desk.stale_hours),
        turn_timeout_s=settings.desk.turn_timeout_s,
        person_scope=settings.session.dm_scope == "person",
        user_scope=settings.session.group_scope == "user",
        zone_name=settings.desk.timezone,
        retention=None if settings.retention.days is None else timedelta(days=settings.retention.days),
        approve_command=premises.approve_command,
        consent_by=settings.access.consent_by,
        withheld=Withheld(state=premises.state, config=premises.config, secrets=settings.secret_files),
        turn_chars=settings.mailbox.turn_chars,
        guests=GuestLimits(
            conversations_per_hour=guests.conversations_per_hour,
            tokens_per_day=guests.tokens_per_day,
            files_kept=timedelta(days=guests.file_days),
        ),
    )


def turns_at_once(settings: Settings) -> tuple[int, int]:
    """Turns that run at once: of everybody, and of one person, so that nobody takes all."""
    most = settings.desk.max_turns
    return most, max(1, most // PERSON_SHARE)


def bounds_of(settings: Settings) -> Bounds:
    proxy = settings.network.proxy
    speech = Speech(settings=settings.speech, proxy=None if proxy is None else proxy.reveal())
    return Bounds(
        speech=speech,
        file_bytes=settings.desk.attachment_mib * MIB,
        guest_day_bytes=settings.access.guests.file_mib_per_day * MIB,
    )


def furnish(
    settings: Settings,
    store: Store,
    bots: Mapping[BotName, Bot],
    *,
    clock: Clock,
    random: Random,
    premises: Premises = PREMISES,
) -> House:
    """Everything the desk works with. Raises `ConfigError`."""
    notices = Notices(settings.desk.language)
    rules = rules_of(settings, premises)
    give_up_s = rules.stale.total_seconds()
    outbox = Outbox(store, bots, clock=clock, random=random, notices=notices, give_up_s=give_up_s)
    gestures = Gestures()
    agents = agents_of(settings, random.token(32))
    full = FullDisk(bots, notices, gestures)
    porter = Porter(store, clock, random, Reach(bots=bots, outbox=outbox, full=full), bounds_of(settings))
    return House(
        store=store,
        clock=clock,
        random=random,
        notices=notices,
        bots=bots,
        outbox=outbox,
        agents=agents,
        cache=AgentCache(
            most=settings.cache.agents,
            most_bytes=settings.cache.history_mib * MIB,
            idle_s=settings.cache.idle_minutes * 60,
        ),
        live=Live(),
        full=full,
        slots=Hands(*turns_at_once(settings)),
        retries=CrashRetries(store, clock, agents.loaded, outbox.all_up),
        pulse=Pulse(clock),
        access=access_of(settings, bots),
        policies=SettingsPolicies(settings),
        admins=KnownAdmins(bots, clock),
        porter=porter,
        voices=Voices(store, clock, bots, outbox, porter),
        breaker=Breaker(),
        gestures=gestures,
        rules=rules,
        tally=store.tally,
        quotas=IntakeQuotas(),
    )
