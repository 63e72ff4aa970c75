"""The daemon that sends as fast as it can, for servers without limits. On Slack its bots have a busy machine's time for
what has to be acknowledged within three seconds.

`FRONTDESK_UNPACED=1 python -m tests.crash.victim nowhere 1 unarmed run ...`. `test_paces.py` holds bots to their paces.
"""

from __future__ import annotations

from typing import Final, TypeVar

from msgspec.structs import replace

from bots import open_bot
from config.bots import BotSettings, DiscordSettings, SlackSettings, TelegramSettings
from core.clock import SystemClock
from core.ports import Bot, Clock, Random
from core.vocabulary import BotName, Capabilities

UNPACED: Final = "FRONTDESK_UNPACED"
PATIENT_S: Final = 60.0
B = TypeVar("B", bound=Bot)


class PatientClock(SystemClock):
    """Three of its seconds take a minute; who sleeps, sleeps as long as ever."""

    def monotonic(self) -> float:
        return super().monotonic() * 3 / PATIENT_S


def unpaced(name: BotName, settings: BotSettings, *, clock: Clock, random: Random) -> Bot:
    """As `bots.open_bot`, which imports an SDK only where it is needed, too."""
    match settings:
        case TelegramSettings():
            from bots.telegram.bot import TelegramBot

            return _freed(TelegramBot)(name, settings=settings, clock=clock, random=random)
        case DiscordSettings():
            from bots.discord.bot import DiscordBot

            return _freed(DiscordBot)(name, settings=settings, clock=clock, random=random)
        case SlackSettings():
            from bots.slack.bot import SlackBot
            from bots.slack.line import Patience

            patience = Patience(aside_s=PATIENT_S, prompt_s=PATIENT_S)
            return _freed(SlackBot)(name, settings=settings, clock=PatientClock(), random=random, patience=patience)
        case _:
            return open_bot(name, settings, clock=clock, random=random)


def _freed(kind: type[B]) -> type[B]:
    """That kind of bot, without a pace."""

    def capabilities(bot: B) -> Capabilities:
        paced: Capabilities = super(freed, bot).capabilities  # type: ignore[arg-type]
        return replace(paced, direct_pace=None, group_pace=None, account_pace=None)

    freed = type(kind.__name__, (kind,), {"capabilities": property(capabilities)})
    return freed
