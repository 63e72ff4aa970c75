"""`init`: from nothing to a desk that works, by questions or by options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import get_type_hints

import typer

from core.cli.options import ConfigOption, StateOption, place_of
from core.cli.setup.given import Given
from core.errors import VerbFailed


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
    """Set up a desk: ask for a platform, its secrets, a model and its key, try them out, and write the config.

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
