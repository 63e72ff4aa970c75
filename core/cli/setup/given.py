"""What is told `init` on its command line."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Annotated

import typer

Texts = list[str] | None
Text = str | None


@dataclass(frozen=True, kw_only=True)
class Given:
    """The options of `init`, in the order in which its help shows them."""

    platform: Annotated[
        Text, typer.Option(metavar="NAME", help='Where people write; "none" for this terminal only.')
    ] = None
    token: Annotated[
        Texts, typer.Option(metavar="TEXT", help="The bot's token. Other users of this machine may see it here.")
    ] = field(default=None, repr=False)
    token_file: Annotated[Texts, typer.Option(metavar="FILE", help="A file that holds it.")] = None
    token_env: Annotated[Texts, typer.Option(metavar="NAME", help="An environment variable that holds it.")] = None
    secret: Annotated[
        Texts,
        typer.Option(
            metavar="OPTION=SOURCE",
            help="One of several secrets by its option, from file:PATH or env:NAME; may be repeated.",
        ),
    ] = field(default=None, repr=False)
    api_base: Annotated[Text, typer.Option(metavar="URL", help="The platform's server, if it is not its own.")] = None
    model: Annotated[
        Text, typer.Option(metavar="PROVIDER:MODEL", help='Who answers; "none" for the offline agent.')
    ] = None
    key: Annotated[
        Text, typer.Option(metavar="TEXT", help="The provider's key. Other users of this machine may see it here.")
    ] = field(default=None, repr=False)
    key_file: Annotated[Text, typer.Option(metavar="FILE", help="A file that holds it.")] = None
    key_env: Annotated[Text, typer.Option(metavar="NAME", help="An environment variable that holds it.")] = None
    base_url: Annotated[
        Text, typer.Option(metavar="URL", help="The model's server, if it is not the provider's own.")
    ] = None
    owner: Annotated[
        Texts, typer.Option(metavar="ID", help="Who owns the desk, by the platform's id; may be repeated.")
    ] = None
    zone: Annotated[
        Text, typer.Option(metavar="ZONE", help="The time zone, as in Europe/Berlin. Default: the machine's.")
    ] = None
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing: what is missing is an error.")] = False
    test: Annotated[
        bool, typer.Option("--test/--no-test", help="Whether secrets and model are tried out before they are kept.")
    ] = True
    force: Annotated[
        bool, typer.Option("--force", help="Replace a config that sets something; a dated copy stays beside it.")
    ] = False
    start: Annotated[
        bool | None, typer.Option("--start/--no-start", help="Whether the installed service is started, or restarted.")
    ] = None

    @property
    def asks(self) -> bool:
        """Whether somebody is there to be asked."""
        return not self.yes and sys.stdin.isatty() and sys.stdout.isatty()
