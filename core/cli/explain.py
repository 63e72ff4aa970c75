"""`explain`: why something happened, or did not."""

from __future__ import annotations

from typing import Annotated

import typer

from core.cli.asking import ask_desk
from core.cli.completing import session_keys
from core.cli.options import ConfigOption, JsonOption, StateOption, place_of
from core.cli.tables import print_json, print_line, row_of, rows_of


def explain(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="ID|KEY",
            help="A message, turn, session or delivery, a reference that a chat was shown, or a session key.",
            autocompletion=session_keys,
        ),
    ],
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say why a message was answered, refused, ignored or dropped, and what became of the answer."""
    found = ask_desk(place_of(context, config, state), "explain", {"id": what})
    if as_json:
        print_json(found)
        return
    for finding in rows_of(found, "findings"):
        print_line(f"{finding.get('sentence')}")
    if limit := row_of(found).get("limit"):
        print_line(f"These are the newest {limit}; ask `frontdesk explain ID` for any other.")
