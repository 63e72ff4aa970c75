"""`python -m tests.wire.impatient run ...`: gives a poll of Telegram up after two seconds instead of 35."""

from __future__ import annotations

from bots import open_bot
from bots.telegram.bot import Patience, TelegramBot
from config.bots import BotSettings, TelegramSettings
from core.main import Wiring
from core.ports import Bot, Clock, Random
from core.vocabulary import BotName
from tests.wire.wired import run


def hasty(name: BotName, settings: BotSettings, *, clock: Clock, random: Random) -> Bot:
    if not isinstance(settings, TelegramSettings):
        return open_bot(name, settings, clock=clock, random=random)
    patience = Patience(poll_s=1, slack_s=1.0)
    return TelegramBot(name, settings=settings, clock=clock, random=random, patience=patience)


if __name__ == "__main__":
    run(Wiring(open_bot=hasty))
