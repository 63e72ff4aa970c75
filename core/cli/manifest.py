"""`manifest`: what is pasted on a platform's site to set an account up."""

from __future__ import annotations

from typing import Annotated, Final

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
    text = paper_of(known[platform], name or _name(place_of(context, config, state)))
    if text is None:
        raise VerbFailed(f"nothing is pasted on {known[platform].title}; `frontdesk init` asks for what it needs")
    print(text, flush=True)


def _name(place: Place) -> str:
    """What the desk calls itself. A config that is no good does not matter here."""
    try:
        return place.load().settings.desk.name
    except ConfigFaults:
        return USUAL_NAME
