"""`send`: say something in a conversation, as whoever runs the desk."""

from __future__ import annotations

import sys
from typing import Annotated, Final

import typer

from core.cli.asking import ask_desk
from core.cli.completing import session_keys
from core.cli.options import ConfigOption, JsonOption, StateOption, place_of
from core.cli.tables import counted, print_json, print_line, row_of, rows_or_values

MOST_READ: Final = 1_000_000
"""Characters of standard input: more than is sent anyway."""


def send(
    context: typer.Context,
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="A session key, or a session id.", autocompletion=session_keys)
    ],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What is said; - reads it from standard input.")],
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say something where a conversation was last heard. People see it; the agent does not answer it."""
    said = sys.stdin.read(MOST_READ).removesuffix("\n") if text == "-" else text
    found = ask_desk(place_of(context, config, state), "send", {"key": key, "text": said})
    if as_json:
        print_json(found)
        return
    sent = row_of(found)
    parts = counted(len(rows_or_values(sent.get("deliveries"))), "part")
    print_line(f"queued for {sent.get('key')}: {parts} to {sent.get('bot')}, chat {sent.get('chat')}")
    if not sent.get("running"):
        print_line("no desk runs: it waits in the outbox, and goes out when one starts")
