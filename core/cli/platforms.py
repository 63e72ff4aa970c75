"""What the verbs without a desk need of platforms: the composition root of `init` and `check --probe`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bots import open_probe as open_probe_of
from bots import questions
from config.bots import BotSettings
from config.settings import Settings
from core.clock import SystemClock
from core.ports import Probe, Questions
from core.vocabulary import BotName


def known_platforms() -> Mapping[str, Questions]:
    """What can be set up, by the platform's name, the most asked for first."""
    asked: Sequence[Questions] = questions()
    return {one.platform: one for one in asked}


def paper_of(asked: Questions, name: str, address: str = "") -> str | None:
    """What is pasted to set an account up that people call `name`; None where nothing is. `address`: of the bot, where
    the platform calls it."""
    if asked.paper is None:
        return None
    from core.desk.commands.menu import menu
    from core.service.notices import Notices

    return asked.paper(name, menu(Notices()), address)


def open_probe(name: str, bot: BotSettings) -> Probe | None:
    """What looks at one bot; None where there is nothing to look at."""
    return open_probe_of(BotName(name), bot, clock=SystemClock())


def open_probes(settings: Settings) -> Mapping[str, Probe]:
    """Of every bot that there is something to ask about."""
    opened = {name: open_probe(name, bot) for name, bot in settings.spoken_to.items()}
    return {name: probe for name, probe in opened.items() if probe is not None}
