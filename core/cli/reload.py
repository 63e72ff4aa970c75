"""`reload`: the daemon reads its config again, and this says what became of it."""

from __future__ import annotations

import sys
from typing import Final

import typer

from core.cli.asking import ask_running
from core.cli.options import ConfigOption, JsonOption, StateOption, place_of
from core.cli.tables import print_json, print_line, row_of, second, texts_of

_REFUSED: Final = 78
"""EX_CONFIG of sysexits.h."""


def reload(
    context: typer.Context, config: ConfigOption = None, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """Let the running desk read its config again, as SIGHUP does; every fault and exit code 78 if it is refused."""
    found = row_of(ask_running(place_of(context, config, state), "reload"))
    faults = texts_of(found, "faults")
    if as_json:
        print_json(found)
    elif faults:
        print(
            *faults, f"The config from {second(found.get('loaded_at'))} holds.", sep="\n", file=sys.stderr, flush=True
        )
    else:
        print_line("The new config holds.")
    if waiting := texts_of(found, "next_start"):
        print(f"In force from the next start on: {', '.join(waiting)}", file=sys.stderr, flush=True)
    if faults:
        raise typer.Exit(_REFUSED)
