"""What `init` tries out before it keeps it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

from config.agents import ModelAgentSettings
from config.faults import ConfigFaults
from core.agents.configured import Configured
from core.cli.platforms import open_probe
from core.errors import (
    AgentError,
    BotError,
    BotRejected,
    ConfigError,
    ModelBusy,
    ModelKeyRefused,
    ModelOverloaded,
    ModelQuota,
    ModelSilent,
    ModelUnreachable,
    VerbFailed,
)

if TYPE_CHECKING:
    from config.bots import BotSettings
    from core.cli.setup.seat import Seat
    from core.ports import Finding, Probe

FIRST_WORD_S: Final = 60.0
"""For a model; one's own may have to be loaded first."""
UNTRIED: Final = "nothing was written; --no-test writes it untried"
_PASSING: Final = (ModelBusy, ModelOverloaded, ModelQuota, ModelSilent, ModelUnreachable)
"""What says nothing against the key and the name."""
Verdict = Literal["good", "key", "model"]
"""What is to be asked anew, if anything is."""


def probe_of(name: str, settings: BotSettings) -> Probe:
    """What asks the platform."""
    probe = open_probe(name, settings)
    if probe is None:
        raise VerbFailed(f"{settings.platform} can't be asked anything")
    return probe


def introduce(name: str, settings: BotSettings, seat: Seat) -> str | None:
    """What the bot is called on its platform; None if it is to be kept though nothing could be said. Raises
    `BotRejected`, and `VerbFailed` where nobody can be asked."""
    probe = probe_of(name, settings)
    while True:
        try:
            return asyncio.run(probe.introduce())
        except BotRejected:
            raise
        except BotError as trouble:
            if not _again(str(trouble), seat):
                return None


def look(name: str, settings: BotSettings) -> Sequence[Finding]:
    """All that can be found out about the bot on its platform, but for who else receives its messages."""
    return asyncio.run(probe_of(name, settings).findings(alone=False))


def try_model(settings: ModelAgentSettings, seat: Seat) -> Verdict:
    """Let it say one word, and say what came of it. Raises `VerbFailed` where nobody can be asked."""
    agent = Configured(name="default", digest="init", settings=settings)
    from core.agents.fitness import check
    from core.probing.models import NO_TOOLS, TOOLLESS, judge

    seat.say(f"Asking {settings.model} for a word; this may take a few seconds.")
    own_server = settings.base_url is not None
    while True:
        try:
            check([agent])
            refused = asyncio.run(_first_word(agent))
        except TimeoutError:
            said = f"{settings.model} said nothing for {FIRST_WORD_S:.0f} s"
        except ConfigError as fault:
            return _refuse("model", str(fault).removeprefix("[agents.default] "), seat)
        except AgentError as fault:
            _, _, words, do = judge(fault, key="--key-file", own_server=own_server)
            said = f"the model {settings.model}: {words}"
            if not (seat.asks and isinstance(fault, ModelKeyRefused)):
                said = f"{said}; {do}"
            if not isinstance(fault, _PASSING):
                return _refuse("key" if isinstance(fault, ModelKeyRefused) else "model", said, seat)
        else:
            seat.say(f"It {TOOLLESS} (“{refused}”). {sentence(NO_TOOLS)}" if refused else "It answers.")
            return "good"
        if not _again(said, seat):
            return "good"


async def _first_word(agent: Configured) -> str:
    from core.agents.trial import ask_model

    async with asyncio.timeout(FIRST_WORD_S):
        return await ask_model(agent, agent.settings.model)


def _refuse(verdict: Verdict, words: str, seat: Seat) -> Verdict:
    if not seat.asks:
        raise VerbFailed(f"{words}. Nothing was written")
    seat.say(sentence(words))
    return verdict


def _again(trouble: str, seat: Seat) -> bool:
    """Whether to try once more what may just fail for the moment."""
    if not seat.asks:
        raise VerbFailed(f"{trouble}; {UNTRIED}")
    seat.say(sentence(trouble))
    return seat.confirm("Try again? (No keeps it untried)", default=True)


def sentence(words: str) -> str:
    """With a capital and a full stop."""
    return f"{words[:1].upper()}{words[1:]}" + ("" if words.endswith((".", "!", "?")) else ".")


def words_of(faults: ConfigFaults) -> str:
    """What is wrong and what to write, without the place in a file that is not there yet."""
    return "; ".join("; ".join(filter(None, (one.message, one.hint))) for one in faults.faults)
