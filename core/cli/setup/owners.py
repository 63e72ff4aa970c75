"""The question of `init` about who owns the desk."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from config.draft import settings_of
from config.faults import ConfigFaults
from core.cli.setup.choices import Account
from core.cli.setup.trying import probe_of, sentence
from core.errors import BotError, NotRunning, VerbFailed
from core.ports import Questions
from core.service.socket import SOCKET_NAME
from core.service.socket_client import ask

if TYPE_CHECKING:
    from core.cli.setup.seat import Seat

LATER: Final = "later"
_SHOWN: Final = 60
"""Characters of what somebody wrote."""


def owners_read(typed: Sequence[str], questions: Questions | None) -> Sequence[str]:
    """Identities as the config spells them; a bare id is one on the platform that is set up. Raises `ConfigFaults`."""
    platform = f"{questions.platform}:" if questions else ""
    owners = [one if ":" in one else f"{platform}{one}" for one in (one.strip() for one in typed)]
    settings_of({"access": {"owners": owners}})
    return owners


def owners_asked(account: Account, called: str | None, state: Path, seat: Seat) -> Sequence[str]:
    """The one who sits there, if they tell; nobody: they are let in by a code. `called`: what people call the bot, None
    where nothing could be asked."""
    looks = called is not None and not _runs(state)
    seat.say(
        "", "Who owns the desk? An owner lets others in and may do everything.",
        *([f"  Write anything to {called} and press Enter here: I show who wrote."] if looks else []),
        f"  Or type your id on {account.questions.title}: {account.questions.own_id}.",
        f"  Or type {LATER}: the bot answers you with a code, and who is let in first, at this machine, owns it.",
    )  # fmt: skip
    while True:
        typed = seat.ask("Your id, Enter, or later" if looks else "Your id, or later", "" if looks else LATER)
        if typed == LATER:
            return ()
        found = _read(typed, account, seat) if typed else _writer(account, seat)
        if found:
            return found


def _read(typed: str, account: Account, seat: Seat) -> Sequence[str]:
    try:
        return owners_read([typed], account.questions)
    except ConfigFaults as faults:
        for one in faults.faults:
            seat.say(sentence(f"{one.message}; {one.hint}" if one.hint else one.message))
        return ()


def _writer(account: Account, seat: Seat) -> Sequence[str]:
    """The one of those who wrote that says yes."""
    settings = settings_of({"bots": {account.name: account.drafted()}}).bots[account.name]
    seat.say("Looking who wrote, and who writes just now ...")
    try:
        writers = asyncio.run(probe_of(account.name, settings).writers())
    except BotError as trouble:
        seat.say(sentence(str(trouble)))
        return ()
    for writer in writers:
        words = writer.text if len(writer.text) <= _SHOWN else f"{writer.text[:_SHOWN]}…"
        seat.say(f"{writer.name} ({writer.identity}) wrote: {words}")
        if seat.confirm("Is that you?", default=False):
            return [writer.identity]
    seat.say("Nobody else has written to it." if writers else "Nobody has written to it yet.")
    return ()


def _runs(state: Path) -> bool:
    """Whether a desk runs there: it receives what is written to its bots, and we would take it away."""
    try:
        asyncio.run(ask(state / SOCKET_NAME, "status", {}))
    except NotRunning:
        return False
    except VerbFailed:
        return True
    return True
