"""`manifest`: what is pasted on a platform's site to set an account up."""

from __future__ import annotations

from typing import Annotated

import typer

from core.errors import VerbFailed


def manifest(
    platform: Annotated[str, typer.Argument(metavar="PLATFORM", help="Where the account is.")],
    name: Annotated[str, typer.Option("--name", metavar="TEXT", help="What people call it there.")] = "Frontdesk",
) -> None:
    """Print what is pasted on a platform's site to set an account up; no config and no daemon is needed.

    Exit code 1: that platform takes nothing of the kind; 2: there is no such platform.
    """
    from core.cli.platforms import known_platforms, paper_of

    known = known_platforms()
    if platform not in known:
        raise VerbFailed(f"there is no platform {platform}; there is: {', '.join(known)}", code=2)
    text = paper_of(known[platform], name)
    if text is None:
        raise VerbFailed(f"nothing is pasted on {known[platform].title}; `frontdesk init` asks for what it needs")
    print(text, flush=True)
