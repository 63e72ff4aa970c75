"""`manifest`: what is pasted on a platform's site to set an account up."""

from __future__ import annotations

from typing import Annotated, Final
from urllib.parse import urlsplit

import typer

from config.faults import ConfigFaults
from core.cli.options import ConfigOption, Place, StateOption, place_of
from core.errors import VerbFailed

USUAL_NAME: Final = "Frontdesk"
"""As `[desk] name` is by default."""


def manifest(
    context: typer.Context,
    platform: Annotated[str, typer.Argument(metavar="PLATFORM", help="Where the account is.")],
    name: Annotated[
        str | None, typer.Option("--name", metavar="TEXT", help="What people call it there. Default: as the desk.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="https://HOST", help="Where [listen] is reached, if the platform calls the bot."),
    ] = None,
    config: ConfigOption = None,
    state: StateOption = None,
) -> None:
    """Print what is pasted on a platform's site to set an account up; no config and no daemon is needed.

    Exit code 1: that platform takes nothing of the kind; 2: there is no such platform.
    """
    from core.cli.platforms import known_platforms, paper_of

    known = known_platforms()
    if platform not in known:
        raise VerbFailed(f"there is no platform {platform}; there is: {', '.join(known)}", code=2)
    place = place_of(context, config, state)
    address = _address(url, platform, place) if url is not None else ""
    text = paper_of(known[platform], name or _name(place), address)
    if text is None:
        raise VerbFailed(f"nothing is pasted on {known[platform].title}; `frontdesk init` asks for what it needs")
    print(text, flush=True)


def _address(url: str, platform: str, place: Place) -> str:
    """Of the only bot there in the config, or of one that is called as its platform."""
    named = urlsplit(url)
    if named.scheme != "https" or not named.netloc or named.query or named.fragment:
        raise VerbFailed("--url is an address that begins with https://, where [listen] is reached", code=2)
    try:
        bots = [bot for bot, settings in place.load().settings.bots.items() if settings.platform == platform]
    except ConfigFaults:
        bots = []
    return f"{url.rstrip('/')}/{platform}/{bots[0] if len(bots) == 1 else platform}"


def _name(place: Place) -> str:
    """What the desk calls itself. A config that is no good does not matter here."""
    try:
        return place.load().settings.desk.name
    except ConfigFaults:
        return USUAL_NAME
