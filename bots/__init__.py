"""The ways in and out. Here is the list of platforms; an SDK is imported only by the bot that needs it."""

from __future__ import annotations

from typing import assert_never

from config.settings import BotSettings, TelegramSettings, TerminalSettings
from core.ports import Bot, Clock, Random
from core.vocabulary import BotName


def open_bot(name: BotName, settings: BotSettings, *, clock: Clock, random: Random) -> Bot:
    """Make one configured bot; it connects to nothing before its `run`."""
    match settings:
        case TelegramSettings():
            from bots.telegram.bot import TelegramBot

            return TelegramBot(name, settings=settings, clock=clock, random=random)
        case TerminalSettings():
            from bots.terminal.bot import TerminalBot

            return TerminalBot(name, clock=clock, random=random)
        case _:
            assert_never(settings)
