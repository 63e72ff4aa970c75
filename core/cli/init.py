"""`init`: from nothing to a desk that works, by questions or by options."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Annotated, get_type_hints

import typer

from core.cli.options import ConfigOption, StateOption, place_of
from core.errors import VerbFailed

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
        bool, typer.Option("--test/--no-test", help="Whether token and model are tried out before they are kept.")
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


def _taking_given(verb: Callable[..., None]) -> Callable[..., None]:
    """Typer reads a verb's options from its signature: the fields of `Given` stand there in place of `**options`."""
    own, added = get_type_hints(verb, include_extras=True), get_type_hints(Given, include_extras=True)
    parameters = [
        *(
            one.replace(annotation=own[one.name])
            for one in inspect.signature(verb).parameters.values()
            if one.name != "options"
        ),
        *(
            inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=added[one.name])
            for one in fields(Given)
        ),
    ]
    vars(verb)["__signature__"] = inspect.Signature(parameters)
    verb.__annotations__ = {**own, **added}
    return verb


@_taking_given
def init(context: typer.Context, config: ConfigOption = None, state: StateOption = None, **options: object) -> None:
    """Set up a desk: ask for a platform, its token, a model and its key, try them out, and write the config.

    Each question has an option; with --yes or without a terminal nothing is asked. Secrets go into files that only you
    can read, beside the config; those of the installed service are handed over by systemd. A config that sets something
    is not replaced without --force. Exit code 0: it is set up; 1: it is not, and nothing was changed; 2: an option is
    missing or wrong.
    """
    place = place_of(context, config, state)
    given = Given(**options)  # type: ignore[arg-type]  # typer has read each by the type of its field
    from core.cli.setup.interview import Interview
    from core.cli.setup.plan import Plan
    from core.cli.setup.seat import Seat
    from core.cli.setup.service import Service

    seat, plan = Seat(asks=given.asks), Plan.here(place)
    plan.check(replaces=given.force or not given.asks)
    service = Service(plan, seat, wanted=given.start)
    written = None
    try:
        interview = Interview(given, plan, seat)
        choices = interview.choices()
        written = plan.written(choices)
        if plan.is_there(written):
            seat.say(f"{plan.config} is already as you want it; nothing was written.")
        else:
            plan.check(replaces=given.force)
            plan.show(written, seat)
            plan.write(written, seat)
        service.serve(choices, interview.introduced)
    except (typer.Abort, KeyboardInterrupt) as stop:
        is_written = written is not None and plan.is_there(written)
        raise VerbFailed(f"stopped; {'everything' if is_written else 'nothing'} was written") from stop
