"""The ways in and out. Here is the list of platforms; an SDK is imported only by the bot that needs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from config.bots import BotSettings, DiscordSettings, SlackSettings, TelegramSettings, TerminalSettings
from core.ports import Bot, Clock, Probe, Questions, Random
from core.vocabulary import BotName


def open_bot(name: BotName, settings: BotSettings, *, clock: Clock, random: Random) -> Bot:
    """Make one configured bot; it connects to nothing before its `run`."""
    match settings:
        case TelegramSettings():
            from bots.telegram.bot import TelegramBot

            return TelegramBot(name, settings=settings, clock=clock, random=random)
        case DiscordSettings():
            from bots.discord.bot import DiscordBot

            return DiscordBot(name, settings=settings, clock=clock, random=random)
        case SlackSettings():
            from bots.slack.bot import SlackBot

            return SlackBot(name, settings=settings, clock=clock, random=random)
        case TerminalSettings():
            from bots.terminal.bot import TerminalBot

            return TerminalBot(name, clock=clock, random=random)
        case _:
            assert_never(settings)


def open_probe(name: BotName, settings: BotSettings, *, clock: Clock) -> Probe | None:
    """Make what looks at one configured account, None where there is none; it connects only when asked."""
    match settings:
        case TelegramSettings():
            from bots.telegram.probe import TelegramProbe

            return TelegramProbe(name, settings=settings, clock=clock)
        case DiscordSettings():
            from bots.discord.probe import DiscordProbe

            return DiscordProbe(name, settings=settings, clock=clock)
        case SlackSettings():
            from bots.slack.probe import SlackProbe

            return SlackProbe(name, settings=settings, clock=clock)
        case TerminalSettings():
            return None
        case _:
            assert_never(settings)


def questions() -> Sequence[Questions]:
    """What each platform asks that `frontdesk init` sets up, the most asked for first."""
    from bots.discord.setup import QUESTIONS as DISCORD
    from bots.slack.setup import QUESTIONS as SLACK
    from bots.telegram.setup import QUESTIONS as TELEGRAM

    return (TELEGRAM, DISCORD, SLACK)
