"""The daemon that sends as fast as it can, for servers without limits.

`FRONTDESK_UNPACED=1 python -m tests.crash.victim nowhere 1 unarmed run ...`. `test_paces.py` holds bots to their paces.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from bots import open_bot
from config.bots import BotSettings, DiscordSettings, SlackSettings, TelegramSettings
from core.ports import Bot, Clock, Random
from core.vocabulary import BotName, Capabilities

UNPACED: Final = "FRONTDESK_UNPACED"


def unpaced(name: BotName, settings: BotSettings, *, clock: Clock, random: Random) -> Bot:
    """As `bots.open_bot`, which imports an SDK only where it is needed, too."""
    match settings:
        case TelegramSettings():
            from bots.telegram.bot import TelegramBot

            class Telegram(TelegramBot):
                @property
                def capabilities(self) -> Capabilities:
                    return _freed(super().capabilities)

            return Telegram(name, settings=settings, clock=clock, random=random)
        case DiscordSettings():
            from bots.discord.bot import DiscordBot

            class Discord(DiscordBot):
                @property
                def capabilities(self) -> Capabilities:
                    return _freed(super().capabilities)

            return Discord(name, settings=settings, clock=clock, random=random)
        case SlackSettings():
            from bots.slack.bot import SlackBot

            class Slack(SlackBot):
                @property
                def capabilities(self) -> Capabilities:
                    return _freed(super().capabilities)

            return Slack(name, settings=settings, clock=clock, random=random)
        case _:
            return open_bot(name, settings, clock=clock, random=random)


def _freed(paced: Capabilities) -> Capabilities:
    return replace(paced, direct_pace=None, group_pace=None, account_pace=None)
